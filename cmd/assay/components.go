package main

import (
	"context"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/internal/study/labels"
)

func componentsCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("components", page("components"))
	metric := f.StringP("metric", "m", "", "the metric whose scores are used, where the run has several")
	data := f.String("data", "", "the dataset `FILE`, where it is not any more where the run found it")
	format := f.String("format", "table", strings.Join(report.StudyFormats(), ", "))
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := checkFormat(*format, report.StudyFormats()...); err != nil {
		return err
	}
	run, err := runs.LoadScores(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	m, err := run.One(*metric)
	if err != nil {
		return err
	}
	c, err := study.Components(ctx, run, m, &labels.Source{Data: *data, Warn: s.warn})
	if err != nil {
		return err
	}
	return report.WriteStudy(s.out, c, *format)
}
