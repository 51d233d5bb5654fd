package desk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/report"
)

// Keys that send more than one character, digits among them, label nothing.
func TestKeysOfATerminal(t *testing.T) {
	check := func(typed, want string) {
		t.Helper()
		k := &keyboard{terminal: true, pressed: make(chan rune)}
		go func() {
			defer close(k.pressed)
			k.failed = k.read(bufio.NewReader(strings.NewReader(typed)))
		}()
		got := ""
		for key := range k.pressed {
			got += string(key)
		}
		if got != want || !errors.Is(k.failed, io.EOF) {
			t.Errorf("%q: %q and %v, want %q", typed, got, k.failed, want)
		}
	}
	check("1Qs", "1qs")
	check("\x1b[3~1", "1")            // Delete
	check("\x1b[15~\x1b[1;5C0", "0")  // F5, Ctrl-Right
	check("\x1bOP\x1b[A\x1b[Bm", "m") // F1, arrows
	check("\x1b1s", "s")              // Alt-1
	check("\x1b\x03", "\x03")         // Escape, Ctrl-C
	check("\x1b[1", "")
}

func TestWrap(t *testing.T) {
	check := func(text string, width int, want ...string) {
		t.Helper()
		if got := wrap(text, width); !slices.Equal(got, want) {
			t.Errorf("%q in %d columns: %q, want %q", text, width, got, want)
		}
	}
	check("one two three", 7, "one two", "three")
	check("one\n\n two", 9, "one", "", "two")
	check("abcdefgh i", 3, "abc", "def", "gh", "i")
	check("島の灯台は白い", 6, "島の灯", "台は白", "い") // two columns each
	check("a 島島島島", 5, "a", "島島", "島島")
	check("島", 1, "島")
	check("", 5, "")
	check("e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301", "e\u0301") // accents that take no column of their own
}

func FuzzWrap(f *testing.F) {
	f.Add("one two\tthree\n島の灯台", 5)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 2 + int(uint(width)%100)
		text = report.Printable(text)
		lines := wrap(text, width)
		for _, line := range lines {
			if n := columns(line); n > width {
				t.Fatalf("%q takes %d columns of %d", line, n, width)
			}
		}
		all := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := all(strings.Join(lines, "")); got != all(text) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// What stands on the first page fits in the window, whatever its size and the sample's, and the answer is there.
func TestOverviewFits(t *testing.T) {
	for contexts := range 9 {
		for length := range 4 {
			var texts []namedText
			for i := range contexts {
				texts = append(texts, namedText{fmt.Sprint("context ", i+1),
					strings.Repeat("word ", int(math.Pow10(length)))})
			}
			texts = append(texts, namedText{"answer", strings.Repeat("島", 40)})
			for room := 3; room < 60; room++ {
				lines := overview(texts, 40, room)
				if len(lines) > room {
					t.Fatalf("%d texts of length %d in %d lines take %d", len(texts), length, room, len(lines))
				}
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "島") }) {
					t.Fatalf("%d texts in %d lines: no answer in %q", len(texts), room, lines)
				}
			}
		}
	}
	if got := overview(nil, 40, 10); got != nil {
		t.Errorf("of nothing: %q", got)
	}
}
