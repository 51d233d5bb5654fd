package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/assay-eval/assay/internal/desk"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
)

// A labelCommandOptions holds the flags of assay label.
type labelCommandOptions struct {
	desk.Task
	file string
}

func labelCommand(ctx context.Context, s *std, args []string) error {
	var o labelCommandOptions
	f := s.flags("label", page("label"))
	f.StringVar(&o.file, "labels", "", "the `FILE` of labels, JSONL: begun if it is not there")
	f.StringVar(&o.Data, "data", "", "the dataset `FILE`, where it is not any more where the run found it")
	f.StringVarP(&o.Metric, "metric", "m", "", "the metric whose scores rows are picked by, where the run has several")
	f.IntVarP(&o.N, "count", "n", 50, "rows to label, those labelled earlier included")
	f.IntVar(&o.Scale, "scale", 0, "labels from 1 to `N`, at most 9 (default: 0 and 1)")
	f.StringVar(&o.Pick, "pick", "spread", "which rows: spread (fair), active (fair by weights) or uncertain (for training)")
	f.BoolVar(&o.Pairs, "pairs", false, "label which of two is better, where rows have one rival")
	f.StringVar(&o.Question, "ask", "", "what to ask of each row, in your `WORDS`")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of what is drawn at random")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	run, err := runs.LoadScores(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	book, err := labels.OpenBook(o.file)
	if err != nil {
		return usageError{err}
	}
	o.Warn = s.warn
	d, err := o.Desk(ctx, run, book)
	if err != nil {
		return err
	}
	if len(d.Samples) == 0 {
		s.note("%s holds %d labels of %s: -n asks for more", o.file, book.Labelled(run.Samples), run.Dir)
		return nil
	}
	d.In, d.Out, d.Terminal = s.in, s.out, s.outTerm
	err = d.Work(ctx)
	s.note("%d labels of %s are in %s", book.Labelled(run.Samples), filepath.Base(filepath.Clean(run.Dir)), o.file)
	return err
}

func (o *labelCommandOptions) check() error {
	switch {
	case o.file == "":
		return usageError{withHint(errors.New("no labels file"), "--labels labels.jsonl: it need not be there yet")}
	case strings.HasSuffix(o.file, ".csv") || strings.HasSuffix(o.file, ".tsv") || strings.HasSuffix(o.file, ".gz") ||
		strings.HasSuffix(o.file, ".zst"):
		return usagef("--labels %s: labels are written as JSONL: name the file .jsonl", o.file)
	case o.N < 1:
		return usagef("-n is %d: it takes a positive number of rows", o.N)
	case o.Scale != 0 && (o.Scale < 2 || o.Scale > 9):
		return usagef("--scale is %d: it takes a number from 2 to 9", o.Scale)
	case o.Pairs && (o.Scale != 0 || o.Pick != "spread"):
		return usagef("--pairs has labels of its own, and takes all rows alike: it goes without --scale and --pick")
	case o.Pick != "spread" && o.Pick != "uncertain" && o.Pick != "active":
		return usagef("--pick %q: spread, active or uncertain", o.Pick)
	}
	return nil
}
