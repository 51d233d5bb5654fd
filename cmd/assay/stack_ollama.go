package main

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/ollama"
)

// openOllama opens a model of a running Ollama server.
func openOllama(ctx context.Context, s *std, o *stackOptions, want wanted) (backend.Backend, error) {
	if want.ref == "" {
		return nil, usageError{withHint(fmt.Errorf("--%s is missing", roleFlags[want.role.Kind()].name),
			"ollama list shows the models that the server has")}
	}
	if o.threads != 0 {
		return nil, usagef("--threads is for --backend llama: Ollama chooses its own")
	}
	if o.fast {
		return nil, usagef("--fast is for --backend llama: Ollama promises no exact answers to give up")
	}
	e, err := ollama.Open(ctx, ollama.Options{
		Address: o.address, Model: want.ref, Context: o.context, Slots: o.slots, Log: s.about(want.role.Label()),
	})
	if err != nil {
		return nil, err
	}
	s.about(want.role.Label())("%s", describe(e.Info()))
	if _, hint := e.Parallel(); hint != "" && want.ops.Has(backend.CanGenerate) {
		s.note("hint: %s", hint)
	}
	return e, nil
}
