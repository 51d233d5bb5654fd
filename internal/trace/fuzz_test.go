package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// recordsOf reads JSON Lines or one object; what is no object is left out.
func recordsOf(b []byte) (list []Located) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	for {
		var v any
		if err := dec.Decode(&v); err == io.EOF || err != nil {
			return list
		}
		if o, ok := v.(map[string]any); ok {
			list = append(list, Located{Line: len(list) + 1, Record: o})
		}
	}
}

// Whatever a file holds, every format ends with rows that are JSON, each column once, and the file read again gives the
// same rows.
func FuzzFormats(f *testing.F) {
	files, err := filepath.Glob("../dataset/testdata/traces/*.json*")
	if err != nil || len(files) < 20 {
		f.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"run_type": "chain", "trace_id": "t", "id": "a", "parent_run_id": "b"} {"run_type": "chain", "trace_id": "t", "id": "b", "parent_run_id": "a"}`))
	f.Add([]byte(`{"context.trace_id": "t", "context.span_id": "s", "span_kind": "RETRIEVER", "attributes.a": 1, "attributes.a.b": 2, "attributes.a.0": 3, "attributes.0.00": []}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		records := recordsOf(b)
		for _, format := range formats() {
			if format.Plain() {
				continue
			}
			read := func() (list []string) {
				r := NewReader(&format)
				for _, rec := range records {
					r.Count(rec.Record)
				}
				for row := range r.Rows(slices.Values(records)) {
					seen := map[string]bool{}
					for _, c := range row.Columns {
						if seen[c.Name] {
							t.Fatalf("%s: the column %q twice: %s", format.Name, c.Name, b)
						}
						seen[c.Name] = true
					}
					out, err := json.Marshal(row)
					if err != nil || row.Line < 1 || row.Line > len(records) {
						t.Fatalf("%s: line %d, %v", format.Name, row.Line, err)
					}
					list = append(list, string(out))
				}
				return append(list, append(r.Notes(), r.Conventions()...)...)
			}
			if first, second := read(), read(); !slices.Equal(first, second) {
				t.Fatalf("%s: %q, then %q", format.Name, first, second)
			}
		}
	})
}
