package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/parquet"
	"github.com/assay-eval/assay/metrics"
	pq "github.com/parquet-go/parquet-go"
)

// parquetOf is a Parquet file of JSON Lines.
func parquetOf(t testing.TB, lines string, maps ...string) string {
	t.Helper()
	rows := iter.Seq2[json.RawMessage, error](func(yield func(json.RawMessage, error) bool) {
		for line := range strings.Lines(lines) {
			if !yield(json.RawMessage(line), nil) {
				return
			}
		}
	})
	var b bytes.Buffer
	if err := parquet.Write(&b, rows, maps...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The samples of a Parquet file are those of the JSON Lines that it was made from.
func TestParquet(t *testing.T) {
	lines := `{"id": "a", "user_input": "Why?", "response": "So.", "retrieved_contexts": ["one", "two"], "context_ids": ["p1", "p2"], "reference": ["so", "thus"], "human": {"correct": 1, "by": {"ann": 0.5}}}
{"id": "17", "user_input": "¿Qué?", "response": "Ça 😀", "retrieved_contexts": ["solo"], "context_ids": [], "relevance": {"p1": 2, "p2": 0}, "human": {"correct": 0}, "note": 3}
{"id": "b", "user_input": "And then?", "history": [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Gone."}], "rubrics": {"1": "bad", "5": "good"}}
{"id": "c", "user_input": "Where?", "history": [{"role": "user", "content": "Look it up."}, {"role": "assistant", "content": "", "tool_calls": [{"name": "find", "args": {"x": [1, 2]}}]}, {"role": "tool", "content": "here"}]}
`
	want, bad, ws, err := load(t, write(t, "d.jsonl", lines), Options{Map: map[string]string{"answer": "response"}})
	if err != nil || len(bad) > 0 || len(want) != 4 {
		t.Fatalf("%v, bad %q", err, bad)
	}
	content := parquetOf(t, lines, "relevance", "rubrics")
	for _, name := range []string{"d.parquet", "d.PQ", "d.data"} { // the last is known by its content
		got, bad, s, err := load(t, write(t, name, content), Options{Map: map[string]string{"answer": "response"}})
		if err != nil || len(bad) > 0 {
			t.Fatalf("%s: %v, bad: %q", name, err, bad)
		}
		for i := range want {
			a, b := compact(t, got[i]), compact(t, want[i])
			if !bytes.Equal(a, b) {
				t.Errorf("%s:\n got %s\nwant %s", name, a, b)
			}
		}
		if s.Rows != ws.Rows || !reflect.DeepEqual(s.Filled, ws.Filled) || len(s.Columns) != len(ws.Columns) ||
			len(s.SHA256) != 64 {
			t.Errorf("%s: summary %+v\nwant %+v", name, s, ws)
		}
	}
	got, _, s, err := load(t, write(t, "d.parquet", content), Options{Limit: 2})
	if err != nil || len(got) != 2 || s.Rows != 2 {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

// compact is a sample as JSON, with its extra columns.
func compact(t *testing.T, s *metrics.Sample) []byte {
	t.Helper()
	b, err := json.Marshal(struct {
		*metrics.Sample
		Columns map[string]json.RawMessage
	}{s, s.Extra})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestParquetErrors(t *testing.T) {
	check := func(name, content, problem string, o Options) {
		t.Helper()
		if _, _, _, err := load(t, write(t, name, content), o); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v, want %q", err, problem)
		}
	}
	rows := `{"id": "a", "question": "q", "answer": "x"}
{"id": "b", "question": "r", "other": 1}
{"id": "a", "question": "s"}
`
	whole := parquetOf(t, rows)
	check("d.parquet", whole[:len(whole)-20], "ends too soon", Options{})
	check("d.parquet", rows, "not a Parquet file", Options{})
	check("d.parquet", "", "not a Parquet file", Options{})
	check("d.parquet.gz", gzipped(t, whole), "compressed", Options{})
	check("d.parquet", whole, `no column "nope" for --map`, Options{Map: map[string]string{"group": "nope"}})
	check("d.jsonl", rows, `unknown dataset format "excel"`, Options{Format: "excel"})

	samples, bad, s, err := load(t, write(t, "d.parquet", whole), Options{})
	if err != nil || len(samples) != 2 || len(bad) != 1 ||
		bad[0] != `d.parquet:3: the id "a" is used twice: first in row 1` {
		t.Errorf("%d samples, bad %q, %v", len(samples), bad, err)
	}
	if err := s.Need(metrics.Contexts); err == nil ||
		!strings.Contains(err.Error(), "no column for the contexts; its columns: id, question, answer, other") {
		t.Errorf("%v", err)
	}
	if _, held := samples[0].Extra["other"]; held {
		t.Error("a column that is null in a row is among its columns")
	}

	// Bytes in a column that is not read are kept; in one that is a field they are no text.
	type row struct {
		ID       string `parquet:"id"`
		Question []byte `parquet:"question"`
		Image    []byte `parquet:"image"`
	}
	var b bytes.Buffer
	w := pq.NewGenericWriter[row](&b)
	w.Write([]row{{"a", []byte("why?"), []byte{0xff, 0xd8}}, {"b", []byte{0xff}, nil}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	samples, bad, _, err = load(t, write(t, "d.parquet", b.String()), Options{})
	if err != nil || len(samples) != 1 || samples[0].Question != "why?" ||
		string(samples[0].Extra["image"]) != `"/9g="` ||
		len(bad) != 1 || bad[0] != "d.parquet:2: question: not UTF-8" {
		t.Errorf("bad %q, %v", bad, err)
	}
}

// A pipe is copied first: the footer of a Parquet file comes last.
func TestParquetPipe(t *testing.T) {
	path := write(t, "d.parquet", parquetOf(t, `{"question": "q"}`))
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := spool(t.Context(), "standard input", r)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, err := s.open("")
	if err != nil || in.format != "parquet" {
		t.Fatalf("%v", err)
	}
	in.Close()
}

// FuzzParquet: whatever the file holds, opening it ends with a dataset or an error, and the second pass agrees.
func FuzzParquet(f *testing.F) {
	f.Add([]byte(parquetOf(f, `{"id": "a", "question": "q", "contexts": ["x"], "relevance": {"p": 1}}`, "relevance")))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "d.parquet")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := Open(t.Context(), path, Options{})
		if err != nil {
			return
		}
		defer r.Close()
		n, bad := 0, 0
		for s, err := range r.Samples(t.Context()) {
			switch {
			case err == nil:
				if n++; s.ID == "" {
					t.Fatal("no id")
				}
			case !errors.As(err, new(*RowError)):
				t.Fatal(err)
			default:
				bad++
			}
		}
		if sum := r.Summary(); n != sum.Rows || bad != sum.Bad {
			t.Fatalf("%d rows, %d bad; the first pass had %d, %d", n, bad, sum.Rows, sum.Bad)
		}
	})
}
