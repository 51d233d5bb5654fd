package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// A run whose metric weighs tokens by how rare they are reads all references before it scores a row, and says in
// its manifest what it counted. Where it goes on with an earlier attempt it counts the rows of that too.
func TestCountTokens(t *testing.T) {
	const idf = "answer_similarity/bertscore_f1_idf"
	const rows = `{"id": "a", "answer": "The ferry leaves.", "references": "The ferry sails."}
{"id": "b", "answer": "The pier.", "references": "The pier is green."}
{"id": "c", "answer": "A ferry.", "references": ["A ferry is green.", "It is a ferry."]}
`
	dir := t.TempDir()
	prepare := func(rows, metric string, limit int) (*runOptions, *plan, *stack, runs.Manifest) {
		t.Helper()
		o := &runOptions{data: filepath.Join(dir, "qa.jsonl"), metrics: []string{metric}, format: "table", limit: limit}
		if err := os.WriteFile(o.data, []byte(rows), 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := o.plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.data.Close() })
		st := &stack{roles: metrics.Roles{backend.Embedder: &backendtest.Fake{}}}
		if err := o.countTokens(t.Context(), &std{err: new(bytes.Buffer)}, p, st); err != nil {
			t.Fatal(err)
		}
		return o, p, st, o.manifest(p, st)
	}
	score := func(folder string) []byte {
		t.Helper()
		o, p, st, m := prepare(rows, idf, 0)
		w, err := runs.Create(filepath.Join(dir, folder), m, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.score(t.Context(), &std{err: new(bytes.Buffer)}, p, st, w); err != nil {
			t.Fatal(err)
		}
		results, err := os.ReadFile(filepath.Join(dir, folder, "results.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return results
	}

	want := score("whole")
	if n := bytes.Count(want, []byte(`"score":{`)); n != 3 || !bytes.Contains(want, []byte("in 2 of 4 references of the dataset")) {
		t.Errorf("%d scores: %s", n, want)
	}

	// Interrupted after the first row.
	_, _, _, m := prepare(rows, idf, 0)
	w, err := runs.Create(filepath.Join(dir, "cut"), m, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(runs.Calls{}, false); err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(want, []byte("\n"))
	if err := os.WriteFile(filepath.Join(dir, "cut", "results.jsonl"), append(first, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := score("cut"); !bytes.Equal(got, want) {
		t.Errorf("continued, the results are\n%s\nwant\n%s", got, want)
	}

	// The count goes into what the run is, with a note of what could not be counted.
	check := func(what, rows, metric string, limit int, same bool) {
		t.Helper()
		_, _, st, got := prepare(rows, metric, limit)
		if (got.Config.Frequencies == m.Config.Frequencies) != same {
			t.Errorf("%s: the count is %q, and was %q", what, got.Config.Frequencies, m.Config.Frequencies)
		}
		if asked := st.roles[backend.Embedder].(*backendtest.Fake).Stats().Calls() > 0; asked != (got.Config.Frequencies != "") {
			t.Errorf("%s: the model was asked: %v, and the count is %q", what, asked, got.Config.Frequencies)
		}
	}
	if len(m.Config.Frequencies) != len("sha256:")+64 || len(m.Notes) > 0 {
		t.Errorf("the manifest is %+v", m)
	}
	check("the same rows", rows, idf, 0, true)
	check("another answer", strings.Replace(rows, "leaves", "swims", 1), idf, 0, true)
	check("another reference", strings.Replace(rows, "sails", "swims", 1), idf, 0, false)
	check("fewer rows", rows, idf, 2, false)
	check("a metric that needs no count", rows, "answer_similarity/bertscore_f1", 0, false)

	_, p, _, _ := prepare(rows, idf, 0)
	p.frequencies = &metrics.Frequencies{Unread: 2}
	if o := (&runOptions{}); len(o.manifest(p, &stack{}).Notes) != 1 {
		t.Error("nothing says that some references do not count")
	}
}
