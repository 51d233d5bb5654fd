package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// added are the tokens that a file adds to the model's vocabulary, but for the special ones. They are taken out of a
// text before the model sees it.
type added struct {
	tokens          []addedToken
	raw, normalized *trie // of indices: those looked for before normalisation, and after
}

// cut is a stretch of a text: a token's, or plain text (token nil).
type cut struct {
	text  string
	token *addedToken
	first bool
	from  places
}

func newAdded(tokens []addedToken, normalized func(piece) (piece, error)) (*added, error) {
	a := &added{tokens: tokens}
	var before, after []entry
	for i, t := range tokens {
		if t.Normalized {
			p, err := normalized(piece{text: t.Content})
			if err != nil {
				return nil, err
			}
			after = append(after, entry{p.text, int32(i)})
		} else {
			before = append(before, entry{t.Content, int32(i)})
		}
	}
	a.raw, a.normalized = newTrie(before), newTrie(after)
	return a, nil
}

// cut finds the tokens of one trie in a text: the leftmost ones, of those the longest. White space that a token takes
// with it can be a token as well: so it is in the library that the files are written for.
func (a *added) cut(p piece, entries *trie) []cut {
	if len(entries.nodes) == 1 {
		return []cut{{text: p.text, first: true, from: p.from}}
	}
	text := p.text
	var out []cut
	from, spaces := 0, 0 // where the rest begins, and where the white space ends that was looked at last
	plain := func(to int) {
		if from < to {
			out = append(out, cut{text: text[from:to], first: from == 0, from: p.from.part(from, to)})
		}
	}
	for at := 0; at < len(text); {
		index, length := entries.longest(text[at:])
		if length == 0 {
			at++
			continue
		}
		t := &a.tokens[index]
		low, high := at, at+length
		at = high
		if t.SingleWord && (endsInWord(text[:low]) || beginsWithWord(text[high:])) {
			continue
		}
		if t.LStrip {
			low = min(from+len(strings.TrimRightFunc(text[min(from, low):low], unicode.IsSpace)), high)
		}
		if t.RStrip {
			if high >= spaces {
				spaces = len(text) - len(strings.TrimLeftFunc(text[high:], unicode.IsSpace))
			}
			high = spaces
		}
		plain(low)
		out = append(out, cut{text: text[low:high], token: t, from: p.from.part(low, high)})
		from = high
	}
	plain(len(text))
	return out
}

func endsInWord(text string) bool {
	r, size := utf8.DecodeLastRuneInString(text)
	return size > 0 && wordRune(r)
}

func beginsWithWord(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return size > 0 && wordRune(r)
}
