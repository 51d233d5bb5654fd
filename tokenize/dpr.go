package tokenize

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// DPR returns the tokens of a text by the letter of DPR's and DrQA's answer matching: the text is decomposed (NFD), a run
// of letters, numbers and marks is one token, and so is every mark of punctuation and every symbol; all in lower case. So "U.S." is four tokens, and articles are tokens like any other.
func DPR(text string) []string {
	var list []string
	word := -1 // where the run began, -1 outside of one
	text = norm.NFD.String(strings.ToValidUTF8(text, "\uFFFD"))
	add := func(from, to int) { list = append(list, pythonLower(text[from:to])) }
	for i, r := range text {
		if wordRune(r) {
			if word < 0 {
				word = i
			}
			continue
		}
		if word >= 0 {
			add(word, i)
			word = -1
		}
		if unicode.In(r, unicode.P, unicode.S) { // what is left beside separators, controls and what is not assigned
			add(i, i+len(string(r)))
		}
	}
	if word >= 0 {
		add(word, len(text))
	}
	return list
}
