package tokenizer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// LlamaCPP is BERT's vocabulary as a GGUF file has it, for tokens as llama.cpp cuts them: its WordPiece is not quite
// BERT's own. Of a composed character only the first part is kept, marks that combine with a letter are dropped, white
// space is what Unicode has for it, signs beyond ASCII that are no punctuation belong to the word beside them, and
// words may have any length. A model that was trained on one of the two kinds of tokens is to be read by the same.
type LlamaCPP struct {
	Tokens       []string // by id; one that begins a word begins with U+2581
	Lowercase    bool
	StripAccents bool

	BOS, EOS, Sep, Unknown int // ids of tokens: before a text, at its end, between two, for an unknown word

	AddBOS, AddEOS, AddSep bool // which of them a pair has: BOS first EOS Sep second EOS

	SegmentB int // is added to the ids of a pair's second text and its EOS, which are of a second copy of the vocabulary
}

// wordStart marks the tokens that begin a word.
const wordStart = "\u2581"

// Tokenizer returns the tokenizer. A text is encoded as [BOS] text [Sep].
func (v *LlamaCPP) Tokenizer() (Tokenizer, error) {
	if v.SegmentB < 0 || v.SegmentB > 0 && 2*v.SegmentB != len(v.Tokens) {
		return nil, fmt.Errorf("a second copy from %d on of a vocabulary of %d", v.SegmentB, len(v.Tokens))
	}
	if len(v.Tokens) == 0 || len(v.Tokens) > maxVocabulary {
		return nil, fmt.Errorf("%d entries are not between 1 and %d", len(v.Tokens), maxVocabulary)
	}
	for _, id := range []int{v.BOS, v.EOS, v.Sep, v.Unknown} {
		if id < 0 || id >= len(v.Tokens) {
			return nil, fmt.Errorf("a special token has the id %d in a vocabulary of %d", id, len(v.Tokens))
		}
	}
	ids := make(map[string]int32, len(v.Tokens))
	for i, text := range v.Tokens {
		if text != "" && (v.SegmentB == 0 || i < v.SegmentB) {
			ids[text] = int32(i) // of two alike the later one counts
		}
	}
	list, err := entries(ids)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("all entries are empty")
	}
	return &llamaCPP{*v, newTrie(list)}, nil
}

// llamaCPP is the tokenizer of a vocabulary.
type llamaCPP struct {
	LlamaCPP
	entries *trie
}

func (t *llamaCPP) Single(text string) (Encoded, error) {
	var e Encoded
	t.special(&e, true, t.BOS)
	err := t.text(&e, 0, text)
	t.special(&e, true, t.Sep)
	return e, err
}

// Pair gives both texts the type 0, as llama.cpp does: it knows no segments but by a second copy of the vocabulary.
func (t *llamaCPP) Pair(first, second string) (Encoded, error) {
	var e Encoded
	t.special(&e, t.AddBOS, t.BOS)
	err := t.text(&e, 0, first)
	t.special(&e, t.AddEOS, t.EOS)
	t.special(&e, t.AddSep, t.Sep)
	before := len(e.IDs)
	if err == nil {
		err = t.text(&e, 1, second)
	}
	t.special(&e, t.AddEOS, t.EOS)
	for i := before; i < len(e.IDs); i++ {
		e.IDs[i] += int64(t.SegmentB)
	}
	return e, err
}

// Marked implements [Tokenizer]. The vocabulary names BERT's special tokens only.
func (t *llamaCPP) Marked(before string, specials, after []string) (Encoded, error) {
	var e Encoded
	if len(specials) != len(after) {
		return e, fmt.Errorf("%d special tokens with %d texts after them", len(specials), len(after))
	}
	named := map[string]int{"bos": t.BOS, "cls": t.BOS, "eos": t.EOS, "sep": t.Sep}
	t.special(&e, true, t.BOS)
	err := t.text(&e, 0, before)
	for i, name := range specials {
		id, known := named[name]
		if !known {
			return Encoded{}, &UnknownError{name}
		}
		t.special(&e, true, id)
		err = errors.Join(err, t.text(&e, 0, after[i]))
	}
	t.special(&e, true, t.Sep)
	return e, err
}

