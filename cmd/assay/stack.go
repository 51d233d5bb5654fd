package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/backend/ollama"
	"github.com/assay-eval/assay/backend/sched"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/models"
	"github.com/spf13/pflag"
)

// stackOptions are the flags that say which models answer, and through what.
type stackOptions struct {
	backend string
	address string
	judge   string
	embed   string
	cache   string
	context int
	slots   int
	threads int
}

func (o *stackOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.backend, "backend", "b", "llama", "the `ENGINE` that runs the models: llama (in this process) or ollama")
	f.StringVar(&o.judge, "model", "", "the judge: a name from assay models, or a GGUF file; with ollama, its name there")
	f.StringVar(&o.embed, "embed-model", "", "the embedding model, likewise")
	f.StringVar(&o.address, "address", "", "the `URL` of the Ollama server (default $OLLAMA_HOST, or its usual address on this machine)")
	f.StringVar(&o.cache, "cache", "use", "answers from earlier runs: use, refresh (ask anew), verify (ask anew and compare) or off")
	f.IntVar(&o.context, "context", 0, "`TOKENS` of prompt and reply together (default what the model was trained for, at most 4096)")
	f.IntVar(&o.slots, "slots", 0, "calls served at once (default 16; with ollama, what the server allows)")
	f.IntVar(&o.threads, "threads", 0, "threads of the llama engine (default chosen by measurement)")
}

// A stack is the models of a run with their decorators: cache over scheduler over engine.
type stack struct {
	judge, embed backend.Backend    // nil where the run needs none
	models       []*cache.Backend   // those two
	store        *cache.Store       // nil without a cache
	work         func() llama.Stats // what the judge did; nil if its engine does not tell
	drifts       atomic.Int64
}

// needs says which models a run needs.
type needs struct{ judge, embed backend.Ops }

// openStack opens the models. Where the user named none and just one fits, that one is taken.
func openStack(ctx context.Context, s *std, o *stackOptions, need needs) (_ *stack, err error) {
	mode, err := cache.ParseMode(o.cache)
	if err != nil {
		return nil, usageError{err}
	}
	st := &stack{}
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
	if need.judge != 0 {
		if st.judge, err = st.open(ctx, s, o, wanted{"judge", o.judge, need.judge}, mode); err != nil {
			return nil, fmt.Errorf("judge: %w", err)
		}
	}
	if need.embed != 0 {
		if st.embed, err = st.open(ctx, s, o, wanted{"embeddings", o.embed, need.embed}, mode); err != nil {
			return nil, fmt.Errorf("embedding model: %w", err)
		}
	}
	return st, nil
}

// A wanted model: what for, as the user named it ("" if not), and what it must be able to do.
type wanted struct {
	role, ref string
	ops       backend.Ops
}

// open opens one model and puts the decorators around it.
func (st *stack) open(ctx context.Context, s *std, o *stackOptions, want wanted, mode cache.Mode) (backend.Backend, error) {
	var engine backend.Backend
	var err error
	switch o.backend {
	case "llama":
		engine, err = openLlama(ctx, s, o, want)
	case "ollama":
		engine, err = openOllama(ctx, s, o, want)
	default:
		return nil, usagef("unknown backend %q: llama or ollama", o.backend)
	}
	if err != nil {
		return nil, err
	}
	if e, ok := engine.(*llama.Engine); ok && want.role == "judge" {
		st.work = e.Stats
	}
	queue := sched.New(engine, sched.Options{Retrying: func(err error, wait time.Duration) {
		s.note("%v: asking again in %v", err, wait.Round(time.Second))
	}})
	b := cache.Wrap(queue, st.store, mode, func(d cache.Drift) {
		if st.drifts.Add(1) == 1 {
			s.warn("another answer than the stored one: assay show %v has that (further ones are only counted)", d.Key)
		}
	})
	st.models = append(st.models, b)
	return b, nil
}

// calls counts the answers so far.
func (st *stack) calls() report.Calls {
	var n report.Calls
	for _, b := range st.models {
		cached, computed := b.Calls()
		n.Cached += cached
		n.Computed += computed
	}
	return n
}

func openLlama(ctx context.Context, s *std, o *stackOptions, want wanted) (backend.Backend, error) {
	if o.address != "" {
		return nil, usagef("--address is for --backend ollama")
	}
	home, err := models.Home()
	if err != nil {
		return nil, err
	}
	lib, err := models.FindEngine(home)
	if err != nil {
		return nil, err
	}
	m, err := findModel(home, want.ref, want.ops)
	if err != nil {
		return nil, usageError{err}
	}
	digest, err := models.Digest(m.Path)
	if err != nil {
		return nil, err
	}
	return llama.Open(ctx, llama.Options{
		Lib: lib.Dir, Model: m.Path, Name: m.Name, Digest: digest,
		Context: o.context, Slots: o.slots, Threads: o.threads, Log: s.about(want.role),
	})
}

// findModel resolves ref. Without one, the only installed model that can do what is needed is meant; of a
// model and what it was tuned to, the tuned one.
func findModel(home, ref string, need backend.Ops) (*models.Model, error) {
	if ref != "" {
		return models.Find(home, ref)
	}
	list, err := models.List(home)
	if err != nil {
		return nil, err
	}
	kind := "judge"
	if need.Has(backend.CanEmbed) {
		kind = "embedding"
	}
	var fit []models.Model
	for _, m := range list {
		if info, err := models.Inspect(m.Path); err == nil && modelKind(info) == kind {
			fit = append(fit, m)
		}
	}
	tuned := func(m models.Model) bool {
		return slices.ContainsFunc(fit, func(t models.Model) bool {
			return t.Record != nil && m.Record != nil && t.Record.Tuned == m.Record.Digest
		})
	}
	var names []string
	for _, m := range slices.DeleteFunc(fit, tuned) {
		names = append(names, m.Name)
	}
	flag := map[string]string{"judge": "--model", "embedding": "--embed-model"}[kind]
	switch len(names) {
	case 0:
		return nil, withHint(fmt.Errorf("no %s model is installed", kind), "make demo fetches one, assay models import adds one, %s names a file", flag)
	case 1:
		return models.Find(home, names[0])
	}
	return nil, fmt.Errorf("name the %s model with %s: %s", kind, flag, strings.Join(names, ", "))
}

func openOllama(ctx context.Context, s *std, o *stackOptions, want wanted) (backend.Backend, error) {
	if want.ref == "" {
		flag := "--model"
		if want.ops.Has(backend.CanEmbed) {
			flag = "--embed-model"
		}
		return nil, usageError{withHint(fmt.Errorf("%s is missing", flag), "ollama list shows the models that the server has")}
	}
	if o.threads != 0 {
		return nil, usagef("--threads is for --backend llama: Ollama chooses its own")
	}
	e, err := ollama.Open(ctx, ollama.Options{Address: o.address, Model: want.ref, Context: o.context, Slots: o.slots, Log: s.about(want.role)})
	if err != nil {
		return nil, err
	}
	s.about(want.role)("%s", describe(e.Info()))
	if _, hint := e.Parallel(); hint != "" && want.ops.Has(backend.CanGenerate) {
		s.note("hint: %s", hint)
	}
	return e, nil
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

// describe names the models for the user: "judge tinyllama-q4_0 on llama.cpp v0.4.0, 2048 tokens".
func describe(info backend.Info) string {
	return fmt.Sprintf("%s on %s, %d tokens, %d at once", info.Model, info.Engine, info.Context, info.Slots)
}
