package gollama

import (
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
)

// A reply gathers the tokens of a reply and decides when it ends.
type reply struct {
	text  strings.Builder // bytes: a token may be half a character
	stops []string
	max   int // tokens
	count int
	cut   int // where the text ends before a stop string; -1: none has come
	full  bool
}

func newReply(req *backend.GenerateRequest) *reply {
	return &reply{stops: append(turns(), req.Stop...), max: req.MaxTokens, cut: -1}
}

// add takes a token's text and reports whether there may be more. The token that ends a reply comes here,
// too; it has no text, and the model stops behind it by itself. So where the last token allowed has none, another
// one is let come, to see whether the reply was at its end.
func (r *reply) add(piece string) (more bool) {
	if r.count == r.max {
		r.full = piece != ""
		return false
	}
	r.count++
	before := r.text.Len()
	r.text.WriteString(piece)
	if r.stopped(before); r.cut >= 0 {
		return false
	}
	r.full = r.count == r.max && piece != ""
	return !r.full
}

// stopped looks for stop strings that end behind the first bytes, those that were there before.
func (r *reply) stopped(before int) {
	text := r.text.String()
	for _, s := range r.stops {
		from := max(0, before-len(s)+1)
		if at := strings.Index(text[from:], s); at >= 0 && (r.cut < 0 || from+at < r.cut) {
			r.cut = from + at
		}
	}
}

// String returns the text. The first bytes of a character whose others did not come are left out; bytes that
// are no character are replaced.
func (r *reply) String() string {
	text := r.text.String()
	if r.cut >= 0 {
		text = text[:r.cut]
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				text = text[:len(text)-n]
			}
			break
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func (r *reply) stop() backend.StopReason {
	if r.full {
		return backend.StopLength
	}
	return backend.StopEnd
}
