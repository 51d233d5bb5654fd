package metrics

import (
	"fmt"
	"strings"

	"github.com/assay-eval/assay/tokenize"
)

// A TextAt is one text of a list, and its number in it, from 1.
type TextAt struct {
	Text   string
	Number int
}

// Where names a context, and perhaps a window of it.
func (n TextAt) Where(window string) string {
	where := fmt.Sprintf("context %d", n.Number)
	if window != "" {
		where += ", " + window
	}
	return where
}

// NonBlank returns the texts of a list that are not blank, without white space around them.
func NonBlank(list []string) []TextAt {
	var texts []TextAt
	for i, text := range list {
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, TextAt{text, i + 1})
		}
	}
	return texts
}

// TextsOf returns the texts alone.
func TextsOf(list []TextAt) []string {
	var all []string
	for _, n := range list {
		all = append(all, n.Text)
	}
	return all
}

// Worded returns the sentences of a text that hold a word.
func Worded(text string) []string {
	var list []string
	for _, s := range tokenize.Sentences(text) {
		if tokenize.HasWords(s.Text) {
			list = append(list, s.Text)
		}
	}
	return list
}

// Saying returns the texts of a list that are not blank.
func Saying(list []string) NumberedTexts {
	var n NumberedTexts
	for i, text := range list {
		if strings.TrimSpace(text) != "" {
			n.Texts, n.Places = append(n.Texts, text), append(n.Places, i+1)
		}
	}
	return n
}

// NumberedTexts are those texts of a list that are to be read, with their places in it, from 1.
type NumberedTexts struct {
	Texts  []string
	Places []int
}

// NumberedSentences returns the sentences of texts that hold a word, with the number of the text that each is from.
func NumberedSentences(list []string) NumberedTexts {
	p := NewPassage(list)
	var n NumberedTexts
	for i, s := range p.Sentences {
		if tokenize.HasWords(s.Text) {
			n.Texts, n.Places = append(n.Texts, s.Text), append(n.Places, p.Origin[i])
		}
	}
	return n
}
