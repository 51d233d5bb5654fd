// Package tokenize segments text into words, sentences and n-grams, in any language, and normalises it for
// deduplication and comparison.
//
// Word and sentence boundaries are those of Unicode's UAX 29, with the breaks that it makes after
// abbreviations and initials taken back. Nothing here depends on a model; the package imports nothing
// of ours.
package tokenize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Normalize brings text into the normal form in which two copies of it are equal although case, punctuation,
// markup, white space or compatibility forms differ: format characters are removed, letters are
// case-folded and composed (NFKC), and every run of anything but letters, marks and numbers becomes one
// space, with none at the ends. Text without letters and numbers becomes the empty string.
//
// Normalize(Normalize(s)) == Normalize(s).
func Normalize(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	space := false
	for _, r := range fold(text) {
		if !wordRune(r) {
			space = true
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// fold removes format characters and variation selectors from text, then folds case and composes.
func fold(text string) string {
	if isASCII(text) { // most text: there is nothing to do but this
		return strings.ToLower(text)
	}
	text = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, text)
	text = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(text)))
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cherokee, r) { // x/text swaps its cases instead of folding them to one
			return unicode.ToUpper(r)
		}
		return r
	}, text)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wordRune reports whether r is part of a word: a letter, a mark (Hindi vowels, say) or a number.
func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// Words returns the words of text, case-folded and composed: the segments between UAX 29 word
// boundaries that hold a letter or number. "Don't" and "3.14" are one word each; so is each Chinese
// character, since no dictionary is used.
func Words(text string) []string {
	var list []string
	for seg := words.FromString(fold(straightQuotes(text))); seg.Next(); {
		if w := seg.Value(); strings.ContainsFunc(w, letterOrNumber) {
			list = append(list, w)
		}
	}
	return list
}

func letterOrNumber(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// straightQuotes replaces the typographic apostrophe, so that "don’t" and "don't" are one word.
func straightQuotes(text string) string { return strings.ReplaceAll(text, "’", "'") }

// HasWords reports whether text holds a letter or number: whether it says anything.
func HasWords(text string) bool { return strings.ContainsFunc(text, letterOrNumber) }

// NGrams returns the n-grams, the runs of n consecutive words, in order; they share memory with words. There are
// none when n is not positive or exceeds the number of words.
func NGrams(words []string, n int) [][]string {
	if n <= 0 || n > len(words) {
		return nil
	}
	grams := make([][]string, 0, len(words)-n+1)
	for i := range len(words) - n + 1 {
		grams = append(grams, words[i:i+n:i+n])
	}
	return grams
}
