package llama

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// words is a vocabulary that ends replies with its token 0, and has control tokens, which are empty.
type words []string

func (w words) piece(t llama.Token) []byte { return []byte(w[t]) }
func (w words) ends(t llama.Token) bool    { return t == 0 }

// testWords are all bytes, then pieces of many kinds.
func testWords() words {
	w := words{"", ""}
	for b := range 256 {
		w = append(w, string([]byte{byte(b)}))
	}
	w = append(w, strings.Fields(`{" "} {"a ":" ", ","a ": [{" "}] [] {} "" true false null tru als ul "} yes no maybe state ment
		statements statement label verdict reason é 😀 ö" \u \u00 \n \" 10 123 0.5 e+ ]} }, "}, 1, 0}`)...)
	w = append(w, ": ", ", ", `": "`, `", "`, `": `, `, "`, " the", " a", "\n", "\xe2\x82", "\x82\xac", "\xac and", "{", "a", "\"")
	return w
}

func newTestConstraint(t testing.TB, text speller, size int, schema string) *constraint {
	t.Helper()
	c, err := newConstrainer(text, size).constraint([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// choices returns the tokens that a mask leaves.
func choices(c *constraint, size int) []llama.Token {
	logits := make([]float32, size)
	some := c.mask(logits)
	var left []llama.Token
	for i, l := range logits {
		if !math.IsInf(float64(l), -1) {
			left = append(left, llama.Token(i))
		}
	}
	if some != (len(left) > 0) {
		panic("mask says that it left tokens when it left none, or the other way round")
	}
	return left
}

// Mask and allows agree on every token, and what is written with tokens is valid.
func TestTokenWalks(t *testing.T) {
	w := testWords()
	for i, schema := range schemas {
		valid := validator(t, schema)
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		constrainer := newConstrainer(w, len(w))
		for range 10 {
			c, err := constrainer.constraint([]byte(schema))
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for range 60 {
				left := choices(c, len(w))
				for token := range llama.Token(len(w)) {
					if c.allows(token) != slices.Contains(left, token) {
						t.Fatalf("%s after %q: mask and allows differ on %q", schema, &text, w[token])
					}
				}
				if len(left) == 0 {
					t.Fatalf("%s: no token may follow %q", schema, &text)
				}
				if c.ended() != (len(left) == 1 && left[0] == 0) {
					t.Fatalf("%s: ended is %v after %q, where %d tokens may follow", schema, c.ended(), &text, len(left))
				}
				if left[0] == 0 {
					if err := valid(text.String()); err != nil {
						t.Fatalf("%s: %q may end: %v", schema, &text, err)
					}
				}
				token := left[rng.IntN(len(left))]
				if !c.accept(token) {
					t.Fatalf("%s: %q is not accepted after %q", schema, w[token], &text)
				}
				if token == 0 {
					if !c.ended() || c.accept(0) || len(choices(c, len(w))) > 0 || c.forced() != nil {
						t.Fatalf("%s: more may follow the end", schema)
					}
					break
				}
				text.WriteString(w[token])
			}
		}
	}
}

func TestForcedTokens(t *testing.T) {
	w := words{"", `l`, `a`, `b`, `e`, `{`, `y`, `n`, `o`, `}`, `x`, `:`, ` `, `s`, `,`, `"`, "\xc3", "\xa9", `{"`, `el`, `la`, `bel`, `":`, `": `,
		`es`, `lab`, `abel`, `"}`, `"x`, `"no`, `é`, `x`}
	check := func(schema, before string, want ...string) {
		t.Helper()
		c := newTestConstraint(t, w, len(w), schema)
		for _, b := range before {
			if !c.accept(llama.Token(slices.Index(w, string(b)))) {
				t.Fatalf("%q is refused", before)
			}
		}
		var got []string
		for _, token := range c.forced() {
			got = append(got, w[token])
			if !c.accept(token) {
				t.Errorf("%q is forced and refused", w[token])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s after %q forces %q, want %q", schema, before, got, want)
		}
	}
	const labels = `{"properties":{"label":{"enum":["yes","no"]}},"required":["label"]}`
	check(labels, ``, `{"`, `la`, `bel`) // the first pairs that make tokens, not the longest token; and not `":`, since `": ` may come
	check(labels, `{"label":"`)          // a choice
	check(labels, `{"label":"y`, `es`, `"}`)
	check(labels, `{"label":"yes"}`)
	check(`{"properties":{"label":{"enum":["no"]}},"required":["label"]}`, `{"label": `, `"`, `n`, `o`, `"}`)
	check(`{"enum":["x","xs"]}`, ``, `"x`)
	check(`{"enum":["é",1]}`, `"`, `é`, `"`)
	check(`{"const":"é1é"}`, ``, `"`, `é`) // there is no token for 1
	check(`{"enum":[null,true,"x"]}`, `"`, `x`, `"`)

	c := newTestConstraint(t, w, len(w), `{"const":"yx"}`)
	if got := c.forced(); !slices.Contains(got, llama.Token(len(w)-1)) {
		t.Errorf("of two tokens for one text the first was forced: %v", got)
	}
}

// A vocabulary that cannot spell what must follow leaves nothing to choose.
func TestMaskLeavesNothing(t *testing.T) {
	w := words{"", "a", "b"}
	c := newTestConstraint(t, w, len(w), `{"const":1}`)
	if left := choices(c, len(w)); left != nil {
		t.Errorf("it left %v", left)
	}
	if c.allows(-1) || c.allows(3) || c.accept(99) {
		t.Error("a token that does not exist is allowed")
	}
	logits := make([]float32, 200) // more than there are tokens
	if c.mask(logits) || !math.IsInf(float64(logits[199]), -1) {
		t.Error("a token that does not exist is left")
	}
}

// What a grammar has remembered, and forgotten again, makes no difference.
func TestGrammarForgets(t *testing.T) {
	w := testWords()
	g := mustCompile(t, `{"anyOf":[{"type":"string","maxLength":5000},{"type":"array","items":{"$ref":"#"},"maxItems":3}]}`)
	lexicon := newLexicon(w, len(w))
	old := &constraint{grammar: g, words: lexicon, at: g.begin}
	for i := range 5000 {
		text := `a`
		if i == 0 {
			text = `"`
		}
		if !old.accept(llama.Token(slices.Index(w, text))) {
			t.Fatalf("character %d is refused", i)
		}
		if i%10 == 0 {
			choices(old, len(w))
		}
	}
	if len(g.known) > maxConfigs+1 || g.frames > maxFrames+maxDepth || g.masks > maxMasks+1 {
		t.Errorf("it remembers %d configs, %d frames, %d masks", len(g.known), g.frames, g.masks)
	}
	if left := choices(old, len(w)); slices.Contains(left, llama.Token(slices.Index(w, "maybe"))) {
		t.Error("five more characters may follow 4999 of 5000")
	}
	if !old.accept(llama.Token(slices.Index(w, "a"))) || old.allows(llama.Token(slices.Index(w, "a"))) || !old.allows(llama.Token(slices.Index(w, `"`))) {
		t.Error("it lost count")
	}
}

func TestConstraintsAtOnce(t *testing.T) {
	w := testWords()
	constrainer := newConstrainer(w, len(w))
	want := make([]string, 8)
	var wg sync.WaitGroup
	for round := range 2 {
		for i := range want {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 0))
				c, err := constrainer.constraint([]byte(verdictSchema))
				if err != nil {
					t.Error(err)
					return
				}
				var text strings.Builder
				for range 80 {
					left := choices(c, len(w))
					token := left[rng.IntN(len(left))]
					c.accept(token)
					text.WriteString(w[token])
					if token == 0 {
						break
					}
				}
				if round == 0 {
					want[i] = text.String()
				} else if want[i] != text.String() {
					t.Errorf("reply %d was %q, now it is %q", i, want[i], &text)
				}
			})
		}
		wg.Wait()
	}
}

