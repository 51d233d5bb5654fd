package evaluation

import (
	"context"
	"fmt"
	"os"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/shard"
)

// divide chooses the rows of the shard that the user asks for.
func (e *Evaluation) divide(ctx context.Context) error {
	if e.budget != nil {
		return runs.Inputf("--budget and --until-width choose rows by the scores of all: they exclude --shard").WithHint(
			"score the cheap metric in shards, merge their caches (assay cache import), and run with the budget then")
	}
	s, err := shard.Choose(e.options.Shard, os.LookupEnv)
	if err != nil {
		return fmt.Errorf("--shard %w", err)
	}
	e.shard, e.part = &s, &runs.Part{Shards: []int{s.Index}, Of: s.Of}
	for _, err := range s.Rows(e.samples(ctx, 0)) {
		if err != nil {
			return err
		}
		e.part.Rows++
	}
	return nil
}

// Rows is the number of rows to score.
func (e *Evaluation) Rows() int {
	if e.part != nil {
		return e.part.Rows
	}
	return e.Data.Summary().Rows
}
