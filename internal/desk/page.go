package desk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/metrics"
)

// show shows the sample that it is at: the beginning of each text, so that all of them and the keys stand on one
// screen, or a page of the whole texts.
func (d *Desk) show(screen *screen) {
	if d.at == len(d.Samples) {
		screen.begin()
		screen.line("That was the last row. b back, any other key ends.")
		return
	}
	sample := d.Samples[d.at]
	title := fmt.Sprintf("%d of %d  ", d.at+1, len(d.Samples))
	title += wrap(report.Printable(sample.ID), max(1, screen.width-len(title)))[0]
	var foot []string
	if d.Question != "" {
		foot = wrap(report.Printable(d.Question), screen.width)
	}
	foot = append(foot, wrap(d.keys(), screen.width)...)
	room := screen.height - len(foot) - 3 // the title, an empty line, and where the cursor stands

	texts := textsOf(sample)
	if d.Pairs {
		texts = d.pairTexts(sample)
	}
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
		list = append(list, namedText{"before that, the " + string(s.History[i].Role), s.History[i].Text()})
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

// overview shows the beginnings of texts in so many lines. Where they do not all fit, the first and the last come
// before others.
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
