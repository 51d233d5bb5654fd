package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// Samples of two datasets may have the same ids. The judge is compared with a feature on the rows that have it, row by
// row and not id by id.
func TestJudgeFiguresPairRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	r := &JudgeRows{features: []string{"length/words"}, label: metrics.JudgeLabel{Field: "good", Max: 1}, binary: true, sets: make([]JudgeSet, 2)}
	var predicted, mine, other []float64
	var truth []bool
	for i := range 200 {
		row := judgeRow{id: fmt.Sprint(i % 100), set: i / 100, label: boolean(rng.Float64() < 0.5), values: []float64{rng.NormFloat64()}}
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
