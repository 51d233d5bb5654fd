package report

import (
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// counted is a result whose score is a ratio of counts.
func counted(sample, group string, n, of int) metrics.Result {
	score := metrics.Portion(n, of, nil)
	return metrics.Result{Sample: sample, Group: group, Metric: "a/b", Score: &score}
}

// The mean of the rows' shares is one number, the share of all that was counted another: of 1/1, 1/4 and 0/5 they are
// 5/12 and 1/5.
func TestPooled(t *testing.T) {
	m := &runs.Manifest{Config: runs.Config{Metrics: []runs.Metric{{Name: "a/b", Max: 1}}, Dataset: runs.Dataset{Rows: 4}}}
	rows := []metrics.Result{counted("a", "", 1, 1), counted("b", "", 1, 4), counted("c", "", 0, 5)}
	of := func(list ...metrics.Result) Summary {
		t.Helper()
		r, err := Summarize(t.Context(), m, each(list), View{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Metrics[0]
	}
	s := of(rows...)
	if p := s.Pooled; p == nil || p.Numerator != 2 || p.Denominator != 10 || p.Samples != 3 ||
		math.Abs(p.Stats.Mean-0.2) > 1e-12 || math.Abs(s.Stats.Mean-5.0/12) > 1e-12 {
		t.Fatalf("pooled %+v, mean %v", p, s.Stats.Mean)
	}
	if !strings.HasPrefix(s.Pooled.String(), "2 of 10: 0.200 (") {
		t.Errorf("%q", s.Pooled.String())
	}
	// A row whose value is no share of things counted is not among them.
	s = of(append(rows, scored("d", "a/b", 1))...)
	if s.Pooled.Samples != 3 || s.N != 4 {
		t.Errorf("%+v of %d scores", s.Pooled, s.N)
	}
	if s := of(scored("d", "a/b", 1)); s.Pooled != nil || s.Pooled.String() != "" || s.Pooled.json() != nil {
		t.Errorf("without counts: %+v", s.Pooled)
	}
	// What is counted in one row, or in rows of one group, is not independent: many claims of few rows say little.
	var many, few []metrics.Result
	for i := range 400 {
		many = append(many, counted(strings.Repeat("x", i+1), "", i%2, 1))
	}
	for i := range 40 {
		few = append(few, counted(strings.Repeat("x", i+1), "", i%2*10, 10))
	}
	a, b := of(many...).Pooled.Stats.Interval, of(few...).Pooled.Stats.Interval
	if !(b.Hi-b.Lo > 2.5*(a.Hi-a.Lo)) {
		t.Errorf("400 rows of one claim: %+v; 40 of ten alike: %+v", a, b)
	}
	// A file that contradicts itself is not summarised.
	wrong := counted("a", "", 1, 2)
	wrong.Score.Value = 0.75
	if _, err := Summarize(t.Context(), m, each([]metrics.Result{wrong}), View{}); err == nil {
		t.Error("1 of 2 was taken for 0.75")
	}
}
