package desk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
)

// A task picks as many samples as are still wanted, of those that were scored, and reads them from the dataset.
func TestTask(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "qa.jsonl")
	var rows strings.Builder
	var results []metrics.Result
	for i := range 6 {
		fmt.Fprintf(&rows, `{"id": "s%d", "answer": "a", "other_answers": %s}`+"\n", i, []string{`[]`, `["b"]`}[i%2])
		results = append(results, runstest.Scored(fmt.Sprint("s", i), "length/words", float64(i)))
	}
	if err := os.WriteFile(data, []byte(rows.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "run")
	runstest.Write(t, folder, runstest.Manifest("length/words"), results...)
	run, err := runs.LoadScores(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	book, err := labels.OpenBook(filepath.Join(dir, "labels.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lay := func(task Task) (*Desk, error) {
		task.Data, task.Warn = data, t.Logf
		return task.Desk(t.Context(), run, book)
	}
	if d, err := lay(Task{N: 4, Pick: "spread"}); err != nil || len(d.Samples) != 4 || d.Pick != nil || d.Samples[0].Answer != "a" {
		t.Errorf("spread: %+v, %v", d, err)
	}
	if d, err := lay(Task{N: 4, Pick: "uncertain"}); err != nil || len(d.Samples) != 4 || d.Pick("s1").How != "uncertain" {
		t.Errorf("uncertain: %+v, %v", d, err)
	}
	if d, err := lay(Task{N: 9, Pick: "spread", Pairs: true}); err != nil || len(d.Samples) != 3 || d.Question == "" {
		t.Errorf("pairs: %+v, %v", d, err)
	}
	if d, err := lay(Task{N: 0, Pick: "spread", Data: "is not looked at"}); err != nil || len(d.Samples) != 0 {
		t.Errorf("nothing wanted: %+v, %v", d, err)
	}
	check := func(task Task, want string) {
		t.Helper()
		if _, err := lay(task); !errors.As(err, new(*runs.InputError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check(Task{N: 4, Pick: "spread", Metric: "faithfulness"}, "faithfulness")
	if err := os.WriteFile(data, []byte(`{"id": "s0", "answer": "a"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	check(Task{N: 9, Pick: "spread", Pairs: true}, "is a pair in length")
	check(Task{N: 9, Pick: "spread"}, "the dataset has no sample")
}
