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
	f := s.flags("ppi", page("ppi", "labels"))
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
