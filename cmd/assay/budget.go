package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/assay-eval/assay/internal/budget"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/spf13/pflag"
)

// budgetOptions are the flags that have a metric asked about some rows only.
type budgetOptions struct {
	text  string
	width float64
	cheap []string

	limit budget.Limit
}

func (o *budgetOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.text, "budget", "",
		"ask each metric that asks a judge about so many rows only, or such a `SHARE` (200, 20%)")
	f.Float64Var(&o.width, "until-width", 0, "ask about rows until the metric's interval is only so `WIDE`")
	f.StringSliceVar(&o.cheap, "cheap", nil,
		"the `METRIC` that is asked about every row to choose by (default: of the same dimension, by words)")
}

// set reports whether some rows may stay unasked.
func (o *budgetOptions) set() bool { return o.text != "" || o.width != 0 }

func (o *budgetOptions) check() (err error) {
	switch {
	case !o.set() && len(o.cheap) > 0:
		return withHint(errors.New("--cheap chooses the rows that others are asked about"),
			"say how many with --budget or --until-width")
	case o.width < 0:
		return usagef("--until-width is %v: the width of an interval is positive", o.width)
	case o.text != "":
		if o.limit, err = budget.ParseLimit(o.text); err != nil {
			return usagef("--budget %v", err)
		}
	}
	o.limit.Width = o.width
	return nil
}

// choose adds the cheap metrics that are missing to a run's, and says how rows are asked about; nil: each one is.
func (o *budgetOptions) choose(ms []metrics.Metric, from all.Selector, rows int) ([]metrics.Metric, *runs.Budget, error) {
	if !o.set() {
		return ms, nil, nil
	}
	if err := o.limit.Check(rows); err != nil {
		return nil, nil, fmt.Errorf("--budget %s: %w", o.text, err)
	}
	var cheap []metrics.Metric
	var err error
	if len(o.cheap) > 0 {
		if cheap, err = from.Select(o.cheap); err != nil {
			return nil, nil, err
		}
	}
	asked, missing, err := budget.Choose(ms, cheap)
	if err != nil {
		return nil, nil, err
	}
	if len(missing) > 0 {
		more, err := from.Select(missing)
		if err != nil {
			return nil, nil, err
		}
		ms = append(ms, more...)
	}
	return ms, &runs.Budget{Rows: o.limit.Rows, Share: o.limit.Share, Width: o.limit.Width, Metrics: asked}, nil
}

// score scores every row by the cheap metrics, and some by the others.
func (o *budgetOptions) score(ctx context.Context, s *std, p *plan, models metrics.Models, options metrics.Options,
	seed uint64, samples func() iter.Seq2[*metrics.Sample, error], w *runs.Writer) error {
	job := &budget.Job{Metrics: p.metrics, Asked: p.budget.Metrics, Limit: o.limit, Seed: seed, Models: models,
		Options: options, Samples: samples, Say: s.note}
	return job.Run(ctx, w)
}
