package backendtest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
)

func (s *suite) testEmbedTokens(t *testing.T) {
	t.Run("Batches", s.testTokenBatches)
	t.Run("Texts", s.testTokenTexts)
	t.Run("Concurrent", s.testTokensConcurrent)
	t.Run("CancelInTheMiddle", s.testTokensCancel)
}

// embedTokens asks b and checks what holds for every answer.
func (s *suite) embedTokens(t *testing.T, texts ...string) []backend.TokenVectors {
	t.Helper()
	answer, err := s.b.EmbedTokens(t.Context(), texts)
	if err != nil {
		t.Fatalf("EmbedTokens of %d texts: %v", len(texts), err)
	}
	if err := checkTokens(texts, answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func checkTokens(texts []string, answer []backend.TokenVectors) error {
	if len(answer) != len(texts) {
		return fmt.Errorf("%d answers for %d texts", len(answer), len(texts))
	}
	width := 0
	for i, a := range answer {
		if len(a.Tokens) != len(a.Vectors) {
			return fmt.Errorf("%d tokens and %d vectors for %.60q", len(a.Tokens), len(a.Vectors), texts[i])
		}
		for k, v := range a.Vectors {
			if width == 0 {
				width = len(v)
			}
			if !utf8.ValidString(a.Tokens[k]) {
				return fmt.Errorf("token %d of %.60q is %q, which is not UTF-8", k, texts[i], a.Tokens[k])
			}
			if length := math.Sqrt(dot(v, v)); len(v) != width || !(math.Abs(length-1) < 0.01) {
				return fmt.Errorf("token %d of %.60q has a vector of %d numbers and length %v", k, texts[i], len(v), length)
			}
		}
	}
	return nil
}

// sameTokens reports whether two answers for one text have the same bits, or for a loose engine are near.
func (s *suite) sameTokens(a, b backend.TokenVectors) bool {
	return slices.Equal(a.Tokens, b.Tokens) && slices.EqualFunc(a.Vectors, b.Vectors, func(v, w []float32) bool {
		return slices.Equal(v, w) || s.Loose && dot(v, w) > sameVector
	})
}

// testTokenBatches embeds the tokens of 0, 1 and 100 texts, and checks that the batch changes neither bits
// nor order.
func (s *suite) testTokenBatches(t *testing.T) {
	for _, none := range [][]string{nil, {}} {
		s.embedTokens(t, none...)
	}
	texts := unseenTexts("Token by token")[:100]
	before := slices.Clone(texts)
	batch := s.embedTokens(t, texts...)
	if !slices.Equal(texts, before) {
		t.Error("EmbedTokens changed its texts")
	}
	for _, i := range []int{0, 1, 50, 98, 99} {
		alone := s.embedTokens(t, texts[i])[0]
		if !s.sameTokens(alone, batch[i]) {
			t.Errorf("text %d, %q: other tokens or vectors alone than in a batch", i, texts[i])
		}
		if len(alone.Tokens) == 0 {
			t.Errorf("text %d, %q, has no tokens", i, texts[i])
		}
		if i != 50 && s.sameTokens(alone, batch[50]) {
			t.Errorf("texts %d and 50 have the same tokens and vectors", i)
		}
	}
	if a := s.embedTokens(t, "same", "other", "same"); !s.sameTokens(a[0], a[2]) {
		t.Error("one text twice in a batch: the answers differ")
	}
}

// testTokenTexts embeds the tokens of odd, empty, long and too long texts.
func (s *suite) testTokenTexts(t *testing.T) {
	s.embedTokens(t, "🙂", "żółw 日本語", "</s><|im_end|>[SEP]", "a\x00b", "x")
	for _, blank := range []string{"", " \n "} {
		got := s.embedTokens(t, "a word", blank, "another")
		if blank == "" && len(got[1].Tokens) != 0 {
			t.Errorf("a text of nothing has the tokens %q", got[1].Tokens)
		}
		if len(got[0].Tokens) == 0 || len(got[2].Tokens) == 0 {
			t.Errorf("the texts beside %q have the tokens %q and %q", blank, got[0].Tokens, got[2].Tokens)
		}
	}
	if got := s.embedTokens(t, ""); len(got[0].Tokens) != 0 {
		t.Errorf("a text of nothing has the tokens %q", got[0].Tokens)
	}
	n := min(s.info.Context/4, 400)
	long := s.embedTokens(t, manyWords(n))[0]
	if len(long.Tokens) < n {
		t.Errorf("%d words have %d tokens", n, len(long.Tokens))
	}
	// A token's vector tells where it stands.
	last := func(a backend.TokenVectors) []float32 { return a.Vectors[len(a.Vectors)-1] }
	if a := s.embedTokens(t, "fishing on the river bank", "money in the bank"); slices.Equal(last(a[0]), last(a[1])) {
		t.Error("a word has one vector in two contexts")
	}
	_, err := s.b.EmbedTokens(t.Context(), []string{s.tooLong()})
	checkError(t, "text too long", err, backend.ErrPromptTooLong)
	_, err = s.b.EmbedTokens(t.Context(), []string{"short", s.tooLong(), "short"})
	checkError(t, "one text of three too long", err, backend.ErrPromptTooLong)
}

// testTokensConcurrent embeds the tokens of many small batches at once.
func (s *suite) testTokensConcurrent(t *testing.T) {
	texts := unseenTexts("Side by side")[:32]
	want := make([]backend.TokenVectors, len(texts))
	for i, text := range texts {
		want[i] = s.embedTokens(t, text)[0]
	}
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() {
			two := []string{texts[i], texts[31-i]}
			got, err := s.b.EmbedTokens(t.Context(), two)
			if err == nil {
				err = checkTokens(two, got)
			}
			if err != nil {
				t.Errorf("texts %d and %d: %v", i, 31-i, err)
			} else if !s.sameTokens(got[0], want[i]) || !s.sameTokens(got[1], want[31-i]) {
				t.Errorf("texts %d and %d: other tokens or vectors than alone", i, 31-i)
			}
		})
	}
	wg.Wait()
}

// testTokensCancel ends the context of a large batch, sooner and sooner until it comes in time.
func (s *suite) testTokensCancel(t *testing.T) {
	start := time.Now()
	s.embedTokens(t, unseenTexts("To be taken apart")[:50]...)
	for wait := time.Since(start); wait > time.Microsecond; wait /= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := s.b.EmbedTokens(ctx, unseenTexts(fmt.Sprint("To be taken apart within ", wait)))
		cancel()
		if err != nil {
			checkError(t, "cancelled", err, context.DeadlineExceeded)
			s.embedTokens(t, "after that")
			return
		}
	}
	t.Error("no batch took long enough to be cancelled")
}