// special adds a special token, if it is wanted.
func (t *llamaCPP) special(e *Encoded, wanted bool, id int) {
	if wanted {
		t.add(e, int32(id), -1)
	}
}

// add adds a token of the first or second text (0, 1), or a special one (-1).
func (t *llamaCPP) add(e *Encoded, id int32, text int) {
	e.IDs = append(e.IDs, int64(id))
	e.Types = append(e.Types, 0)
	e.Tokens = append(e.Tokens, strings.ReplaceAll(t.Tokens[id], wordStart, " ")) // as llama.cpp spells a piece
	e.Special = append(e.Special, text < 0)
	e.Pairs = append(e.Pairs, text)
}

// text adds the tokens of a text.
func (t *llamaCPP) text(e *Encoded, which int, text string) error {
	if len(text) > maxText {
		return fmt.Errorf("a text of %d bytes is longer than %d", len(text), maxText)
	}
	for _, token := range t.cut(text) {
		t.add(e, token.id, which)
	}
	return nil
}

// Locate implements [Tokenizer].
func (t *llamaCPP) Locate(text string) ([][2]int, error) {
	if len(text) > maxText || !utf8.ValidString(text) {
		return nil, errors.New("the text is too long, or not UTF-8")
	}
	var list [][2]int
	for _, token := range t.cut(text) {
		list = append(list, [2]int{int(token.low), int(token.high)})
	}
	return list, nil
}

// cut gives the tokens of a text, and where they stand.
func (t *llamaCPP) cut(text string) []token {
	var out []token
	word := []byte(wordStart)
	var from places // of the word, without its mark
	end := func() {
		if len(from) > 0 {
			out = t.word(string(word), from, out)
		}
		word, from = word[:len(wordStart)], from[:0]
	}
	for at, r := range text {
		here := place{int32(at), int32(at + max(1, utf8.RuneLen(r)))}
		if t.StripAccents {
			r = firstOf(r)
		}
		switch {
		case unicode.IsSpace(r):
			end()
			continue
		case r == 0 || r == unicode.ReplacementChar || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs),
			t.StripAccents && unicode.Is(unicode.M, r):
			continue
		}
		alone := unicode.Is(unicode.P, r) || r < 0x7f && unicode.Is(unicode.S, r) || unicode.Is(chinese, r)
		if alone {
			end()
		}
		if t.Lowercase {
			r = lower(r)
		}
		before := len(word)
		word = utf8.AppendRune(word, r)
		for range len(word) - before {
			from = append(from, here)
		}
		if alone {
			end()
		}
	}
	end()
	return out
}

// word adds the tokens of a word: the longest entry first, or the unknown one if it cannot be cut whole.
func (t *llamaCPP) word(word string, from places, out []token) []token {
	before := len(out)
	for at := 0; at < len(word); {
		id, length := t.entries.longest(word[at:])
		if length == 0 {
			return append(out[:before], token{id: int32(t.Unknown), low: from[0].low, high: from[len(from)-1].high})
		}
		first, last := max(0, at-len(wordStart)), max(1, at+length-len(wordStart))
		out = append(out, token{id: id, low: from[first].low, high: from[last-1].high})
		at += length
	}
	return out
}

// firstOf is the first character of a composed one's parts.
func firstOf(r rune) rune {
	const firstSyllable, lastSyllable, firstConsonant, syllables = 0xac00, 0xd7a3, 0x1100, 588
	switch {
	case r < 0xc0:
		return r
	case r >= firstSyllable && r <= lastSyllable: // Hangul: by a formula
		return firstConsonant + (r-firstSyllable)/syllables
	}
	if parts := norm.NFD.PropertiesString(string(r)).Decomposition(); len(parts) > 0 {
		for _, first := range string(parts) {
			return first
		}
	}
	return r
}

// lower is a character in lower case. One has two characters there, of which llama.cpp takes the first.
func lower(r rune) rune {
	if r == 'İ' {
		return 'i'
	}
	return unicode.ToLower(r)
}
