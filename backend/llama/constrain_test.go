package llama

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/grammar"
)

// judgeSchema is of the kind that metrics use.
const judgeSchema = `{"type":"object","properties":{
	"statements":{"type":"array","maxItems":5,"items":{"type":"object","properties":{
		"statement":{"type":"string","minLength":1},
		"reason":{"type":"string","maxLength":200},
		"verdict":{"enum":[0,1]}},
		"required":["statement","verdict"],"additionalProperties":false}},
	"score":{"type":"number","minimum":0,"maximum":1},
	"label":{"type":["string","null"],"enum":["yes","no",null]}},
	"required":["statements","label"],"additionalProperties":false}`

// choices returns the tokens that a mask leaves.
func choices(c *grammar.Constraint, size int) []llama.Token {
	logits := make([]float32, size)
	c.Mask(logits)
	var left []llama.Token
	for i, l := range logits {
		if !math.IsInf(float64(l), -1) {
			left = append(left, llama.Token(i))
		}
	}
	return left
}

// TestRefusedSchema checks that a schema which is not supported is the caller's error.
func TestRefusedSchema(t *testing.T) {
	testLib(t)
	e := open(t, Options{Model: tinyModel{template: plainTemplate}.write(t)})
	_, err := e.Generate(t.Context(), &backend.GenerateRequest{Messages: say("user", "a"), MaxTokens: 1,
		Schema: []byte(`{"not":{}}`)})
	if !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), `#/not: "not" is not supported`) {
		t.Errorf("error %v, want one that wraps ErrInvalid and names the keyword", err)
	}
}

// On a real vocabulary, every text that the tokenizer makes tokens of is accepted, and what is forced is
// what the tokenizer would have written.
func TestRealVocabulary(t *testing.T) {
	e := open(t, Options{Model: fromEnv(t, "ASSAY_TEST_JUDGE", "a TinyLlama GGUF")})
	v := e.model.vocab
	constrainer := grammar.New(v.writes())
	for _, text := range []string{
		`{"statements": [{"statement": "The harbour is old – 200 years.", "verdict": 1}], "score": 0.75, "label": "yes"}`,
		`{"statements":[],"label":null}`,
	} {
		c, err := constrainer.Constraint([]byte(judgeSchema))
		if err != nil {
			t.Fatal(err)
		}
		tokens := v.tokens(text, false)
		tokens[0] = withoutSpace(t, v, tokens[0])
		if forced := tokens32(c.Forced()); len(forced) == 0 || !slices.Equal(forced, tokens[:len(forced)]) {
			t.Errorf("%s: %v is forced, and the tokenizer writes %v", text, forced, tokens)
		}
		for i, token := range tokens {
			left := choices(c, v.size)
			if !slices.Contains(left, token) {
				t.Fatalf("%s: token %d, %q, is refused", text, i, v.piece(token))
			}
			for _, some := range []llama.Token{0, 1, 2, 3, 100, 1000, 10000, 31999} {
				if c.Allows(int32(some)) != slices.Contains(left, some) {
					t.Errorf("mask and allows differ on token %d", some)
				}
			}
			if !c.Accept(int32(token)) {
				t.Fatalf("%s: token %d, %q, is not accepted", text, i, v.piece(token))
			}
		}
		if !c.Ended() {
			t.Errorf("%s: more may follow", text)
		}
	}
}

// withoutSpace returns the token for what a token says behind the space that the tokenizer put before it.
func withoutSpace(t *testing.T, v *vocab, token llama.Token) llama.Token {
	t.Helper()
	text, spaced := strings.CutPrefix(string(v.piece(token)), " ")
	if !spaced {
		return token
	}
	for other := llama.Token(v.size) - 1; other >= 0; other-- {
		if string(v.piece(other)) == text {
			return other
		}
	}
	t.Fatalf("no token says %q", text)
	return token
}

// BenchmarkMask masks a vocabulary in states that a reply passes through, for the first time and again.
func BenchmarkMask(b *testing.B) {
	lib, path := os.Getenv("ASSAY_TEST_LIB"), os.Getenv("ASSAY_TEST_JUDGE")
	if lib == "" || path == "" {
		b.Skip("ASSAY_TEST_LIB and ASSAY_TEST_JUDGE do not name libraries and a model")
	}
	e, err := Open(b.Context(), Options{Lib: lib, Model: path, Digest: "sha256:", Log: b.Logf})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	v := e.model.vocab
	constrainer := grammar.New(v.writes())
	logits := make([]float32, v.size)
	letters := map[byte]int32{} // tokens of one byte
	for token := range llama.Token(v.size) {
		if p := v.piece(token); len(p) == 1 {
			letters[p[0]] = int32(token)
		}
	}
	tries := 0
	for _, state := range []struct{ name, text string }{
		{"start", ``},
		{"text", `{"statements": [{"statement": "The`},
		{"counted", `{"statements": [{"statement": "a", "reason": "The`},
		{"number", `{"statements": [], "score": 0.`},
		{"verdict", `{"statements": [{"statement": "a", "verdict": `},
	} {
		enter := func(schema string) *grammar.Constraint {
			c, err := constrainer.Constraint([]byte(schema))
			if err != nil {
				b.Fatal(err)
			}
			for i := range len(state.text) {
				if !c.Accept(letters[state.text[i]]) {
					b.Fatalf("byte %d of %q is refused", i, state.text)
				}
			}
			return c
		}
		b.Run(state.name+"/first", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				tries++ // another schema each time, whose tables are empty
				c := enter(fmt.Sprintf(`{"$comment":"%d",%s`, tries, judgeSchema[1:]))
				b.StartTimer()
				c.Mask(logits)
			}
		})
		b.Run(state.name+"/again", func(b *testing.B) {
			c := enter(judgeSchema)
			for b.Loop() {
				c.Mask(logits)
			}
		})
	}
	b.Run("vocabulary", func(b *testing.B) {
		for b.Loop() {
			grammar.New(v.writes()).Constraint([]byte(judgeSchema))
		}
	})
}

// tokens32 turns numbers into tokens.
func tokens32(numbers []int32) []llama.Token {
	var tokens []llama.Token
	for _, n := range numbers {
		tokens = append(tokens, llama.Token(n))
	}
	return tokens
}
