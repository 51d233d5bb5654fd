package study

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Samples of two datasets may have the same ids. The judge is compared with a feature on the rows that have it, row by
// row and not id by id.
func TestJudgeFiguresPairRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	r := &JudgeRows{features: []string{"length/words"}, label: all.JudgeLabel{Field: "good", Max: 1}, binary: true,
		sets: make([]JudgeSet, 2)}
	var predicted, mine, other []float64
	var truth []bool
	for i := range 200 {
		row := judgeRow{id: fmt.Sprint(i % 100), set: i / 100, label: boolean(rng.Float64() < 0.5),
			values: []float64{rng.NormFloat64()}}
		row.values[0] += row.label
		p := rng.Float64()*0.5 + row.label*0.5
		if row.set == 1 && i%3 == 0 {
			row.values[0] = math.NaN()
		} else {
			mine, other, truth = append(mine, p), append(other, row.values[0]), append(truth, row.label == 1)
		}
		r.rows, predicted = append(r.rows, row), append(predicted, p)
	}
	f, err := r.figures("x/judge", predicted, stats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := stats.AUCDifference(other, mine, truth, stats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Better) != 1 || f.Better[0].N != len(mine) || f.Better[0].Difference != want.Value {
		t.Errorf("%+v, want %v on %d rows", f.Better, want.Value, len(mine))
	}
}

// Two runs of one dataset are joined by sample; what is trained on them can be read again, and told apart from rows it
// does not fit.
func TestTrainJudge(t *testing.T) {
	dir := t.TempDir()
	var words, recall []metrics.Result
	lines := []string{"sample,label"}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 80 {
		id, good := fmt.Sprint("s", i), i%2
		words = append(words, runstest.Scored(id, "length/words", float64(5+i%7)/20))
		r := runstest.Scored(id, "answer_correctness/token_recall",
			min(max(0.3*rng.NormFloat64()+0.25+0.5*float64(good), 0), 1))
		if i == 3 {
			r = metrics.Result{Sample: id, Metric: r.Metric, Error: "it broke", Kind: metrics.Failed}
		}
		recall = append(recall, r)
		lines = append(lines, fmt.Sprintf("%s,%d", id, good))
	}
	source := labels.Source{File: filepath.Join(dir, "labels.csv"), Warn: func(string, ...any) {}}
	if err := os.WriteFile(source.File, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	dirs := []string{filepath.Join(dir, "words"), filepath.Join(dir, "recall")}
	runstest.Write(t, dirs[0], runstest.Manifest("length/words"), words...)
	runstest.Write(t, dirs[1], runstest.Manifest("answer_correctness/token_recall"), recall...)
	rows, err := LoadJudgeRows(t.Context(), dirs, nil, source)
	if err != nil {
		t.Fatal(err)
	}
	file, predictions, err := TrainJudge(t.Context(), rows, TrainOptions{Tool: "test", Dimension: "x", Folds: 5})
	if err != nil {
		t.Fatal(err)
	}
	set := file.Training.Sets[0]
	if file.Metric != "x/judge" || set.Rows != 79 || set.LeftOut != 1 || len(set.Runs) != 2 || len(predictions) != 79 ||
		len(file.Figures.Alone) != 2 ||
		file.Figures.Judge.AUC == nil || file.Figures.Judge.AUC.Value < 0.7 ||
		file.Figures.Alone[0].Metric != "answer_correctness/token_recall" {
		t.Errorf("%+v", file)
	}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "judge.json")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	read, digest, err := ReadJudge(path)
	if err != nil || len(digest) != 64 || read.Metric != file.Metric {
		t.Fatalf("%+v %q %v", read, digest, err)
	}
	var said []string
	test, _, err := read.Test(t.Context(), rows, 0,
		func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	if err != nil || test.On != "other data" || test.Judge.N != 79 || len(said) != 2 ||
		!strings.Contains(said[0], "was trained on a.jsonl") {
		t.Errorf("%+v, %v, %q", test, err, said)
	}
	rows.asked = backend.Identities{backend.Judge: {Name: "other", Digest: "sha256:1"}}
	rows.prompts = []prompts.Identity{{Name: "p", Digest: "sha256:2"}}
	if _, _, err := read.Test(t.Context(), rows, 0, func(string, ...any) {}); err == nil ||
		!strings.Contains(err.Error(), "another text of the prompt p") {
		t.Errorf("another prompt: %v", err)
	}
	if _, err := LoadJudgeRows(t.Context(), dirs, []string{"length/characters"}, source); err == nil ||
		!strings.Contains(err.Error(), "not all of the data has scores") {
		t.Errorf("a metric that was not run: %v", err)
	}
}

// A metric that two runs have by two names is one feature.
func TestFeaturesAreDistinct(t *testing.T) {
	got := distinct([]string{"answer_correctness/cosine", "answer_similarity/cosine", "answer_similarity/rouge1",
		"answer_similarity/rouge1@recall", "answer_similarity/rouge1_recall", "ragchecker/f1",
		"answer_correctness/claims_f1"})
	want := []string{"answer_correctness/cosine", "answer_similarity/rouge1", "answer_similarity/rouge1@recall",
		"ragchecker/f1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
