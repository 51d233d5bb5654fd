// Package stack opens the models that a command asks, on the engines that the user chose, each with its decorators: grace
// over cache over scheduler over engine.
package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/backend/linger"
	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/backend/sched"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/models"
)

// Options say which models answer, and through what. The user's words in them are checked by [Open].
type Options struct {
	Backend  string                  // llama, ollama or openai
	Address  string                  // of the server, or of several between commas; "": Ollama's usual one
	Remote   bool                    // whether a server with OpenAI's routes may be on another machine
	Key      string                  // for such a server; "": none
	Models   map[backend.Role]string // as the user named them; a role without one has none, or "" for it
	Cache    string                  // a mode of the cache: see cache.ParseMode
	Encoders string                  // what runs encoders in GGUF: auto, llama, onnx, onnx-fp32, onnx-int8; "" is llama

	Context int           // tokens of prompt and reply together; 0: what the model was trained for, at most 4096
	Slots   int           // calls served at once; 0: what the engine takes
	Threads int           // of the engines in this process; 0: chosen by measurement
	Fast    bool          // see llama.Options
	Trie    bool          // count the beginnings of prompts: see llama.Options
	Grace   time.Duration // of calls in flight when the command is interrupted

	Say, Warn func(format string, args ...any) // tell the user what is no error, or may become one
}

// A Stack is a set of open models.
type Stack struct {
	Roles      metrics.Roles                  // the models by what they are there for
	Engines    map[backend.Role]*llama.Engine // those of the judges in this process, which tell what they did
	Vocabulary backend.Vocabulary             // of the judge without a name, if its engine has it; else nil

	options Options
	models  []*cache.Backend // all of Roles, below their grace
	opened  []backend.Role   // those of the models
	store   *cache.Store     // nil without a cache
	drifts  atomic.Int64
}

// Open opens the models that are asked, each with the abilities that it is asked for. Where the user named none and
// just one that is installed fits, that one is taken. What is the user's to mend is a [runs.InputError].
func Open(ctx context.Context, o Options, asks metrics.Asks) (_ *Stack, err error) {
	mode, err := cache.ParseMode(o.Cache)
	if err != nil {
		return nil, &runs.InputError{Err: err}
	}
	st := &Stack{Roles: make(metrics.Roles), Engines: make(map[backend.Role]*llama.Engine), options: o}
	defer func() {
		if err != nil {
			st.Close()
		}
	}()
	if mode != cache.Off {
		if st.store, err = OpenStore(o.Warn); err != nil {
			return nil, err
		}
	}
	for _, role := range backend.SortRoles(asks) {
		ops := asks[role]
		if ops == 0 {
			continue
		}
		if st.Roles[role], err = st.open(ctx, wanted{role, o.Models[role], ops}, mode); err != nil {
			return nil, fmt.Errorf("%s: %w", role.Title(), err)
		}
	}
	return st, nil
}

// OpenStore opens the cache of answers in the user's home folder; warn is told what goes wrong with it later.
func OpenStore(warn func(format string, args ...any)) (*cache.Store, error) {
	home, err := models.Home()
	if err != nil {
		return nil, err
	}
	return cache.Open(filepath.Join(home, "cache", "answers.db"), func(err error) { warn("%v", err) })
}

// A wanted model: what for, as the user named it ("" if not), and what it must be able to do.
type wanted struct {
	role backend.Role
	ref  string
	ops  backend.Ops
}

// open opens one model and puts the decorators around it.
func (st *Stack) open(ctx context.Context, want wanted, mode cache.Mode) (backend.Backend, error) {
	engine, ahead, err := st.engine(ctx, want)
	if err != nil {
		return nil, err
	}
	scheduled := sched.New(engine, sched.Options{Ahead: ahead, Retrying: func(err error, wait time.Duration) {
		st.options.Say("%v: asking again in %v", err, wait.Round(time.Second))
	}})
	b := cache.Wrap(scheduled, st.store, mode, func(d cache.Drift) {
		if st.drifts.Add(1) == 1 {
			st.options.Warn("another answer than the stored one: assay show %v has that (further ones are only counted)", d.Key)
		}
	})
	st.models, st.opened = append(st.models, b), append(st.opened, want.role)
	return linger.Wrap(b, st.options.Grace), nil
}

// engine opens one model. ahead is how many calls are to wait in the engine itself, so that none of its slots is ever
// idle.
func (st *Stack) engine(ctx context.Context, want wanted) (e backend.Backend, ahead int, err error) {
	if want.role == backend.Sampler && want.ref == "" {
		return nil, 0, runs.Inputf("--%s is missing", Flag(backend.Sampler)).WithHint(
			"it names the model that wrote the answers: other answers than that system's say nothing of how sure it was")
	}
	switch o := &st.options; o.Backend {
	case "llama":
		if e, err = st.openLocal(ctx, want); err == nil {
			ahead = e.Info().Slots
		}
		return e, ahead, err
	case "ollama":
		return o.openOllama(ctx, want)
	case "openai":
		return o.openOpenAI(ctx, want)
	case "gollama":
		return nil, 0, runs.Inputf("gollama is a Go module of its own, for programs: see docs/gollama.md")
	default:
		return nil, 0, runs.Inputf("unknown backend %q: llama, ollama or openai", o.Backend)
	}
}

// Infos describe the models, in the order in which they were opened.
func (st *Stack) Infos() []backend.Info {
	var list []backend.Info
	for _, b := range st.models {
		list = append(list, b.Info())
	}
	return list
}

// Calls counts the answers so far.
func (st *Stack) Calls() runs.Calls {
	var n runs.Calls
	for _, b := range st.models {
		cached, computed := b.Calls()
		n.Cached += cached
		n.Computed += computed
	}
	return n
}

// Work is what the model in a role did so far.
type Work struct {
	Role backend.Role
	Name string // of the model
	cache.Work
}

// Work says what each model did so far, in the order in which they were opened.
func (st *Stack) Work() []Work {
	var list []Work
	for i, b := range st.models {
		list = append(list, Work{st.opened[i], b.Info().Model, b.Work()})
	}
	return list
}

// Tally tells the user how many answers were not the stored ones, and how much the judges in this process had to do.
func (st *Stack) Tally() {
	if n := st.drifts.Load(); n > 0 {
		st.options.Warn("%d answers are not the stored ones", n)
	}
	for _, role := range backend.SortRoles(st.Engines) {
		w := st.Engines[role].Stats()
		if w.PromptTokens == 0 {
			continue
		}
		st.options.Say("the %s: %d prompt tokens (%.0f%% prefix-cached), %d completion tokens, %.1f sequences decoded at a time",
			role.Title(), w.PromptTokens, 100*(1-float64(w.PromptComputed)/float64(w.PromptTokens)),
			w.OutputTokens, float64(w.StepSequences)/float64(max(1, w.Steps)))
	}
}

// Close closes the models, then the cache behind them.
func (st *Stack) Close() error {
	var errs []error
	for _, b := range st.models {
		errs = append(errs, b.Close())
	}
	if st.store != nil {
		errs = append(errs, st.store.Close())
	}
	return errors.Join(errs...)
}

// Describe names a model for the user: "tinyllama-q4_0 on llama.cpp v0.4.0, 2048 tokens, 16 at once".
func Describe(info backend.Info) string {
	return fmt.Sprintf("%s on %s, %d tokens, %d at once", info.Model, info.Engine, info.Context, info.Slots)
}
