package report

import (
	"fmt"
	"strings"
)

// sliceSections lays out the slices of a run: a table for each column, and what is worse than the rest.
func (r *Report) sliceSections() []section {
	if r.Slices == nil {
		return nil
	}
	var list []section
	for _, column := range r.Slices.Columns {
		s := section{texts: 2, title: "By " + plain(column),
			header: []string{plain(column), "metric", "mean", "95% interval", "n", "failed", "n/a", "against the rest", "p (Holm)"}}
		for i := range r.Metrics {
			for _, slice := range r.Slices.Find(column, r.Metrics[i].Name) {
				row := []any{plain(slice.Value), slice.Metric, "", "", slice.N, slice.Failed, slice.NotApplicable, "", ""}
				if slice.Mean != nil {
					row[2] = value(*slice.Mean)
				}
				if slice.Lo != nil {
					row[3] = interval{*slice.Lo, *slice.Hi}
				}
				if slice.Rest != nil {
					row[7], row[8] = change(slice.Rest.Difference), chance(slice.Rest.PHolm)
				}
				s.rows = append(s.rows, row)
			}
		}
		list = append(list, s)
	}
	return append(list, section{notes: r.sliceNotes()})
}

// sliceNotes name the slices that are worse than all other rows.
func (r *Report) sliceNotes() []string {
	tests := plural(r.Slices.Tests, "comparison") + ", by Welch's test with Holm's correction"
	worst := r.Slices.Worst()
	switch {
	case r.Slices.Tests == 0:
		return []string{"no slice is compared with the other rows: that takes five rows with a score on either side"}
	case len(worst) == 0:
		return []string{"no slice is worse than the other rows beyond chance (" + tests + ")"}
	}
	var notes []string
	for _, s := range worst {
		note := fmt.Sprintf("%s=%s is worse than the other rows in %s: %s against %s", s.Column, s.Value, s.Metric,
			number(*s.Mean), number(s.Rest.Mean))
		if s.Rest.Lo != nil {
			note += fmt.Sprintf(", a difference of %s (%v)", signed(s.Rest.Difference), shift{*s.Rest.Lo, *s.Rest.Hi})
		}
		notes = append(notes, plain(note+", p "+pValue(s.Rest.PHolm)))
	}
	return append(notes, tests)
}

// markdown writes a section, its texts escaped.
func (s section) markdown(b *strings.Builder) {
	if s.header != nil {
		rule := make([]string, len(s.header))
		for i := range rule {
			rule[i] = when(i < max(s.texts, 1), "---") + when(i >= max(s.texts, 1), "---:")
		}
		head := make([]string, len(s.header))
		for i, name := range s.header {
			head[i] = escape(name)
		}
		fmt.Fprintf(b, "\n| %s |\n| %s |\n", strings.Join(head, " | "), strings.Join(rule, " | "))
		for _, row := range s.rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				cells[i] = escape(fmt.Sprint(cell))
			}
			fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	for i, note := range s.notes {
		fmt.Fprintf(b, "%s- %s\n", when(i == 0, "\n"), escape(note))
	}
}
