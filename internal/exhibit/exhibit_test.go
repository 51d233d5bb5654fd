package exhibit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

var limits = Limits{Text: 1000, Findings: 10}

func manifest(names ...string) *runs.Manifest {
	m := &runs.Manifest{}
	for _, name := range names {
		m.Config.Metrics = append(m.Config.Metrics, runs.Metric{Name: name, Max: 1})
	}
	return m
}

// drawn is an exhibit's texts with the notes behind each sentence: "A sentence.[1+ 2-]".
func drawn(e *Exhibit) string {
	var b strings.Builder
	notes := func(list []Note) {
		for _, n := range list {
			fmt.Fprintf(&b, "[%d%s]", n.N, map[string]string{"good": "+", "bad": "-"}[n.Class])
		}
	}
	text := func(list []Piece) {
		for _, p := range list {
			b.WriteString(p.Space)
			for _, part := range p.Parts {
				if part.Marked {
					fmt.Fprintf(&b, "<%s>", part.Text)
				} else {
					b.WriteString(part.Text)
				}
			}
			notes(p.Notes)
		}
	}
	text(e.Answer)
	for _, c := range e.Contexts {
		fmt.Fprint(&b, " | ")
		notes(c.Notes)
		text(c.Pieces)
	}
	return b.String()
}

// Findings are joined to the sentences that hold them, or share most of their words.
func TestJoins(t *testing.T) {
	yes, no := true, false
	sample := &metrics.Sample{ID: "s", Question: "When does the ferry run?",
		Answer:   "The ferry leaves at seven. Dogs travel free on it.",
		Contexts: []string{"A kiosk sells tea. The ferry leaves the north pier at seven.", "Dogs pay half the fare. Cats do not travel."}}
	check := func(metric, want string, because ...metrics.Finding) {
		t.Helper()
		e := Of(sample, []metrics.Result{{Sample: "s", Metric: metric, Score: &metrics.Score{Because: because}}}, manifest(metric), "", limits)
		if got := drawn(e); got != want {
			t.Errorf("%s: %s\nwant %s", metric, got, want)
		}
	}
	check("faithfulness/claims", "The ferry leaves at seven.[1+] Dogs travel free on it.[2-] | "+
		"A kiosk sells tea. The ferry leaves the north pier at seven.[1+] | Dogs pay half the fare.[2-] Cats do not travel.",
		metrics.Finding{Kind: "claim", Text: "The ferry leaves at seven.", Verdict: &yes},
		metrics.Finding{Kind: "claim", Text: "Dogs travel free on the ferry.", Verdict: &no, Reason: "Dogs pay half the fare.", Where: "context 2"})
	check("faithfulness/spans", "The ferry leaves at seven. Dogs travel <free> on it.[1-] | A kiosk sells tea. The ferry leaves the north pier at seven. | "+
		"Dogs pay half the fare. Cats do not travel.",
		metrics.Finding{Kind: "sentence", Text: "Dogs travel free on it.", Marks: []metrics.Mark{{Low: 12, High: 16}}})
	check("context_relevance/sentences", "The ferry leaves at seven. Dogs travel free on it. | A kiosk sells tea.[1-] The ferry leaves the north pier at seven. | "+
		"Dogs pay half the fare. Cats do not travel.", metrics.Finding{Kind: "sentence", Text: "A kiosk sells tea.", Verdict: &no})
	check("context_precision/reference", "The ferry leaves at seven. Dogs travel free on it. | [1+]A kiosk sells tea. The ferry leaves the north pier at seven. | "+
		"Dogs pay half the fare. Cats do not travel.", metrics.Finding{Kind: "context", Text: "?", Where: "context 1", Verdict: &yes})
	check("faithfulness/claims", "The ferry leaves at seven. Dogs travel free on it. | A kiosk sells tea. The ferry leaves the north pier at seven. | "+
		"Dogs pay half the fare. Cats do not travel.", // of nothing that is there
		metrics.Finding{Kind: "claim", Text: "Bananas are yellow.", Verdict: &no}, metrics.Finding{Kind: "note", Text: "The ferry leaves at seven."},
		metrics.Finding{Kind: "context", Text: "x", Where: "context 9", Verdict: &yes})
}

// The worst score with verdicts is joined, or the one that is wished for.
func TestFocus(t *testing.T) {
	yes := true
	m := manifest("a/x", "b/x", "c/x")
	m.Config.Metrics[1].LowerIsBetter = true
	var results []metrics.Result
	for i, v := range []float64{0.4, 0.9, 0} {
		r := metrics.Result{Sample: "s", Metric: m.Config.Metrics[i].Name, Score: &metrics.Score{Value: v}}
		if i < 2 {
			r.Score.Because = []metrics.Finding{{Kind: "claim", Text: "t", Verdict: &yes}}
		}
		results = append(results, r)
	}
	for wish, want := range map[string]string{"": "b/x", "a/x": "a/x", "c/x": "b/x", "nothing": "b/x"} {
		if e := Of(nil, results, m, wish, limits); e.Focus != want || e.Sample != "s" || e.Texts {
			t.Errorf("%q: %+v", wish, e)
		}
	}
	for share, want := range map[float64]string{0: "bad", 0.3: "bad", 0.5: "middle", 0.9: "good"} {
		if got := Class(m, "a/x", share); got != want {
			t.Errorf("%v is %s", share, got)
		}
	}
	if Class(m, "b/x", 0.9) != "bad" {
		t.Error("a high score of a metric whose lower is better is no bad one")
	}
}

// Whatever the texts and the findings: what is shown is the text, and every note is of a finding that is shown.
func FuzzExhibit(f *testing.F) {
	f.Add("One. Two is more.", "One. Zwei.", "Two is more", "context 1", 0, 3)
	f.Add("島の灯台は白い。", "島", "島", "context 99999999999999999999", -1, 99)
	f.Add("\xff. a", "\xff", "a", "", 0, 1)
	f.Fuzz(func(t *testing.T, answer, context, text, where string, low, high int) {
		no := false
		s := &metrics.Sample{ID: "s", Answer: answer, Contexts: []string{context}}
		e := Of(s, []metrics.Result{{Sample: "s", Metric: "a/x", Score: &metrics.Score{Because: []metrics.Finding{
			{Kind: "claim", Text: text, Where: where, Verdict: &no, Marks: []metrics.Mark{{Low: low, High: high}}},
			{Kind: "claim", Text: context, Reason: text, Verdict: &no}}}}}, manifest("a/x"), "", limits)
		var got strings.Builder
		for _, p := range e.Answer {
			got.WriteString(p.Space + p.Text())
		}
		if want := strings.TrimSpace(strings.ToValidUTF8(answer, "\ufffd")); len(want) < limits.Text && strings.TrimSpace(got.String()) != want {
			t.Errorf("%q is shown as %q", want, got.String())
		}
		numbers := map[int]bool{}
		for _, f := range e.Results[0].Findings {
			numbers[f.N] = true
		}
		for _, p := range append(e.Answer, e.Contexts[0].Pieces...) {
			for _, n := range p.Notes {
				if !numbers[n.N] || n.N == 0 {
					t.Errorf("note %d is of no finding", n.N)
				}
			}
		}
		pages, err := Template()
		if err != nil || pages.ExecuteTemplate(&got, "exhibit", e) != nil {
			t.Error("it cannot be shown")
		}
	})
}