func TestConstrainerKeepsFewGrammars(t *testing.T) {
	c := newConstrainer(testWords(), len(testWords()))
	for i := range 3 * maxGrammars {
		schema, _ := json.Marshal(map[string]any{"const": i})
		if _, err := c.constraint(schema); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.grammars) != maxGrammars || len(c.order) != maxGrammars {
		t.Errorf("it keeps %d grammars in an order of %d", len(c.grammars), len(c.order))
	}
	if _, err := c.constraint([]byte(`false`)); err == nil {
		t.Error("an impossible schema is no error")
	}
}

// On a real vocabulary, every text that the tokenizer makes tokens of is accepted, and what is forced is
// what the tokenizer would have written.
func TestRealVocabulary(t *testing.T) {
	e := open(t, Options{Model: fromEnv(t, "ASSAY_TEST_JUDGE", "a TinyLlama GGUF")})
	v := e.model.vocab
	constrainer := newConstrainer(v, v.size)
	for _, text := range []string{
		`{"statements": [{"statement": "The harbour is old – 200 years.", "verdict": 1}], "score": 0.75, "label": "yes"}`,
		`{"statements":[],"label":null}`,
	} {
		c, err := constrainer.constraint([]byte(verdictSchema))
		if err != nil {
			t.Fatal(err)
		}
		tokens := v.tokens(text, false)
		tokens[0] = withoutSpace(t, v, tokens[0])
		if forced := c.forced(); len(forced) == 0 || !slices.Equal(forced, tokens[:len(forced)]) {
			t.Errorf("%s: %v is forced, and the tokenizer writes %v", text, forced, tokens)
		}
		for i, token := range tokens {
			left := choices(c, v.size)
			if !slices.Contains(left, token) {
				t.Fatalf("%s: token %d, %q, is refused", text, i, v.piece(token))
			}
			for _, some := range []llama.Token{0, 1, 2, 3, 100, 1000, 10000, 31999} {
				if c.allows(some) != slices.Contains(left, some) {
					t.Errorf("mask and allows differ on token %d", some)
				}
			}
			if !c.accept(token) {
				t.Fatalf("%s: token %d, %q, is not accepted", text, i, v.piece(token))
			}
		}
		if !c.ended() {
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
	constrainer := newConstrainer(v, v.size)
	logits := make([]float32, v.size)
	for _, state := range []struct{ name, text string }{
		{"start", ``},
		{"text", `{"statements": [{"statement": "The`},
		{"counted", `{"statements": [{"statement": "a", "reason": "The`},
		{"number", `{"statements": [], "score": 0.`},
		{"verdict", `{"statements": [{"statement": "a", "verdict": `},
	} {
		enter := func() *constraint {
			c, err := constrainer.constraint([]byte(verdictSchema))
			if err != nil {
				b.Fatal(err)
			}
			for i := range len(state.text) {
				c.at = c.grammar.step(c.at, state.text[i])
			}
			return c
		}
		b.Run(state.name+"/first", func(b *testing.B) {
			c := enter()
			for b.Loop() {
				c.grammar.forget()
				c = enter()
				c.mask(logits)
			}
		})
		b.Run(state.name+"/tables", func(b *testing.B) {
			c := enter()
			for b.Loop() {
				c.at.allowed = nil
				c.mask(logits)
			}
		})
		b.Run(state.name+"/again", func(b *testing.B) {
			c := enter()
			for b.Loop() {
				c.mask(logits)
			}
		})
	}
	b.Run("lexicon", func(b *testing.B) {
		for b.Loop() {
			newLexicon(v, v.size)
		}
	})
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			compileSchema([]byte(verdictSchema))
		}
	})
}
