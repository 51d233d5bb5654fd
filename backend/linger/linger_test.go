package linger

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

func TestConformance(t *testing.T) {
	backendtest.Run(t, backendtest.Config{Open: func(*testing.T) backend.Backend {
		return Wrap(&backendtest.Fake{PerToken: 200 * time.Microsecond, About: backend.Info{Context: 2048}}, 0)
	}})
}

// calls are the operations of b. Each takes a Fake the time of eight tokens.
func calls(b backend.Backend) map[string]func(context.Context) error {
	messages := []backend.Message{{Role: backend.User, Text: "hello"}}
	all := map[string]func(context.Context) error{
		"generate": func(ctx context.Context) error {
			_, err := b.Generate(ctx, &backend.GenerateRequest{Messages: messages, MaxTokens: 8})
			return err
		},
		"score": func(ctx context.Context) error {
			_, err := b.Score(ctx, &backend.ScoreRequest{
				Messages: messages, Continuations: []string{"a", "b", "c", "d", "e", "f", "g", "h"},
			})
			return err
		},
	}
	for _, output := range backend.Outputs() {
		all[string(output)] = func(ctx context.Context) error {
			_, err := b.Encode(ctx, &backend.EncodeRequest{
				Output: output, Inputs: backend.Texts("a", "b", "c", "d", "e", "f", "g", "h"),
			})
			return err
		}
	}
	return all
}

// TestGrace cancels each kind of call after four of its eight seconds.
func TestGrace(t *testing.T) {
	check := func(grace time.Duration, want error, took time.Duration) {
		t.Helper()
		for name := range calls(nil) {
			synctest.Test(t, func(t *testing.T) {
				fake := &backendtest.Fake{PerToken: time.Second}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(4*time.Second, cancel)
				start := time.Now()
				err := calls(Wrap(fake, grace))[name](ctx)
				if !errors.Is(err, want) || time.Since(start) != took {
					t.Errorf("%s, grace %v: %v after %v, want %v after %v",
						name, grace, err, time.Since(start), want, took)
				}
				time.Sleep(time.Hour) // the bubble finds what is left behind
			})
		}
	}
	check(0, context.Canceled, 4*time.Second)
	check(3*time.Second, context.Canceled, 7*time.Second)
	check(5*time.Second, nil, 8*time.Second)
}

// TestCancelledBefore checks that no call begins once the context is cancelled, whatever the grace.
func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fake := &backendtest.Fake{}
	for name, call := range calls(Wrap(fake, time.Hour)) {
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := fake.Stats().Calls(); n != 0 {
		t.Errorf("%d calls were begun", n)
	}
}

// TestDeadline checks that a deadline is an end like any other, and that values of the context are kept.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		priority := 0
		fake := &backendtest.Fake{PerToken: time.Second, Before: func(ctx context.Context, _ backendtest.Call) error {
			priority = backend.Priority(ctx)
			return nil
		}}
		ctx, cancel := context.WithTimeout(backend.WithPriority(t.Context(), 7), time.Second)
		defer cancel()
		if err := calls(Wrap(fake, time.Minute))["generate"](ctx); err != nil || priority != 7 {
			t.Errorf("%v, priority %d", err, priority)
		}
	})
}
