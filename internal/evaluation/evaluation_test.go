package evaluation

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/internal/dataset"
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
	prepare := func(rows, metric string, limit int) (*Evaluation, runs.Manifest) {
		t.Helper()
		o := Options{Data: filepath.Join(dir, "qa.jsonl"), Choice: Choice{Metrics: []string{metric}},
			Rows: dataset.Options{Limit: limit}, Layout: "row", Reasons: "doubtful", Evidence: Search{Method: "bm25"},
			Say: t.Logf, Warn: t.Logf}
		if err := os.WriteFile(o.Data, []byte(rows), 0o666); err != nil {
			t.Fatal(err)
		}
		e, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		if err := e.Ask(t.Context(), metrics.Roles{backend.Embedder: &backendtest.Fake{}}); err != nil {
			t.Fatal(err)
		}
		m, err := e.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		return e, m
	}
	score := func(folder string) []byte {
		t.Helper()
		e, m := prepare(rows, idf, 0)
		w, err := runs.Create(filepath.Join(dir, folder), m, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Score(t.Context(), w, nil), w.Close(runs.Calls{}, true)); err != nil {
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
	_, m := prepare(rows, idf, 0)
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
		e, got := prepare(rows, metric, limit)
		if (got.Config.Frequencies == m.Config.Frequencies) != same {
			t.Errorf("%s: the count is %q, and was %q", what, got.Config.Frequencies, m.Config.Frequencies)
		}
		asked := e.Models.Role(backend.Embedder).(*backendtest.Fake).Stats().Calls() > 0
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

	e, _ := prepare(rows, idf, 0)
	e.Models = e.Models.Knowing(e.Metrics[0].Prepare[0], uncounted{})
	if m, err := e.Manifest(); err != nil || len(m.Notes) != 1 {
		t.Error("nothing says that some references do not count")
	}
}

// uncounted is what a preparation learned of references that it could not read.
type uncounted struct{}

func (uncounted) Digest() string  { return "sha256:0" }
func (uncounted) Notes() []string { return []string{"two references do not count"} }

// What the user is to mend is said before any model is opened.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "qa.jsonl")
	if err := os.WriteFile(data, []byte(`{"id": "a", "question": "When?", "answer": "The ferry leaves."}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	check := func(want string, change func(*Options)) {
		t.Helper()
		o := Options{Data: data, Choice: Choice{Metrics: []string{"length/words"}}, Layout: "row", Reasons: "doubtful",
			Evidence: Search{Method: "bm25"}, Say: t.Logf, Warn: t.Logf}
		change(&o)
		e, err := New(t.Context(), o)
		if err == nil {
			defer e.Close()
			err = e.Open(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check("--metrics and --preset exclude each other", func(o *Options) { o.Preset = "lexical" })
	check("--layout", func(o *Options) { o.Layout = "other" })
	check("--reasons", func(o *Options) { o.Reasons = "other" })
	check("--cheap chooses the rows", func(o *Options) { o.Budget.Cheap = []string{"length/words"} })
	check("--budget", func(o *Options) { o.Budget.Most = "none" })
	check("--until-width", func(o *Options) { o.Budget.Width = -1 })
	check("--corpus: no metric looks for evidence", func(o *Options) { o.Evidence.Corpus = dir })
	check("looks for evidence in a corpus", func(o *Options) { o.Metrics = []string{"factuality/factscore"} })
	check("contexts", func(o *Options) { o.Metrics = []string{"faithfulness"} })
	check("no such file", func(o *Options) { o.Judges = []string{filepath.Join(dir, "judge.json")} })
	check("--calibration: ", func(o *Options) { o.Calibrations = []string{filepath.Join(dir, "map.json")} })
	check("--examples: ", func(o *Options) { o.Examples = "-" })
	check("there is no such profile or file", func(o *Options) { o.Profiles = []string{"nobody"} })
	check("the criterion criteria/polite is there twice", func(o *Options) {
		o.Criteria.Words = []string{"polite: kind", "polite: friendly"}
	})
}

// Of a preset those metrics are left out for which there is no column, unless that would leave none.
func TestFitting(t *testing.T) {
	ms := []metrics.Metric{{Name: "a", Needs: metrics.Answer}, {Name: "b", Needs: metrics.References}}
	any := func(metrics.Metric) bool { return true }
	check := func(has metrics.Field, may func(metrics.Metric) bool, want, out int) {
		t.Helper()
		if kept, left := Fitting(ms, has, may); len(kept) != want || len(left) != out {
			t.Errorf("kept %v, left out %v", kept, left)
		}
	}
	check(metrics.Answer, any, 1, 1)
	check(metrics.Answer|metrics.References, any, 2, 0)
	check(metrics.Question, any, 2, 0)
	check(metrics.Answer, func(m metrics.Metric) bool { return m.Name == "a" }, 2, 0)
}
