package stack

import (
	"context"
	"errors"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/ollama"
	"github.com/assay-eval/assay/backend/openai"
	"github.com/assay-eval/assay/internal/runs"
)

// openOllama opens a model of a running Ollama server.
func (o *Options) openOllama(ctx context.Context, want wanted) (backend.Backend, error) {
	switch {
	case want.ref == "":
		return nil, runs.Inputf("--%s is missing", Flag(want.role)).WithHint("ollama list shows the models that the server has")
	case o.Threads != 0:
		return nil, runs.Inputf("--threads is for --backend llama: Ollama chooses its own")
	case o.Fast:
		return nil, runs.Inputf("--fast is for --backend llama: Ollama promises no exact answers to give up")
	}
	e, err := ollama.Open(ctx, ollama.Options{
		Address: o.Address, Model: want.ref, Context: o.Context, Slots: o.Slots, Log: o.about(want.role),
	})
	if err != nil {
		return nil, err
	}
	o.about(want.role)("%s", Describe(e.Info()))
	if _, hint := e.Parallel(); hint != "" && want.ops.Has(backend.CanGenerate) {
		o.Say("hint: %s", hint)
	}
	return e, nil
}

// openOpenAI opens a model of a running server that has OpenAI's routes.
func (o *Options) openOpenAI(ctx context.Context, want wanted) (backend.Backend, error) {
	switch {
	case o.Address == "":
		return nil, runs.Inputf("--address is missing").WithHint("it names the server, such as http://127.0.0.1:8080/v1")
	case o.Threads != 0:
		return nil, runs.Inputf("--threads is for --backend llama: the server chooses its own")
	}
	e, err := openai.Open(ctx, openai.Options{
		Address: o.Address, AllowRemote: o.Remote, Key: o.Key, Model: want.ref, Context: o.Context,
		Slots: o.Slots, Log: o.about(want.role),
	})
	switch {
	case errors.Is(err, openai.ErrRemote):
		return nil, &runs.InputError{Err: err, Hint: "--allow-remote permits it"}
	case err != nil:
		return nil, err
	}
	o.about(want.role)("%s", Describe(e.Info()))
	return e, nil
}
