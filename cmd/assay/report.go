package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/gate"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
)

// A reportOptions holds the flags of assay report.
type reportOptions struct {
	format, output       string
	under, passes, drops []string
	baseline, data       string
	by                   []string
	rows                 int
	maps                 []string
}

func reportCommand(ctx context.Context, s *std, args []string) error {
	var o reportOptions
	f := s.flags("report", page("report"))
	formats := slices.Concat(report.Formats(), slices.Sorted(maps.Keys(exports())))
	f.StringVar(&o.format, "format", "table", strings.Join(formats, ", "))
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE` instead of standard output")
	f.StringArrayVar(&o.under, "fail-under", nil,
		"`METRIC=VALUE[:lower][:COLUMN]`: exit with 3 if the mean, or the interval's worse end, is worse; repeatable")
	f.StringVar(&o.baseline, "baseline", "", "the run `FOLDER` to compare with, row by row")
	f.StringArrayVar(&o.drops, "max-drop", nil,
		"`[METRIC=]VALUE[:lower][:COLUMN]`: exit with 3 if a mean is worse than the baseline's by more; repeatable")
	f.StringSliceVar(&o.by, "by", nil, "means by the values of metadata `COLUMNS`, too")
	f.IntVar(&o.rows, "rows", -1,
		"list the `N` worst rows: those worse than a threshold, and failures; in junit and github (default 0, github 10)")
	f.StringVar(&o.data, "data", "", "the dataset `FILE`, where it is not any more where the run found it")
	f.StringArrayVar(&o.passes, "pass", nil,
		"`METRIC=VALUE`: a draw (run --repeat) passes whose score is as good (default: the middle of the range); repeatable")
	f.StringArrayVar(&o.maps, "calibration", nil,
		"map a metric's scores to probabilities with the `MAP` of assay calibrate; repeatable")
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	if write, ok := exports()[o.format]; ok {
		return o.export(ctx, s, write, f.Args())
	}
	if err := checkFormat(o.format, formats...); err != nil {
		return err
	}
	g, view, err := o.gate(s)
	if err != nil {
		return usageError{err}
	}
	return o.report(ctx, s, g, view, f.Args())
}

// gate is what is asked of the runs, and how their scores are read.
func (o *reportOptions) gate(s *std) (*gate.Gate, report.View, error) {
	var v report.View
	g := &gate.Gate{Baseline: o.baseline, By: o.by, Data: o.data, Rows: o.rows, Warn: s.warn}
	if g.Rows < 0 {
		if g.Rows = 0; o.format == "github" {
			g.Rows = 10
		}
	}
	passes, err := gate.ParsePasses(o.passes)
	errs := []error{g.Hold(o.under, o.drops), err}
	v.Passes = passes
	given, err := runs.LoadCalibrations(o.maps)
	errs = append(errs, err)
	for i := range given {
		v.Calibrations = append(v.Calibrations, &given[i].Calibration)
	}
	return g, v, errors.Join(errs...)
}

func (o *reportOptions) report(ctx context.Context, s *std, g *gate.Gate, view report.View, dirs []string) error {
	shown := report.Options{Format: o.format, Color: s.outTerm && o.output == ""}
	if o.format == "html" {
		view.Cases = report.PageCases
	}
	var reports []*report.Report
	for _, dir := range dirs {
		out, err := g.Open(ctx, dir, view)
		if err != nil {
			return err
		}
		if o.format == "html" {
			s.texts(ctx, out.Report)
		}
		reports = append(reports, out.Report)
		shown.Verdicts, shown.Rows = append(shown.Verdicts, out.Verdicts...), append(shown.Rows, out.Rows...)
		if out.MoreRows > 0 {
			s.note("%s: %d more rows are worse than a threshold or failed: --rows says how many are listed", dir, out.MoreRows)
		}
	}
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" && o.format == "github" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		defer f.Close()
		shown.Summary = f
	}
	err := s.output(o.output, func(w io.Writer) error { return report.Write(w, reports, shown) })
	if err != nil {
		return err
	}
	if err := gate.Missed(shown.Verdicts); err != nil {
		return thresholdError{err}
	}
	return nil
}

// texts gives a report the samples that its page shows. Without their dataset it shows the scores and findings alone.
func (s *std) texts(ctx context.Context, r *report.Report) {
	var err error
	var source labels.Source
	if r.Texts, err = source.Samples(ctx, &runs.Run{Dir: r.Dir, Manifest: r.Manifest}, r.Shown()); err != nil {
		s.note("%s is shown without the texts of its samples: %v", r.Dir, err)
	}
}
