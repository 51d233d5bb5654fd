package cache

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
)

// A flight is one call to the engine and the callers that wait for it. It belongs to none of them: a
// caller that leaves takes nothing from the others, and when the last has left, the call is cancelled.
type flight struct {
	keys    []backend.Key
	cancel  context.CancelFunc
	waiting int           // guarded by Backend.mu
	done    chan struct{} // closed when value and err are set
	value   any           // *Generation, *Scores, or vectors
	err     error
}

// vectors are embeddings by the keys of their texts.
type vectors map[backend.Key][]float32

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

// join waits for the flight for key, or starts one that asks.
func join[T any](ctx context.Context, b *Backend, key backend.Key, ask func(context.Context) (T, error)) (T, error) {
	b.mu.Lock()
	f := b.flights[key]
	if f != nil {
		f.waiting++
		b.store.joined.Add(1)
	} else {
		f = b.start(ctx, []backend.Key{key}, func(ctx context.Context) (any, error) { return ask(ctx) })
	}
	b.mu.Unlock()
	value, err := b.wait(ctx, f)
	if err != nil {
		var none T
		return none, err
	}
	return value.(T), nil
}

// embedMissing gets the vectors of texts that the store does not have: those that are on their way from
// the flights that bring them, and the others in one call. Keys lists the keys of texts.
func (b *Backend) embedMissing(ctx context.Context, keys []backend.Key, texts map[backend.Key]string) (vectors, error) {
	var own []backend.Key
	var aboard []*flight                 // others' and then our own
	bring := map[*flight][]backend.Key{} // what each of them brings us
	b.mu.Lock()
	for _, key := range keys {
		f := b.flights[key]
		if f == nil {
			own = append(own, key)
			continue
		}
		if bring[f] == nil {
			aboard = append(aboard, f)
			f.waiting++
		}
		bring[f] = append(bring[f], key)
		b.store.joined.Add(1)
	}
	others := len(aboard)
	if len(own) > 0 {
		f := b.start(ctx, own, func(ctx context.Context) (any, error) { return b.ask(ctx, own, texts) })
		aboard, bring[f] = append(aboard, f), own
	}
	b.mu.Unlock()

	got := vectors{}
	for i, f := range aboard {
		value, err := b.wait(ctx, f)
		if err != nil && ctx.Err() == nil && i < others {
			// It may have failed over a text that is not ours.
			value, err = b.ask(ctx, bring[f], texts)
		}
		if err != nil {
			for _, f := range aboard[i+1:] {
				b.leave(f)
			}
			return nil, err
		}
		for _, key := range bring[f] {
			got[key] = value.(vectors)[key]
		}
	}
	return got, nil
}

// ask asks the engine for the vectors of some texts, and stores them.
func (b *Backend) ask(ctx context.Context, keys []backend.Key, texts map[backend.Key]string) (vectors, error) {
	got := vectors{}
	var rest []backend.Key
	var batch []string
	for _, key := range keys {
		if payload, ok := b.again(key); ok {
			if v, err := bytesVector(payload); err == nil {
				got[key] = v
				continue
			}
		}
		rest, batch = append(rest, key), append(batch, texts[key])
	}
	if len(batch) == 0 {
		return got, nil
	}
	answer, err := b.engine.Embed(ctx, batch)
	b.count(&b.computed, len(batch), err)
	if err != nil {
		return nil, err
	}
	if len(answer) != len(batch) {
		return nil, fmt.Errorf("%s gave %d vectors for %d texts", b.info.Engine, len(answer), len(batch))
	}
	for i, key := range rest {
		got[key] = answer[i]
		if checkVector(answer[i]) == nil {
			b.keep(key, opEmbed, embedRecord{batch[i]}, answer[i])
		}
	}
	return got, nil
}
