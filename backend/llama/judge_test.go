package llama

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// TestEncoderJudgeReference scores a sample with the metrics of an encoder, through a model of random weights that the
// test writes, and compares with the forward pass of the tests.
func TestEncoderJudgeReference(t *testing.T) {
	testLib(t)
	labels := []string{"answer_relevance", "faithfulness", "answer_correctness", "context_relevance"}
	m := newTinyBert(labels...)
	e := open(t, Options{Model: m.write(t, closed()...), Threads: 1})
	if got := e.Info().Labels; !slices.Equal(got, labels) {
		t.Fatalf("Labels are %q", got)
	}
	sample := &metrics.Sample{ID: "1", Question: "which river", Answer: "silver river",
		Contexts: []string{"the silver bridge", "winter forest"}, References: []string{"cloud river"}}
	chance := func(label int, query, text string) float64 {
		const cls, sep = 2, 3
		tokens := append([]int{cls}, m.words(query)...)
		tokens = append(append(append(tokens, sep), m.words(text)...), sep)
		return 1 / (1 + math.Exp(-m.head(tokens)[label]))
	}
	want := map[string]float64{
		"answer_relevance/encoder": chance(0, "which river", "silver river"),
		"faithfulness/encoder":     chance(1, "silver river", "the silver bridge winter forest"),
		"context_relevance/encoder": (chance(3, "which river", "the silver bridge") +
			chance(3, "which river", "winter forest")) / 2,
	}
	var names []string
	for name := range want {
		names = append(names, name)
	}
	ms, err := all.Select(names)
	if err != nil {
		t.Fatal(err)
	}
	if err := metrics.Check(ms, metrics.Models{Roles: metrics.Roles{backend.Encoder: e}}, sample.Fields()); err != nil {
		t.Fatal(err)
	}
	samples := func(yield func(*metrics.Sample, error) bool) { yield(sample, nil) }
	n := 0
	err = metrics.Run(t.Context(), samples, ms,
		metrics.Models{Roles: metrics.Roles{backend.Encoder: backend.Backend(e)}}, metrics.Options{},
		func(r metrics.Result) error {
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

// TestShippedEncoderReference holds the encoder judge that comes with Assay to what PyTorch computed with its weights
// (scripts/train-judge/bert.py, in 32 bits, on rows of examples/qa.jsonl).
func TestShippedEncoderReference(t *testing.T) {
	testLib(t)
	e := open(t, Options{Model: filepath.Join("..", "..", "models", "assets", "encoder-judge.gguf")})
	labels := e.Info().Labels
	check := func(label, query, text string, want float64) {
		t.Helper()
		answer, err := backend.Classify(t.Context(), e, []backend.Pair{{Query: query, Text: text}})
		if err != nil {
			t.Fatal(err)
		}
		got := 1 / (1 + math.Exp(-float64(answer[0][slices.Index(labels, label)])))
		if math.Abs(got-want) > 0.02 {
			t.Errorf("%s of %q and %q is %.4f, want %.4f", label, query, text, got, want)
		}
	}
	titan := "Which moon of Saturn has a thick atmosphere, and what is it made of?"
	check("answer_relevance", titan, "Titan. Its atmosphere is mostly nitrogen.", 0.6845)
	check("context_relevance", titan, "Jupiter is the largest planet of the solar system.", 0.0194)
	check("answer_correctness", titan+" | Titan; its atmosphere is mostly nitrogen.",
		"Titan. Its atmosphere is mostly nitrogen.", 0.9795)
	leave := "How far ahead must parental leave be requested in Ellery, and is there an exception?"
	check("answer_relevance", leave, "It must be requested in writing, eight weeks ahead.", 0.4528)
	check("context_relevance", leave, "The town hall is closed on public holidays.", 0.0264)
	ahead := "Parental leave must be requested in writing, eight weeks ahead."
	check("faithfulness", "It must be requested eight weeks ahead.", ahead, 0.8944)
	check("faithfulness", "It must be requested six weeks ahead.", ahead, 0.0596)
	check("contradiction", "It must be requested eight weeks ahead.", ahead, 0.0526)
	check("contradiction", "It must be requested six weeks ahead.", ahead, 0.8458)
}
