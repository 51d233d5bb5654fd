package desk

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
)

// Whichever side is shown first, the label is 1 for the row's own and 2 for its rival; and either is shown first.
func TestPairs(t *testing.T) {
	book, err := labels.OpenBook(filepath.Join(t.TempDir(), "labels.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	d := Desk{Book: book, Pairs: true}
	for i := range 40 {
		s := &metrics.Sample{ID: fmt.Sprint("s", i), Question: "?", Answer: "own", OtherAnswers: []string{"rival"},
			Contexts: []string{"text"}}
		if i%2 == 1 {
			s.OtherAnswers, s.Contexts, s.OtherContexts = nil, []string{"own"}, [][]string{{"rival"}}
		}
		d.Samples = append(d.Samples, s)
	}
	first := map[string]int{}
	for i, s := range d.Samples {
		texts := d.pairTexts(s)
		n := len(texts)
		what := []string{"answer", "contexts"}[i%2]
		if texts[n-2].name != what+" 1" || texts[n-1].name != what+" 2" || n != 3+1-i%2 {
			t.Fatalf("%s shows %+v", s.ID, texts)
		}
		first[texts[n-2].text]++
		key := '1'
		if texts[n-1].text == "own" {
			key = '2'
		}
		if _, _, err := d.take(key); err != nil {
			t.Fatal(err)
		}
		if label, _, ok := book.Label(s.ID); !ok || label != 1 {
			t.Errorf("%s: the row's own was preferred, and the label is %v", s.ID, label)
		}
	}
	if first["own"] < 8 || first["rival"] < 8 {
		t.Errorf("shown first: %v", first)
	}
	d.at = 0
	for _, key := range "0359y" {
		if label, ok := d.label(key); ok {
			t.Errorf("the key %c labels %d", key, label)
		}
	}
	if !strings.Contains(d.keys(), "1 the first, 2 the second") {
		t.Errorf("keys %q", d.keys())
	}
}

func TestIsPair(t *testing.T) {
	answers := &metrics.Sample{Answer: "a", OtherAnswers: []string{"b"}}
	contexts := &metrics.Sample{Contexts: []string{"a"}, OtherContexts: [][]string{{"b"}}}
	several := &metrics.Sample{Answer: "a", OtherAnswers: []string{"b", "c"}}
	worse := &metrics.Sample{Answer: "a", OtherAnswers: []string{"b"},
		Extra: map[string]json.RawMessage{"worse_in": json.RawMessage(`"faithfulness"`)}}
	for i, s := range []*metrics.Sample{answers, contexts, several, worse, {Answer: "a"}} {
		var got []string
		for _, dimension := range []string{"faithfulness", "answer_relevance", "context_relevance"} {
			if IsPair(s, dimension) {
				got = append(got, dimension)
			}
		}
		want := [][]string{{"faithfulness", "answer_relevance"}, {"context_relevance"}, nil, {"faithfulness"}, nil}[i]
		if !slices.Equal(got, want) {
			t.Errorf("%+v is a pair in %v, want %v", s, got, want)
		}
	}
	seen := map[string]bool{}
	for _, dimension := range []string{"faithfulness", "answer_relevance", "context_relevance", "answer_quality"} {
		seen[PairQuestion(dimension)] = true
	}
	if len(seen) != 4 {
		t.Errorf("questions %v", seen)
	}
}
