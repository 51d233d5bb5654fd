// Package linger lets calls in flight end when their context is cancelled.
//
// Of a run that the user interrupts no call is begun any more, but answers that are nearly there are worth waiting
// for: the cache keeps them. So [Wrap] stands over the cache, as the outermost decorator.
package linger

import (
	"context"
	"time"

	"github.com/assay-eval/assay/backend"
)

// A Backend begins no call once its context is cancelled, but lets those in flight go on for a while.
type Backend struct {
	inner backend.Backend
	grace time.Duration
}

// Wrap returns a Backend whose calls in flight may go on for grace once their context is cancelled; with 0 they are
// cancelled with it. Closing it closes inner.
func Wrap(inner backend.Backend, grace time.Duration) *Backend { return &Backend{inner, grace} }

// Info is that of the inner Backend.
func (b *Backend) Info() backend.Info { return b.inner.Info() }

// Generate asks the inner Backend, with grace.
func (b *Backend) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	return with(ctx, b.grace, req, b.inner.Generate)
}

// Encode asks the inner Backend, with grace.
func (b *Backend) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	return with(ctx, b.grace, req, b.inner.Encode)
}

// Score asks the inner Backend, with grace.
func (b *Backend) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	return with(ctx, b.grace, req, b.inner.Score)
}

// Close closes the inner Backend.
func (b *Backend) Close() error { return b.inner.Close() }

// with asks in a context that ends when grace has passed since ctx was cancelled.
func with[Q, A any](
	ctx context.Context, grace time.Duration, req Q, ask func(context.Context, Q) (A, error),
) (A, error) {
	if err := ctx.Err(); err != nil {
		var none A
		return none, err
	}
	if grace <= 0 {
		return ask(ctx, req)
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-inner.Done():
		}
	})
	defer stop()
	return ask(inner, req)
}
