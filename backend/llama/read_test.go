package llama

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/assay-eval/assay/backend"
)

// asTokens cuts a text as an engine's model does.
func asTokens(t *testing.T, e *Engine, text string) []int32 {
	t.Helper()
	tokens, err := e.Tokenize(t.Context(), text, true, false)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func forecastOf(t *testing.T, e *Engine, tokens []int32, likely int) *backend.Scores {
	t.Helper()
	s, err := e.Score(t.Context(), &backend.ScoreRequest{Tokens: tokens, Likely: likely})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestExactReading compares the scores of texts in tokens with a plain evaluation of the same tokens, and checks that
// they have the same bits alone, beside others, and when their beginning was scored before.
func TestExactReading(t *testing.T) {
	path := tinyModel{template: plainTemplate}.write(t)
	fresh := func() *Engine { return open(t, Options{Model: path, Slots: 8, Context: 1024}) }
	e := fresh()
	stem := strings.Repeat("the ferry sails from may to september and the harbour is grey. ", 5)
	var texts [][]int32
	for _, end := range []string{"in may", "in june, not before", "a", strings.Repeat("no more ferries. ", 9)} {
		texts = append(texts, asTokens(t, e, stem+end))
	}
	texts = append(texts, texts[0][:1], texts[0][:2], texts[0][:64], texts[0][:65], texts[0][:200])
	alone := make([]*backend.Scores, len(texts))
	for i, tokens := range texts {
		own := fresh()
		alone[i] = forecastOf(t, own, tokens, 2)
		if got := own.Stats().PromptComputed; got != int64(len(tokens)) {
			t.Errorf("%d tokens took %d computed ones", len(tokens), got)
		}
		list, err := own.known(tokens)
		if err != nil {
			t.Fatal(err)
		}
		want := plainScore(t, own.model, list, 1, block)
		for k := range want {
			if d := math.Abs(alone[i].LogProbs[0][k] - want[k]); d > 1e-3 {
				t.Fatalf("text %d, token %d: %v, want %v", i, k+1, alone[i].LogProbs[0][k], want[k])
			}
		}
		own.Close()
	}
	for i, tokens := range texts { // one after the other
		if got := forecastOf(t, e, tokens, 2); !reflect.DeepEqual(got, alone[i]) {
			t.Errorf("text %d has other bits after others than alone", i)
		}
	}
	if got := forecastOf(t, e, texts[3], 1); !slices.Equal(got.LogProbs[0], alone[3].LogProbs[0]) {
		t.Error("a text has other bits with fewer likely tokens")
	}
	sum := 0
	for _, tokens := range texts {
		sum += len(tokens)
	}
	if got := e.Stats().PromptComputed; got > int64(sum/2) {
		t.Errorf("%d tokens with a common beginning took %d computed ones", sum, got)
	}

	e = fresh()
	var wg sync.WaitGroup
	for range 2 {
		for i, tokens := range texts {
			wg.Go(func() {
				got, err := e.Score(t.Context(), &backend.ScoreRequest{Tokens: tokens, Likely: 2})
				if err != nil || !reflect.DeepEqual(got, alone[i]) {
					t.Errorf("text %d has other bits beside others than alone, %v", i, err)
				}
			})
		}
		wg.Go(func() {
			if _, err := e.Generate(t.Context(), &backend.GenerateRequest{Tokens: texts[1], MaxTokens: 40}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s := e.Stats(); s.PromptComputed > int64(sum) {
		t.Errorf("%d tokens, each twice, took %d computed ones at once", sum, s.PromptComputed)
	}
}

// TestReadingTellsGreedy checks that the likeliest tokens are those that a greedy reply goes on with.
func TestReadingTellsGreedy(t *testing.T) {
	testLib(t)
	e := open(t, Options{Model: tinyModel{}.write(t), Slots: 2, Context: 512})
	tokens := asTokens(t, e, "so it was a grey day")
	g, err := e.Generate(t.Context(), &backend.GenerateRequest{Tokens: tokens, MaxTokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	var said []byte
	for range g.OutputTokens {
		next := forecastOf(t, e, tokens, 1).Likely[len(tokens)-1][0].ID
		pieces, err := e.Pieces(t.Context(), []int32{next})
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, pieces[0].Text...)
		tokens = append(tokens, next)
	}
	if string(said) != g.Text || g.Text == "" {
		t.Errorf("the likeliest tokens spell %q, the reply is %q", said, g.Text)
	}
}

// TestVocabulary checks how texts are cut, and that the pieces spell them again.
func TestVocabulary(t *testing.T) {
	testLib(t)
	e := open(t, Options{Model: tinyModel{template: plainTemplate}.write(t), Slots: 2, Context: 256})
	check := func(text string, start, special bool, wantText string, wantSpecial ...string) {
		t.Helper()
		tokens, err := e.Tokenize(t.Context(), text, start, special)
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := e.Pieces(t.Context(), tokens)
		if err != nil {
			t.Fatal(err)
		}
		var spelt strings.Builder
		var specials []string
		for _, p := range pieces {
			if p.Special {
				specials = append(specials, string(p.Text))
			} else {
				spelt.Write(p.Text)
			}
		}
		if spelt.String() != wantText || !slices.Equal(specials, wantSpecial) {
			t.Errorf("%q has the pieces %q and special ones %q, want %q and %q", text, spelt.String(), specials, wantText, wantSpecial)
		}
	}
	check("so", true, false, " so", "<s>") // this vocabulary has texts begin with a space
	check("so", false, false, " so")
	check("", true, false, "", "<s>")
	check("", false, false, "")
	check("é 🙂\n", false, false, " é 🙂\n")
	check("a</s>", false, false, " a</s>")
	check("a</s>", true, true, " a", "<s>", "</s>")
	check("<s>a", true, true, " a", "<s>") // not twice
	begin, end, template, err := e.Specials(t.Context())
	if begin != "<s>" || end != "</s>" || template != plainTemplate || err != nil {
		t.Errorf("specials are %q, %q and the template %q, %v", begin, end, template, err)
	}
}

func TestLikeliest(t *testing.T) {
	logits := []float32{1, 5, -2, 5, 4, 0}
	all := []int32{1, 3, 4, 0, 5, 2}
	for k := 1; k <= len(all)+1; k++ {
		want := all[:min(k, len(all))]
		got := []int32{}
		for _, token := range likeliest(logits, k) {
			got = append(got, int32(token))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the %d likeliest are %v, want %v", k, got, want)
		}
	}
}

// TestReadingIsScoring checks that a chat, read as the tokens that it is rendered to, has the probabilities that a
// continuation of it has.
func TestReadingIsScoring(t *testing.T) {
	testLib(t)
	check := func(e *Engine, within float64) {
		t.Helper()
		req := &backend.ScoreRequest{Messages: say("user", "is it so"), Continuations: []string{"no it is a grey day"}}
		want, err := e.Score(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		prompt, _, list, err := e.continuations(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		var tokens []int32
		for _, token := range slices.Concat(prompt, list[0]) {
			tokens = append(tokens, int32(token))
		}
		got := forecastOf(t, e, tokens, 0).LogProbs[0][len(prompt)-1:]
		if len(got) != len(want.LogProbs[0]) {
			t.Fatalf("%d probabilities, want %d", len(got), len(want.LogProbs[0]))
		}
		for i := range got {
			if math.Abs(got[i]-want.LogProbs[0][i]) > within {
				t.Errorf("token %d has %v, as a continuation %v", i, got[i], want.LogProbs[0][i])
			}
		}
	}
	check(open(t, Options{Model: tinyModel{template: plainTemplate}.write(t), Slots: 2, Context: 256}), 0)
	t.Run("judge", func(t *testing.T) {
		check(open(t, Options{Model: fromEnv(t, "ASSAY_TEST_JUDGE", "a TinyLlama GGUF"), Slots: 2, Context: 256}), 0)
	})
}
