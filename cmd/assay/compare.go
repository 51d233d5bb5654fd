package main

import (
	"context"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
)

// A compareOptions holds the flags of assay compare.
type compareOptions struct {
	metrics []string
	detect  float64
	power   float64
	changed int
	seed    uint64
	format  string
}

func compareCommand(ctx context.Context, s *std, args []string) error {
	var o compareOptions
	f := s.flags("compare", page("compare"))
	f.StringSliceVarP(&o.metrics, "metric", "m", nil, "compare only these metrics")
	f.Float64Var(&o.detect, "detect", 0,
		"say how many rows it takes to see a difference of this `SIZE` (default 0.05 of the range)")
	f.Float64Var(&o.power, "power", 0.8, "the chance of seeing it")
	f.IntVar(&o.changed, "changed", 5, "list so many samples that changed most")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	f.StringVar(&o.format, "format", "table", strings.Join(report.StudyFormats(), ", "))
	if err := parse(f, args, 2, -1); err != nil {
		return err
	}
	if err := checkFormat(o.format, report.StudyFormats()...); err != nil {
		return err
	}
	if o.power <= 0 || o.power >= 1 || o.detect < 0 || o.changed < 0 {
		return usagef("--power lies between 0 and 1, and --detect and --changed are not negative")
	}
	base, err := runs.LoadScores(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	var others []*runs.Scores
	for _, dir := range f.Args()[1:] {
		other, err := runs.LoadScores(ctx, dir)
		if err != nil {
			return err
		}
		others = append(others, other)
	}
	c, err := study.Compare(ctx, base, others, study.CompareOptions{
		Metrics: o.metrics, Detect: o.detect, Power: o.power, Changed: o.changed, Seed: o.seed,
	})
	if err != nil {
		return err
	}
	if o.format != "json" {
		for _, w := range c.Warnings {
			s.warn("%s", w)
		}
	}
	return report.WriteStudy(s.out, c, o.format)
}
