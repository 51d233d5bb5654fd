// Package cache remembers answers, so that no model is asked the same thing twice.
//
// A [Store] is one SQLite file, shared by any number of processes. [Wrap] puts it before an engine:
//
//  1. A request is hashed to its key: see [backend.Key]. If the store has the answer, that is it.
//  2. Otherwise, if an equal request is on its way to the engine, its answer will do for both.
//  3. Otherwise the engine is asked, and the answer handed to the store's writer, which commits many at
//     a time. Errors are never stored.
//
// An entry whose checksum does not hold is absent, and is written anew. No trouble with the file ends a
// run: it goes on, with a warning, and answers wait in memory until they can be written.
package cache

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assay-eval/assay/backend"
)

// A Mode says how answers in the store are used.
type Mode int

const (
	Use     Mode = iota // answer from the store what it has, and store the rest
	Refresh             // answer only with what was stored since Wrap; replace what is older
	Verify              // always ask, and report answers that differ from the stored ones, which stay
	Off                 // neither read nor write
)

var modeNames = []string{"use", "refresh", "verify", "off"}

// String returns the mode's name, as ParseMode reads it.
func (m Mode) String() string { return modeNames[m] }

// ParseMode reads the name of a mode: use, refresh, verify or off.
func ParseMode(s string) (Mode, error) {
	i := slices.Index(modeNames, s)
	if i < 0 {
		return 0, fmt.Errorf("unknown cache mode %q: have use, refresh, verify, off", s)
	}
	return Mode(i), nil
}

// A Drift is an answer that Verify found to differ from the stored one.
type Drift struct {
	Key    backend.Key
	Op     string // see Entry
	Stored string // the stored answer, as JSON
	Fresh  string // the answer now
}

// A Backend answers from a Store what it can, and asks an engine the rest.
type Backend struct {
	engine backend.Backend
	info   backend.Info
	store  *Store
	mode   Mode
	drift  func(Drift)
	since  time.Time // of Wrap
	closed atomic.Bool

	cached, computed, failed   atomic.Int64 // answers: see Work
	promptTokens, outputTokens atomic.Int64

	mu      sync.Mutex
	flights map[backend.Key]*flight
}

// Wrap returns a Backend that uses store before engine. Closing it closes the engine, but not the store,
// which others may use. In the mode Off, store may be nil. Drift, if not nil, is told what Verify finds; it
// may be called concurrently.
func Wrap(engine backend.Backend, store *Store, mode Mode, drift func(Drift)) *Backend {
	if drift == nil {
		drift = func(Drift) {}
	}
	return &Backend{
		engine:  engine,
		info:    engine.Info(),
		store:   store,
		mode:    mode,
		drift:   drift,
		since:   time.Now().Truncate(time.Millisecond), // as exact as the store
		flights: map[backend.Key]*flight{},
	}
}

// Info is the engine's.
func (b *Backend) Info() backend.Info { return b.info }

// Calls returns how many answers came from the store, or from an equal request in flight, and how many the
// engine computed. Of an Encode each input counts as one.
func (b *Backend) Calls() (cached, computed int64) {
	return b.cached.Load(), b.computed.Load()
}

// Work is what a Backend did so far.
type Work struct {
	Cached, Computed int64 // answers: see [Backend.Calls]
	Failed           int64 // requests to the engine that it had no answer to, cancelled ones apart

	// of the answers that were computed, as their engine counts them; an engine counts none of what it encodes
	PromptTokens, OutputTokens int64
}

// Work returns what was done so far.
func (b *Backend) Work() Work {
	cached, computed := b.Calls()
	return Work{cached, computed, b.failed.Load(), b.promptTokens.Load(), b.outputTokens.Load()}
}

// Close closes the engine.
func (b *Backend) Close() error {
	b.closed.Store(true)
	return b.engine.Close()
}

// begin checks what must hold even for answers that the store has.
func (b *Backend) begin(ctx context.Context) error {
	if b.closed.Load() {
		return backend.ErrClosed
	}
	return ctx.Err()
}

// lookup answers from the store, where the mode allows it, and counts the outcome.
func lookup[T any](b *Backend, key backend.Key, decode func([]byte) (T, error)) (answer T, ok bool) {
	if payload, found := b.again(key); found {
		if answer, err := decode(payload); err == nil {
			b.store.hits.Add(1)
			b.cached.Add(1)
			return answer, true
		}
	}
	b.store.misses.Add(1)
	return answer, false
}

// again looks the answer up where the mode allows it, without counting.
func (b *Backend) again(key backend.Key) (payload []byte, ok bool) {
	if b.mode == Verify {
		return nil, false
	}
	f, ok := b.store.get(key)
	if !ok || b.mode == Refresh && f.created.Before(b.since) {
		return nil, false
	}
	return f.payload, true
}

// keep stores an answer, or compares it with the stored one.
func (b *Backend) keep(key backend.Key, op string, request any, payload []byte) {
	if len(payload) > maxPayload {
		return // an answer that could not be read again is not stored
	}
	if b.mode == Verify {
		if old, ok := b.store.get(key); ok {
			if string(old.payload) != string(payload) {
				b.drift(Drift{Key: key, Op: op, Stored: show(op, old.payload), Fresh: show(op, payload)})
			}
			return
		}
	}
	record, err := marshal(request)
	if err != nil || len(record) > maxPayload {
		return
	}
	b.store.put(&entry{
		key:     key,
		op:      op,
		info:    b.info,
		created: time.Now(),
		answer:  b.store.packer.pack(key, partAnswer, payload),
		request: b.store.packer.pack(key, partRequest, record),
	})
}

// show is readable for messages.
func show(op string, payload []byte) string {
	text, err := readable(op, payload)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
