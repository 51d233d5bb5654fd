package testset

import (
	"slices"
	"strings"

	"github.com/assay-eval/assay/tokenize"
)

// The checks that a generated text must pass. Each says in a few words what is wrong, "" if nothing is: the same
// words for the same fault, since the report counts by them.

// checkQuestion looks at the form of a question.
func checkQuestion(text string) string {
	if !asks(text) {
		return "the question has no question mark"
	}
	return checkAlone(text)
}

// checkAlone looks whether what stands in the place of a question can stand alone.
func checkAlone(text string) string {
	switch {
	case len(tokenize.Words(text)) < 3 && len(text) < 12:
		return "the question is too short"
	case length(text) > 40:
		return "the question is too long"
	case says(text, pointers):
		return "the question mentions the text it was written from"
	}
	return ""
}

// oneLine is the first line of a reply, without a label or quotation marks around it.
func oneLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	for _, label := range []string{"Question:", "Answer:", "Wrong answer:", "Poor answer:", "Claim:", "Turn:", "Text:"} {
		text = strings.TrimSpace(strings.TrimPrefix(text, label))
	}
	if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' {
		text = text[1 : n-1]
	}
	return text
}

// refuses reports whether an answer begins with the refusal that the prompts ask for.
func refuses(text string) bool {
	normal := tokenize.Normalize(text)
	for _, r := range refusals {
		if strings.HasPrefix(normal, tokenize.Normalize(r)) {
			return true
		}
	}
	return false
}

// grounded is the lexical overlap of an answer with the text: the share of its words that stand there.
func grounded(answer, text string) float64 {
	return shareIn(tokenize.Words(answer), text)
}

// told is the share of what an answer adds to its question, its words that the question does not have, that
// stands in the text. An answer that adds no word, such as "yes", is told by nothing.
func told(question, answer, text string) float64 {
	asked := tokenize.Words(question)
	fresh := slices.DeleteFunc(tokenize.Words(answer), func(w string) bool { return slices.Contains(asked, w) })
	return shareIn(fresh, text)
}

func shareIn(words []string, text string) float64 {
	if len(words) == 0 {
		return 0
	}
	in := make(map[string]bool)
	for _, w := range tokenize.Words(text) {
		in[w] = true
	}
	n := 0
	for _, w := range words {
		if in[w] {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

const (
	minGrounded = 0.5 // of an answer's words must stand in its passage: with fewer it is not from there
	mostTold    = 0.8 // of what an answer adds, from which on a text may be said to hold it
)

// checkAnswer looks at an answer that must come from the text.
func checkAnswer(question, answer, text string) string {
	switch {
	case !tokenize.HasWords(answer):
		return "the answer is empty"
	case refuses(answer):
		return "the passage does not answer the question"
	case tokenize.Normalize(answer) == tokenize.Normalize(question):
		return "the answer repeats the question"
	case holdsLink(answer):
		return "the answer holds a link"
	case grounded(answer, text) < minGrounded:
		return "the answer is not from the passage"
	}
	return ""
}

// holdsLink reports whether a text holds a web address.
func holdsLink(text string) bool {
	return strings.Contains(text, "://") || strings.Contains(strings.ToLower(text), "www.")
}

// checkOther looks at an answer that must not be the true one: one that the text does not bear out.
func checkOther(question, other, answer, text string) string {
	switch {
	case !tokenize.HasWords(other):
		return "the wrong answer is empty"
	case refuses(other):
		return "the wrong answer is a refusal"
	case tokenize.Normalize(other) == tokenize.Normalize(answer):
		return "the wrong answer is the true one"
	case grounded(other, text+" "+question) == 1:
		return "the wrong answer says nothing that the passage does not"
	}
	return ""
}

// checkIncomplete looks at an answer that must say less than the full one.
func checkIncomplete(question, poor, answer, text string) string {
	switch {
	case !tokenize.HasWords(poor):
		return "the incomplete answer is empty"
	case refuses(poor):
		return "the incomplete answer is a refusal"
	case tokenize.Normalize(poor) == tokenize.Normalize(answer):
		return "the incomplete answer is the full one"
	case told(question, answer, poor) >= mostTold:
		return "the incomplete answer says all that the full one does"
	case grounded(poor, text+" "+question) < minGrounded:
		return "the incomplete answer is not from the passage"
	}
	return ""
}
