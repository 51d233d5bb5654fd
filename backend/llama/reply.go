package llama

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A reply gathers the bytes of a reply and watches for the strings that end it.
type reply struct {
	text    []byte
	stops   []string
	longest int // of stops, in bytes
}

func newReply(stops []string) *reply {
	r := &reply{stops: stops}
	for _, s := range stops {
		r.longest = max(r.longest, len(s))
	}
	return r
}

// add appends a token's bytes and reports whether a stop string is complete. The text then ends before
// the first one, which may have begun some tokens ago.
func (r *reply) add(piece []byte) (stopped bool) {
	from := max(0, len(r.text)-r.longest+1)
	r.text = append(r.text, piece...)
	cut := len(r.text)
	for _, s := range r.stops {
		if at := bytes.Index(r.text[from:], []byte(s)); at >= 0 {
			cut, stopped = min(cut, from+at), true
		}
	}
	r.text = r.text[:cut]
	return stopped
}

// String returns the text so far. A character of which only the first bytes have come is left out;
// bytes that can never become a character are replaced, for the model can write anything.
func (r *reply) String() string {
	text := r.text
	for i := 1; i <= min(utf8.UTFMax-1, len(text)); i++ {
		tail := text[len(text)-i:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				text = text[:len(text)-i]
			}
			break
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}
