package main

import (
	"fmt"
	"os"

	"github.com/assay-eval/assay/internal/testset"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
)

// ownPrompts are the user's prompts of a folder, if one is named.
func ownPrompts(dir string) (prompts.Set, error) {
	if dir == "" {
		return prompts.Set{}, nil
	}
	own, err := prompts.Load(os.DirFS(dir), testset.Prompts())
	if err != nil {
		return own, fmt.Errorf("--prompts %s: %w", dir, err)
	}
	return own, nil
}

func loadPrompts(dir string) (prompts.Set, error) {
	if dir == "" {
		return prompts.Set{}, nil
	}
	p, err := all.LoadPrompts(os.DirFS(dir))
	if err != nil {
		return prompts.Set{}, fmt.Errorf("--prompts %s: %w", dir, err)
	}
	return p, nil
}
