package main

import (
	"context"
	"errors"
	"fmt"
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

With --pairs you say which of two you prefer: of rows with one rival, in other_answers or other_contexts, the row's own
and the rival are shown in an order drawn at random. The label is 1 for the row's own and 2 for the rival, which assay
agree --pairwise and --protocol wikieval read.

  assay label results --pairs --metric faithfulness/claims --labels faithfulness.jsonl

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
	pairs    bool
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
	f.BoolVar(&o.pairs, "pairs", false, "label which of two is better, where rows have one rival")
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
	pairs, err := o.pairsOf(ctx, s, run)
	if err != nil {
		return err
	}
	plan, strata, err := o.plan(run, book, pairs)
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
	d := &desk.Desk{Book: book, Samples: samples, Scale: o.scale, Pairs: o.pairs, Seed: o.seed, Question: o.question,
		In: s.in, Out: s.out, Terminal: s.outTerm}
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
	case o.pairs && (o.scale != 0 || o.pick != "spread"):
		return usagef("--pairs has labels of its own, and takes all rows alike: it goes without --scale and --pick")
	case o.pick != "spread" && o.pick != "uncertain" && o.pick != "active":
		return usagef("--pick %q: spread, active or uncertain", o.pick)
	}
	return nil
}

// pairsOf are the samples that can be labelled as pairs in the metric's dimension, nil without --pairs.
func (o *labelCommandOptions) pairsOf(ctx context.Context, s *std, run *runs.Scores) (map[string]bool, error) {
	if !o.pairs {
		return nil, nil
	}
	m, err := run.One(o.metric)
	if err != nil {
		return nil, err
	}
	dimension, _, _ := strings.Cut(m.Name, "/")
	pairs := map[string]bool{}
	err = o.each(ctx, s, run, func(sample *metrics.Sample) {
		if desk.IsPair(sample, dimension) {
			pairs[sample.ID] = true
		}
	})
	if err == nil && len(pairs) == 0 {
		return nil, usageError{withHint(fmt.Errorf("no row of %s is a pair in %s", run.Dir, dimension),
			"a pair has one text in other_answers, or one list in other_contexts for context_relevance")}
	}
	if o.question == "" {
		o.question = desk.PairQuestion(dimension)
	}
	return pairs, err
}

// plan lists the samples to show, in order: as many as are still wanted, of the pairs if there are any. With --pick
// active each has its stratum.
func (o *labelCommandOptions) plan(run *runs.Scores, book *labels.Book, pairs map[string]bool) ([]string,
	map[string]labels.Stratum, error) {
	m, err := run.One(o.metric)
	if err != nil {
		return nil, nil, err
	}
	of := run.Of[m.Name]
	var scored []string
	for _, id := range run.Samples {
		if _, ok := of[id]; ok && (pairs == nil || pairs[id]) {
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
	place := map[string]int{}
	for i, id := range plan {
		place[id] = i
	}
	list := make([]*metrics.Sample, len(plan))
	err := o.each(ctx, s, run, func(sample *metrics.Sample) {
		if i, ok := place[sample.ID]; ok {
			list[i] = sample
		}
	})
	if i := slices.Index(list, nil); err == nil && i >= 0 {
		return nil, usagef("the dataset has no sample %q, which %s scored", plan[i], run.Dir)
	}
	return list, err
}

// each visits the samples of the dataset that was scored.
func (o *labelCommandOptions) each(ctx context.Context, s *std, run *runs.Scores, visit func(*metrics.Sample)) error {
	source := labels.Source{Data: o.data, Warn: s.warn}
	data, err := source.Open(ctx, run)
	if err != nil {
		return err
	}
	defer data.Close()
	for sample, err := range data.Samples(ctx) {
		switch {
		case errors.As(err, new(*dataset.RowError)):
			continue // the run left it out, too
		case err != nil:
			return usageError{err}
		}
		visit(sample)
	}
	return ctx.Err()
}
