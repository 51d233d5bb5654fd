package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// How numbers and texts are written, in tables and in everything else that people read.

// number writes a value as tables show it.
func number(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// signed writes a difference. One that rounds to 0 has no sign to show.
func signed(v float64) string {
	if -0.0005 < v && v < 0.0005 {
		return "0.000"
	}
	return fmt.Sprintf("%+.3f", v)
}

// pValue writes a p-value with as many digits as tell something.
func pValue(p float64) string {
	switch {
	case p < 0.0001:
		return "<0.0001"
	case p < 0.01:
		return strconv.FormatFloat(p, 'f', 4, 64)
	}
	return number(p)
}

// Printable replaces what could steer a terminal: text from datasets and models is not trusted. Lines and tabs stay.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && steers(r) {
			return '\ufffd'
		}
		return r
	}, s)
}

// plain is Printable for what stands in one line, such as names and notes: lines and tabs are replaced, too.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return '\ufffd'
		}
		return r
	}, s)
}

// steers reports whether a character controls a terminal, or the direction of what follows it.
func steers(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// NewTable starts a table that is printed to w.
func NewTable(w io.Writer, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.Options{SeparateColumns: true}
	t.Style().Format.Header = text.FormatDefault
	t.Style().Box.MiddleVertical = "  "
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", ""
	t.AppendHeader(header)
	return t
}

// alignNumbers has the columns from the first number to the last column stand to the right, as numbers do. They are
// counted from 1.
func alignNumbers(t table.Writer, first, columns int) {
	var list []table.ColumnConfig
	for i := first; i <= columns; i++ {
		list = append(list, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(list)
}

// when is s if a condition holds.
func when(condition bool, s string) string {
	if condition {
		return s
	}
	return ""
}

// plural counts things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Counted counts things for people: "1 row", "2 rows".
func Counted(n int, what string) string { return plural(n, what) }

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
