package report

import (
	"fmt"
	"io"

	"github.com/assay-eval/assay/internal/study"
	"github.com/jedib0t/go-pretty/v6/table"
)

// A document is what a study found, laid out for people: sections that follow each other. What a format makes of it is
// the format's; what stands in it is said once, below, for each kind of result.
type document struct {
	value    any // the result itself, as programs read it
	sections []section
}

// A section is a table, or notes, or lines under a title. Empty ones are not shown.
type section struct {
	header []string
	rows   [][]any // of strings, ints and the types below
	texts  int     // how many columns from the first on are no numbers; 0: one

	notes []string

	title string
	lines []string
}

func (s section) empty() bool { return s.header == nil && len(s.notes)+len(s.lines) == 0 }

// What can stand in a cell beside text and counts. Each knows how it is shown; a format for programs writes its numbers
// in full.
type (
	value    float64                  // a value or a mean
	change   float64                  // a difference, with its sign
	interval struct{ lo, hi float64 } // from lo to hi
	shift    struct{ lo, hi float64 } // an interval of a difference, with signs
	chance   float64                  // a p-value
	estimate struct{ *study.Estimate }
)

func (v value) String() string    { return number(float64(v)) }
func (v change) String() string   { return signed(float64(v)) }
func (v chance) String() string   { return pValue(float64(v)) }
func (v interval) String() string { return number(v.lo) + " to " + number(v.hi) }
func (v shift) String() string    { return signed(v.lo) + " to " + signed(v.hi) }

// String writes a number and its interval: "0.634 (0.521 to 0.729)".
func (v estimate) String() string {
	switch {
	case v.Estimate == nil:
		return ""
	case v.Lo == nil:
		return number(v.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", number(v.Value), number(*v.Lo), number(*v.Hi))
}

// writeSections writes a document as text, its tables as a format has them.
func writeSections(w io.Writer, d *document, render func(table.Writer)) error {
	p := &printer{w: w}
	for _, s := range d.sections {
		if s.empty() {
			continue
		}
		p.gap()
		if s.header != nil {
			render(tableOf(p, s))
		}
		for _, note := range s.notes {
			fmt.Fprintf(p, "- %s\n", Printable(note))
		}
		if len(s.lines) > 0 {
			fmt.Fprintf(p, "%s\n", Printable(s.title))
		}
		for _, line := range s.lines {
			fmt.Fprintf(p, "  %s\n", Printable(line))
		}
	}
	return p.err
}

// tableOf makes the table of a section, whose columns after the first ones are numbers.
func tableOf(w io.Writer, s section) table.Writer {
	var header []any
	for _, name := range s.header {
		header = append(header, name)
	}
	t := NewTable(w, header...)
	for _, row := range s.rows {
		cells := table.Row{}
		for _, cell := range row {
			cells = append(cells, Printable(fmt.Sprint(cell)))
		}
		t.AppendRow(cells)
	}
	alignNumbers(t, max(s.texts, 1)+1, len(s.header))
	return t
}

// A printer writes until something fails, and puts an empty line between what is written.
type printer struct {
	w     io.Writer
	begun bool
	err   error
}

func (p *printer) Write(b []byte) (int, error) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
	return len(b), p.err
}

// gap puts an empty line between sections.
func (p *printer) gap() {
	if p.begun {
		fmt.Fprintln(p)
	}
	p.begun = true
}
