package main

import (
	"context"
	"errors"
	"os"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai"
)

// openOpenAI opens a model of a running server that has OpenAI's routes. The key is in the environment only, so that no
// shell keeps it.
func openOpenAI(ctx context.Context, s *std, o *stackOptions, want wanted) (backend.Backend, error) {
	if o.address == "" {
		return nil, usageError{withHint(errors.New("--address is missing"),
			"it names the server, such as http://127.0.0.1:8080/v1")}
	}
	if o.threads != 0 {
		return nil, usagef("--threads is for --backend llama: the server chooses its own")
	}
	e, err := openai.Open(ctx, openai.Options{
		Address: o.address, AllowRemote: o.remote, Key: os.Getenv("ASSAY_API_KEY"), Model: want.ref, Context: o.context,
		Slots: o.slots, Log: s.about(want.role.Label()),
	})
	switch {
	case errors.Is(err, openai.ErrRemote):
		return nil, usageError{withHint(err, "--allow-remote permits it")}
	case err != nil:
		return nil, err
	}
	s.about(want.role.Label())("%s", describe(e.Info()))
	return e, nil
}
