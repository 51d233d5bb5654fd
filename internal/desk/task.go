package desk

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study/labels"
	"github.com/assay-eval/assay/metrics"
)

// A Task says what of a run is to be labelled.
type Task struct {
	Metric   string // by whose scores samples are picked; "": the run's only one
	N        int    // samples to label, those labelled earlier included
	Pick     string // which: "spread" (fair), "active" (fair by weights) or "uncertain" (for training)
	Pairs    bool   // which of two is better, where rows have one rival
	Scale    int    // as of a Desk
	Question string // as of a Desk; of pairs it has a default
	Seed     uint64
	Data     string // the dataset, where it is not any more where the run found it

	Warn func(format string, args ...any)
}

// Desk picks the samples that a book lacks, and lays them out; where it lacks none, there are none on the desk. In, Out
// and Terminal are the caller's to set. What is the user's to mend is a [runs.InputError].
func (t *Task) Desk(ctx context.Context, run *runs.Scores, book *labels.Book) (*Desk, error) {
	m, err := run.One(t.Metric)
	if err != nil {
		return nil, err
	}
	dimension, _, _ := strings.Cut(m.Name, "/")
	pairs, err := t.pairs(ctx, run, dimension)
	if err != nil {
		return nil, err
	}
	ids, strata, err := t.plan(run, m, book, pairs)
	if err != nil || len(ids) == 0 {
		return &Desk{Book: book}, err
	}
	samples, err := t.samples(ctx, run, ids)
	if err != nil {
		return nil, err
	}
	d := &Desk{Book: book, Samples: samples, Scale: t.Scale, Pairs: t.Pairs, Seed: t.Seed, Question: t.Question}
	if t.Pairs && d.Question == "" {
		d.Question = PairQuestion(dimension)
	}
	if t.Pick != "spread" {
		d.Pick = func(sample string) labels.Pick { return labels.Pick{How: t.Pick, Stratum: strata[sample]} }
	}
	return d, nil
}

// pairs are the samples that can be labelled as pairs in a dimension, nil where pairs are not what is labelled.
func (t *Task) pairs(ctx context.Context, run *runs.Scores, dimension string) (map[string]bool, error) {
	if !t.Pairs {
		return nil, nil
	}
	pairs := map[string]bool{}
	err := t.each(ctx, run, func(sample *metrics.Sample) {
		if IsPair(sample, dimension) {
			pairs[sample.ID] = true
		}
	})
	if err == nil && len(pairs) == 0 {
		return nil, runs.Inputf("no row of %s is a pair in %s", run.Dir, dimension).WithHint(
			"a pair has one text in other_answers, or one list in other_contexts for context_relevance")
	}
	return pairs, err
}

// plan lists the samples to show, in order: as many as are still wanted, of the pairs if there are any. With --pick
// active each has its stratum.
func (t *Task) plan(run *runs.Scores, m runs.Metric, book *labels.Book, pairs map[string]bool) ([]string,
	map[string]labels.Stratum, error) {
	of := run.Of[m.Name]
	var scored []string
	for _, id := range run.Samples {
		if _, ok := of[id]; ok && (pairs == nil || pairs[id]) {
			scored = append(scored, id)
		}
	}
	if len(scored) == 0 {
		return nil, nil, runs.Inputf("%s has no scores of %s", run.Dir, m.Name)
	}
	wanted := t.N - book.Labelled(run.Samples)
	if t.Pick == "active" {
		if wanted <= 0 {
			return nil, nil, nil
		}
		plan, strata := labels.Active(scored, of, book.Label, wanted, m.Name, t.Seed)
		return plan, strata, nil
	}
	order := labels.Spread(scored, of, t.Seed)
	if t.Pick == "uncertain" {
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
func (t *Task) samples(ctx context.Context, run *runs.Scores, plan []string) ([]*metrics.Sample, error) {
	place := map[string]int{}
	for i, id := range plan {
		place[id] = i
	}
	list := make([]*metrics.Sample, len(plan))
	err := t.each(ctx, run, func(sample *metrics.Sample) {
		if i, ok := place[sample.ID]; ok {
			list[i] = sample
		}
	})
	if i := slices.Index(list, nil); err == nil && i >= 0 {
		return nil, runs.Inputf("the dataset has no sample %q, which %s scored", plan[i], run.Dir)
	}
	return list, err
}

// each visits the samples of the dataset that was scored.
func (t *Task) each(ctx context.Context, run *runs.Scores, visit func(*metrics.Sample)) error {
	source := labels.Source{Data: t.Data, Warn: t.Warn}
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
			return &runs.InputError{Err: err}
		}
		visit(sample)
	}
	return ctx.Err()
}
