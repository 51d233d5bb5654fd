package onnx

import (
	"context"
	"sync"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/tokenizer"
)

// An Engine is a model, loaded. It implements [backend.Backend].
type Engine struct {
	info    backend.Info
	lib     *Library
	session *Session
	cutter  tokenizer.Tokenizer

	reading
	origin int64  // the position of the first token, where the graph asks for positions
	choice string // why this graph was opened, of several

	cores chan struct{} // holds one for each input that is being computed

	closing sync.Once
	quit    chan struct{} // closed when Close is called
	users   sync.RWMutex  // held for reading by calls, for writing to free the model
}

// Info describes the model.
func (e *Engine) Info() backend.Info { return e.info }

// Generate is not for encoders.
func (e *Engine) Generate(context.Context, *backend.GenerateRequest) (*backend.Generation, error) {
	return nil, backend.Unsupported(e.info, backend.CanGenerate)
}

// Score is not for encoders.
func (e *Engine) Score(context.Context, *backend.ScoreRequest) (*backend.Scores, error) {
	return nil, backend.Unsupported(e.info, backend.CanScore)
}

// Close frees the model. Calls in flight are ended and return [backend.ErrClosed].
func (e *Engine) Close() error {
	e.closing.Do(func() {
		close(e.quit)
		e.users.Lock()
		defer e.users.Unlock()
		e.session.Close()
		e.lib.Close()
	})
	return nil
}

// enter lets a call use the model until it calls leave.
func (e *Engine) enter(ctx context.Context) (leave func(), err error) {
	e.users.RLock()
	if err := e.refuse(ctx); err != nil {
		e.users.RUnlock()
		return nil, err
	}
	return e.users.RUnlock, nil
}

// refuse returns the reason to work no more for a call, if there is one.
func (e *Engine) refuse(ctx context.Context) error {
	select {
	case <-e.quit:
		return backend.ErrClosed
	default:
		return ctx.Err()
	}
}

// until returns a context that ends with ctx or when the engine is closed.
func (e *Engine) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-e.quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
