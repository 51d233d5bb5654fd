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
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// A labelDesk shows samples and takes down what is said of them.
type labelDesk struct {
	book     *labels.Book
	samples  []*metrics.Sample
	scale    int // 0: labels are 0 and 1
	question string
	pick     string // how the samples were picked; "" for fairly

	at   int
	page int // 0: the beginnings of all texts; from 1 on, a page of the whole texts
}

// work goes through the samples until all are labelled or the user leaves.
func (d *labelDesk) work(ctx context.Context, s *std) error {
	keys, done, err := openKeys(s.in)
	if err != nil {
		return err
	}
	defer done()
	screen := &screen{out: s.out, term: s.outTerm, raw: keys.terminal, clear: s.outTerm && keys.terminal, width: 80, height: 40}
	for turn := true; ; {
		screen.measure()
		if d.at == len(d.samples) && !screen.clear {
			return nil
		}
		if turn || screen.clear {
			d.show(screen)
		}
		key, err := d.next(ctx, keys, screen)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var quit bool
		if turn, quit, err = d.take(key); quit || err != nil {
			return err
		}
		if !turn && !screen.clear {
			screen.line(d.keys())
		}
	}
}

// resizeEvery is how often the window's size is looked at.
const resizeEvery = 200 * time.Millisecond

