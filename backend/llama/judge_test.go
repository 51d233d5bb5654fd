package llama

import (
	"math"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// TestEncoderJudge scores a sample with the metrics of an encoder, through a model of random weights that the test
// writes, and compares with the forward pass of the tests.
func TestEncoderJudge(t *testing.T) {
	testLib(t)
	labels := []string{"answer_relevance", "faithfulness", "answer_correctness", "context_relevance"}
	m := newTinyBert(labels...)
	e := open(t, Options{Model: m.write(t, closed()...), Threads: 1})
	if got := e.Info().Labels; got != "answer_relevance,faithfulness,answer_correctness,context_relevance" {
		t.Fatalf("Labels are %q", got)
	}
	sample := &metrics.Sample{ID: "1", Question: "which river", Answer: "silver river", Contexts: []string{"the silver bridge", "winter forest"},
		References: []string{"cloud river"}}
	chance := func(label int, query, text string) float64 {
		const cls, sep = 2, 3
		tokens := append([]int{cls}, m.words(query)...)
		tokens = append(append(append(tokens, sep), m.words(text)...), sep)
		return 1 / (1 + math.Exp(-m.head(tokens)[label]))
	}
	want := map[string]float64{
		"answer_relevance/encoder":  chance(0, "which river", "silver river"),
		"faithfulness/encoder":      chance(1, "silver river", "the silver bridge winter forest"),
		"context_relevance/encoder": (chance(3, "which river", "the silver bridge") + chance(3, "which river", "winter forest")) / 2,
	}
	var names []string
	for name := range want {
		names = append(names, name)
	}
	ms, err := metrics.Select(names)
	if err != nil {
		t.Fatal(err)
	}
	info := e.Info()
	if err := metrics.Check(ms, nil, nil, &info, sample.Fields()); err != nil {
		t.Fatal(err)
	}
	samples := func(yield func(*metrics.Sample, error) bool) { yield(sample, nil) }
	n := 0
	err = metrics.Run(t.Context(), samples, ms, metrics.Models{Encoder: backend.Backend(e)}, metrics.Options{}, func(r metrics.Result) error {
		if r.Score == nil || math.Abs(r.Score.Value-want[r.Metric]) > 1e-3 {
			t.Errorf("%+v, want %v", r, want[r.Metric])
		}
		n++
		return nil
	})
	if err != nil || n != len(want) {
		t.Errorf("%d results, %v", n, err)
	}
}
