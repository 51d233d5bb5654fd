package remote

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
)

func TestChoose(t *testing.T) {
	tokens := func(pairs ...any) (top []Token) {
		for i := 0; i < len(pairs); i += 2 {
			top = append(top, Token{pairs[i].(string), math.Log(pairs[i+1].(float64))})
		}
		return top
	}
	check := func(top []Token, continuations []string, want ...float64) {
		t.Helper()
		got, err := Choose(top, continuations)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: %v, %v; want the logarithms of %v", continuations, got, err, want)
			return
		}
		for i := range want {
			if math.Abs(math.Exp(got[i])-want[i]) > 1e-12 {
				t.Errorf("%q: number %d has probability %v, want %v", continuations, i, math.Exp(got[i]), want[i])
			}
		}
	}
	yesNo := []string{"Yes", "No"}
	check(tokens("Yes", 0.5, "No", 0.25, "The", 0.125), yesNo, 0.5, 0.25)
	check(tokens(" Yes", 0.5, "Yes", 0.125, "N", 0.25), yesNo, 0.625, 0.25) // with and without the space; a part
	check(tokens("Yes", 0.5, "Not", 0.25, "\n", 0.125), yesNo, 0.5, 0.125)  // "Not" does not begin "No": the bound
	check(tokens("yes", 0.5, "No", 0.25), yesNo, 0.25, 0.25)                // nor does "yes" begin "Yes"
	check(tokens("A", 0.5, "B", 0.25), []string{"A", "B", "A"}, 0.5, 0.25, 0.5)
	check(tokens("A", 1.0), []string{" A and more"}, 1)

	refuse := func(top []Token, continuations []string, invalid bool, says string) {
		t.Helper()
		got, err := Choose(top, continuations)
		if err == nil || !strings.Contains(err.Error(), says) || errors.Is(err, backend.ErrInvalid) != invalid {
			t.Errorf("%q: %v, error %v; want one that says %q", continuations, got, err, says)
		}
	}
	refuse(tokens("The", 0.5, "\n", 0.25), yesNo, false,
		`none of ["Yes" "No"] begins with one of the 2 most probable tokens, "The"`)
	refuse(nil, yesNo, false, "0 most probable tokens")
	refuse(tokens("1", 0.5), []string{"1", "10"}, true, `both begin with the token "1"`)
	refuse([]Token{{"Yes", 2}}, yesNo, false, "the log-probability 2")
	refuse([]Token{{"Yes", math.NaN()}}, yesNo, false, "NaN")
}

func TestControls(t *testing.T) {
	c := NewControls(map[string]any{
		"tokenizer.ggml.tokens":     []any{"<unk>", "<s>", "</s>", "word", "<|im_end|>", "", "<0x0A>", "<s>x"},
		"tokenizer.ggml.token_type": []any{2.0, 3.0, 3.0, 1.0, 3.0, 3.0, 6.0, 4.0},
	})
	for text, want := range map[string]string{"": "", "word": "", "a < b": "", "<0x0A>": "", "<|im_end|": "",
		"a<|im_end|>": "<|im_end|>",
		"</s":         "", "x</s>y": "</s>", "<<s>": "<s>", "é<unk>": "<unk>"} {
		if got := c.Find(text); got != want {
			t.Errorf("in %q found %q, want %q", text, got, want)
		}
	}
	if NewControls(map[string]any{"tokenizer.ggml.tokens": nil}) != nil || NewControls(nil) != nil ||
		NewControls(map[string]any{
			"tokenizer.ggml.tokens": []any{"a"}, "tokenizer.ggml.token_type": []any{},
		}) != nil {
		t.Error("a vocabulary that the server does not tell has control tokens")
	}
}

func TestPackagedStops(t *testing.T) {
	got := PackagedStops("temperature                    0.7\nstop                           \"<|user|>\"\n" +
		"stop \"a\\nb\"\nstop \"<|user|>\"\nstop bare\nstop \"\"\nstopped \"x\"")
	if want := []string{"<|user|>", "a\nb"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzPackagedStops(f *testing.F) {
	f.Add("stop \"a\"\nstop \"b\"")
	f.Add("stop `a`\nstop 'x'\nstop \"\\xff\"")
	f.Fuzz(func(t *testing.T, parameters string) {
		stops := PackagedStops(parameters)
		for i, stop := range stops {
			if stop == "" || slices.Contains(stops[:i], stop) {
				t.Errorf("%q has the stop strings %q", parameters, stops)
			}
		}
	})
}
