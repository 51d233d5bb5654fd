package desk

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// A screen is what samples are shown on. What it is given is not trusted to leave a terminal alone.
type screen struct {
	out    io.Writer
	term   bool // it is a terminal, which has a size
	raw    bool // a line must be ended by a carriage return, too
	clear  bool // each page begins on an empty screen
	width  int
	height int
}

// measure looks how large the window is, and reports whether it is not as it was.
func (c *screen) measure() (changed bool) {
	if !c.term {
		return false
	}
	w, h, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return false
	}
	const readable = 100 // columns
	w = min(w, readable)
	changed = w != c.width || h != c.height
	c.width, c.height = w, h
	return changed
}

// begin begins a page.
func (c *screen) begin() {
	if c.clear {
		fmt.Fprint(c.out, "\x1b[H\x1b[2J")
	}
}

func (c *screen) line(line string) {
	end := "\n"
	if c.raw {
		end = "\r\n"
	}
	fmt.Fprint(c.out, line, end)
}

// wrap breaks a text into lines of at most width columns, at spaces where there are any. There is one line at least.
func wrap(s string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		line, length := "", 0
		for _, word := range strings.Fields(paragraph) {
			n := columns(word)
			if length > 0 && length+1+n <= width {
				line, length = line+" "+word, length+1+n
				continue
			}
			if length > 0 {
				lines = append(lines, line)
			}
			for n > width {
				cut := fit(word, width)
				if cut == len(word) {
					break // one wide character
				}
				lines = append(lines, word[:cut])
				word = word[cut:]
				n = columns(word)
			}
			line, length = word, n
		}
		lines = append(lines, line)
	}
	return lines
}

// columns is how many columns of a screen a text takes: two for each of the wide characters of Chinese, Japanese and
// Korean.
func columns(s string) int { return text.StringWidthWithoutEscSequences(s) }

// fit is how many bytes of a word fit in width columns: one character at least.
func fit(word string, width int) int {
	used := 0
	for i, r := range word {
		if used += text.RuneWidth(r); used > width && i > 0 {
			return i
		}
	}
	return len(word)
}
