package citation

import (
	"errors"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// entails is a judge that says yes where every A, B and C of the sentence stands in the sources.
func entails(asked *[]string) *backendtest.Fake {
	return metrictest.Affirms(func(prompt string) float64 {
		sources, sentence, _ := strings.Cut(strings.TrimPrefix(prompt, "Sources:\n"), "\n\nSentence: ")
		sentence, _, _ = strings.Cut(sentence, "\n")
		if asked != nil {
			*asked = append(*asked, strings.ReplaceAll(sources, "\n\n", "+")+" => "+sentence)
		}
		for _, c := range sentence {
			if c >= 'A' && c <= 'C' && !strings.ContainsRune(sources, c) {
				return 0.1
			}
		}
		return 0.9
	})
}

// TestALCE has worked examples of ALCE's definitions: a statement's recall is that of its citations together, and a
// citation is irrelevant only if it does not support the statement alone and the others do without it.
func TestALCE(t *testing.T) {
	contexts := []string{"A", "B", "A B", "C"}
	check := func(answer string, recall, precision, f1, coverage float64) {
		t.Helper()
		s := metrics.Sample{Answer: answer, Contexts: contexts}
		for name, want := range map[string]float64{"citation_recall/logit": recall, "citation_precision/logit": precision,
			"citation_f1/logit": f1, "citation_coverage/marks": coverage} {
			metrictest.WantValue(t, name+" of "+answer, metrictest.Score(t, metrictest.One(t, Metrics(), name), entails(nil), s),
				want)
		}
	}
	check("So A holds [1].", 1, 1, 1, 1)
	check("So A holds [2].", 0, 0, 0, 1)
	check("So A holds. So B holds [2].", 0.5, 1, 2.0/3, 0.5)
	check("So A b holds.", 0, 0, 0, 0)
	// Each is needed: neither supports the whole alone.
	check("So A and B holds [1][2].", 1, 1, 1, 1)
	// Context 4 is irrelevant; 1 supports alone.
	check("So A holds [1][4].", 1, 0.5, 2.0/3, 1)
	// Both support alone: neither is irrelevant.
	check("So A holds [1][3].", 1, 1, 1, 1)
	// 3 supports alone; 1 does not, and 3 does without it.
	check("So A and B holds [1][3].", 1, 0.5, 2.0/3, 1)
	// 1 and 2 are each dispensable beside 3, though they would do together.
	check("So A and B holds [1][2][3].", 1, 1.0/3, 0.5, 1)
	// No citation of a statement that is not supported counts, even if it says a part.
	check("So A and C holds [1][2]. So B holds [2].", 0.5, 1.0/3, 0.4, 1)
	// A citation of nothing does not count; the rest does.
	check("So A holds [1][9].", 1, 0.5, 2.0/3, 1)
	check("So A holds [9].", 0, 0, 0, 0)
}

// TestAsked holds what the judge is asked: what is cited together first, then each alone and without it, and nothing of a
// statement that is not supported or cites one context.
func TestAsked(t *testing.T) {
	var asked []string
	s := metrics.Sample{Answer: "So A holds [1]. So A and B hold [1][3]. So C holds [1][2]. Loose.", Contexts: []string{"A", "B", "A B"}}
	metrictest.Score(t, metrictest.One(t, Metrics(), "citation_precision/logit"), entails(&asked), s)
	want := []string{"A => So A holds.", "A+A B => So A and B hold.", "A => So A and B hold.", "A B => So A and B hold.",
		"A B => So A and B hold.", "A+B => So C holds."}
	for i := range asked[:len(asked)/2] { // once for Yes, once for No
		asked[i] = asked[2*i]
	}
	asked = asked[:len(asked)/2]
	if strings.Join(asked, "; ") != strings.Join(want, "; ") {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// TestWords has the share of words at its threshold.
func TestWords(t *testing.T) {
	s := metrics.Sample{Answer: "The ferry costs 14 euros [1]. The pier is old now [1][2]. It sails [3].",
		Contexts: []string{"A ferry ticket costs 14 euros.", "The pier is green.", " "}}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "citation_recall/words"), nil, s)
	metrictest.WantValue(t, "recall", got, 2.0/3, 0.8, 0.6, 0)
	got = metrictest.Score(t, metrictest.One(t, Metrics(), "citation_precision/words"), nil, s)
	metrictest.WantScore(t, "precision", got, 0.5, "it supports the sentence", "irrelevant", "alone", "does not support")
}

// TestEncoder reads the output of the head that says whether a sentence is supported.
func TestEncoder(t *testing.T) {
	encoder := &backendtest.Fake{About: backend.Info{Ops: backend.CanClassify, Labels: []string{"faithfulness"}},
		Outputs: func(p backend.Pair) []float32 {
			if strings.Contains(p.Text, "14") {
				return []float32{2}
			}
			return []float32{-2}
		}}
	s := metrics.Sample{Answer: "It costs 14 euros [1]. It sails [2].", Contexts: []string{"14 euros.", "A pier."}}
	score, err := metrictest.One(t, Metrics(), "citation_f1/encoder").Score(t.Context(),
		metrics.Models{Roles: metrics.Roles{backend.Encoder: encoder}}, &s)
	if err != nil || score.Value != 0.5 {
		t.Errorf("%+v, %v, want 0.5", score, err)
	}
}

// TestTREC: the first citation of a sentence counts, in full, by half or not; precision leaves out sentences that cite
// nothing.
func TestTREC(t *testing.T) {
	judge := &backendtest.Fake{LogProbs: func(messages []backend.Message, continuation string) []float64 {
		last := messages[len(messages)-1].Text
		source, _, _ := strings.Cut(strings.TrimPrefix(last, "Source:\n"), "\n")
		if continuation == source {
			return []float64{-0.1}
		}
		return []float64{-5}
	}}
	s := metrics.Sample{Answer: "This is first [1][3]. This is second [2]. This is third [3]. This is fourth. This is fifth [9].",
		Contexts: []string{"Full", "Partial", "None"}}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "citation_recall/trec"), judge, s)
	metrictest.WantValue(t, "recall", got, 1.5/5, 1, 0.5, 0)
	metrictest.WantScore(t, "recall", got, 1.5/5, "Full", "Partial", "None", "it cites nothing", "there is no such context")
	got = metrictest.Score(t, metrictest.One(t, Metrics(), "citation_precision/trec"), judge, s)
	metrictest.WantValue(t, "precision", got, 1.5/4)
}

// TestNothingSaid: an answer without a sentence is not applicable, one without a citation has 0, as in ALCE.
func TestNothingSaid(t *testing.T) {
	for _, m := range Metrics() {
		_, err := m.Score(t.Context(), metrics.Models{}, &metrics.Sample{Answer: "[1]", Contexts: []string{"A"}})
		if !errors.Is(err, metrics.ErrNotApplicable) {
			t.Errorf("%s: %v", m.Name, err)
		}
		score, err := m.Score(t.Context(), metrics.Models{}, &metrics.Sample{Answer: "A b.", Contexts: []string{"A"}})
		if err != nil || score.Value != 0 || len(score.Because) == 0 {
			t.Errorf("%s: %+v, %v", m.Name, score, err)
		}
	}
}
