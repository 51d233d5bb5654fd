package metrics

import (
	"fmt"
	"strings"

	"github.com/assay-eval/assay/tokenize"
)

// A textAt is one of a list, and its number in it, from 1.
type textAt struct {
	text   string
	number int
}

// where names a context, and perhaps a window of it.
func (n textAt) where(window string) string {
	where := fmt.Sprintf("context %d", n.number)
	if window != "" {
		where += ", " + window
	}
	return where
}

// nonBlank returns the texts of a list that are not blank, without white space around them.
func nonBlank(list []string) []textAt {
	var texts []textAt
	for i, text := range list {
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, textAt{text, i + 1})
		}
	}
	return texts
}

func textsOf(list []textAt) []string {
	var all []string
	for _, n := range list {
		all = append(all, n.text)
	}
	return all
}

// worded returns the sentences of a text that say something.
func worded(text string) []string {
	var list []string
	for _, s := range tokenize.Sentences(text) {
		if tokenize.HasWords(s.Text) {
			list = append(list, s.Text)
		}
	}
	return list
}

// saying returns the texts of a list that are not blank.
func saying(list []string) numberedTexts {
	var n numberedTexts
	for i, text := range list {
		if strings.TrimSpace(text) != "" {
			n.texts, n.places = append(n.texts, text), append(n.places, i+1)
		}
	}
	return n
}

// numberedTexts are those of a list that say something, with their places in it, from 1.
type numberedTexts struct {
	texts  []string
	places []int
}

// numberedSentences returns the sentences of texts that hold a word, with the number of the text that each is from.
func numberedSentences(list []string) numberedTexts {
	p := newPassage(list)
	var n numberedTexts
	for i, s := range p.sentences {
		if tokenize.HasWords(s.Text) {
			n.texts, n.places = append(n.texts, s.Text), append(n.places, p.origin[i])
		}
	}
	return n
}
