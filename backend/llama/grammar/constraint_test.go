package grammar

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// words is a vocabulary that ends replies with its token 0, and has control tokens, which are empty.
type words []string

func (w words) vocabulary() Vocabulary {
	return Vocabulary{
		Size:  len(w),
		Piece: func(t int32) []byte { return []byte(w[t]) },
		Ends:  func(t int32) bool { return t == 0 },
	}
}

// testWords are all bytes, then pieces of many kinds.
func testWords() words {
	w := words{"", ""}
	for b := range 256 {
		w = append(w, string([]byte{byte(b)}))
	}
	w = append(w,
		strings.Fields(`{" "} {"a ":" ", ","a ": [{" "}] [] {} "" true false null tru als ul "} yes no maybe state ment
		statements statement label verdict reason é 😀 ö" \u \u00 \n \" 10 123 0.5 e+ ]} }, "}, 1, 0}`)...)
	w = append(w, ": ", ", ", `": "`, `", "`, `": `, `, "`, " the", " a", "\n", "\xe2\x82", "\x82\xac", "\xac and", "{",
		"a", "\"")
	return w
}

func newTestConstraint(t testing.TB, w words, schema string) *Constraint {
	t.Helper()
	c, err := New(w.vocabulary()).Constraint([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// choices returns the tokens that a mask leaves.
func choices(c *Constraint, size int) []int32 {
	logits := make([]float32, size)
	some := c.Mask(logits)
	var left []int32
	for i, l := range logits {
		if !math.IsInf(float64(l), -1) {
			left = append(left, int32(i))
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
		constrainer := New(w.vocabulary())
		for range 10 {
			c, err := constrainer.Constraint([]byte(schema))
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for range 60 {
				left := choices(c, len(w))
				for token := range int32(len(w)) {
					if c.Allows(token) != slices.Contains(left, token) {
						t.Fatalf("%s after %q: mask and allows differ on %q", schema, &text, w[token])
					}
				}
				if len(left) == 0 {
					t.Fatalf("%s: no token may follow %q", schema, &text)
				}
				if c.Ended() != (len(left) == 1 && left[0] == 0) {
					t.Fatalf("%s: ended is %v after %q, where %d tokens may follow",
						schema, c.Ended(), &text, len(left))
				}
				if left[0] == 0 {
					if err := valid(text.String()); err != nil {
						t.Fatalf("%s: %q may end: %v", schema, &text, err)
					}
				}
				token := left[rng.IntN(len(left))]
				if !c.Accept(token) {
					t.Fatalf("%s: %q is not accepted after %q", schema, w[token], &text)
				}
				if token == 0 {
					if !c.Ended() || c.Accept(0) || len(choices(c, len(w))) > 0 || c.Forced() != nil {
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
	w := words{"", `l`, `a`, `b`, `e`, `{`, `y`, `n`, `o`, `}`, `x`, `:`, ` `, `s`, `,`, `"`, "\xc3", "\xa9",
		`{"`, `el`, `la`, `bel`, `":`, `": `,
		`es`, `lab`, `abel`, `"}`, `"x`, `"no`, `é`, `x`}
	check := func(schema, before string, want ...string) {
		t.Helper()
		c := newTestConstraint(t, w, schema)
		for _, b := range before {
			if !c.Accept(int32(slices.Index(w, string(b)))) {
				t.Fatalf("%q is refused", before)
			}
		}
		var got []string
		for _, token := range c.Forced() {
			got = append(got, w[token])
			if !c.Accept(token) {
				t.Errorf("%q is forced and refused", w[token])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s after %q forces %q, want %q", schema, before, got, want)
		}
	}
	const labels = `{"properties":{"label":{"enum":["yes","no"]}},"required":["label"]}`
	// The first pairs that make tokens, not the longest token; and not `":`, since `": ` may come.
	check(labels, ``, `{"`, `la`, `bel`)
	check(labels, `{"label":"`) // a choice
	check(labels, `{"label":"y`, `es`, `"}`)
	check(labels, `{"label":"yes"}`)
	check(`{"properties":{"label":{"enum":["no"]}},"required":["label"]}`, `{"label": `, `"`, `n`, `o`, `"}`)
	check(`{"enum":["x","xs"]}`, ``, `"x`)
	check(`{"enum":["é",1]}`, `"`, `é`, `"`)
	check(`{"const":"é1é"}`, ``, `"`, `é`) // there is no token for 1
	check(`{"enum":[null,true,"x"]}`, `"`, `x`, `"`)

	c := newTestConstraint(t, w, `{"const":"yx"}`)
	if got := c.Forced(); !slices.Contains(got, int32(len(w)-1)) {
		t.Errorf("of two tokens for one text the first was forced: %v", got)
	}
}

// A vocabulary that cannot spell what must follow leaves nothing to choose.
func TestMaskLeavesNothing(t *testing.T) {
	w := words{"", "a", "b"}
	c := newTestConstraint(t, w, `{"const":1}`)
	if left := choices(c, len(w)); left != nil {
		t.Errorf("it left %v", left)
	}
	if c.Allows(-1) || c.Allows(3) || c.Accept(99) {
		t.Error("a token that does not exist is allowed")
	}
	logits := make([]float32, 200) // more than there are tokens
	if c.Mask(logits) || !math.IsInf(float64(logits[199]), -1) {
		t.Error("a token that does not exist is left")
	}
}

// What a grammar has remembered, and forgotten again, makes no difference.
func TestGrammarForgets(t *testing.T) {
	w := testWords()
	g := mustCompile(t,
		`{"anyOf":[{"type":"string","maxLength":5000},{"type":"array","items":{"$ref":"#"},"maxItems":3}]}`)
	lexicon := newLexicon(w.vocabulary())
	old := &Constraint{grammar: g, words: lexicon, at: g.begin}
	for i := range 5000 {
		text := `a`
		if i == 0 {
			text = `"`
		}
		if !old.Accept(int32(slices.Index(w, text))) {
			t.Fatalf("character %d is refused", i)
		}
		if i%10 == 0 {
			choices(old, len(w))
		}
	}
	if len(g.known) > maxConfigs+1 || g.frames > maxFrames+maxDepth || g.masks > maxMasks+1 {
		t.Errorf("it remembers %d configs, %d frames, %d masks", len(g.known), g.frames, g.masks)
	}
	if left := choices(old, len(w)); slices.Contains(left, int32(slices.Index(w, "maybe"))) {
		t.Error("five more characters may follow 4999 of 5000")
	}
	if !old.Accept(int32(slices.Index(w, "a"))) || old.Allows(int32(slices.Index(w, "a"))) ||
		!old.Allows(int32(slices.Index(w, `"`))) {
		t.Error("it lost count")
	}
}

func TestConstraintsAtOnce(t *testing.T) {
	w := testWords()
	constrainer := New(w.vocabulary())
	want := make([]string, 8)
	var wg sync.WaitGroup
	for round := range 2 {
		for i := range want {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 0))
				c, err := constrainer.Constraint([]byte(verdictSchema))
				if err != nil {
					t.Error(err)
					return
				}
				var text strings.Builder
				for range 80 {
					left := choices(c, len(w))
					token := left[rng.IntN(len(left))]
					c.Accept(token)
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
	c := New(testWords().vocabulary())
	for i := range 3 * maxGrammars {
		schema, _ := json.Marshal(map[string]any{"const": i})
		if _, err := c.Constraint(schema); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.grammars) != maxGrammars || len(c.order) != maxGrammars {
		t.Errorf("it keeps %d grammars in an order of %d", len(c.grammars), len(c.order))
	}
	if _, err := c.Constraint([]byte(`false`)); err == nil {
		t.Error("an impossible schema is no error")
	}
}

// BenchmarkCompile compiles a schema of the kind that metrics use.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := compileSchema([]byte(verdictSchema)); err != nil {
			b.Fatal(err)
		}
	}
}
