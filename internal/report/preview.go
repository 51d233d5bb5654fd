package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/assay-eval/assay/internal/preview"
	"github.com/assay-eval/assay/metrics"
	"github.com/jedib0t/go-pretty/v6/table"
)

// Data writes what a dataset holds: its columns, first rows, and which metrics can run.
func Data(w io.Writer, d *preview.Data) error {
	p := &lines{w: w}
	p.print("%s: %d rows, read as %s\n", d.Name, d.Rows, d.Format)
	if d.Bad > 0 {
		p.print("%d rows cannot be read, the first: %s\n", d.Bad, d.Errors[0])
	}
	for _, note := range d.Notes {
		p.print("%s\n", note)
	}
	p.print("\n")
	t := NewTable(w, "column", "read as", "rows", "holds")
	for _, c := range d.Columns {
		t.AppendRow(table.Row{short(c.Name, 40), strings.Join(c.Fields, ", "), c.Filled, holds(c)})
	}
	t.Render()
	for _, s := range d.First {
		p.print("\n%s\n", short(s.ID, 80))
		for _, line := range firstOf(s) {
			p.print("  %s\n", line)
		}
	}
	p.print("\n")
	t = NewTable(w, "preset", "metrics", "models", "left out, as the rows lack")
	for _, preset := range d.Presets {
		lacks := ""
		if len(preset.Missing) > 0 {
			lacks = fmt.Sprintf("%d: %s", len(preset.Missing), strings.Join(preset.Fields, ", "))
		}
		t.AppendRow(table.Row{preset.Name, len(preset.Ready), orNone(preset.Asks.Names()), lacks})
	}
	t.Render()
	p.print("\n")
	t = NewTable(w, "metrics that can run", "models")
	for _, r := range d.Ready {
		t.AppendRow(table.Row{len(r.Metrics), orNone(r.Asks.Names())})
	}
	t.Render()
	p.print("\n")
	t = NewTable(w, "metrics that cannot", "the rows lack")
	for _, m := range d.Missing {
		t.AppendRow(table.Row{len(m.Metrics), strings.Join(m.Fields, ", ")})
	}
	t.Render()
	p.print("\nassay run --data ... --preset NAME --dry-run scores a few rows and says how long all would take on this machine\n")
	return p.err
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// holds describes what a column holds.
func holds(c preview.Column) string {
	var parts []string
	if c.Texts > 0 && c.Kinds[0] == "list" {
		parts = append(parts, fmt.Sprintf("%.1f texts", c.Texts))
	}
	if c.Words > 0 {
		parts = append(parts, fmt.Sprintf("%.0f words, %.0f bytes, at most %d", c.Words, c.Bytes, c.Most))
	}
	if len(c.Values) > 0 && len(parts) == 0 {
		var values []string
		for _, v := range c.Values {
			values = append(values, short(v, 40))
		}
		return strings.Join(values, ", ")
	}
	if len(c.Members) > 0 {
		return short("object of "+strings.Join(c.Members, ", "), 100)
	}
	if len(parts) == 0 && len(c.Fields) == 0 {
		return strings.Join(c.Kinds, ", ")
	}
	return strings.Join(parts, ", ")
}

// firstOf shows a row in a few lines.
func firstOf(s *metrics.Sample) (list []string) {
	add := func(name, text string) {
		if text != "" {
			list = append(list, name+": "+short(text, 100))
		}
	}
	for _, turn := range s.History {
		add(string(turn.Role), turn.Text())
	}
	add("question", s.Question)
	add("answer", s.Answer)
	for i, context := range s.Contexts {
		if i == 3 && len(s.Contexts) > 4 {
			add("context", fmt.Sprintf("... %d more", len(s.Contexts)-i))
			break
		}
		add("context", context)
	}
	if len(s.Contexts) == 0 {
		add("context ids", strings.Join(s.ContextIDs, ", "))
	}
	for _, reference := range s.References {
		add("reference answer", reference)
	}
	for _, call := range s.ToolCalls {
		add("tool call", call.String())
	}
	return list
}

// short cuts text to so many characters, on one line, fit for a terminal.
func short(text string, most int) string {
	text = strings.Join(strings.Fields(Printable(text)), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return text
}

// Pilot writes what scoring a few rows took, what all rows would take, and the prompts.
func Pilot(w io.Writer, p *preview.Pilot) error {
	out := &lines{w: w}
	for _, m := range p.Metrics {
		if m.Prompt != "" {
			out.print("the first prompt of %s\n%s\n\n", m.Name, indent(Printable(m.Prompt)))
		}
	}
	tried := len(p.Tried)
	t := NewTable(w, "metric", "scored", "failed", "n/a", "calls", "from the cache", "prompt tokens", "reply tokens", "seconds", "calls for all rows")
	alignNumbers(t, 2, 10)
	calls := 0
	for _, m := range p.Metrics {
		all := m.Calls * p.Rows / max(1, tried)
		calls += all
		t.AppendRow(table.Row{m.Name, m.Scored, m.Failed, m.NotApplicable, m.Calls, max(0, m.Calls-m.Computed), m.PromptTokens,
			m.OutputTokens, fmt.Sprintf("%.1f", m.Seconds), all})
	}
	t.Render()
	out.print("\n%d of %d rows were scored; all of them would be about %d calls", tried, p.Rows, calls)
	switch {
	case p.Seconds == nil:
		out.print(". Most answers came from the cache: how long it takes cannot be told from these rows\n")
	default:
		out.print(" and %s at this rate; a whole run serves more rows at once, and may be faster\n",
			(time.Duration(*p.Seconds * float64(time.Second))).Round(time.Second))
	}
	return out.err
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// Lines are written until an error.
type lines struct {
	w   io.Writer
	err error
}

func (p *lines) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, Printable(fmt.Sprintf(format, args...)))
	}
}
