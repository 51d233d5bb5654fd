package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/desk"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
)

const labelCommandHelp = `
Usage: assay label RUN --labels FILE [--metric M] [-n 50] [flags]

Shows rows of a run one at a time and writes what you say of them to a labels file, which agree, ppi, calibrate and
judge read. Each label is on disk before the next row is shown; the same command goes on where it was left. The
metric's scores are not shown, since they would sway you.

  assay label results --labels labels.jsonl --metric faithfulness
  assay ppi results --labels labels.jsonl --metric faithfulness

Rows are picked all along the metric's range, each with the same chance, which is what assay ppi must have, and after
any number of labels you can stop. With --pick uncertain
the rows come first whose scores are nearest to the middle: they teach a judge most (assay judge train), but
are no fair sample, so keep them from assay ppi. With --pick active more rows are picked where the labels so far vary
most among rows of alike scores; each label says from which stratum of scores its row was drawn, and assay ppi weights
the rows by that. Each time the command is given it learns from the labels there are: -n 25, then -n 50, then -n 100.

One key labels: 1 or 0, or with --scale 5 a digit from 1 to 5. Others: b back, s skip, m the whole texts, page by page, q quit.
Where standard input is no terminal, each line is a key.
`

// A labelCommandOptions holds the flags of assay label.
type labelCommandOptions struct {
	file     string
	data     string
	metric   string
	n        int
	scale    int
	pick     string
	question string
	seed     uint64
}

func labelCommand(ctx context.Context, s *std, args []string) error {
	var o labelCommandOptions
	f := s.flags("label", labelCommandHelp)
	f.StringVar(&o.file, "labels", "", "the `FILE` of labels, JSONL: begun if it is not there")
	f.StringVar(&o.data, "data", "", "the dataset `FILE`, where it is not any more where the run found it")
	f.StringVarP(&o.metric, "metric", "m", "", "the metric whose scores rows are picked by, where the run has several")
	f.IntVarP(&o.n, "count", "n", 50, "rows to label, those labelled earlier included")
	f.IntVar(&o.scale, "scale", 0, "labels from 1 to `N`, at most 9 (default: 0 and 1)")
	f.StringVar(&o.pick, "pick", "spread", "which rows: spread (fair), active (fair by weights) or uncertain (for training)")
	f.StringVar(&o.question, "ask", "", "what to ask of each row, in your `WORDS`")
	f.Uint64Var(&o.seed, "seed", 0, "seed of what is drawn at random")
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
	plan, strata, err := o.plan(run, book)
	if err != nil {
		return err
	}
	if len(plan) == 0 {
		s.note("%s holds %d labels of %s: -n asks for more", o.file, book.Labelled(run.Samples), run.Dir)
		return nil
	}
	samples, err := o.samples(ctx, s, run, plan)
	if err != nil {
		return err
	}
	d := &desk.Desk{Book: book, Samples: samples, Scale: o.scale, Question: o.question, In: s.in, Out: s.out,
		Terminal: s.outTerm}
	if o.pick != "spread" {
		d.Pick = func(sample string) labels.Pick { return labels.Pick{How: o.pick, Stratum: strata[sample]} }
	}
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
	case o.n < 1:
		return usagef("-n is %d: it takes a positive number of rows", o.n)
	case o.scale != 0 && (o.scale < 2 || o.scale > 9):
		return usagef("--scale is %d: it takes a number from 2 to 9", o.scale)
	case o.pick != "spread" && o.pick != "uncertain" && o.pick != "active":
		return usagef("--pick %q: spread, active or uncertain", o.pick)
	}
	return nil
}

// plan lists the samples to show, in order: as many as are still wanted. With --pick active each has its stratum.
func (o *labelCommandOptions) plan(run *runs.Scores, book *labels.Book) ([]string, map[string]labels.Stratum, error) {
	m, err := run.One(o.metric)
	if err != nil {
		return nil, nil, err
	}
	of := run.Of[m.Name]
	var scored []string
	for _, id := range run.Samples {
		if _, ok := of[id]; ok {
			scored = append(scored, id)
		}
	}
	if len(scored) == 0 {
		return nil, nil, usagef("%s has no scores of %s", run.Dir, m.Name)
	}
	wanted := o.n - book.Labelled(run.Samples)
	if o.pick == "active" {
		if wanted <= 0 {
			return nil, nil, nil
		}
		plan, strata := labels.Active(scored, of, book.Label, wanted, m.Name, o.seed)
		return plan, strata, nil
	}
	order := labels.Spread(scored, of, o.seed)
	if o.pick == "uncertain" {
		order = labels.Uncertain(order, of, (m.Min+m.Max)/2)
	}
	var plan []string
	for _, id := range order {
		if len(plan) >= wanted {
			break
		}
		if !book.Seen(id) {
			plan = append(plan, id)
		}
	}
	return plan, nil, nil
}

// samples reads the samples of a plan from the dataset, in the plan's order.
func (o *labelCommandOptions) samples(ctx context.Context, s *std, run *runs.Scores, plan []string) ([]*metrics.Sample,
	error) {
	source := labels.Source{Data: o.data, Warn: s.warn}
	data, err := source.Open(ctx, run)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	place := map[string]int{}
	for i, id := range plan {
		place[id] = i
	}
	list := make([]*metrics.Sample, len(plan))
	for sample, err := range data.Samples(ctx) {
		switch {
		case errors.As(err, new(*dataset.RowError)):
			continue // the run left it out, too
		case err != nil:
			return nil, usageError{err}
		}
		if i, ok := place[sample.ID]; ok {
			list[i] = sample
		}
	}
	if i := slices.Index(list, nil); i >= 0 {
		return nil, usagef("%s has no sample %q, which the run scored", data.Summary().Name, plan[i])
	}
	return list, ctx.Err()
}
