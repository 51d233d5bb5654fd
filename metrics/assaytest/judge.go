// Package assaytest scores answers in Go tests, with the models and the cache of answers that the assay command has.
//
//	func TestAnswer(t *testing.T) {
//		sample := &metrics.Sample{Question: question, Contexts: passages, Answer: answer(question, passages)}
//		assaytest.Score(t, sample, "faithfulness/encoder", 0.8)
//	}
//
// A test whose score is worse than the limit fails, and says the score with what it rests on. Metrics that ask a model
// are skipped with -short. A model that is not installed fails the test: nothing passes because it was not looked at.
//
// [Score] and [Mean] open the installed models and close them again. A package with several such tests has a [Judge], which
// opens each model when a test first asks for it and keeps it open until the tests are over:
//
//	var judge assaytest.Judge
//
//	func TestMain(m *testing.M) {
//		m.Run()
//		judge.Close()
//	}
//
//	func TestAnswers(t *testing.T) {
//		judge.Mean(t, samples, "faithfulness/encoder", 0.75)
//	}
//
// Scores are those of assay run: what was asked once, in a test or by the command, is answered by the cache that they
// share. A test that is run again without a change asks no model anything.
package assaytest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A Judge scores samples with models that stay open until it is closed. The zero Judge asks the models that are installed,
// as assay run does where none are named. Its methods may be called by several tests at once; its fields are set before.
type Judge struct {
	// Models names models by what they are there for, each by a name that assay models lists or a file. Of a kind that
	// has none, the only one that is installed is meant. [backend.Role.Named] makes roles with names, for METRIC@NAME.
	Models map[backend.Role]string

	Backend string // the engine: "llama", in this process, which "" means, too; "ollama" or "openai"
	Address string // of the server, for the other two
	Cache   string // "use", which "" means, too; "refresh", "verify" or "off"
	Seed    uint64 // of everything that is drawn at random

	// Log is told what engines and cache say that is no error, perhaps from several goroutines at once; nil: nobody is.
	Log func(format string, args ...any)

	mu   sync.Mutex
	open []opened
}

// An opened model is one with its decorators.
type opened struct {
	role  backend.Role
	stack *stack.Stack
}

// Close closes the models and the cache. A Judge that is asked again opens what it needs anew.
func (j *Judge) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for _, o := range j.open {
		errs = append(errs, o.stack.Close())
	}
	j.open = nil
	return errors.Join(errs...)
}

// models are those that the metrics ask, opened where they are not open yet.
func (j *Judge) models(ctx context.Context, ms []metrics.Metric) (metrics.Models, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := metrics.Models{Roles: metrics.Roles{}, Prompts: prompts.Set{}.In(prompts.Row), Seed: j.Seed}
	options := j.options()
	if err := options.Check(ms); err != nil {
		return m, err
	}
	asks := metrics.AsksOf(ms)
	for _, role := range backend.SortRoles(asks) {
		if asks[role] == 0 {
			continue
		}
		b, err := j.model(ctx, options, role, asks[role])
		if err != nil {
			return m, err
		}
		m.Roles[role] = b
	}
	return m, nil
}

// model is one that can do ops in a role.
func (j *Judge) model(ctx context.Context, o stack.Options, role backend.Role, ops backend.Ops) (backend.Backend, error) {
	for _, opened := range j.open {
		if b := opened.stack.Roles[role]; opened.role == role && b.Info().Ops.Has(ops) {
			return b, nil
		}
	}
	st, err := stack.Open(ctx, o, metrics.Asks{role: ops})
	if err != nil {
		return nil, err
	}
	j.open = append(j.open, opened{role, st})
	return st.Roles[role], nil
}

// options are those of the command with the Judge's in their places.
func (j *Judge) options() stack.Options {
	log := j.Log
	if log == nil {
		log = func(string, ...any) {}
	}
	return stack.Options{
		Backend: cmp.Or(j.Backend, "llama"), Address: j.Address, Models: maps.Clone(j.Models),
		Cache: cmp.Or(j.Cache, "use"), Encoders: "auto", Say: log, Warn: log,
	}
}

// closeFor closes a Judge that was there for one test.
func (j *Judge) closeFor(t testing.TB) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Errorf("closing the models: %v", err)
	}
}
