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
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/backend/sched"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/spf13/pflag"
)

// stackOptions are the flags that say which models answer, and through what.
type stackOptions struct {
	backend string
	address string
	models  map[backend.Role]*string // as the user named them
	cache   string
	context int
	slots   int
	threads int
	trie    bool          // count the beginnings of prompts: see llama.Options
	grace   time.Duration // of calls in flight when the command is interrupted
}

func (o *stackOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.backend, "backend", "b", "llama", "the `ENGINE` that runs the models: llama (in this process) or ollama")
	o.addModel(f, backend.Judge)
	o.addModel(f, backend.Embedder)
	f.StringVar(&o.address, "address", "", "the `URL` of the Ollama server (default $OLLAMA_HOST, or its usual address on this machine)")
	f.StringVar(&o.cache, "cache", "use", "answers from earlier runs: use, refresh (ask anew), verify (ask anew and compare) or off")
	f.IntVar(&o.context, "context", 0, "`TOKENS` of prompt and reply together (default what the model was trained for, at most 4096)")
	f.IntVar(&o.slots, "slots", 0, "calls served at once (default 16; with ollama, what the server allows)")
	f.IntVar(&o.threads, "threads", 0, "threads of the llama engine (default chosen by measurement)")
}

// addEncoder is for commands that score: others ask no encoder.
func (o *stackOptions) addEncoder(f *pflag.FlagSet) { o.addModel(f, backend.Encoder) }

// A roleFlag is how the user names the model of a role.
type roleFlag struct{ name, usage string }

var roleFlags = map[backend.Role]roleFlag{
	backend.Judge:    {"model", "the judge: a name from assay models, or a GGUF file; with ollama, its name there"},
	backend.Embedder: {"embed-model", "the embedding model, likewise, or a folder or file in ONNX"},
	backend.Encoder:  {"encoder-model", "the encoder judge, or a reranker: a name from assay models, a GGUF file, or a folder or file in ONNX; not with ollama"},
}

func (o *stackOptions) addModel(f *pflag.FlagSet, role backend.Role) {
	o.addModelAs(f, role, roleFlags[role])
}

func (o *stackOptions) addModelAs(f *pflag.FlagSet, role backend.Role, flag roleFlag) {
	if o.models == nil {
		o.models = make(map[backend.Role]*string)
	}
	o.models[role] = f.String(flag.name, "", flag.usage)
}

// named is the user's name for the model of a role, "" if there is none.
func (o *stackOptions) named(role backend.Role) string {
	if ref := o.models[role]; ref != nil {
		return *ref
	}
	return ""
}

// A stack is the models of a run with their decorators: grace over cache over scheduler over engine.
type stack struct {
	roles  metrics.Roles      // the models that the run needs
	models []*cache.Backend   // all of those
	store  *cache.Store       // nil without a cache
	work   func() llama.Stats // what the judge did; nil if its engine does not tell
	drifts atomic.Int64
}

// openStack opens the models. Where the user named none and just one fits, that one is taken.
func openStack(ctx context.Context, s *std, o *stackOptions, asks metrics.Asks) (_ *stack, err error) {
	mode, err := cache.ParseMode(o.cache)
	if err != nil {
		return nil, usageError{err}
	}
	st := &stack{roles: make(metrics.Roles)}
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
	for _, role := range backend.Roles() {
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

// A wanted model: what for, as the user named it ("" if not), and what it must be able to do.
type wanted struct {
	role backend.Role
	ref  string
	ops  backend.Ops
}

// open opens one model and puts the decorators around it.
func (st *stack) open(ctx context.Context, s *std, o *stackOptions, want wanted, mode cache.Mode) (backend.Backend, error) {
	var engine backend.Backend
	var err error
	options := sched.Options{Retrying: func(err error, wait time.Duration) {
		s.note("%v: asking again in %v", err, wait.Round(time.Second))
	}}
	switch o.backend {
	case "llama":
		if onnx.Is(want.ref) {
			engine, err = openONNX(ctx, s, o, want)
		} else {
			engine, err = st.openLlama(ctx, s, o, want)
		}
		if err == nil {
			options.Ahead = engine.Info().Slots
		}
	case "ollama":
		engine, err = openOllama(ctx, s, o, want)
		options.Ahead = 1 // waits in the server, so that no slot is ever idle
	case "gollama":
		err = usagef("gollama is a Go module of its own, for programs: see docs/gollama.md")
	default:
		err = usagef("unknown backend %q: llama or ollama", o.backend)
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
	if want.role == backend.Judge {
		st.work = e.Stats
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

// describe names the models for the user: "judge tinyllama-q4_0 on llama.cpp v0.4.0, 2048 tokens".
func describe(info backend.Info) string {
	return fmt.Sprintf("%s on %s, %d tokens, %d at once", info.Model, info.Engine, info.Context, info.Slots)
}
