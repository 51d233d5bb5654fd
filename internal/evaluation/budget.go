package evaluation

import (
	"fmt"

	"github.com/assay-eval/assay/internal/budget"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// A Budget has metrics that ask a judge asked about some rows only. The zero Budget is to ask about all.
type Budget struct {
	Most  string   // rows for each metric, or a share of them: see budget.ParseLimit; "": no limit
	Width float64  // until the metric's interval is so narrow; 0: no sooner
	Cheap []string // the metrics that are asked about every row to choose by; nil: of the same dimension, by words
}

// set reports whether some rows may stay unasked.
func (b *Budget) set() bool { return b.Most != "" || b.Width != 0 }

// check refuses what makes no sense whatever the rows.
func (b *Budget) check() error {
	switch {
	case !b.set() && len(b.Cheap) > 0:
		return runs.Inputf("--cheap chooses the rows that others are asked about").WithHint(
			"say how many with --budget or --until-width")
	case b.Width < 0:
		return runs.Inputf("--until-width is %v: the width of an interval is positive", b.Width)
	case b.Most != "":
		if _, err := budget.ParseLimit(b.Most); err != nil {
			return runs.Inputf("--budget %v", err)
		}
	}
	return nil
}

// limit is what was checked.
func (b *Budget) limit() budget.Limit {
	l, _ := budget.ParseLimit(b.Most) // the zero Limit without one
	l.Width = b.Width
	return l
}

// choose adds the cheap metrics that are missing to a run's, and says how rows are asked about; nil: each one is.
func (b *Budget) choose(ms []metrics.Metric, from all.Selector, rows int) ([]metrics.Metric, *runs.Budget, error) {
	if !b.set() {
		return ms, nil, nil
	}
	limit := b.limit()
	if err := limit.Check(rows); err != nil {
		return nil, nil, fmt.Errorf("--budget %s: %w", b.Most, err)
	}
	var cheap []metrics.Metric
	var err error
	if len(b.Cheap) > 0 {
		if cheap, err = from.Select(b.Cheap); err != nil {
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
	return ms, &runs.Budget{Rows: limit.Rows, Share: limit.Share, Width: limit.Width, Metrics: asked}, nil
}
