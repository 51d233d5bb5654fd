package study

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// A Calibrated metric is what --format json prints.
type Calibrated struct {
	runs.Calibration
	Losses   map[string]float64 `json:"log_loss"`         // of each method, on rows not fitted to
	Before   *Quality           `json:"before,omitempty"` // the scores as they are, where they lie in [0, 1]
	After    Quality            `json:"after"`            // on rows not fitted to
	Warnings []string           `json:"warnings,omitempty"`
}

// A Quality says how good scores are as probabilities.
type Quality struct {
	Brier       *Estimate    `json:"brier"`
	Calibration *Reliability `json:"calibration,omitempty"`
}

// Calibrate makes a map from a metric's scores to the probability that people say yes.
func Calibrate(ctx context.Context, run *runs.Scores, m runs.Metric, l *labels.Set, seed uint64) (*Calibrated, error) {
	if !l.Binary() {
		return nil, runs.Inputf("the labels %s are not true and false",
			l.Field).WithHint("--positive VALUE makes them so: at least VALUE is true")
	}
	d := match(l, run, run.Of[m.Name], false)
	so := stats.Options{Seed: seed, Err: ctx.Err, Min: m.Min, Max: m.Max, Groups: d.groups}
	fit, err := stats.Calibrate(d.scores, d.labels, m.LowerIsBetter, so)
	if err != nil {
		return nil, runs.Inputf("%s: %w", m.Name, err)
	}
	c := &Calibrated{Losses: fit.Losses, After: qualityOf(fit.Predictions, d, so)}
	c.Calibration = runs.Calibration{Metric: m.Name, Field: l.Field, N: len(d.ids),
		Origin: OriginOf(&run.Manifest.Config, m.Name), Map: fit.Map}
	if m.Min == 0 && m.Max == 1 && !m.LowerIsBetter {
		before := qualityOf(d.scores, d, so)
		c.Before = &before
	}
	if fit.Method == "constant" {
		c.Warnings = append(c.Warnings,
			"no map does better than one probability for all rows: the scores tell nothing about these labels")
	}
	if len(d.ids) < 100 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("only %d labelled rows: the map is rough below 100", len(d.ids)))
	}
	return c, ctx.Err()
}

// qualityOf measures scores as probabilities. Raters who are divided make no true or false, which the calibration error
// needs.
func qualityOf(scores []float64, d matched, o stats.Options) Quality {
	b := stats.Brier(scores, d.labels, o)
	q := Quality{Brier: newEstimate(b.Mean, b.Interval)}
	for _, y := range d.labels {
		if y != 0 && y != 1 {
			return q
		}
	}
	if c, err := stats.Calibration(scores, d.labels, o); err == nil {
		q.Calibration = newReliability(c)
	}
	return q
}
