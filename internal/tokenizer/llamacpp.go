package tokenizer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// LlamaCPP is BERT's vocabulary as a GGUF file has it, for tokens as llama.cpp cuts them: its WordPiece is not quite
// BERT's own. Of a composed character only the first part is kept, marks that combine with a letter are dropped, white
// space is what Unicode has for it, signs beyond ASCII that are no punctuation belong to the word beside them, and words
// may have any length. A model that was trained on one of the two kinds of tokens is to be read by the same.
type LlamaCPP struct {
	Tokens       []string // by id; one that begins a word begins with U+2581
	Lowercase    bool
	StripAccents bool

	BOS, EOS, Sep, Unknown int // ids of tokens: before a text, at its end, between two, for an unknown word

	AddBOS, AddEOS, AddSep bool // which of them a pair has: BOS first EOS Sep second EOS
}

// wordStart marks the tokens that begin a word.
const wordStart = "\u2581"

// Tokenizer returns the tokenizer. A text is encoded as [BOS] text [Sep].
func (v *LlamaCPP) Tokenizer() (Tokenizer, error) {
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
		if text != "" {
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

// Pair gives both texts the type 0, as llama.cpp does.
func (t *llamaCPP) Pair(first, second string) (Encoded, error) {
	var e Encoded
	t.special(&e, t.AddBOS, t.BOS)
	err := t.text(&e, 0, first)
	t.special(&e, t.AddEOS, t.EOS)
	t.special(&e, t.AddSep, t.Sep)
	if err == nil {
		err = t.text(&e, 1, second)
	}
	t.special(&e, t.AddEOS, t.EOS)
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
	word := []byte(wordStart)
	end := func() {
		if len(word) > len(wordStart) {
			t.word(e, which, string(word))
		}
		word = word[:len(wordStart)]
	}
	for _, r := range text {
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
		word = append(word, string(r)...)
		if alone {
			end()
		}
	}
	end()
	return nil
}

// word adds the tokens of a word: the longest entry first, or the unknown one if it cannot be cut whole.
func (t *llamaCPP) word(e *Encoded, which int, word string) {
	before := len(e.IDs)
	for len(word) > 0 {
		id, length := t.entries.longest(word)
		if length == 0 {
			e.IDs, e.Types, e.Tokens = e.IDs[:before], e.Types[:before], e.Tokens[:before]
			e.Special, e.Pairs = e.Special[:before], e.Pairs[:before]
			t.add(e, int32(t.Unknown), which)
			return
		}
		t.add(e, id, which)
		word = word[length:]
	}
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
