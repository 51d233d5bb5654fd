package main

import (
	"context"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
)

const compareHelp = `
Usage: assay compare BASELINE RUN... [flags]

Compares runs with the first of them, metric by metric, on the samples that both could score: the mean difference
(the other run's score less the baseline's) with its 95% interval, and the p-value of a randomisation test: how
often would a difference as large arise if it made no difference which run is which? p (Holm) allows for
several comparisons in one table. A p-value below 0.05 is a difference worth believing; one above it is not
a proof that there is none: the minimum detectable effect says how far the samples at hand can see.

  assay compare before after
  assay compare before after --metric faithfulness --detect 0.02
  assay compare small medium large --format md

What else differs between the runs is said first. A difference between judges is one of the scores too.
`

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
	f := s.flags("compare", compareHelp)
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
