package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"
)

const calibrateHelp = `
Usage: assay calibrate RUN --human FIELD [--metric M] -o MAP.json [flags]

Makes a map from a metric's scores to the probability that people would say yes, from labelled rows. A logistic curve
(Platt), a rising step function (isotonic), the scores as they are, and one probability for all rows (constant) are tried
on rows that they were not fitted to (ten-fold cross-validation); the one with the lowest log loss is fitted to all
rows and written. What is printed of it was measured on rows it was not fitted to. If "constant" wins, the
scores tell nothing about the labels.

  assay calibrate results --human correct --metric answer_correctness -o map.json
  assay report others --calibration map.json      the mean is then the share of rows that people would pass
  assay run --data new.jsonl --metrics answer_correctness --calibration map.json      that share beside the mean

A map is for one metric with the models and prompts that it was made with: scores of others mean something else. assay
run refuses them, and assay report warns.
` + labelHelp

// calibrateOptions holds the flags of assay calibrate.
type calibrateOptions struct {
	labels labelOptions
	metric string
	output string
	seed   uint64
	format string
}

func calibrateCommand(ctx context.Context, s *std, args []string) error {
	var o calibrateOptions
	f := s.flags("calibrate", calibrateHelp)
	o.labels.add(f)
	f.StringVarP(&o.metric, "metric", "m", "", "the metric to calibrate, where the run has several")
	f.StringVarP(&o.output, "output", "o", "", "write the map to `FILE`")
	f.Uint64Var(&o.seed, "seed", 0, "seed of how the rows are dealt")
	f.StringVar(&o.format, "format", "table", "table or json")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := checkFormat(o.format, "table", "json"); err != nil {
		return err
	}
	run, err := loadScores(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	m, err := run.one(o.metric)
	if err != nil {
		return err
	}
	l, err := o.labels.load(ctx, s, run)
	if err != nil {
		return err
	}
	c, err := o.calibrate(run, m, l)
	if err != nil {
		return err
	}
	if o.output != "" {
		err := s.output(o.output, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(c.Calibration)
		})
		if err != nil {
			return err
		}
	}
	if o.format == "json" {
		return s.json(c)
	}
	c.print(s)
	if o.output != "" {
		s.note("the map is in %s; next: assay run, or assay report RUN, with --calibration %s", o.output, o.output)
	}
	return nil
}

// A calibrated metric is what --format json prints.
type calibrated struct {
	runs.Calibration
	Losses   map[string]float64 `json:"log_loss"`         // of each method, on rows not fitted to
	Before   *quality           `json:"before,omitempty"` // the scores as they are, where they lie in [0, 1]
	After    quality            `json:"after"`            // on rows not fitted to
	Warnings []string           `json:"warnings,omitempty"`
}

// A quality says how good scores are as probabilities.
type quality struct {
	Brier       *estimate     `json:"brier"`
	Calibration *calibrations `json:"calibration,omitempty"`
}

func (o *calibrateOptions) calibrate(run *scores, m runs.Metric, l *labels) (*calibrated, error) {
	if !l.binary() {
		return nil, usageError{withHint(fmt.Errorf("the labels %s are not true and false", l.field), "--positive VALUE makes them so: at least VALUE is true")}
	}
	d := l.match(run, run.of[m.Name], false)
	so := stats.Options{Seed: o.seed, Min: m.Min, Max: m.Max, Groups: d.groups}
	fit, err := stats.Calibrate(d.scores, d.labels, m.LowerIsBetter, so)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", m.Name, err)}
	}
	c := &calibrated{Losses: fit.Losses, After: qualityOf(fit.Predictions, d, so)}
	c.Calibration = runs.Calibration{Metric: m.Name, Field: l.field, N: len(d.ids),
		Origin: report.OriginOf(&run.Manifest.Config, m.Name), Map: fit.Map}
	if m.Min == 0 && m.Max == 1 && !m.LowerIsBetter {
		before := qualityOf(d.scores, d, so)
		c.Before = &before
	}
	if fit.Method == "constant" {
		c.Warnings = append(c.Warnings, "no map does better than one probability for all rows: the scores tell nothing about these labels")
	}
	if len(d.ids) < 100 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("only %d labelled rows: the map is rough below 100", len(d.ids)))
	}
	return c, nil
}

// qualityOf measures scores as probabilities. Raters who are divided make no true or false, which the calibration error
// needs.
func qualityOf(scores []float64, d matched, o stats.Options) quality {
	b := stats.Brier(scores, d.labels, o)
	q := quality{Brier: newEstimate(b.Mean, b.Interval)}
	for _, y := range d.labels {
		if y != 0 && y != 1 {
			return q
		}
	}
	if c, err := stats.Calibration(scores, d.labels, o); err == nil {
		q.Calibration = newCalibrations(c)
	}
	return q
}

func (c *calibrated) print(s *std) {
	t := s.table("map", "log loss on other rows", "")
	for _, method := range slices.Sorted(maps.Keys(c.Losses)) {
		chosen := ""
		if method == c.Map.Method {
			chosen = "chosen"
		}
		t.AppendRow(table.Row{method, number(c.Losses[method]), chosen})
	}
	render(t, 3, "table")
	var notes []string
	say := func(what string, q quality) {
		line := fmt.Sprintf("%s: brier %s", what, q.Brier)
		if k := q.Calibration; k != nil {
			line += fmt.Sprintf("; calibration error %s, where true probabilities would show %s (p %s)", number(k.Error), number(k.Expected), pValue(k.P))
		}
		notes = append(notes, line)
	}
	if c.Before != nil {
		say("the scores as they are", *c.Before)
	}
	say("mapped, on rows not fitted to", c.After)
	s.bullets(append(notes, c.Warnings...))
}

// A calibrationFlags holds the flag of the commands that take maps.
type calibrationFlags struct{ files []string }

func (o *calibrationFlags) add(f *pflag.FlagSet, usage string) {
	f.StringArrayVar(&o.files, "calibration", nil, usage)
}

// load reads the maps that assay calibrate wrote, one for a metric.
func (o *calibrationFlags) load() ([]runs.GivenCalibration, error) {
	var list []runs.GivenCalibration
	for _, path := range o.files {
		c, err := runs.LoadCalibration(path)
		if err != nil {
			return nil, withHint(fmt.Errorf("--calibration: %w", err), "assay calibrate RUN --human FIELD -o MAP.json writes one")
		}
		if slices.ContainsFunc(list, func(other runs.GivenCalibration) bool { return other.Metric == c.Metric }) {
			return nil, fmt.Errorf("--calibration %s: a map for %s is there already", path, c.Metric)
		}
		list = append(list, *c)
	}
	return list, nil
}
