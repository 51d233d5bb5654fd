package dataset

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/assay-eval/assay/internal/trace"
)

// recognise looks at the file's first record, to tell whether it is of a format of package trace. If a row of that format is
// made of several records, they are counted: that is one more pass through the file. A format that the user names is read
// as it stands.
func (r *Reader) recognise(ctx context.Context) error {
	for i := range r.source.files {
		if err := r.recogniseFile(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) recogniseFile(ctx context.Context, i int) error {
	f, err := r.source.files[i].open(r.options.Format)
	if err != nil {
		return err
	}
	defer f.Close()
	if i == 0 {
		r.format, r.summary.Format = f.format, f.format
	}
	if f.format == "trec" && r.qrels == nil {
		return fmt.Errorf("%s is a TREC run, which holds no judgements: name them with --qrels FILE", r.source.files[i].name)
	}
	if r.options.Format != "" || f.format == "trec" {
		return nil
	}
	n := 0
	for rec, err := range f.records() {
		if err != nil {
			return nil // the pass to come reports it
		}
		if n++; n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		object, err := rec.object()
		if rec.err != nil || err != nil {
			continue
		}
		if n == 1 || r.traces == nil {
			format := trace.Recognise(object)
			if err := r.settle(format, i, f.format); err != nil {
				return err
			}
			if r.traces == nil {
				return nil
			}
		}
		r.traces.Count(object)
	}
	return nil
}

// settle takes the format of the first file for that of all, which must have it.
func (r *Reader) settle(f *trace.Format, file int, container string) error {
	name := ""
	if f != nil {
		name = f.Name
	}
	if file > 0 {
		if name != r.tool {
			return fmt.Errorf("%s has %s and %s has %s: give each a run of its own", r.source.files[0].name,
				cmp.Or(r.tool, "rows"), r.source.files[file].name, cmp.Or(name, "rows"))
		}
		return nil
	}
	if r.tool = name; f == nil {
		return nil
	}
	r.summary.Format = fmt.Sprintf("%s (%s)", name, container)
	if !f.Plain() {
		r.traces = trace.NewReader(f)
		r.summary.Tool = name
	}
	return nil
}

// object decodes a record.
func (rec record) object() (trace.Record, error) {
	object := trace.Record{}
	for _, c := range rec.cells {
		switch {
		case c.none:
			object[c.column] = nil
		case c.text:
			object[c.column] = string(c.value)
		default:
			dec := json.NewDecoder(bytes.NewReader(c.value))
			dec.UseNumber()
			var value any
			if err := dec.Decode(&value); err != nil {
				return nil, fmt.Errorf("%s: %w", c.column, err)
			}
			object[c.column] = value
		}
	}
	return object, nil
}

// records are the rows of the files: their records as they stand, or what is made of them.
func (r *Reader) records(all iter.Seq2[record, error]) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		var failed error
		line, file, stopped := 0, 0, false
		located := func(push func(trace.Located) bool) {
			for rec, err := range all {
				file = rec.file
				if rec.lone && r.traces == nil && err == nil {
					err = errNoRows
				}
				if err != nil {
					line, failed = rec.line, err
					return
				}
				var object trace.Record
				if rec.err == nil && r.traces != nil {
					object, rec.err = rec.object()
				}
				if rec.err != nil || r.traces == nil {
					if stopped = !yield(rec, nil); stopped {
						return
					}
				} else if !push(trace.Located{File: rec.file, Line: rec.line, Record: object}) {
					return
				}
			}
		}
		if r.traces == nil {
			located(nil)
		} else {
			for row := range r.traces.Rows(located) {
				if stopped = !yield(recordOf(row), nil); stopped {
					return
				}
			}
		}
		if failed != nil && !stopped {
			yield(record{file: file, line: line}, failed)
		}
	}
}

// recordOf writes a row as a format would have it.
func recordOf(row trace.Row) record {
	rec := record{file: row.File, line: row.Line}
	seen := map[string]bool{}
	for _, c := range row.Columns {
		value, err := json.Marshal(c.Value)
		if err != nil {
			return record{file: row.File, line: row.Line, err: fmt.Errorf("%s: %w", c.Name, err)}
		}
		if !seen[c.Name] {
			seen[c.Name] = true
			rec.cells = append(rec.cells, cell{column: c.Name, value: value})
		}
	}
	return rec
}
