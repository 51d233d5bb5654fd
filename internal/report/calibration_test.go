package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/runs/runstest"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// A report through a map is of probabilities: its mean, range, bins and thresholds; and it says so.
func TestCalibrated(t *testing.T) {
	m := runstest.Manifest("a/x", "b/y")
	m.Config.Metrics[0] = runs.Metric{Name: "a/x", Min: 1, Max: 5, LowerIsBetter: true}
	m.Config.Dataset.Rows = 4
	m.Config.Judge = &backend.Identity{Name: "small", Digest: "sha256:1"}
	m.Finished = ptr(runs.Now())
	var list []metrics.Result
	for i, v := range []float64{1, 2, 3, 5} {
		list = append(list, scored(fmt.Sprint(i), "a/x", v), scored(fmt.Sprint(i), "b/y", 0.5))
	}
	c := &runs.Calibration{Metric: "a/x", Field: "correct", N: 70,
		Origin: runs.Origin{IdentityFields: backend.IdentityFields{Judge: m.Config.Judge}},
		Map:    stats.Map{Method: "isotonic", X: []float64{1, 3}, Y: []float64{0.95, 0.15}, Floor: 0.01}}
	r, err := Summarize(t.Context(), &m, each(list), View{Calibrations: []*runs.Calibration{c}})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Metrics[0]
	want := (0.95 + 0.55 + 0.15 + 0.15) / 4
	if math.Abs(s.Stats.Mean-want) > 1e-12 || s.Min != 0 || s.Max != 1 || s.LowerIsBetter || s.Bins[1] != 2 ||
		s.Bins[9] != 1 {
		t.Errorf("%+v, want the mean %v", s, want)
	}
	if v := judge(t, r, "a=0.4")[0]; !v.Passed {
		t.Errorf("%+v", v)
	}
	notes := strings.Join(r.Notes(), "\n")
	if !strings.Contains(notes,
		"a/x: the scores are mapped to the probability that people say correct (isotonic, from 70 labelled rows)") ||
		strings.Contains(notes, "another judge") {
		t.Errorf("notes:\n%s", notes)
	}
	if page := render(t, Options{Format: "json"}, r); !strings.Contains(page, `"calibration": "the scores are mapped`) {
		t.Errorf("json without the calibration:\n%s", page)
	}
	m.Config.Judge = &backend.Identity{Name: "large", Digest: "sha256:2"}
	r, err = Summarize(t.Context(), &m, each(list), View{Calibrations: []*runs.Calibration{c}})
	if err != nil || !strings.Contains(strings.Join(r.Notes(), "\n"), "the map is for another judge, small") {
		t.Errorf("another judge: %v, %v", r.Notes(), err)
	}
	c.Metric = "c/z"
	if _, err := Summarize(t.Context(), &m, each(list), View{Calibrations: []*runs.Calibration{c}}); err == nil ||
		!strings.Contains(err.Error(), `no metric "c/z"`) {
		t.Errorf("a metric that is not there: %v", err)
	}
}

