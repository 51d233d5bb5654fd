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
	prepare := func(rows, metric string, limit int) (*runOptions, *plan, metrics.Models, runs.Manifest) {
		t.Helper()
		o := &runOptions{data: filepath.Join(dir, "qa.jsonl"), metrics: []string{metric}, format: "table", limit: limit,
			layout: "row", reasons: "doubtful", pilot: 1}
		if err := os.WriteFile(o.data, []byte(rows), 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := o.plan(t.Context(), &std{err: new(bytes.Buffer)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.data.Close() })
		models := metrics.Models{Roles: metrics.Roles{backend.Embedder: &backendtest.Fake{}}}
		if models, err = o.prepare(t.Context(), &std{err: new(bytes.Buffer)}, p, models); err != nil {
			t.Fatal(err)
		}
		return o, p, models, o.manifest(p, models)
	}
	score := func(folder string) []byte {
		t.Helper()
		o, p, models, m := prepare(rows, idf, 0)
		w, err := runs.Create(filepath.Join(dir, folder), m, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.score(t.Context(), &std{err: new(bytes.Buffer)}, p, models, w, func() runs.Calls {
			return runs.Calls{}
		}); err != nil {
			t.Fatal(err)
		}
		results, err := os.ReadFile(filepath.Join(dir, folder, "results.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return results
	}

	want := score("whole")
	if n := bytes.Count(want, []byte(`"score":{`)); n != 3 ||
		!bytes.Contains(want, []byte("in 2 of 4 references of the dataset")) {
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
		_, _, models, got := prepare(rows, metric, limit)
		if (got.Config.Frequencies == m.Config.Frequencies) != same {
			t.Errorf("%s: the count is %q, and was %q", what, got.Config.Frequencies, m.Config.Frequencies)
		}
		asked := models.Role(backend.Embedder).(*backendtest.Fake).Stats().Calls() > 0
		if asked != (got.Config.Frequencies != "") {
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

	o, p, models, _ := prepare(rows, idf, 0)
	models = models.Knowing(p.metrics[0].Prepare[0], uncounted{})
	if len(o.manifest(p, models).Notes) != 1 {
		t.Error("nothing says that some references do not count")
	}
}

// uncounted is what a preparation learned of references that it could not read.
type uncounted struct{}

func (uncounted) Digest() string  { return "sha256:0" }
func (uncounted) Notes() []string { return []string{"two references do not count"} }
