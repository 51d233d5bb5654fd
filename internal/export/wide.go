package export

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	pq "github.com/parquet-go/parquet-go"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/metrics"
)

// A Source is a run with the metadata columns of its dataset that are written beside the scores; nil: none.
type Source struct {
	Run  *runs.Run
	Data *slicing.Data
}

// The columns of a wide file are run, sample, group, the metadata columns, and for each metric three: its score, under
// its name, and NAME.reason and NAME.error.
const (
	reasonSuffix = ".reason"
	errorSuffix  = ".error"
)

// A wide is what a wide file has columns for, over all runs.
type wide struct {
	metadata []string
	metrics  []string
}

func columnsOf(sources []Source) (wide, error) {
	var w wide
	taken := map[string]string{"run": "the run's folder", "sample": "the sample's id", "group": "the sample's group"}
	add := func(list *[]string, name string, of ...string) error {
		if slices.Contains(*list, name) {
			return nil
		}
		for _, column := range append([]string{name}, of...) {
			if is := taken[column]; is != "" {
				return runs.Inputf("two columns would be called %q: %s has that name too", column, is)
			}
			taken[column] = name
		}
		*list = append(*list, name)
		return nil
	}
	for _, s := range sources {
		if s.Data != nil {
			for _, column := range s.Data.Columns {
				if err := add(&w.metadata, column); err != nil {
					return w, err
				}
			}
		}
		for _, name := range s.Run.Manifest.Names() {
			if err := add(&w.metrics, name, name+reasonSuffix, name+errorSuffix); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// A wideRow is a sample of a run, in the order of the columns. What there is none of is nil.
type wideRow struct {
	run, sample, group string
	metadata           []*string
	cells              []wideCell
}

type wideCell struct {
	score         *float64
	reason, error *string
}

// rows yields the samples of all runs.
func (w *wide) rows(ctx context.Context, sources []Source) iter.Seq2[*wideRow, error] {
	return func(yield func(*wideRow, error) bool) {
		index := map[string]int{}
		for i, name := range w.metrics {
			index[name] = i
		}
		for _, s := range sources {
			var row *wideRow
			for r, err := range s.Run.Results(ctx) {
				if err != nil {
					yield(nil, err)
					return
				}
				if row == nil || row.sample != r.Sample {
					if row != nil && !yield(row, nil) {
						return
					}
					row = w.newRow(s, r.Sample)
				}
				i, known := index[r.Metric]
				if !known {
					yield(nil, fmt.Errorf("%s: sample %q: the results have a metric %q that run.json does not", s.Run.Dir,
						r.Sample, r.Metric))
					return
				}
				if r.Group != "" {
					row.group = r.Group
				}
				row.cells[i] = cellOf(&r)
			}
			if row != nil && !yield(row, nil) {
				return
			}
		}
	}
}

func (w *wide) newRow(s Source, sample string) *wideRow {
	row := &wideRow{run: s.Run.Dir, sample: sample, metadata: make([]*string, len(w.metadata)),
		cells: make([]wideCell, len(w.metrics))}
	if s.Data == nil {
		return row
	}
	for i, values := range s.Data.Rows[sample].Values {
		if !slices.Equal(values, []string{slicing.None}) {
			row.metadata[slices.Index(w.metadata, s.Data.Columns[i])] = some(strings.Join(values, "; "))
		}
	}
	return row
}

func cellOf(r *metrics.Result) wideCell {
	if r.Score == nil {
		return wideCell{error: some(string(r.Kind) + when(r.Error != "", ": "+r.Error))}
	}
	return wideCell{score: &r.Score.Value, reason: some(reasonOf(r.Score))}
}

// longest is how many bytes a reason has: the results have the whole.
const longest = 4000

// reasonOf puts the findings of a score into lines.
func reasonOf(s *metrics.Score) string {
	var b strings.Builder
	for i := range s.Because {
		f := &s.Because[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.String())
		if f.Reason != "" {
			b.WriteString(": " + f.Reason)
		}
		if b.Len() > longest {
			return strings.ToValidUTF8(b.String()[:longest], "") + "…"
		}
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// WideCSV writes a row for each sample. A cell that a spreadsheet would take for a formula begins with an apostrophe.
// It returns how many rows there are.
func WideCSV(ctx context.Context, w io.Writer, sources []Source) (n int, err error) {
	columns, err := columnsOf(sources)
	if err != nil {
		return 0, err
	}
	out := csv.NewWriter(w)
	header := append([]string{"run", "sample", "group"}, columns.metadata...)
	for _, name := range columns.metrics {
		header = append(header, name, name+reasonSuffix, name+errorSuffix)
	}
	out.Write(header) // errors stick: see Error below
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return harmless(*s)
	}
	for row, err := range columns.rows(ctx, sources) {
		if err != nil {
			return n, err
		}
		fields := []string{harmless(row.run), harmless(row.sample), harmless(row.group)}
		for _, value := range row.metadata {
			fields = append(fields, text(value))
		}
		for _, c := range row.cells {
			score := ""
			if c.score != nil {
				score = strconv.FormatFloat(*c.score, 'g', -1, 64)
			}
			fields = append(fields, score, text(c.reason), text(c.error))
		}
		out.Write(fields)
		n++
	}
	out.Flush()
	return n, out.Error()
}

// harmless is a text that no spreadsheet runs.
func harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// WideParquet writes a row for each sample. It returns how many there are.
func WideParquet(ctx context.Context, w io.Writer, sources []Source) (n int, err error) {
	columns, err := columnsOf(sources)
	if err != nil {
		return 0, err
	}
	text, number := pq.Optional(pq.String()), pq.Optional(pq.Leaf(pq.DoubleType))
	group := pq.Group{"run": pq.String(), "sample": pq.String(), "group": text}
	for _, name := range columns.metadata {
		group[name] = text
	}
	for _, name := range columns.metrics {
		group[name], group[name+reasonSuffix], group[name+errorSuffix] = number, text, text
	}
	schema := pq.NewSchema("row", group)
	at := map[string]int{} // a group's columns are sorted by name
	for i, path := range schema.Columns() {
		at[path[0]] = i
	}
	out := pq.NewWriter(w, schema, pq.Compression(&pq.Snappy), pq.MaxRowsPerRowGroup(1<<16))
	for row, err := range columns.rows(ctx, sources) {
		if err != nil {
			return n, err
		}
		values := make(pq.Row, len(at))
		put := func(name string, v any) {
			i := at[name]
			switch v := v.(type) {
			case string:
				values[i] = pq.ValueOf(v).Level(0, 0, i)
			case *string:
				if v == nil {
					values[i] = pq.NullValue().Level(0, 0, i)
				} else {
					values[i] = pq.ValueOf(*v).Level(0, 1, i)
				}
			case *float64:
				if v == nil {
					values[i] = pq.NullValue().Level(0, 0, i)
				} else {
					values[i] = pq.ValueOf(*v).Level(0, 1, i)
				}
			}
		}
		put("run", row.run)
		put("sample", row.sample)
		put("group", some(row.group))
		for i, name := range columns.metadata {
			put(name, row.metadata[i])
		}
		for i, name := range columns.metrics {
			c := &row.cells[i]
			put(name, c.score)
			put(name+reasonSuffix, c.reason)
			put(name+errorSuffix, c.error)
		}
		if _, err := out.WriteRows([]pq.Row{values}); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Close()
}

func when(condition bool, s string) string {
	if condition {
		return s
	}
	return ""
}
