package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// writeTable writes for people at a terminal: a line that says what was run, the numbers, and notes.
func writeTable(w io.Writer, reports []*Report, o Options) error {
	var b strings.Builder
	faint := func(s string) string { return s }
	if o.Color {
		faint = func(s string) string { return text.Faint.Sprint(s) }
	}
	for i, r := range reports {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n\n%s\n", plain(r.title()), r.table(o.Color))
		for i, note := range r.Notes() {
			if i == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintln(&b, faint(wrap(plain(note), 88)))
		}
		for _, section := range r.sliceSections() {
			b.WriteByte('\n')
			if section.header != nil {
				tableOf(&b, section).Render()
			}
			for _, note := range section.notes {
				fmt.Fprintln(&b, faint(wrap(note, 88)))
			}
		}
	}
	for i, v := range o.Verdicts {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(&b, v.line(len(reports) > 1, o.Color))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) table(color bool) string {
	t := table.NewWriter()
	t.SetStyle(table.Style{
		Name:   "calm",
		Box:    table.BoxStyle{MiddleHorizontal: "─", MiddleSeparator: "─", PaddingRight: "  "},
		Color:  table.ColorOptions{Header: ifColor(color, text.Faint), Separator: ifColor(color, text.Faint)},
		Format: table.FormatOptions{Header: text.FormatDefault},
		Options: table.Options{
			SeparateHeader: true,
		},
	})
	header := table.Row{"metric", "mean", "95% interval"}
	ranged, calibrated, asked := r.ranged(), r.calibrated(), r.asked()
	if calibrated {
		header = append(header, "calibrated", "95% interval")
	}
	header = append(header, "n", "failed", "n/a")
	if asked {
		header = append(header, "not asked")
	}
	if ranged {
		header = append(header, "range")
	}
	t.AppendHeader(header)
	for i := range r.Metrics {
		m := &r.Metrics[i]
		failed := strconv.Itoa(m.Failed)
		if m.Failed > 0 && color {
			failed = text.FgYellow.Sprint(failed)
		}
		row := table.Row{plain(m.Name), m.mean(), m.interval()}
		if calibrated {
			mean, interval := m.calibrated()
			row = append(row, mean, interval)
		}
		row = append(row, m.N, failed, m.NotApplicable)
		if asked {
			row = append(row, m.NotAsked)
		}
		if ranged {
			row = append(row, fmt.Sprintf("%v to %v", m.Min, m.Max))
		}
		t.AppendRow(row)
	}
	right := func(column int) table.ColumnConfig {
		return table.ColumnConfig{Number: column, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	columns := []table.ColumnConfig{{Number: 1, WidthMax: 56}, right(2), right(3), right(4), right(5), right(6)}
	numbers := len(header)
	if ranged {
		numbers-- // the last one is no number
	}
	for column := 7; column <= numbers; column++ {
		columns = append(columns, right(column))
	}
	t.SetColumnConfigs(columns)
	var b strings.Builder
	for line := range strings.Lines(t.Render()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func ifColor(color bool, c text.Color) text.Colors {
	if color {
		return text.Colors{c}
	}
	return nil
}

func (v Verdict) line(several, color bool) string {
	word := fmt.Sprintf("%-4s", v.Word())
	if color {
		word = map[string]text.Color{"ok": text.FgGreen, "skip": text.Faint, "FAIL": text.FgRed}[v.Word()].Sprint(word)
	}
	name := v.What()
	if several {
		name = v.Run + ": " + name
	}
	return fmt.Sprintf("%s %s: %s", word, plain(name), plain(v.Why))
}

// wrap breaks a line at spaces, before the given width where it can, and indents what follows.
func wrap(s string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(s) {
		n := text.StringWidthWithoutEscSequences(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// writeStudyTable writes for people at a terminal.
func writeStudyTable(w io.Writer, d *document) error {
	return writeSections(w, d, func(t table.Writer) { t.Render() })
}
