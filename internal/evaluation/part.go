package evaluation

import (
	"context"
	"iter"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/shard"
	"github.com/assay-eval/assay/metrics"
)

// NewPart is [New] for a machine that is given rows of a run and has no dataset. Names are the run's metrics, in their
// order; those that are the user's own are among what o describes.
func NewPart(ctx context.Context, o Options, names []string) (*Evaluation, error) {
	trained, _, err := loadJudges(o.Judges)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !hasName(trained, name) {
			o.Metrics = append(o.Metrics, name)
		}
	}
	e := &Evaluation{options: o}
	if _, err := e.choose(); err != nil {
		return nil, err
	}
	there := e.Metrics
	e.Metrics = nil
	for _, name := range names {
		i := slices.IndexFunc(there, func(m metrics.Metric) bool { return m.Name == name })
		if i < 0 {
			return nil, runs.Inputf("the run has the metric %s, which is not known here", name).WithHint(
				"if it is one of your own, this machine needs the file that describes it, by the same flag")
		}
		e.Metrics = append(e.Metrics, there[i])
	}
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	if err := e.Divisible(); err != nil {
		return nil, err
	}
	return e, o.Stack.Check(e.Metrics)
}

// Divisible returns an error if rows cannot be scored by machines that do not see all of them.
func (e *Evaluation) Divisible() error {
	if e.shard != nil {
		return runs.Inputf("--shard and --queue exclude each other: each divides the rows")
	}
	if e.budget != nil {
		return runs.Inputf("a budget chooses among all rows").WithHint("leave --budget and --until-width out, or --queue")
	}
	for _, m := range e.Metrics {
		if len(m.Prepare) > 0 {
			return runs.Inputf("%s needs %s of all rows", m.Name, m.Prepare[0].Doc).WithHint(
				"score it in a run of its own, without --queue")
		}
	}
	return nil
}

// Samples yields the samples that are scored, after the first skip.
func (e *Evaluation) Samples(ctx context.Context, skip int) iter.Seq2[*metrics.Sample, error] {
	return e.samples(ctx, skip)
}

// ScoreRows scores rows of a run and hands a block for each to emit, as [shard.Score] does; ready is called, also
// concurrently, when a result is there.
func (e *Evaluation) ScoreRows(ctx context.Context, rows iter.Seq2[shard.Row, error], ready func(),
	emit func(shard.Block) error) error {
	return shard.Score(ctx, rows, e.Metrics, e.Models, metrics.Options{Ready: func(metrics.Result) { ready() }}, emit)
}
