package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/backend/linger"
	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/backend/sched"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

// A stack is the models of a run with their decorators: grace over cache over scheduler over engine.
type stack struct {
	roles  metrics.Roles                  // the models that the run needs
	models []*cache.Backend               // all of those
	store  *cache.Store                   // nil without a cache
	work   map[backend.Role]*llama.Engine // those of the judges, which tell what they did
	words  backend.Vocabulary             // of the judge, if its engine has it
	drifts atomic.Int64
}

// openStack opens the models. Where the user named none and just one fits, that one is taken.
func openStack(ctx context.Context, s *std, o *stackOptions, asks metrics.Asks) (_ *stack, err error) {
	mode, err := cache.ParseMode(o.cache)
	if err != nil {
		return nil, usageError{err}
	}
	st := &stack{roles: make(metrics.Roles), work: make(map[backend.Role]*llama.Engine)}
	defer func() {
		if err != nil {
			st.close()
		}
	}()
	if mode != cache.Off {
		if st.store, err = openStore(s); err != nil {
			return nil, err
		}
	}
	for _, role := range backend.SortRoles(asks) {
		ops := asks[role]
		if ops == 0 {
			continue
		}
		if st.roles[role], err = st.open(ctx, s, o, wanted{role, o.named(role), ops}, mode); err != nil {
			return nil, fmt.Errorf("%s: %w", role.Title(), err)
		}
	}
	return st, nil
}

// open opens one model and puts the decorators around it.
func (st *stack) open(ctx context.Context, s *std, o *stackOptions, want wanted,
	mode cache.Mode) (backend.Backend, error) {
	if want.role == backend.Sampler && want.ref == "" {
		return nil, usageError{withHint(fmt.Errorf("--%s is missing", roleFlags[backend.Sampler].name),
			"it names the model that wrote the answers: other answers than that system's say nothing of how sure it was")}
	}
	var engine backend.Backend
	var err error
	options := sched.Options{Retrying: func(err error, wait time.Duration) {
		s.note("%v: asking again in %v", err, wait.Round(time.Second))
	}}
	switch o.backend {
	case "llama":
		engine, err = st.openLocal(ctx, s, o, want)
		if err == nil {
			options.Ahead = engine.Info().Slots
		}
	case "ollama":
		engine, err = openOllama(ctx, s, o, want)
		options.Ahead = 1 // waits in the server, so that no slot is ever idle
	case "openai":
		engine, err = openOpenAI(ctx, s, o, want)
		options.Ahead = 1
	case "gollama":
		err = usagef("gollama is a Go module of its own, for programs: see docs/gollama.md")
	default:
		err = usagef("unknown backend %q: llama, ollama or openai", o.backend)
	}
	if err != nil {
		return nil, err
	}
	b := cache.Wrap(sched.New(engine, options), st.store, mode, func(d cache.Drift) {
		if st.drifts.Add(1) == 1 {
			s.warn("another answer than the stored one: assay show %v has that (further ones are only counted)", d.Key)
		}
	})
	st.models = append(st.models, b)
	return linger.Wrap(b, o.grace), nil
}

// openLlama opens one model on llama.cpp.
func (st *stack) openLlama(ctx context.Context, s *std, o *stackOptions, want wanted) (backend.Backend, error) {
	e, err := openLlama(ctx, s, o, want)
	if err != nil {
		return nil, err
	}
	if want.role.Kind() == backend.Judge {
		st.work[want.role] = e
	}
	if want.role == backend.Judge && e.Info().Ops.Has(backend.CanReadTokens) {
		st.words = e
	}
	return e, nil
}

// calls counts the answers so far.
func (st *stack) calls() runs.Calls {
	var n runs.Calls
	for _, b := range st.models {
		cached, computed := b.Calls()
		n.Cached += cached
		n.Computed += computed
	}
	return n
}

// close closes the models, then the cache behind them.
func (st *stack) close() error {
	var errs []error
	for _, b := range st.models {
		errs = append(errs, b.Close())
	}
	if st.store != nil {
		errs = append(errs, st.store.Close())
	}
	return errors.Join(errs...)
}