// Rows that share a group are taken together: the interval is wider than of as many independent rows, and both the
// notes and the JSON say why.
func TestGroups(t *testing.T) {
	m := runstest.Manifest("a/x")
	m.Config.Dataset.Rows = 120
	summary := func(group func(i int) string) *Report {
		t.Helper()
		var list []metrics.Result
		for i := range 120 {
			r := scored(fmt.Sprint(i), "a/x", float64(i/4%5)/4)
			r.Group = group(i)
			list = append(list, r)
		}
		r, err := Summarize(t.Context(), &m, each(list), View{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	alone := summary(func(int) string { return "" })
	grouped := summary(func(i int) string { return fmt.Sprint("question ", i/4) })
	width := func(r *Report) float64 { i := r.Metrics[0].Stats.Interval; return i.Hi - i.Lo }
	if ratio := width(grouped) / width(alone); math.Abs(ratio-2) > 0.1 {
		t.Errorf("groups of four make the interval %.2f times as wide, want twice", ratio)
	}
	if notes := strings.Join(grouped.Notes(), "\n"); !strings.Contains(notes, "120 values from 30 groups") {
		t.Errorf("notes:\n%s", notes)
	}
	if page := render(t, Options{Format: "json"}, grouped); !strings.Contains(page, `"groups": 30`) {
		t.Errorf("json:\n%s", page)
	}
	if page := render(t, Options{Format: "json"}, alone); strings.Contains(page, `"groups"`) {
		t.Errorf("groups without groups:\n%s", page)
	}
}

// A run that was given a map shows the mean of its probabilities beside that of the scores, in every format and with
// no other file; nothing else of the report changes.
func TestGivenCalibration(t *testing.T) {
	m := runstest.Manifest("a/x", "b/y")
	m.Config.Dataset.Rows = 4
	m.Finished = ptr(runs.Now())
	var list []metrics.Result
	for i, v := range []float64{0, 0.5, 0.5, 1} {
		list = append(list, scored(fmt.Sprint(i), "a/x", v), scored(fmt.Sprint(i), "b/y", 0.25*float64(i)))
	}
	plain, err := Summarize(t.Context(), &m, each(list), View{})
	if err != nil {
		t.Fatal(err)
	}
	m.Calibrations = []runs.GivenCalibration{{Path: "map.json", SHA256: "aa",
		Calibration: runs.Calibration{Metric: "a/x", Field: "correct", N: 70,
			Map: stats.Map{Method: "isotonic", X: []float64{0, 1}, Y: []float64{0.6, 0.9}, Floor: 0.01}}}}
	r, err := Summarize(t.Context(), &m, each(list), View{})
	if err != nil {
		t.Fatal(err)
	}
	// By hand: (0.6 + 0.75 + 0.75 + 0.9) / 4.
	if c := r.Metrics[0].Calibrated; c == nil || math.Abs(c.Stats.Mean-0.75) > 1e-12 || c.Stats.Interval == nil ||
		r.Metrics[1].Calibrated != nil {
		t.Fatalf("%+v", r.Metrics)
	}
	for i := range r.Metrics {
		if a, b := plain.Metrics[i].Stats.Mean, r.Metrics[i].Stats.Mean; a != b || r.Metrics[i].Calibration != nil {
			t.Errorf("the mean of the scores is %v, and %v with a map", a, b)
		}
	}
	if v := judge(t, r, "a=0.5")[0]; !v.Passed || !strings.Contains(v.Why, "0.500") {
		t.Errorf("thresholds are of the scores: %+v", v)
	}
	check := func(format string, wants ...string) {
		t.Helper()
		page := render(t, Options{Format: format}, r)
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s without %q:\n%s", format, want, page)
			}
		}
		if page := render(t, Options{Format: format}, plain); strings.Contains(page, "alibrated") {
			t.Errorf("%s of a run without a map:\n%s", format, page)
		}
	}
	check("table", "  calibrated  ", " 0.750  ",
		"a/x, calibrated: the scores are mapped to the probability that people say correct")
	check("md", "| metric | mean | 95% interval | calibrated | 95% interval | n |", "| 0.750 |")
	check("csv", "method,calibrated,calibrated_lo,calibrated_hi\n", ",0.75,")
	check("json", `"calibrated": {`, `"by": "the scores are mapped`)
	check("html", "calibrated 0.750 (")
	check("junit", "calibrated mean 0.750")

	// A report that is asked for probabilities shows them in the scores' place, once.
	r, err = Summarize(t.Context(), &m, each(list), View{Calibrations: []*runs.Calibration{&m.Calibrations[0].Calibration}})
	if err != nil || r.Metrics[0].Calibrated != nil || math.Abs(r.Metrics[0].Stats.Mean-0.75) > 1e-12 {
		t.Errorf("%+v, %v", r, err)
	}
	m.Calibrations[0].Map = stats.Map{Method: "isotonic"}
	if _, err := Summarize(t.Context(), &m, each(list), View{}); err == nil ||
		!strings.Contains(err.Error(), "the calibration in the manifest") {
		t.Errorf("a damaged map: %v", err)
	}
}
