package main

import (
	"context"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/gollama"
)

// openGollama opens a model in this process with go-llama.cpp, in a build that has it (docs/gollama.md).
func openGollama(ctx context.Context, s *std, o *stackOptions, want wanted) (backend.Backend, error) {
	if o.address != "" {
		return nil, usagef("--address is for --backend ollama")
	}
	if want.ref == "" {
		return nil, usagef("name the model's GGUF file, of version 2, with --model or --embed-model")
	}
	e, err := gollama.Open(ctx, gollama.Options{
		Model: want.ref, Embed: want.role == backend.Embedder, Context: o.context, Threads: o.threads,
	})
	if err != nil {
		return nil, err
	}
	s.about(want.role.Label())("%s", describe(e.Info()))
	return e, nil
}
