package cache

import (
	"context"

	"github.com/assay-eval/assay/backend"
)

// A flight is one call to the engine and the callers that wait for it. It belongs to none of them: a
// caller that leaves takes nothing from the others, and when the last has left, the call is cancelled.
type flight struct {
	keys    []backend.Key
	cancel  context.CancelFunc
	waiting int           // guarded by Backend.mu
	done    chan struct{} // closed when value and err are set
	value   any           // the answers by their keys: a map[backend.Key]A
	err     error
}

// start begins a flight, which the caller is on. The caller holds b.mu, and none of keys is in flight.
func (b *Backend) start(ctx context.Context, keys []backend.Key, ask func(context.Context) (any, error)) *flight {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{keys: keys, cancel: cancel, waiting: 1, done: make(chan struct{})}
	for _, key := range keys {
		b.flights[key] = f
	}
	go func() {
		defer cancel()
		f.value, f.err = ask(ctx)
		b.mu.Lock()
		b.forget(f)
		b.mu.Unlock()
		close(f.done)
	}()
	return f
}

// forget lets nobody else join. The caller holds b.mu.
func (b *Backend) forget(f *flight) {
	for _, key := range f.keys {
		if b.flights[key] == f {
			delete(b.flights, key)
		}
	}
}

// wait waits for a flight that the caller is on. If the context ends first, the caller leaves it.
func (b *Backend) wait(ctx context.Context, f *flight) (any, error) {
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		b.leave(f)
		return nil, ctx.Err()
	}
}

// leave takes one caller off a flight.
func (b *Backend) leave(f *flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.waiting--
	if f.waiting == 0 {
		f.cancel()
		b.forget(f)
	}
}
