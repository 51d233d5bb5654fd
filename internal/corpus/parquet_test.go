package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/parquet"
)

// A corpus in Parquet is that of the same rows in JSON Lines.
func TestReadParquet(t *testing.T) {
	dir := t.TempDir()
	check := func(name, problem string, rows []string, want ...Document) {
		t.Helper()
		var b bytes.Buffer
		err := parquet.Write(&b, func(yield func(json.RawMessage, error) bool) {
			for _, row := range rows {
				if !yield(json.RawMessage(row), nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, b.String())
		c, err := Read(context.Background(), filepath.Join(dir, name), Limits{Document: 1000, Total: 300, Count: 3})
		switch {
		case problem != "":
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%q: %v, want %q", rows, err, problem)
			}
		case err != nil:
			t.Errorf("%q: %v", rows, err)
		case !reflect.DeepEqual(c.Documents, want):
			t.Errorf("%q: %v, want %v", rows, c.Documents, want)
		}
	}
	both := []string{`{"id": 7, "title": "T  t", "text": "One.", "n": [1]}`, `{"id": 8, "text": "Two."}`}
	check("c.parquet", "", both, Document{ID: "7", Title: "T t", Text: "One.", Row: true},
		Document{ID: "8", Text: "Two.", Row: true})
	check("c.data", "", both, Document{ID: "7", Title: "T t", Text: "One.", Row: true},
		Document{ID: "8", Text: "Two.", Row: true})
	check("c.parquet", `row 2: the id "a" is used twice`,
		[]string{`{"id": "a", "text": "x"}`, `{"id": "a", "text": "y"}`})
	check("c.parquet", `row 2: no "text"`, []string{`{"id": "a", "text": "x"}`, `{"id": "b"}`})
	check("c.parquet", "row 1: the row is longer", []string{`{"id": "a", "text": "` + strings.Repeat("x", 2000) + `"}`})
	write(t, dir, "cut.parquet", "PAR1\x00\x00 and no more")
	if _, err := Read(context.Background(), filepath.Join(dir, "cut.parquet"), Limits{}); err == nil ||
		!strings.Contains(err.Error(), "cut off") {
		t.Errorf("%v", err)
	}
}
