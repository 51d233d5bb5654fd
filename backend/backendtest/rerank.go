package backendtest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
)

func (s *suite) testRerank(t *testing.T) {
	t.Run("Batches", s.testRerankBatches)
	t.Run("Texts", s.testRerankTexts)
	t.Run("Concurrent", s.testRerankConcurrent)
	t.Run("CancelInTheMiddle", s.testRerankCancel)
}

// rerank asks b and checks what holds for every answer.
func (s *suite) rerank(t *testing.T, pairs ...backend.Pair) [][]float32 {
	t.Helper()
	outputs, err := s.b.Rerank(t.Context(), pairs)
	if err != nil {
		t.Fatalf("Rerank of %d pairs: %v", len(pairs), err)
	}
	if err := checkOutputs(pairs, outputs); err != nil {
		t.Fatal(err)
	}
	return outputs
}

func checkOutputs(pairs []backend.Pair, outputs [][]float32) error {
	if len(outputs) != len(pairs) {
		return fmt.Errorf("%d outputs for %d pairs", len(outputs), len(pairs))
	}
	for i, list := range outputs {
		if len(list) == 0 || len(list) != len(outputs[0]) {
			return fmt.Errorf("output %d has %d numbers, output 0 has %d", i, len(list), len(outputs[0]))
		}
		for _, v := range list {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return fmt.Errorf("output %d, for %.60q, holds %v", i, pairs[i], v)
			}
		}
	}
	return nil
}

// same reports whether two outputs for one pair have the same bits, or for a loose engine are near.
func (s *suite) same(a, b []float32) bool {
	if !s.Loose {
		return slices.Equal(a, b)
	}
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Abs(float64(x-y)) <= 0.02+0.02*math.Abs(float64(x))
	})
}

// unseenPairs are 1000 short pairs, no two alike, that no cache can know yet, if the beginning is new.
func unseenPairs(beginning string) []backend.Pair {
	var pairs []backend.Pair
	for i, text := range unseenTexts(beginning) {
		pairs = append(pairs, backend.Pair{Query: fmt.Sprintf("%s: who is number %d?", beginning, i), Text: text})
	}
	return pairs
}

// testRerankBatches asks about 0, 1 and 100 pairs, and checks that the batch changes neither numbers nor
// order.
func (s *suite) testRerankBatches(t *testing.T) {
	for _, none := range [][]backend.Pair{nil, {}} {
		s.rerank(t, none...)
	}
	pairs := unseenPairs("Reranked")[:100]
	before := slices.Clone(pairs)
	batch := s.rerank(t, pairs...)
	if !slices.Equal(pairs, before) {
		t.Error("Rerank changed its pairs")
	}
	varied := false
	for _, i := range []int{0, 1, 50, 98, 99} {
		if alone := s.rerank(t, pairs[i])[0]; !s.same(alone, batch[i]) {
			t.Errorf("pair %d, %q: %v alone, %v in a batch", i, pairs[i], alone, batch[i])
		}
		varied = varied || !slices.Equal(batch[i], batch[0])
	}
	if !varied {
		t.Errorf("pairs that differ all have the output %v", batch[0])
	}
	twice := backend.Pair{Query: "the same", Text: "again"}
	if v := s.rerank(t, twice, backend.Pair{Query: "other", Text: "again"}, twice); !s.same(v[0], v[2]) {
		t.Errorf("one pair twice in a batch: %v and %v", v[0], v[2])
	}
}

// testRerankTexts asks about odd, empty, long and too long texts.
func (s *suite) testRerankTexts(t *testing.T) {
	s.rerank(t, backend.Pair{Query: "🙂", Text: "żółw 日本語"}, backend.Pair{Query: "</s><|im_end|>[SEP]", Text: "a\x00b"})
	for _, p := range []backend.Pair{{}, {Query: "a word"}, {Text: "a word"}, {Query: " ", Text: " \n "}} {
		pairs := []backend.Pair{{Query: "a word", Text: "another"}, p}
		outputs, err := s.b.Rerank(t.Context(), pairs)
		if err != nil {
			checkError(t, fmt.Sprintf("pair %q", p), err, backend.ErrInvalid) // some models cannot judge nothing
		} else if err := checkOutputs(pairs, outputs); err != nil {
			t.Error(err)
		}
	}
	s.rerank(t, backend.Pair{Query: "An unrelated sentence.", Text: manyWords(min(s.info.Context/4, 400))})
	short := backend.Pair{Query: "short", Text: "shorter"}
	for _, long := range []backend.Pair{{Query: s.tooLong(), Text: "short"}, {Query: "short", Text: s.tooLong()}} {
		_, err := s.b.Rerank(t.Context(), []backend.Pair{long})
		checkError(t, "pair too long", err, backend.ErrPromptTooLong)
		_, err = s.b.Rerank(t.Context(), []backend.Pair{short, long, short})
		checkError(t, "one pair of three too long", err, backend.ErrPromptTooLong)
	}
}

// testRerankConcurrent asks about many small batches at once.
func (s *suite) testRerankConcurrent(t *testing.T) {
	pairs := unseenPairs("Alone")[:32]
	want := make([][]float32, len(pairs))
	for i, p := range pairs {
		want[i] = s.rerank(t, p)[0]
	}
	var wg sync.WaitGroup
	for i := range pairs {
		wg.Go(func() {
			two := []backend.Pair{pairs[i], pairs[31-i]}
			got, err := s.b.Rerank(t.Context(), two)
			if err == nil {
				err = checkOutputs(two, got)
			}
			if err != nil {
				t.Errorf("pairs %d and %d: %v", i, 31-i, err)
			} else if !s.same(got[0], want[i]) || !s.same(got[1], want[31-i]) {
				t.Errorf("pairs %d and %d: %v, want %v and %v", i, 31-i, got, want[i], want[31-i])
			}
		})
	}
	wg.Wait()
}

// testRerankCancel ends the context of a large batch, sooner and sooner until it comes in time.
func (s *suite) testRerankCancel(t *testing.T) {
	start := time.Now()
	s.rerank(t, unseenPairs("To be judged")[:50]...)
	for wait := time.Since(start); wait > time.Microsecond; wait /= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := s.b.Rerank(ctx, unseenPairs(fmt.Sprint("To be judged within ", wait)))
		cancel()
		if err != nil {
			checkError(t, "cancelled", err, context.DeadlineExceeded)
			s.rerank(t, backend.Pair{Query: "after", Text: "that"})
			return
		}
	}
	t.Error("no batch took long enough to be cancelled")
}
