package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// llamaVocabulary is a small one, as a GGUF file has it.
func llamaVocabulary() *LlamaCPP {
	return &LlamaCPP{Tokens: []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁the", "▁caf", "e", "▁.", "▁中", "", "▁x™"},
		Lowercase: true, StripAccents: true, BOS: 2, EOS: 3, Sep: 3, Unknown: 1, AddBOS: true, AddEOS: true}
}

// TestLlamaCPP holds tokens to what llama.cpp makes of these texts; backend/onnx holds them to llama.cpp itself.
func TestLlamaCPP(t *testing.T) {
	v := llamaVocabulary()
	c, err := v.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string, want ...int64) {
		t.Helper()
		e, err := c.Single(text)
		if want = append(append([]int64{2}, want...), 3); err != nil || !slices.Equal(e.IDs, want) {
			t.Errorf("%q is %v, want %v (%v)", text, e.IDs, want, err)
		}
	}
	check("The  café.", 4, 5, 6, 7)
	check("the\u00a0Cafe\u0301", 4, 5, 6)
	check("X™ the中", 10, 4, 8)
	check("cafes the", 1, 4) // not whole, so unknown
	check("ca\u200bfe", 5, 6)
	check("[SEP]", 1, 1, 1)
	check("")
	pair, err := c.Pair("the", "cafe .")
	if err != nil || !slices.Equal(pair.IDs, []int64{2, 4, 3, 5, 6, 7, 3}) ||
		!slices.Equal(pair.Pairs, []int{-1, 0, -1, 1, 1, 1, -1}) || strings.Join(pair.Tokens, "|") !=
		"[CLS]| the|[SEP]| caf|e| .|[SEP]" || slices.ContainsFunc(pair.Types, func(t int64) bool { return t != 0 }) {
		t.Errorf("the pair is %+v (%v)", pair, err)
	}
	marked, err := c.Marked("the", []string{"sep"}, []string{"cafe"})
	if err != nil || !slices.Equal(marked.IDs, []int64{2, 4, 3, 5, 6, 3}) {
		t.Errorf("with a mark it is %v (%v)", marked.IDs, err)
	}
	if _, err := c.Marked("the", []string{"[SEP]"}, []string{""}); err == nil {
		t.Error("a special token goes by another name than the four")
	}
	places, err := c.Locate("The Café.")
	if want := [][2]int{{0, 3}, {4, 7}, {7, 9}, {9, 10}}; err != nil || !slices.Equal(places, want) {
		t.Errorf("the tokens stand at %v, want %v (%v)", places, want, err)
	}
}

// TestLlamaCPPSegments reads a second text by the second copy of a vocabulary.
func TestLlamaCPPSegments(t *testing.T) {
	v := llamaVocabulary()
	n := len(v.Tokens)
	for _, text := range v.Tokens[:n:n] {
		v.Tokens = append(v.Tokens, text+"\u2402")
	}
	v.SegmentB = n
	c, err := v.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Pair("the", "the .")
	if want := []int64{2, 4, 3, 4 + 11, 7 + 11, 3 + 11}; err != nil || !slices.Equal(e.IDs, want) {
		t.Errorf("the pair is %v, want %v (%v)", e.IDs, want, err)
	}
	v.SegmentB = 3
	if _, err := v.Tokenizer(); err == nil {
		t.Error("a copy from the middle was taken")
	}
}

func TestLlamaCPPRefuses(t *testing.T) {
	for _, change := range []func(*LlamaCPP){
		func(v *LlamaCPP) { v.Tokens = nil },
		func(v *LlamaCPP) { v.Tokens = make([]string, 11) },
		func(v *LlamaCPP) { v.Unknown = 11 },
		func(v *LlamaCPP) { v.BOS = -1 },
	} {
		v := llamaVocabulary()
		change(v)
		if _, err := v.Tokenizer(); err == nil {
			t.Errorf("%+v was taken", v)
		}
	}
}

// FuzzLlamaCPP looks for texts whose tokens do not fit their places.
func FuzzLlamaCPP(f *testing.F) {
	f.Add("The café 中 ™ \u0301\x00")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := llamaVocabulary().Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Single(text)
		if err != nil {
			return
		}
		if n := len(e.IDs); len(e.Types) != n || len(e.Tokens) != n || len(e.Special) != n || len(e.Pairs) != n {
			t.Errorf("%q: lists of several lengths", text)
		}
		places, err := c.Locate(text)
		if err != nil {
			return
		}
		last := 0
		if len(places) != len(e.IDs)-2 {
			t.Fatalf("%q: %d places of %d tokens", text, len(places), len(e.IDs)-2)
		}
		for _, p := range places {
			if p[0] < last || p[1] < p[0] || p[1] > len(text) {
				t.Errorf("%q: places %v", text, places)
			}
			last = p[0]
		}
	})
}
