package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/internal/stats"
)

func writeCSV(w io.Writer, reports []*Report, _ Options) error {
	c := csv.NewWriter(w)
	header := []string{"run", "name", "n", "failed", "not_applicable", "mean", "lo", "hi", "level", "method"}
	calibrated := slices.ContainsFunc(reports, (*Report).calibrated)
	if calibrated {
		header = append(header, "calibrated", "calibrated_lo", "calibrated_hi")
	}
	asked := slices.ContainsFunc(reports, (*Report).asked)
	if asked {
		header = append(header, "not_asked", "rows_lo", "rows_hi")
	}
	pooled := slices.ContainsFunc(reports, (*Report).pooled)
	if pooled {
		header = append(header, "numerator", "denominator", "pooled", "pooled_lo", "pooled_hi")
	}
	sliced := slices.ContainsFunc(reports, func(r *Report) bool { return r.Slices != nil })
	if sliced {
		header = append(header, "slice_column", "slice_value", "difference", "p_holm")
	}
	c.Write(header) // errors stick: see Error below
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	numbers := func(s stats.Summary) (mean, lo, hi string) {
		if s.N > 0 {
			mean = exact(s.Mean)
		}
		if i := s.Interval; i != nil {
			lo, hi = exact(i.Lo), exact(i.Hi)
		}
		return mean, lo, hi
	}
	for _, r := range reports {
		for _, s := range r.Metrics {
			mean, lo, hi := numbers(s.Stats)
			row := []string{r.Dir, s.Name, strconv.Itoa(s.N), strconv.Itoa(s.Failed), strconv.Itoa(s.NotApplicable),
				mean, lo, hi, "", ""}
			if i := s.Stats.Interval; i != nil {
				row[8], row[9] = exact(i.Level), string(i.Method)
			}
			if calibrated {
				mean, lo, hi = "", "", ""
				if s.Calibrated != nil {
					mean, lo, hi = numbers(s.Calibrated.Stats)
				}
				row = append(row, mean, lo, hi)
			}
			if asked {
				lo, hi = "", ""
				if s.Active != nil && s.Active.OfRows != nil {
					lo, hi = exact(s.Active.OfRows.Lo), exact(s.Active.OfRows.Hi)
				}
				row = append(row, strconv.Itoa(s.NotAsked), lo, hi)
			}
			if pooled {
				counts := make([]string, 5)
				if p := s.Pooled; p != nil {
					counts[0], counts[1] = strconv.Itoa(p.Numerator), strconv.Itoa(p.Denominator)
					counts[2], counts[3], counts[4] = numbers(p.Stats)
				}
				row = append(row, counts...)
			}
			c.Write(append(row, make([]string, len(header)-len(row))...))
		}
		if r.Slices != nil {
			for _, s := range r.Slices.List {
				c.Write(sliceRow(r, s, len(header)))
			}
		}
	}
	c.Flush()
	return c.Error()
}

// sliceRow is a slice's row in a file of so many columns, the last four of which are for slices.
func sliceRow(r *Report, s slicing.Slice, columns int) []string {
	exact := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	row := make([]string, columns)
	copy(row, []string{r.Dir, s.Metric, strconv.Itoa(s.N), strconv.Itoa(s.Failed), strconv.Itoa(s.NotApplicable),
		exact(s.Mean), exact(s.Lo), exact(s.Hi), "", s.Method})
	last := row[columns-4:]
	last[0], last[1] = s.Column, s.Value
	if s.Rest != nil {
		last[2], last[3] = exact(&s.Rest.Difference), exact(&s.Rest.PHolm)
	}
	return row
}

// writeStudyCSV writes the tables, one after the other with an empty line between them, and numbers in full. An
// estimate with its interval takes three columns. Notes are left out.
func writeStudyCSV(w io.Writer, d *document) error {
	p := &printer{w: w}
	for _, s := range d.sections {
		if s.header == nil {
			continue
		}
		p.gap()
		c := csv.NewWriter(p)
		widths, header := s.widths(), []string{}
		for i, name := range s.header {
			switch widths[i] {
			case 3:
				header = append(header, name, name+" lo", name+" hi")
			case 2:
				header = append(header, name+" lo", name+" hi")
			default:
				header = append(header, name)
			}
		}
		c.Write(header) // errors stick to the printer
		for _, row := range s.rows {
			var fields []string
			for i, cell := range row {
				numbers := exactly(cell)
				fields = append(fields, append(numbers, make([]string, widths[i]-len(numbers))...)...)
			}
			c.Write(fields)
		}
		c.Flush()
	}
	return p.err
}

// widths are how many fields each column takes.
func (s section) widths() []int {
	widths := make([]int, len(s.header))
	for i := range widths {
		widths[i] = 1
		for _, row := range s.rows {
			switch row[i].(type) {
			case estimate:
				widths[i] = 3
			case interval, shift:
				widths[i] = 2
			}
		}
	}
	return widths
}

// exactly writes what stands in a cell, its numbers in full.
func exactly(cell any) []string {
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	switch v := cell.(type) {
	case value:
		return []string{exact(float64(v))}
	case change:
		return []string{exact(float64(v))}
	case chance:
		return []string{exact(float64(v))}
	case interval:
		return []string{exact(v.lo), exact(v.hi)}
	case shift:
		return []string{exact(v.lo), exact(v.hi)}
	case estimate:
		switch {
		case v.Estimate == nil:
			return []string{""}
		case v.Lo == nil:
			return []string{exact(v.Value)}
		}
		return []string{exact(v.Value), exact(*v.Lo), exact(*v.Hi)}
	}
	return []string{fmt.Sprint(cell)}
}
