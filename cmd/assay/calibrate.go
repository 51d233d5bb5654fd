package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
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
	f.StringVar(&o.format, "format", "table", strings.Join(report.StudyFormats(), ", "))
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := checkFormat(o.format, report.StudyFormats()...); err != nil {
		return err
	}
	run, err := runs.LoadScores(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	m, err := run.One(o.metric)
	if err != nil {
		return err
	}
	l, err := o.labels.load(ctx, s, run)
	if err != nil {
		return err
	}
	c, err := study.Calibrate(ctx, run, m, l, o.seed)
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
	if err := report.WriteStudy(s.out, c, o.format); err != nil {
		return err
	}
	if o.output != "" && o.format == "table" {
		s.note("the map is in %s; next: assay run, or assay report RUN, with --calibration %s", o.output, o.output)
	}
	return nil
}
