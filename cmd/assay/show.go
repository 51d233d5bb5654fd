package main

import (
	"context"
	"errors"
	"os"

	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/show"
)

func showCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("show", page("show"))
	if err := parse(f, args, 1, 3); err != nil {
		return err
	}
	if f.NArg() == 1 {
		return s.showAnswer(ctx, f.Arg(0))
	}
	run, err := runs.Open(f.Arg(0))
	if err != nil {
		return err
	}
	return show.Sample(ctx, s.out, run, f.Arg(1), f.Arg(2))
}

// showAnswer prints an answer from the cache with its question.
func (s *std) showAnswer(ctx context.Context, key string) error {
	if _, err := os.Stat(key); err == nil {
		return usageError{withHint(errors.New("which sample?"), "assay show %s SAMPLE", key)}
	}
	return withStore(s, func(store *cache.Store) error {
		e, err := store.Entry(ctx, key)
		if err != nil {
			return err
		}
		return show.Entry(s.out, e)
	})
}
