package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/internal/study/labels"
)

const ppiHelp = `
Usage: assay ppi RUN --labels FILE [--metric M] [flags]
       assay ppi RUN --gold RUN --human FIELD [--metric M] [flags]
       assay ppi RUN... --rank --labels FILE [--metric M] [flags]

Estimates what people would say on average, from labels of a few of the rows and a metric's scores of all of them
(prediction-powered inference, PPI++). The metric need not be good for this to be right: its mean is corrected by
how far it is from the labels where both are known. The better it is, the narrower the interval, compared with
that of the labels alone.

  assay ppi results --labels labels.csv
  assay ppi results --human faithfulness --metric faithfulness --width 0.05
  assay ppi one two three --rank --labels labels.csv

With --gold the labels are of other rows, those of a run of its own, as in ARES: one gold set serves any number of systems,
scored by the same metric and models. Then what is taken for granted is that the metric errs on a system's rows as it does
on the gold ones, in the mean; whether the gold answers are as good does not matter.

  assay ppi one two three --rank --gold gold --human faithfulness --metric faithfulness/encoder

--truth FILE (columns run and label) says how good the systems are, where that is known, and the ranking is compared with
the true one by Kendall's tau: assay mock makes systems of known accuracy from labelled rows.

Without --gold the labelled rows must be a random choice from all rows: take the first of a shuffled list, not the ones that looked
interesting. With --rank systems are ordered by their estimates, and each pair is decided if the difference is beyond
chance (Holm's correction for all pairs). Labels of several runs in one file say which in a column run.
` + labelHelp

// ppiOptions holds the flags of assay ppi.
type ppiOptions struct {
	labels labelOptions
	metric string
	width  float64
	rank   bool
	gold   string
	truth  string
	level  float64
	format string
}

func ppiCommand(ctx context.Context, s *std, args []string) error {
	var o ppiOptions
	f := s.flags("ppi", ppiHelp)
	o.labels.add(f)
	f.StringVarP(&o.metric, "metric", "m", "", "the metric whose scores are used, where the run has several")
	f.Float64Var(&o.width, "width", 0,
		"say how many labels make the interval so `WIDE` (default half as wide as it is)")
	f.BoolVar(&o.rank, "rank", false, "rank several runs by their estimates")
	f.StringVar(&o.gold, "gold", "", "the `RUN` whose rows the labels are of, instead of each run's own")
	f.StringVar(&o.truth, "truth", "", "with --rank, a `FILE` that says how good each run is: columns run and label")
	f.Float64Var(&o.level, "level", 0.95, "confidence of the interval")
	f.StringVar(&o.format, "format", "table", strings.Join(report.StudyFormats(), ", "))
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	if err := checkFormat(o.format, report.StudyFormats()...); err != nil {
		return err
	}
	switch {
	case !(o.level > 0 && o.level < 1) || o.width < 0:
		return usagef("--level lies between 0 and 1, and --width is positive")
	case o.rank && f.NArg() < 2:
		return usagef("--rank takes two runs or more")
	case o.truth != "" && !o.rank:
		return usagef("--truth is for --rank")
	case !o.rank && f.NArg() > 1:
		return usageError{withHint(fmt.Errorf("one run at a time, not %d", f.NArg()), "--rank ranks several")}
	}
	var gold *goldRun
	if o.gold != "" {
		var err error
		if gold, err = o.openGold(ctx, s); err != nil {
			return err
		}
	}
	var systems []*study.System
	for _, dir := range f.Args() {
		sys, err := o.system(ctx, s, dir, gold)
		if err != nil {
			return err
		}
		systems = append(systems, sys)
	}
	if !o.rank {
		p := systems[0].PPI(o.width)
		return report.WriteStudy(s.out, &p, o.format)
	}
	var truth map[string]float64
	if o.truth != "" {
		var err error
		if truth, err = labels.Truths(ctx, o.truth); err != nil {
			return err
		}
	}
	ranking, err := study.Rank(ctx, systems, o.width, truth)
	if err != nil {
		return err
	}
	return report.WriteStudy(s.out, ranking, o.format)
}

// A goldRun is a run whose rows are labelled, with the labels.
type goldRun struct {
	run    *runs.Scores
	labels *labels.Set
}

func (o *ppiOptions) openGold(ctx context.Context, s *std) (*goldRun, error) {
	run, err := runs.LoadScores(ctx, o.gold)
	if err != nil {
		return nil, err
	}
	l, err := o.load(ctx, s, run)
	return &goldRun{run, l}, err
}

// load reads the labels of a run's rows.
func (o *ppiOptions) load(ctx context.Context, s *std, run *runs.Scores) (*labels.Set, error) {
	l, err := o.labels.load(ctx, s, run)
	if err != nil {
		return nil, err
	}
	if n := l.Unfair - l.Browsed; n > 0 {
		s.warn("%d labels are of rows that were picked because the metric is uncertain of them: they are no fair "+
			"sample, and the estimate is biased by them", n)
	}
	if l.Browsed > 0 {
		s.warn("%d labels are of rows that someone chose while reading (assay view): %s", l.Browsed, labels.Chosen)
	}
	return l, nil
}

// system reads a run and its labels, or those of the gold run.
func (o *ppiOptions) system(ctx context.Context, s *std, dir string, gold *goldRun) (*study.System, error) {
	run, err := runs.LoadScores(ctx, dir)
	if err != nil {
		return nil, err
	}
	m, err := run.One(o.metric)
	if err != nil {
		return nil, err
	}
	if gold != nil {
		return study.NewGoldSystem(run, gold.run, m, gold.labels, o.level)
	}
	l, err := o.load(ctx, s, run)
	if err != nil {
		return nil, err
	}
	return study.NewSystem(run, m, l, o.level)
}
