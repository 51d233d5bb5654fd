package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assay-eval/assay/metrics"
	"golang.org/x/term"
)

// A labelDesk shows samples and takes down what is said of them.
type labelDesk struct {
	book     *labelBook
	samples  []*metrics.Sample
	scale    int // 0: labels are 0 and 1
	question string
	total    int

	at   int
	full bool // texts are shown whole
}

// work goes through the samples until all are labelled or the user leaves.
func (d *labelDesk) work(ctx context.Context, s *std) error {
	keys, done, err := openKeys(s.in)
	if err != nil {
		return err
	}
	defer done()
	screen := &screen{out: s.out, raw: keys.terminal, clear: s.outTerm && keys.terminal, width: 80, height: 40}
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil && s.outTerm {
		screen.width, screen.height = min(max(w, 20), 100), h
	}
	shown := -1
	for d.at < len(d.samples) {
		if d.at != shown || d.full {
			d.show(screen)
			shown = d.at
		}
		key, err := keys.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		before := d.full
		quit, err := d.take(key, screen)
		if quit || err != nil {
			return err
		}
		if before && d.full {
			d.full = false
		}
	}
	return nil
}

// take acts on a key.
func (d *labelDesk) take(key rune, screen *screen) (quit bool, err error) {
	id := d.samples[d.at].ID
	label, ok := d.label(key)
	switch {
	case ok:
		err = d.book.put(id, &label)
		d.at++
	case key == 's':
		err = d.book.put(id, nil)
		d.at++
	case key == 'b':
		d.at = max(0, d.at-1)
	case key == 'm':
		d.full = true
	case key == 'q' || key == 3 || key == 4: // also Ctrl-C and Ctrl-D
		return true, nil
	default:
		screen.line(d.keys())
	}
	return false, err
}

// label is what a key stands for.
func (d *labelDesk) label(key rune) (label int, ok bool) {
	switch {
	case d.scale > 0 && key >= '1' && key <= '0'+rune(d.scale):
		return int(key - '0'), true
	case d.scale == 0 && (key == '0' || key == 'n'):
		return 0, true
	case d.scale == 0 && (key == '1' || key == 'y'):
		return 1, true
	}
	return 0, false
}

func (d *labelDesk) keys() string {
	labels := "1 yes, 0 no"
	if d.scale > 0 {
		labels = fmt.Sprintf("1 to %d", d.scale)
	}
	return labels + " | b back, s skip, m more, q quit"
}

// show shows the sample that it is at: each text in part, so that all of them and the keys stand on one screen, or whole.
func (d *labelDesk) show(screen *screen) {
	sample := d.samples[d.at]
	screen.begin(fmt.Sprintf("%d of %d  %s", d.at+1, d.total, printable(sample.ID)))
	texts := textsOf(sample)
	kept, share := texts, 1<<20
	if !d.full {
		const most, frame = 5, 8 // texts, and lines around them
		if len(kept) > most {
			kept = append(slices.Clone(kept[:most-1]), kept[len(kept)-1])
		}
		share = (screen.height - frame) / (len(kept) + 1)
	}
	const around = 3 // lines of each text: its name, what is left out, and an empty one
	for i, t := range kept {
		last := i == len(kept)-1
		if last && len(kept) < len(texts) {
			screen.line(fmt.Sprintf("... %d more texts: m shows them", len(texts)-len(kept)))
			screen.line("")
		}
		lines := max(1, share-around)
		if last {
			lines = max(2, 2*share-around) // what it is all about
		}
		screen.text(t.name, t.text, lines)
	}
	if d.question != "" {
		screen.line(printable(d.question))
	}
	screen.line(d.keys())
}

// A namedText is a part of a sample.
type namedText struct{ name, text string }

// textsOf lists the parts of a sample that say something: the question first and the answer last.
func textsOf(s *metrics.Sample) []namedText {
	list := []namedText{{"question", s.Question}}
	for i, c := range s.Contexts {
		list = append(list, namedText{fmt.Sprintf("context %d", i+1), c})
	}
	for _, r := range s.References {
		list = append(list, namedText{"reference", r})
	}
	for i := len(s.History) - 1; i >= 0; i-- {
		list = append(list, namedText{"before that, the " + string(s.History[i].Role), s.History[i].Text})
	}
	list = append(list, namedText{"answer", s.Answer})
	return slices.DeleteFunc(list, func(t namedText) bool { return strings.TrimSpace(t.text) == "" })
}

// A screen is what samples are shown on. What it is given is not trusted to leave a terminal alone.
type screen struct {
	out    io.Writer
	raw    bool // a line must be ended by a carriage return, too
	clear  bool // each page begins on an empty screen
	width  int
	height int
}

// begin begins a page.
func (c *screen) begin(title string) {
	if c.clear {
		fmt.Fprint(c.out, "\x1b[H\x1b[2J")
	}
	c.line(title)
	c.line("")
}

func (c *screen) line(text string) {
	end := "\n"
	if c.raw {
		end = "\r\n"
	}
	fmt.Fprint(c.out, text, end)
}

// text shows a text below its name, wrapped, and at most so many lines of it.
func (c *screen) text(name, text string, most int) {
	c.line(name)
	lines := wrap(printable(text), c.width-2)
	for i, line := range lines {
		if i == most && len(lines) > most+1 {
			c.line(fmt.Sprintf("  ... %d more lines: m shows them", len(lines)-i))
			break
		}
		c.line("  " + line)
	}
	c.line("")
}

// wrap breaks text into lines of at most width characters, at spaces where there are any.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line, length := "", 0
		for _, word := range strings.FieldsFunc(paragraph, unicode.IsSpace) {
			for {
				n := utf8.RuneCountInString(word)
				if length > 0 && length+1+n <= width {
					line, length = line+" "+word, length+1+n
					break
				}
				if length > 0 {
					lines = append(lines, line)
					line, length = "", 0
				}
				if n <= width {
					line, length = word, n
					break
				}
				cut := len(string([]rune(word)[:width]))
				lines = append(lines, word[:cut])
				word = word[cut:]
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// labelKeys are the keys that a user presses.
type labelKeys struct {
	terminal bool
	pressed  chan rune
	failed   error // why pressed was closed
}

// openKeys reads keys as they are pressed, or where there is no terminal the first character of each line.
func openKeys(in io.Reader) (k *labelKeys, done func(), err error) {
	k = &labelKeys{pressed: make(chan rune)}
	done = func() {}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		old, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return nil, nil, err
		}
		k.terminal = true
		done = func() { term.Restore(int(f.Fd()), old) }
	}
	go func() {
		defer close(k.pressed)
		k.failed = k.read(bufio.NewReader(in))
	}()
	return k, done, nil
}

func (k *labelKeys) read(r *bufio.Reader) error {
	for {
		if k.terminal {
			key, _, err := r.ReadRune()
			if err != nil {
				return err
			}
			k.pressed <- unicode.ToLower(key)
			continue
		}
		line, err := r.ReadString('\n')
		if text := strings.ToLower(strings.TrimSpace(line)); text != "" {
			key, _ := utf8.DecodeRuneInString(text)
			k.pressed <- key
		}
		if err != nil {
			return err
		}
	}
}

// next is the next key; io.EOF after the last.
func (k *labelKeys) next(ctx context.Context) (rune, error) {
	select {
	case key, ok := <-k.pressed:
		if !ok {
			return 0, k.failed
		}
		return key, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
