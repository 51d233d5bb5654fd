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
	f := s.flags("calibrate", page("calibrate", "labels"))
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
