package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
)

const reportHelp = `
Usage: assay report DIR... [--format FORMAT] [--fail-under METRIC=VALUE] [--calibration MAP.json]

Summarises runs from their folders: for each metric the mean with its 95% interval, how many samples were
scored, failed and were not applicable, and what a reader should know.

  assay report results
  assay report results --format html -o report.html
  assay report results --fail-under faithfulness=0.8     exits with 3 if the mean is lower
  assay report results --pass faithfulness=0.8           of draws (run --repeat): how often all of a row's pass
  assay report results --calibration map.json            scores as the probabilities that assay calibrate found
  assay report results --format parquet -o s.parquet     no summary: every score, a row for each sample and metric

A run that was itself given a map (assay run --calibration) shows the calibrated mean beside that of the scores.
`

func reportCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("report", reportHelp)
	format := f.String("format", "table", strings.Join(report.Formats(), ", ")+", parquet")
	output := f.StringP("output", "o", "", "write to `FILE` instead of standard output")
	under := f.StringArray("fail-under", nil, "`METRIC=VALUE`: exit with 3 if the mean is worse; repeatable")
	passes := f.StringArray("pass", nil,
		"`METRIC=VALUE`: a draw (run --repeat) passes whose score is as good (default: the middle of the range); repeatable")
	var maps calibrationFlags
	maps.add(f, "map a metric's scores to probabilities with the `MAP` of assay calibrate; repeatable")
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	if *format == "parquet" {
		switch {
		case *output == "" || *output == "-":
			return usageError{withHint(errors.New("a Parquet file is no text to print"), "-o FILE names a file for it")}
		case len(*under)+len(*passes)+len(maps.files) > 0:
			return usagef("--format parquet writes the scores as they are: --fail-under, --pass and --calibration belong " +
				"to a summary")
		}
		return writeScores(ctx, s, *output, f.Args())
	}
	if err := report.CheckFormat(*format); err != nil {
		return usageError{err}
	}
	thresholds, errUnder := parseThresholds(*under)
	bounds, errPass := parseThresholds(*passes)
	if err := errors.Join(errUnder, errPass); err != nil {
		return usageError{err}
	}
	given, err := maps.load()
	if err != nil {
		return usageError{err}
	}
	view := report.View{Passes: bounds}
	for i := range given {
		view.Calibrations = append(view.Calibrations, &given[i].Calibration)
	}
	if *format == "html" {
		view.Cases = report.PageCases
	}
	var reports []*report.Report
	var verdicts []report.Verdict
	for _, dir := range f.Args() {
		r, err := report.Load(ctx, dir, view)
		if err != nil {
			return err
		}
		if *format == "html" {
			s.texts(ctx, r)
		}
		vs, err := r.Judge(thresholds)
		if err != nil {
			return usageError{err}
		}
		reports, verdicts = append(reports, r), append(verdicts, vs...)
	}
	err = s.output(*output, func(w io.Writer) error {
		return report.Write(w, reports, report.Options{
			Format: *format, Color: s.outTerm && *output == "", Verdicts: verdicts,
		})
	})
	if err != nil {
		return err
	}
	return failed(verdicts)
}

// texts gives a report the samples that its page shows. Without their dataset it shows the scores and findings alone.
func (s *std) texts(ctx context.Context, r *report.Report) {
	var err error
	var source labels.Source
	if r.Texts, err = source.Samples(ctx, &runs.Run{Dir: r.Dir, Manifest: r.Manifest}, r.Shown()); err != nil {
		s.note("%s is shown without the texts of its samples: %v", r.Dir, err)
	}
}

// parseThresholds reads a list of METRIC=VALUE.
func parseThresholds(list []string) ([]report.Threshold, error) {
	var thresholds []report.Threshold
	for _, text := range list {
		t, err := report.ParseThreshold(text)
		if err != nil {
			return nil, err
		}
		thresholds = append(thresholds, t)
	}
	return thresholds, nil
}

// writeScores writes every score of the runs to a Parquet file.
func writeScores(ctx context.Context, s *std, output string, dirs []string) error {
	return s.output(output, func(w io.Writer) error {
		n, err := report.WriteScores(ctx, w, dirs...)
		if err == nil {
			s.note("%d scores and errors in %s", n, output)
		}
		return err
	})
}

// failed reports the thresholds that were missed.
func failed(verdicts []report.Verdict) error {
	var errs []error
	for _, v := range verdicts {
		if !v.Passed {
			errs = append(errs, fmt.Errorf("%s: %s: %s", v.Run, v.Metric, v.Why))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return thresholdError{errors.Join(errs...)}
}
