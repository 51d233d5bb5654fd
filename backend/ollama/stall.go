package ollama

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/assay-eval/assay/backend"
)

// A server can lose a request: it takes it and never answers. Ollama 0.17.4 does so once it has been left in the
// middle of as many streamed replies as it serves at once, each between two parts of the reply that came fast
// upon each other: the goroutine that reads the second part from the runner then waits for a reader that has gone
// (ch <- res, in ChatHandler), and keeps its place for ever. New requests wait for a place. Only unloading
// the model makes new places, so that is what the engine does before it asks again.
const (
	// defaultStall is what Ollama itself gives the loading of a model that makes no progress.
	defaultStall = 5 * time.Minute

	// stallByte is the time that a byte of a prompt may take to read: with four bytes to a token, 25 tokens a second.
	stallByte = 10 * time.Millisecond

	// loadStalls is how many times as long the first load may take, when nothing is cached on the way from the disk.
	loadStalls = 6

	// unloadEvery is how often the engine looks whether a model is unloaded.
	unloadEvery = 500 * time.Millisecond
)

// A stalled error says that the server sent nothing for so long. It wraps [backend.ErrUnavailable].
type stalled struct {
	server *server
	after  time.Duration
}

func (s *stalled) Error() string {
	return fmt.Sprintf("%v: Ollama at %s took a request and sent nothing for %v: if it is not busy with the requests "+
		"of others (see \"ollama ps\"), it has lost the request: restart it", backend.ErrUnavailable, s.server, s.after)
}

func (s *stalled) Unwrap() error { return backend.ErrUnavailable }

// patience returns how long the server may send nothing while it has a request whose texts have so many bytes. It
// reads those of all its slots at the same time.
func (e *Engine) patience(size int) time.Duration {
	return e.stall + time.Duration(size)*time.Duration(min(max(e.info.Slots, 1), maxServed))*stallByte
}

// insist sends a request whose texts have so many bytes, and once more if the server loses it.
func (e *Engine) insist(ctx context.Context, size int, send func(context.Context, *exchange) error) error {
	limit := e.patience(size)
	err := e.attempt(ctx, limit, send)
	if lost := (*stalled)(nil); !errors.As(err, &lost) {
		return err
	}
	e.log("Ollama at %s sent nothing for %v: the request is taken back, model %s unloaded, and the request sent "+
		"once more", e.server, limit, e.name)
	e.unload(ctx, limit)
	return e.attempt(ctx, limit, send)
}

// attempt sends a request once, and takes it back when the server has sent nothing for so long, neither of this
// request nor of another one of this engine, which it may be waiting for: a *stalled error.
func (e *Engine) attempt(ctx context.Context, limit time.Duration, send func(context.Context, *exchange) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := e.server.exchange()
	x.received = func() { e.heard.Store(int64(time.Since(e.born))) }
	from := time.Since(e.born)
	go func() {
		for {
			wait := max(from, time.Duration(e.heard.Load())) + limit - time.Since(e.born)
			if wait <= 0 {
				cancel(&stalled{e.server, limit})
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}()
	return x.outcome(ctx, send(ctx, x))
}

// unload has the server unload the model, and waits for it no longer than limit. The server does it when no request
// is left in the model, so other calls that are lost like this one are waited for until they are taken back too; their
// being sent again would keep the model, so it is asked for time and again. What goes wrong here shows when the
// request is sent again.
func (e *Engine) unload(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		var running *api.ProcessResponse
		err := e.server.look(ctx, func(ctx context.Context, c *api.Client) (err error) {
			req := &api.GenerateRequest{Model: e.name, KeepAlive: &api.Duration{}}
			if err := c.Generate(ctx, req, func(api.GenerateResponse) error { return nil }); err != nil {
				return err
			}
			running, err = c.ListRunning(ctx)
			return err
		})
		loaded := err == nil && slices.ContainsFunc(running.Models, func(m api.ProcessModelResponse) bool {
			return m.Name == e.name
		})
		if !loaded {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(unloadEvery):
		}
	}
}
