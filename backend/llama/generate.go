package llama

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/grammar"
)

// Generate writes one reply. See [backend.Backend].
func (e *Engine) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	if !e.info.Ops.Has(backend.CanGenerate) {
		return nil, backend.Unsupported(e.info, backend.CanGenerate)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if needs := req.Needs(); !e.info.Ops.Has(needs) {
		return nil, backend.Unsupported(e.info, needs)
	}
	w := &writer{
		text:    e.model.speller(),
		sampler: newSampler(req.Sampling, req.DrawSeed()),
		reply:   newReply(req.Stop),
		max:     req.MaxTokens,
		once:    req.Once,
		all:     &e.model.count,
		done:    make(chan written, 1),
	}
	if req.Schema != nil {
		if !e.info.Ops.Has(backend.CanConstrain) {
			return nil, backend.Unsupported(e.info, backend.CanConstrain)
		}
		var err error
		if w.holds, err = e.constraint(ctx, req.Schema); err != nil {
			return nil, err
		}
	}
	j, err := e.newWriting(ctx, req, w)
	if err != nil {
		return nil, err
	}
	if err := hand(ctx, e, e.jobs, j); err != nil {
		return nil, err
	}
	o, err := await(ctx, e, w.done)
	if err != nil {
		return nil, err
	}
	return o.g, o.err
}

// constraint returns what holds a reply to a schema.
func (e *Engine) constraint(ctx context.Context, schema []byte) (*grammar.Constraint, error) {
	leave, err := e.enter(ctx) // the vocabulary is read once
	if err != nil {
		return nil, err
	}
	defer leave()
	c, err := e.model.constrainer.Constraint(schema)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return c, nil
}

// newWriting renders a request and cuts it into tokens.
func (e *Engine) newWriting(ctx context.Context, req *backend.GenerateRequest, w *writer) (*job, error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	prompt, tiles, err := e.tokens(req.Tokens)
	if len(req.Tokens) == 0 {
		prompt, tiles, err = e.prompt(req.Messages, req.Documents)
	}
	if err != nil {
		return nil, err
	}
	if n := len(prompt) + req.MaxTokens; n > e.info.Context || n < 0 {
		return nil, &backend.TooLongError{Tokens: max(n, 0), Limit: e.info.Context}
	}
	w.prompt = len(prompt)
	j := newJob(ctx, prompt, len(prompt), tiles, w)
	j.limit = len(prompt) + req.MaxTokens
	return j, nil
}
