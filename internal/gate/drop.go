package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/internal/study"
)

// A Drop is by how much a run may be worse than its baseline, on the rows that both could score.
type Drop struct {
	Metric string  // or a dimension; "": each metric of the baseline
	Most   float64 // in the metric's units, 0 or more
	report.Held
}

// ParseDrop reads "0.02" or "metric=0.02", with what [report.ParseHeld] reads behind it.
func ParseDrop(s string) (Drop, error) {
	last := strings.LastIndexByte(s, '=')
	v, held, err := report.ParseHeld(s[last+1:])
	if err != nil || v < 0 || last == 0 {
		return Drop{}, fmt.Errorf("%q is no limit to a drop: write NUMBER or METRIC=NUMBER, as in 0.02 or faithfulness=0.02; "+
			"0.02:lower is for the interval's worse end, 0.02:lower:lang for that in each slice by the column lang", s)
	}
	return Drop{s[:max(last, 0)], v, held}, nil
}

// judge holds a limit against a run and its baseline. What they cannot be compared in is told to warn.
func (d *Drop) judge(ctx context.Context, base, run *runs.Scores, data *slicing.Data, warn func(string, ...any)) (
	[]report.Verdict, error) {
	o := study.CompareOptions{Power: 0.8, Seed: run.Manifest.Config.Seed}
	if d.Metric != "" {
		o.Metrics = []string{d.Metric}
	}
	if d.By == "" {
		c, err := study.Compare(ctx, base, []*runs.Scores{run}, o)
		if err != nil {
			return nil, err
		}
		for _, w := range c.Warnings {
			warn("%s", w)
		}
		var verdicts []report.Verdict
		for i := range c.Metrics {
			v := d.verdict(&c.Metrics[i])
			v.Run = run.Dir
			verdicts = append(verdicts, v)
		}
		return verdicts, nil
	}
	of, err := data.Samples(d.By)
	if err != nil {
		return nil, err
	}
	if _, err := base.Pick(o.Metrics); err != nil {
		return nil, err
	}
	var verdicts []report.Verdict
	for _, value := range slices.Sorted(maps.Keys(of)) {
		c, err := study.Compare(ctx, base.Only(of[value]), []*runs.Scores{run.Only(of[value])}, o)
		if errors.As(err, new(*runs.InputError)) {
			warn("%s=%s is held to nothing: %v", d.By, value, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", d.By, value, err)
		}
		for i := range c.Metrics {
			m := &c.Metrics[i]
			if base.Surveys[m.Name] != nil || run.Surveys[m.Name] != nil {
				return nil, runs.Inputf("%s was asked about some rows only: slices of such runs are not compared", m.Name)
			}
			v := d.verdict(m)
			if m.N < report.FewestRows {
				v.Passed, v.Skipped = true, true
				v.Why = fmt.Sprintf("rows with a score in both runs: %d, too few to hold to %v", m.N, d.Most)
			}
			v.Run, v.Column, v.Value = run.Dir, d.By, value
			verdicts = append(verdicts, v)
		}
	}
	return verdicts, nil
}

// verdict is that on one metric.
func (d *Drop) verdict(m *study.Difference) report.Verdict {
	v := report.Verdict{Metric: m.Name, Baseline: m.Baseline, Bound: d.Most}
	sign := -1.0 // a drop is what is worse
	if m.LowerIsBetter {
		sign = 1
	}
	drop := sign * m.Difference
	var most *float64 // that the drop may be
	between := "the difference does not vary between rows, so that there is no interval"
	if m.Lo != nil {
		end := max(sign**m.Lo, sign**m.Hi)
		most = &end
		between = fmt.Sprintf("95%% interval %+.3f to %+.3f, p %.2g, %d rows", *m.Lo, *m.Hi, m.P, m.N)
	}
	held := drop
	if d.Worst && most != nil {
		held = *most
	}
	how := fmt.Sprintf("the mean went from %.3f to %.3f, by %+.3f (%s)", m.BaselineMean, m.Mean, m.Difference, between)
	const rounding = 1e-9
	switch over := held > d.Most+rounding; {
	case d.Worst && most == nil && math.Abs(drop) > rounding:
		v.Why = "there is no interval to hold to " + fmt.Sprint(d.Most) + ": " + how
	case over && d.Worst:
		v.Why = fmt.Sprintf("it may be worse by %.3f, more than %v: %s", held, d.Most, how)
	case over:
		v.Why = fmt.Sprintf("worse by %.3f, more than %v: %s", held, d.Most, how)
	default:
		v.Passed, v.Why = true, how
	}
	return v
}
