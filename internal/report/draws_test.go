package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// drawnRun is a run in which each row is drawn so many times; each list has the scores of a row's draws.
func drawnRun(t *testing.T, of int, v View, rows ...[]float64) *Report {
	t.Helper()
	m := runstest.Manifest("a/x@draws=4")
	m.Config.Metrics[0].Draws = of
	var list []metrics.Result
	for i, draws := range rows {
		r := scored(fmt.Sprint(i), "a/x@draws=4", stats.Of(draws, stats.Options{}).Mean)
		r.Score.Draws = draws
		list = append(list, r)
	}
	r, err := Summarize(t.Context(), &m, each(list), v)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDraws(t *testing.T) {
	const all, none = 1, 0
	rows := [][]float64{{1, 1, 1, 1}, {1, 0.5, 0, 0.2}, {0, 0.1, 0, 0}, {0.6, 0.7, 0.8, 0.4}, {1, 1, 1}}
	r := drawnRun(t, 4, View{}, rows...)
	d := r.Metrics[0].Drawn
	if d.Of != 4 || d.Threshold != 0.5 || d.Short != 1 || d.Flips.N != 4 || d.Flips.Mean != 0.5 || d.All.Mean != 0.25 ||
		d.Any.Mean != 0.75 || d.Flips.Interval == nil {
		t.Errorf("%+v", *d)
	}
	// Of the rows 4, 2, 0 and 3 of 4 draws pass. By hand: of two draws both pass in 6, 1, 0 and 3 of 6 pairs.
	want := []Pass{{1, (all + 0.5 + none + 0.75) / 4, (all + 0.5 + none + 0.75) / 4},
		{2, (all + 1.0/6 + none + 0.5) / 4, (all + 5.0/6 + none + all) / 4}, {4, 0.25, 0.75}}
	for i, p := range d.Passes {
		if p.K != want[i].K || math.Abs(p.All-want[i].All) > 1e-12 || math.Abs(p.Any-want[i].Any) > 1e-12 {
			t.Errorf("passes %+v, want %+v", d.Passes, want)
		}
	}
	if d := drawnRun(t, 4, View{Passes: []Threshold{{Metric: "a", Bound: 0.65}}}, rows...).Metrics[0].Drawn; d.All.Mean != 0.25 ||
		d.Flips.Mean != 0.5 || d.Passes[0].All != (1+0.25+0+0.5)/4 {
		t.Errorf("with a higher threshold %+v", *d)
	}
	for _, format := range []string{"table", "md", "html"} {
		text := strings.Join(strings.Fields(render(t, Options{Format: format}, r)), " ")
		for _, want := range []string{"with a threshold of 0.5, 2 of 4 rows flip between their 4 draws (0.500, ",
			"all draws pass in 1 (pass^4 0.250, ", "one at least in 3 (pass@4 0.750, ",
			"1 row without a score of each draw was left out"} {
			if !strings.Contains(strings.ReplaceAll(text, "\\", ""), want) {
				t.Errorf("the %s does not say %q", format, want)
			}
		}
	}
	var out JSON
	if err := json.Unmarshal([]byte(render(t, Options{Format: "json"}, r)), &out); err != nil {
		t.Fatal(err)
	}
	if j := out.Metrics[0].Draws; j == nil || j.N != 4 || j.Flips.Value != 0.5 || j.Flips.Lo == nil || len(j.Passes) != 3 ||
		*out.Metrics[0].Mean != r.Metrics[0].Stats.Mean {
		t.Errorf("%+v", j)
	}
}

// TestDrawsCountOnce checks that intervals are over rows: draws beside the others of a row make none narrower.
func TestDrawsCountOnce(t *testing.T) {
	var few, many [][]float64
	for i := range 30 {
		v := float64(i%2) * float64(i) / 30
		few, many = append(few, []float64{v, v}), append(many, []float64{v, v, v, v, v, v, v, v})
	}
	a, b := drawnRun(t, 2, View{}, few...).Metrics[0], drawnRun(t, 8, View{}, many...).Metrics[0]
	if *a.Stats.Interval != *b.Stats.Interval || *a.Drawn.All.Interval != *b.Drawn.All.Interval || a.Stats.N != 30 {
		t.Errorf("of 2 draws %v and %v, of 8 %v and %v", *a.Stats.Interval, *a.Drawn.All.Interval, *b.Stats.Interval,
			*b.Drawn.All.Interval)
	}
	if a.Drawn.Flips.Mean != 0 || a.Drawn.Flips.Interval == nil || a.Drawn.Flips.Interval.Hi < 0.05 {
		t.Errorf("no flips in 30 rows are %+v", a.Drawn.Flips)
	}
}

func TestDrawsOfOtherMetrics(t *testing.T) {
	lower := runs.Metric{Name: "a/x", Max: 4, LowerIsBetter: true, Draws: 3}
	d := newDrawing(&lower, 2)
	d.add("", []float64{1, 2, 0})
	d.add("", []float64{1, 2.5, 0})
	if got := d.draws(stats.Options{}); got.All.Mean != 0.5 || got.Any.Mean != 1 || got.Flips.Mean != 0.5 {
		t.Errorf("where lower is better: %+v", *got)
	}
	if newDrawing(&runs.Metric{Name: "a/x", Max: 1}, 0.5) != nil {
		t.Error("one draw is compared with itself")
	}
	empty := drawnRun(t, 4, View{}, []float64{1, 1})
	if d := empty.Metrics[0].Drawn; d.Short != 1 || d.Passes != nil || !strings.Contains(d.note(), "no row has a score") ||
		d.json().Flips != nil {
		t.Errorf("%+v", *d)
	}
	m := runstest.Manifest("a/x", "b/y")
	m.Config.Metrics[1].Draws = 2
	check := func(want string, v View, list ...metrics.Result) {
		t.Helper()
		if _, err := Summarize(t.Context(), &m, each(list), v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check("a/x is drawn once", View{Passes: []Threshold{{Metric: "a/x", Bound: 0.5}}})
	check("b/y=1.5 is not in the metric's range", View{Passes: []Threshold{{Metric: "b", Bound: 1.5}}})
	check(`no metric "c"`, View{Passes: []Threshold{{Metric: "c", Bound: 0.5}}})
	many := scored("s", "b/y", 1)
	many.Score.Draws = []float64{1, 1, 1}
	check("scores of 3 draws, of which the manifest says 2", View{}, many)
	many.Score.Draws = []float64{1, 7}
	check("the score 7 of a draw is not in the metric's range", View{}, many)
}
