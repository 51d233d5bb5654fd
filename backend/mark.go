package backend

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// A Mark is a special token of the model's vocabulary within a text: the end token between a document and a claim, say.
// Only a Mark can put it there: a text that spells such a token stays text.
type Mark struct {
	At    int    `json:"at"`    // the token stands before this byte of the text
	Token string `json:"token"` // one of [NamedTokens], or as the vocabulary spells it: "<|im_start|>"
}

// NamedTokens are the special tokens that go by one name whatever the vocabulary: those that begin and end a text, the
// separator, the token of a classification, padding. A model need not have all of them.
func NamedTokens() []string { return []string{"bos", "eos", "sep", "cls", "pad"} }

// Marked cuts a text at its marks: what stands before the first of them, then each with what follows it.
func Marked(text string, marks []Mark) (before string, tokens, after []string) {
	end := len(text)
	for i := len(marks) - 1; i >= 0; i-- {
		tokens, after = append(tokens, marks[i].Token), append(after, text[marks[i].At:end])
		end = marks[i].At
	}
	slices.Reverse(tokens)
	slices.Reverse(after)
	return text[:end], tokens, after
}

// maxMarks bounds the marks of a text, each of which is cut into tokens by itself.
const maxMarks = 64

// checkMarks reports marks that are out of order, cut a character or name no token.
func checkMarks(text string, marks []Mark) error {
	if len(marks) > maxMarks {
		return fmt.Errorf("%w: %d marks in a text, more than %d", ErrInvalid, len(marks), maxMarks)
	}
	last := 0
	for i, m := range marks {
		if m.At < last || m.At > len(text) || m.At < len(text) && !utf8.RuneStart(text[m.At]) {
			return fmt.Errorf("%w: mark %d stands at byte %d of %d, after one at %d", ErrInvalid, i, m.At, len(text), last)
		}
		if m.Token == "" || len(m.Token) > 200 {
			return fmt.Errorf("%w: mark %d names a token of %d bytes", ErrInvalid, i, len(m.Token))
		}
		if err := CheckText(m.Token); err != nil {
			return fmt.Errorf("mark %d: %w", i, err)
		}
		last = m.At
	}
	return nil
}

// UnknownToken returns the error for a [Mark] whose token a model's vocabulary lacks. It wraps [ErrInvalid].
func UnknownToken(info Info, token string) error {
	return fmt.Errorf("%w: %s has no special token %q: is the profile one for this model?", ErrInvalid, info.Model, token)
}
