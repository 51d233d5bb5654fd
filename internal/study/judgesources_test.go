package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics/all"
)

// Each source is predicted by what was fitted to the others, and no better score lowers what is predicted, even where
// one source says otherwise.
func TestJudgeBySource(t *testing.T) {
	const sources, each = 5, 60
	rng := rand.New(rand.NewPCG(7, 7))
	r := &JudgeRows{features: []string{"answer_correctness/token_recall", "length/words", "faithfulness/contradiction"},
		label: all.JudgeLabel{Field: "good", Max: 1}}
	for source := range sources {
		r.sets = append(r.sets, JudgeSet{Dataset: fmt.Sprintf("%d.jsonl", source)})
		for i := range each {
			label := boolean(rng.Float64() < 0.5)
			if source == 4 { // ratings
				label = math.Round(4*rng.Float64()) / 4
			}
			recall := label + 0.6*rng.NormFloat64()
			words := -label + 0.8*rng.NormFloat64() // says the contrary of what its high values mean
			against := 0.5 - label + 0.6*rng.NormFloat64()
			if i == 7 {
				against = math.NaN()
			}
			r.rows = append(r.rows, judgeRow{id: fmt.Sprint(i), set: source, label: label,
				values: []float64{recall, words, against}})
		}
	}
	r.count()
	file, predictions, err := TrainJudge(t.Context(), r, TrainOptions{Dimension: "x", Folds: 10, BySource: true})
	if err != nil {
		t.Fatal(err)
	}
	recall, words, against := file.Features[0].Weight, file.Features[1].Weight, file.Features[2].Weight
	if file.Training.Method != "linear" || recall <= 0 || words != 0 || against >= 0 {
		t.Errorf("%s with the weights %v, %v and %v, want one above, none and one below 0", file.Training.Method, recall,
			words, against)
	}
	f := file.Sources
	if len(f.Sources) != sources || f.Sources[0].Measure != "auc" || f.Sources[4].Measure != "spearman" {
		t.Fatalf("%+v", f)
	}
	var scores []float64
	var truth []bool
	for i, p := range predictions[:each] {
		if p.Part != 0 {
			t.Fatalf("row %d was predicted with part %d", i, p.Part)
		}
		scores, truth = append(scores, p.Predicted), append(truth, p.Label == 1)
	}
	want, err := stats.AUC(scores, truth, stats.Options{})
	if err != nil || f.Sources[0].Judge.Value != want.Value {
		t.Errorf("on the first source %v, want %v (%v)", f.Sources[0].Judge.Value, want.Value, err)
	}
	mean := 0.0
	for _, s := range f.Sources {
		mean += s.LessMean.Difference / sources
		if got := s.Judge.Value - s.Mean; math.Abs(got-s.LessMean.Difference) > 1e-9 {
			t.Errorf("%s: the difference is %v, and the figures differ by %v", s.Dataset, s.LessMean.Difference, got)
		}
		if s.Alone["length/words"] >= 0.5 {
			t.Errorf("%s: words agree with the labels by %v, though turned round", s.Dataset, s.Alone["length/words"])
		}
	}
	if math.Abs(mean-f.LessMean.Difference) > 1e-9 || f.LessMean.Lo == nil || *f.LessMean.Lo >= mean ||
		*f.LessMean.Hi <= mean || f.LessBest.First == "length/words" {
		t.Errorf("over all: %+v and %+v, want the mean %v", f.LessMean, f.LessBest, mean)
	}
	if f.LessMean.Difference <= 0 {
		t.Errorf("the judge is not ahead of a mean in which a feature works against it: %+v", f.LessMean)
	}
}
