package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/exhibit"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// unpacked are the parts of the packs of one kind.
func unpacked(t testing.TB, list []packView, kind string) []string {
	t.Helper()
	var parts []string
	for _, p := range list {
		if p.Kind != kind {
			continue
		}
		raw, err := base64.RawURLEncoding.DecodeString(p.Value)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(flate.NewReader(bytes.NewReader(raw)))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, strings.Split(string(text), "\x00")...)
	}
	return parts
}

// whole puts the sentences of a packed sample into their places, as page.js does.
func whole(t testing.TB, markup string, sentences []string) string {
	last := -1
	return regexp.MustCompile("\x01([0-9a-z]*)\x02").ReplaceAllStringFunc(markup, func(ref string) string {
		if last++; len(ref) > 2 {
			n, err := strconv.ParseInt(ref[1:len(ref)-1], 36, 32)
			if err != nil {
				t.Fatal(err)
			}
			last = int(n)
		}
		return sentences[last]
	})
}

// What is packed is what a page without packs would show, whatever texts hold.
func FuzzPack(f *testing.F) {
	f.Add("One. Two is more than one! Is it?", "It is said that a lighthouse stands here. Two is more than one!", "a\x00b")
	f.Add("\x01a\x02 \x01\x02 <b>&amp;", "<<>>", `"'> . \xff`)
	pages, err := exhibit.Template()
	if err == nil {
		pages, err = pages.New("page").Parse(pageTemplate)
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer, context, reason string) {
		no := false
		m := runstest.Manifest("faithfulness/claims")
		pack := newPacker(pages)
		var want []string
		for i := range 3 {
			s := &metrics.Sample{ID: fmt.Sprint(reason, i), Question: reason, Answer: answer, Contexts: []string{context, answer}}
			r := runstest.Scored(s.ID, "faithfulness/claims", 0.5)
			r.Score.Because = []metrics.Finding{{Kind: "claim", Text: context, Reason: reason, Verdict: &no}}
			e := exhibit.Of(s, []metrics.Result{r}, &m, "", exhibit.Limits{Text: mostText, Findings: mostFindings})
			var b strings.Builder
			if err := pages.ExecuteTemplate(&b, "exhibit", e); err != nil {
				t.Fatal(err)
			}
			want = append(want, strings.NewReplacer("\x01", "\ufffd", "\x02", "\ufffd").Replace(b.String()))
			if err := pack.add(caseView{Sample: s.ID, Exhibit: e, Results: e.Results}); err != nil {
				t.Fatal(err)
			}
		}
		list := pack.close()
		sentences, samples := unpacked(t, list, "strings"), unpacked(t, list, "samples")
		if len(samples) != 3 || len(unpacked(t, list, "lines")) != 3 {
			t.Fatalf("%d samples, %d lines", len(samples), len(unpacked(t, list, "lines")))
		}
		for i, s := range samples {
			if got := whole(t, s, sentences); got != want[i] {
				t.Errorf("sample %d is packed as\n%q\nwant\n%q", i, got, want[i])
			}
		}
	})
}

// A page of 10,000 samples is below 15 MB: of samples with 2,400 characters each, three passages of a corpus that others
// were answered from, too, among them; and of those that hold more, as many are shown as fit.
func TestPageSize(t *testing.T) {
	const n = 2000
	random := rand.New(rand.NewPCG(5, 6))
	vocabulary := tokenize.Words(pageTemplate + pageScript + pageStyle + pageTemplate)
	words := func(count int) string {
		var b strings.Builder
		for i := range count {
			b.WriteString(vocabulary[random.IntN(len(vocabulary))])
			b.WriteString(map[bool]string{true: ". ", false: " "}[i%14 == 13])
		}
		return b.String()
	}
	var corpus []string
	for range n {
		corpus = append(corpus, words(110))
	}
	m := runstest.Manifest("faithfulness/claims", "answer_relevance/cosine")
	m.Config.Dataset.Rows = n
	var results []metrics.Result
	texts, length := map[string]*metrics.Sample{}, 0
	yes := true
	for i := range n {
		s := &metrics.Sample{ID: fmt.Sprint("row-", i), Question: words(10), Answer: words(40)}
		for range 3 {
			s.Contexts = append(s.Contexts, corpus[random.IntN(len(corpus))])
		}
		length += len(s.Question) + len(s.Answer) + len(strings.Join(s.Contexts, ""))
		texts[s.ID] = s
		claims := runstest.Scored(s.ID, "faithfulness/claims", float64(i%11)/10)
		for _, sentence := range tokenize.Sentences(s.Answer) {
			claims.Score.Because = append(claims.Score.Because, metrics.Finding{Kind: "claim", Text: sentence.Text, Verdict: &yes,
				Reason: tokenize.Sentences(s.Contexts[0])[0].Text})
		}
		results = append(results, claims, runstest.Scored(s.ID, "answer_relevance/cosine", random.Float64()))
	}
	report, err := Summarize(t.Context(), &m, func(yield func(metrics.Result, error) bool) {
		for _, r := range results {
			if !yield(r, nil) {
				return
			}
		}
	}, View{Cases: PageCases})
	if err != nil {
		t.Fatal(err)
	}
	report.Texts = texts
	var page bytes.Buffer
	if err := Write(&page, []*Report{report}, Options{Format: "html"}); err != nil {
		t.Fatal(err)
	}
	per := page.Len() / n
	t.Logf("%d bytes of text a sample, %d bytes of the page", length/n, per)
	if length/n < 2000 || per > 1400 {
		t.Errorf("a sample of %d bytes takes %d of the page: 10,000 would take %d MB", length/n, per, per*10_000>>20)
	}
	pages, err := exhibit.Template()
	if err == nil {
		pages, err = pages.New("page").Parse(pageTemplate)
	}
	if err != nil {
		t.Fatal(err)
	}
	const room = 200_000
	view, err := report.view(pages, "r1", nil, room)
	if err != nil {
		t.Fatal(err)
	}
	size, shown := 0, mostPlain+len(unpacked(t, view.Packs, "samples"))
	for _, p := range view.Packs {
		size += len(p.Value)
	}
	if size > room*11/10 || size < room/2 || view.WorstShown != fmt.Sprintf("The %d samples with the lowest scores, of %d; results.jsonl has them all.", shown, n) {
		t.Errorf("in %d bytes: %d, %s", room, size, view.WorstShown)
	}
}
