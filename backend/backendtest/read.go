package backendtest

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/assay-eval/assay/backend"
)

// testReadTokens checks prompts that are given in tokens. Of the vocabulary it knows no more than that there are a few hundred.
func (s *suite) testReadTokens(t *testing.T) {
	if !s.info.Ops.Has(backend.CanGenerate | backend.CanScore) {
		t.Error("Info claims to read tokens but not to generate and score")
	}
	score := func(likely int, tokens ...int32) *backend.Scores {
		t.Helper()
		req := &backend.ScoreRequest{Tokens: tokens, Likely: likely}
		before := slices.Clone(tokens)
		got, err := s.b.Score(t.Context(), req)
		if err != nil {
			t.Fatalf("Score of the tokens %v: %v", tokens, err)
		}
		if !slices.Equal(req.Tokens, before) {
			t.Error("Score changed its request")
		}
		checkReadTokens(t, req, got)
		return got
	}
	var tokens []int32
	for i := range 90 {
		tokens = append(tokens, int32(5+i*i%97))
	}
	whole := score(3, tokens...)
	if again := score(3, tokens...); !near(whole.LogProbs[0], again.LogProbs[0]) || !s.Loose && !reflect.DeepEqual(again, whole) {
		t.Errorf("the same tokens twice: %v and %v", whole, again)
	}
	if again := score(0, tokens...); !near(whole.LogProbs[0], again.LogProbs[0]) {
		t.Errorf("with likely tokens %v, without %v", whole.LogProbs[0], again.LogProbs[0])
	}
	// What comes later changes nothing but how sums are rounded: a short text may be computed in another way than a long
	// one. Rounding lets log-probabilities of unlikely tokens lie tenths apart; other tokens before them, several units.
	for _, n := range []int{2, 40, 80} {
		got := score(3, append(slices.Clone(tokens[:n]), 7)...)
		apart := 0.0
		for i, v := range got.LogProbs[0][:n-1] {
			apart += math.Abs(v-whole.LogProbs[0][i]) / float64(n-1)
		}
		if !(apart < 0.25) {
			t.Errorf("the first %d tokens: %v with others behind them, %v before", n, got.LogProbs[0], whole.LogProbs[0])
		}
	}
	// The likeliest token that may come next, put there, is as probable as was told.
	next := whole.Likely[len(tokens)-1][0]
	longer := score(1, append(slices.Clone(tokens), next.ID)...)
	if got := longer.LogProbs[0][len(tokens)-1]; !near([]float64{got}, []float64{next.LogProb}) {
		t.Errorf("token %d was told to have log-probability %v, and has %v", next.ID, next.LogProb, got)
	}

	req := &backend.GenerateRequest{Tokens: tokens, MaxTokens: s.Tokens}
	g, err := s.b.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkGeneration(req, g); err != nil || g.PromptTokens != len(tokens) {
		t.Errorf("%+v: %v", g, err)
	}
	if again, err := s.b.Generate(t.Context(), req); err != nil || !s.Loose && *again != *g {
		t.Errorf("from the same tokens %+v, then %+v, %v", g, again, err)
	}

	_, err = s.b.Score(t.Context(), &backend.ScoreRequest{Tokens: []int32{5, math.MaxInt32}})
	checkError(t, "Score, a token unknown", err, backend.ErrInvalid)
	_, err = s.b.Generate(t.Context(), &backend.GenerateRequest{Tokens: []int32{math.MaxInt32}, MaxTokens: 1})
	checkError(t, "Generate, a token unknown", err, backend.ErrInvalid)
	_, err = s.b.Score(t.Context(), &backend.ScoreRequest{Tokens: []int32{5}, Continuations: []string{"yes"}})
	checkError(t, "Score, tokens beside a continuation", err, backend.ErrInvalid)
	long := slices.Repeat([]int32{5}, s.info.Context+1)
	_, err = s.b.Score(t.Context(), &backend.ScoreRequest{Tokens: long})
	checkError(t, "Score, tokens too long", err, backend.ErrPromptTooLong)
	_, err = s.b.Generate(t.Context(), &backend.GenerateRequest{Tokens: long[2:], MaxTokens: 2})
	checkError(t, "Generate, tokens fit, but not with MaxTokens", err, backend.ErrPromptTooLong)
}

// checkReadTokens checks what holds for every answer about tokens.
func checkReadTokens(t *testing.T, req *backend.ScoreRequest, got *backend.Scores) {
	t.Helper()
	n := len(req.Tokens)
	if len(got.LogProbs) != 1 || len(got.LogProbs[0]) != n-1 || got.PromptTokens != n {
		t.Fatalf("%d tokens are scored %+v", n, got)
	}
	for i, v := range got.LogProbs[0] {
		if !(v <= 0) || math.IsInf(v, 0) {
			t.Errorf("token %d has log-probability %v", i+1, v)
		}
	}
	if req.Likely == 0 {
		if got.Likely != nil {
			t.Errorf("likely tokens that were not asked for: %v", got.Likely)
		}
		return
	}
	if len(got.Likely) != n {
		t.Fatalf("likely tokens at %d places of %d", len(got.Likely), n)
	}
	for i, list := range got.Likely {
		if len(list) != req.Likely || !slices.IsSortedFunc(list, func(a, b backend.LikelyToken) int {
			return cmp.Or(cmp.Compare(b.LogProb, a.LogProb), cmp.Compare(a.ID, b.ID))
		}) {
			t.Fatalf("behind token %d: %v", i, list)
		}
		sum := 0.0
		for _, token := range list {
			sum += math.Exp(token.LogProb)
		}
		if sum > 1.0001 {
			t.Errorf("behind token %d: the probabilities of %v add up to %v", i, list, sum)
		}
		if i+1 == n {
			break
		}
		if own := got.LogProbs[0][i]; own > list[0].LogProb {
			t.Errorf("token %d has log-probability %v, and the likeliest %v", i+1, own, list[0].LogProb)
		}
		for _, token := range list {
			if token.ID == req.Tokens[i+1] && token.LogProb != got.LogProbs[0][i] {
				t.Errorf("token %d has log-probability %v, and among the likeliest %v", i+1, got.LogProbs[0][i], token.LogProb)
			}
		}
	}
}
