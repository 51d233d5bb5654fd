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

// layoutHelp says what --layout takes.
const layoutHelp = "of the built-in prompts: `row`, in which each row is read once for all metrics, or classic"

// loadPrompts are the built-in prompts in a layout, and the user's of a folder, if one is named, in their places.
func loadPrompts(dir, layout string) (prompts.Set, error) {
	l, err := prompts.ParseLayout(layout)
	if err != nil {
		return prompts.Set{}, fmt.Errorf("--layout: %w", err)
	}
	var p prompts.Set
	if dir != "" {
		if p, err = all.LoadPrompts(os.DirFS(dir)); err != nil {
			return prompts.Set{}, fmt.Errorf("--prompts %s: %w", dir, err)
		}
	}
	return p.In(l), nil
}
