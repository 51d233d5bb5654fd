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

// sameVector is the least cosine of two embeddings of one text: what batching and rounding may do.
const sameVector = 0.999

func (s *suite) testEmbed(t *testing.T) {
	t.Run("Batches", s.testBatches)
	t.Run("Texts", s.testEmbedTexts)
	t.Run("Concurrent", s.testEmbedConcurrent)
	t.Run("CancelInTheMiddle", s.testEmbedCancel)
}

// embed asks b and checks what holds for every answer.
func (s *suite) embed(t *testing.T, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := s.b.Embed(t.Context(), texts)
	if err != nil {
		t.Fatalf("Embed of %d texts: %v", len(texts), err)
	}
	if err := checkVectors(texts, vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func checkVectors(texts []string, vectors [][]float32) error {
	if len(vectors) != len(texts) {
		return fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	for i, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return fmt.Errorf("vector %d has %d dimensions, vector 0 has %d", i, len(v), len(vectors[0]))
		}
		if length := math.Sqrt(dot(v, v)); !(math.Abs(length-1) < 1e-3) {
			return fmt.Errorf("vector %d, of %.60q, has length %v", i, texts[i], length)
		}
	}
	return nil
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// thousandTexts are 1000 short texts, no two alike in meaning.
func thousandTexts() []string {
	var texts []string
	for _, who := range []string{"A cat", "The king", "My doctor", "One robot", "Some farmers",
		"The river", "A lawyer", "Her violin", "Every planet", "No train"} {
		for _, does := range []string{"sleeps", "burns", "argues", "sings", "disappears",
			"grows", "waits", "explodes", "laughs", "freezes"} {
			for _, where := range []string{"in Paris", "under water", "at school", "on the moon", "after lunch",
				"in the desert", "by mistake", "during war", "with honey", "for money"} {
				texts = append(texts, who+" "+does+" "+where)
			}
		}
	}
	return texts
}

// unseenTexts are 1000 texts that no cache can know yet, if the beginning is new.
func unseenTexts(beginning string) []string {
	texts := thousandTexts()
	for i := range texts {
		texts[i] = beginning + ": " + texts[i]
	}
	return texts
}

// testBatches embeds 0, 1 and 1000 texts, and checks that the batch changes neither vectors nor order.
func (s *suite) testBatches(t *testing.T) {
	for _, none := range [][]string{nil, {}} {
		s.embed(t, none...)
	}
	texts := thousandTexts()
	before := slices.Clone(texts)
	batch := s.embed(t, texts...)
	if !slices.Equal(texts, before) {
		t.Error("Embed changed its texts")
	}
	for _, i := range []int{0, 1, 499, 998, 999} {
		alone := s.embed(t, texts[i])[0]
		best := 0
		for j := range batch {
			if dot(alone, batch[j]) > dot(alone, batch[best]) {
				best = j
			}
		}
		if best != i || dot(alone, batch[i]) < sameVector {
			t.Errorf("text %d, %q: its vector alone is nearest to %d of the batch, and has cosine %.6f with its own there",
				i, texts[i], best, dot(alone, batch[i]))
		}
	}
	if v := s.embed(t, "same", "other", "same"); dot(v[0], v[2]) < sameVector {
		t.Errorf("one text twice in a batch: cosine %v", dot(v[0], v[2]))
	}
}

// testEmbedTexts embeds odd, empty, long and too long texts.
func (s *suite) testEmbedTexts(t *testing.T) {
	s.embed(t, "🙂", "żółw 日本語", "</s><|im_end|>[SEP]", "a\x00b", "x")
	for _, blank := range []string{"", " \n "} {
		vectors, err := s.b.Embed(t.Context(), []string{"a word", blank})
		if err != nil {
			checkError(t, fmt.Sprintf("text %q", blank), err, backend.ErrInvalid) // some models cannot embed nothing
		} else if err := checkVectors([]string{"a word", blank}, vectors); err != nil {
			t.Error(err)
		}
	}
	n := min(s.info.Context/4, 400)
	long := s.embed(t, manyWords(n), "An unrelated sentence. "+manyWords(n))
	if dot(long[0], long[1]) > 1-1e-9 {
		t.Error("two long texts that differ have one vector")
	}
	_, err := s.b.Embed(t.Context(), []string{s.tooLong()})
	checkError(t, "text too long", err, backend.ErrPromptTooLong)
	_, err = s.b.Embed(t.Context(), []string{"short", s.tooLong(), "short"})
	checkError(t, "one text of three too long", err, backend.ErrPromptTooLong)
}

// testEmbedConcurrent embeds many small batches at once.
func (s *suite) testEmbedConcurrent(t *testing.T) {
	texts := thousandTexts()
	want := s.embed(t, texts[:32]...)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			pair := []string{texts[i], texts[31-i]}
			got, err := s.b.Embed(t.Context(), pair)
			if err == nil {
				err = checkVectors(pair, got)
			}
			if err != nil {
				t.Errorf("texts %d and %d: %v", i, 31-i, err)
			} else if dot(got[0], want[i]) < sameVector || dot(got[1], want[31-i]) < sameVector {
				t.Errorf("texts %d and %d: other vectors than in one batch", i, 31-i)
			}
		})
	}
	wg.Wait()
}

// testEmbedCancel ends the context of a large batch, sooner and sooner until it comes in time.
func (s *suite) testEmbedCancel(t *testing.T) {
	start := time.Now()
	s.embed(t, unseenTexts("To be embedded")[:50]...)
	for wait := time.Since(start); wait > time.Microsecond; wait /= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := s.b.Embed(ctx, unseenTexts(fmt.Sprint("To be embedded within ", wait)))
		cancel()
		if err != nil {
			checkError(t, "cancelled", err, context.DeadlineExceeded)
			s.embed(t, "after that")
			return
		}
	}
	t.Error("no batch took long enough to be cancelled")
}
