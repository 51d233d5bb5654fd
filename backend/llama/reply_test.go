package llama

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReply(t *testing.T) {
	check := func(want string, stopped bool, stops []string, pieces ...string) {
		t.Helper()
		r := newReply(stops)
		got := false
		for _, p := range pieces {
			if got {
				t.Errorf("%q went on after a stop string", pieces)
			}
			got = r.add([]byte(p))
		}
		if r.String() != want || got != stopped {
			t.Errorf("%q with stops %q gave %q, stopped: %v; want %q, %v",
				pieces, stops, r.String(), got, want, stopped)
		}
	}
	check("", false, nil)
	check("one two", false, nil, "one", " two")
	check("one", true, []string{" two"}, "one", " two")
	check("one ", true, []string{"two"}, "on", "e t", "w", "o three")
	check("a", true, []string{"cd", "bc"}, "ab", "cde")        // the first in the text, not in the list
	check("a", true, []string{"d", "bcd"}, "abc", "d")         // found at once, the one that begins first
	check("ab", false, []string{"bc"}, "ab")                   // may yet come
	check("é", false, nil, "\xc3", "\xa9")                     // a character in two tokens
	check("é", false, nil, "é\xe2\x82")                        // and one that was cut off
	check("\uFFFDx", false, nil, "\xffx")                      // what can be no character
	check("🙂", false, nil, "\xf0\x9f", "\x99", "\x82\xf0\x9f") // four bytes
	check("grün", true, []string{"日"}, "grün\xe6", "\x97\xa5x")
}

func FuzzReply(f *testing.F) {
	f.Add("some text that stops here", "stop", uint8(3))
	f.Add("é日🙂\xff\xc3", "🙂", uint8(1))
	f.Fuzz(func(t *testing.T, text, stop string, size uint8) {
		stops := []string{stop}
		if stop == "" {
			stops = nil
		}
		r := newReply(stops)
		stopped := false
		for rest := text; rest != "" && !stopped; {
			n := min(len(rest), 1+int(size)%7)
			stopped = r.add([]byte(rest[:n]))
			rest = rest[n:]
		}
		want, _, found := strings.Cut(text, stop)
		if stop == "" {
			want, found = text, false
		}
		if string(r.text) != want || stopped != found {
			t.Errorf("%q cut at %q is %q (%v), want %q (%v)", text, stop, r.text, stopped, want, found)
		}
		if !utf8.ValidString(r.String()) {
			t.Errorf("%q is not UTF-8", r.String())
		}
		if utf8.ValidString(want) && r.String() != want {
			t.Errorf("%q is given as %q", want, r.String())
		}
	})
}