// next is the next key, io.EOF after the last. Where the window changes its size meanwhile, the page is shown anew.
func (d *labelDesk) next(ctx context.Context, keys *labelKeys, screen *screen) (rune, error) {
	look := time.NewTicker(resizeEvery)
	defer look.Stop()
	for {
		select {
		case key, ok := <-keys.pressed:
			if !ok {
				return 0, keys.failed
			}
			return key, nil
		case <-look.C:
			if screen.clear && screen.measure() {
				d.show(screen)
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// take acts on a key. Turn says that there is another page to show.
func (d *labelDesk) take(key rune) (turn, quit bool, err error) {
	if d.at == len(d.samples) { // all are labelled: back, or away
		if key != 'b' {
			return false, true, nil
		}
		d.at--
		return true, false, nil
	}
	id := d.samples[d.at].ID
	label, ok := d.label(key)
	switch {
	case ok:
		err = d.book.Put(id, &label, d.pick)
		d.at++
	case key == 's':
		err = d.book.Put(id, nil, d.pick)
		d.at++
	case key == 'b':
		d.at = max(0, d.at-1)
	case key == 'm':
		d.page++
		return true, false, nil
	case key == 'q' || key == 3 || key == 4: // also Ctrl-C and Ctrl-D
		return false, true, nil
	default:
		return false, false, nil
	}
	d.page = 0
	return true, false, err
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

// show shows the sample that it is at: the beginning of each text, so that all of them and the keys stand on one screen,
// or a page of the whole texts.
func (d *labelDesk) show(screen *screen) {
	if d.at == len(d.samples) {
		screen.begin()
		screen.line("That was the last row. b back, any other key ends.")
		return
	}
	sample := d.samples[d.at]
	title := fmt.Sprintf("%d of %d  ", d.at+1, len(d.samples))
	title += wrap(report.Printable(sample.ID), max(1, screen.width-len(title)))[0]
	var foot []string
	if d.question != "" {
		foot = wrap(report.Printable(d.question), screen.width)
	}
	foot = append(foot, wrap(d.keys(), screen.width)...)
	room := screen.height - len(foot) - 3 // the title, an empty line, and where the cursor stands

	texts := textsOf(sample)
	body := overview(texts, screen.width, room)
	if d.page > 0 {
		pages := [][]string{whole(texts, screen.width)}
		if screen.clear {
			pages = slices.Collect(slices.Chunk(pages[0], max(1, room-1)))
		}
		if d.page > len(pages) {
			d.page = 0
		} else if body = pages[d.page-1]; len(pages) > 1 {
			body = append(slices.Clone(body), fmt.Sprintf("page %d of %d: m goes on", d.page, len(pages)))
		}
	}
	screen.begin()
	for _, line := range slices.Concat([]string{title, ""}, body, foot) {
		screen.line(line)
	}
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

// whole lists the lines of texts, each below its name.
func whole(texts []namedText, width int) []string {
	var lines []string
	for _, t := range texts {
		lines = append(lines, t.name)
		for _, line := range t.wrapped(width) {
			lines = append(lines, "  "+line)
		}
		lines = append(lines, "")
	}
	return lines
}

// wrapped are the lines of the text, to stand two columns in.
func (t namedText) wrapped(width int) []string {
	return wrap(report.Printable(t.text), max(1, width-2))
}

// overview shows the beginnings of texts in so many lines. Where they do not all fit, the first and the last come before
// others.
func overview(texts []namedText, width, room int) []string {
	if len(texts) == 0 {
		return nil
	}
	n, lines, gap := fitting(len(texts), room)
	kept := texts
	if n < len(texts) {
		kept = append(slices.Clone(texts[:n-1]), texts[len(texts)-1])
	}
	wrapped, share := make([][]string, n), make([]int, n)
	left := room - n*(1+gap)
	if n < len(texts) {
		left -= 1 + gap
	}
	for i, t := range kept {
		wrapped[i] = t.wrapped(width)
		share[i] = min(lines, len(wrapped[i]))
		left -= share[i]
	}
	for given := true; given; { // what is left over
		given = false
		for i := range n + 1 {
			i = min(i, n-1) // the last, which it is all about, has two lines for one
			if left > 0 && share[i] < len(wrapped[i]) {
				share[i]++
				left--
				given = true
			}
		}
	}
	var list []string
	space := slices.Repeat([]string{""}, gap)
	for i, t := range kept {
		if i == n-1 && n < len(texts) {
			list = append(append(list, fmt.Sprintf("%d more texts: m", len(texts)-n)), space...)
		}
		name := t.name
		if more := len(wrapped[i]) - share[i]; more > 0 {
			name += fmt.Sprintf(" (%d more lines: m)", more)
		}
		list = append(list, name)
		for _, line := range wrapped[i][:share[i]] {
			list = append(list, "  "+line)
		}
		list = append(list, space...)
	}
	return list
}

// fitting says how many of so many texts to show in a room of lines, with how many lines of each at least, and how many
// empty lines between them: fewer texts before no empty lines, but no fewer than three.
func fitting(texts, room int) (n, lines, gap int) {
	for _, try := range []struct{ most, least, lines, gap int }{{6, 3, 2, 1}, {4, 1, 1, 0}} {
		for n := min(texts, try.most); n >= min(texts, try.least); n-- {
			need := n * (1 + try.lines + try.gap)
			if n < texts {
				need += 1 + try.gap // how many more there are
			}
			if need <= room {
				return n, try.lines, try.gap
			}
		}
	}
	return 1, 1, 0
}

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
			if err == nil && key == escape {
				err = skipSequence(r)
				key = 0
			}
			if err != nil {
				return err
			}
			if key != 0 {
				k.pressed <- unicode.ToLower(key)
			}
			continue
		}
		line, err := r.ReadString('\n')
		if word := strings.ToLower(strings.TrimSpace(line)); word != "" {
			key, _ := utf8.DecodeRuneInString(word)
			k.pressed <- key
		}
		if err != nil {
			return err
		}
	}
}

const escape = 0x1b

// skipSequence reads the rest of what an arrow, Delete or a function key sends after an escape. There are digits in it,
// which label nothing.
func skipSequence(r *bufio.Reader) error {
	key, _, err := r.ReadRune()
	switch {
	case err != nil:
		return err
	case key < ' ':
		return r.UnreadRune() // Ctrl-C after a lone escape
	case key != '[' && key != 'O':
		return nil
	}
	for {
		key, _, err := r.ReadRune()
		if err != nil || key >= '@' && key <= '~' {
			return err
		}
	}
}
