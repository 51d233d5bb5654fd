package sched

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// TestServerRestarts takes the engine away for half a minute in the middle of a run.
func TestServerRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		refused := 0
		var mu sync.Mutex
		var notices atomic.Int64
		fake := &backendtest.Fake{
			PerToken: 100 * time.Millisecond,
			Before: func(context.Context, backendtest.Call) error {
				if at := time.Since(start); at > 5*time.Second && at < 35*time.Second {
					mu.Lock()
					refused++
					mu.Unlock()
					return fmt.Errorf("connection refused: %w", backend.ErrUnavailable)
				}
				return nil
			},
		}
		s := New(fake, Options{Slots: 4, Retrying: func(error, time.Duration) { notices.Add(1) }})
		defer s.Close()
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				if err := oneCall(t.Context(), s, i%3, fmt.Sprintf("question %d", i)); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if refused < 4 || refused > 20 {
			t.Errorf("asked %d times while it was away, want a few", refused)
		}
		if notices.Load() == 0 || int(notices.Load()) > refused {
			t.Errorf("%d notices of %d refusals", notices.Load(), refused)
		}
		if int(s.health.limit) != 4 {
			t.Errorf("afterwards %v calls at once, want 4 again", s.health.limit)
		}
	})
}

// TestServerNeverComesBack checks that all calls end with the engine's error, together, soon after patience.
func TestServerNeverComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := fmt.Errorf("connection refused: %w", backend.ErrUnavailable)
		s := New(&backendtest.Fake{
			Before: func(context.Context, backendtest.Call) error { return away },
		}, Options{Slots: 4})
		defer s.Close()
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				err := oneCall(t.Context(), s, i%3, "hello")
				if !errors.Is(err, away) || !strings.Contains(err.Error(), "gave up after 2m") {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took < defaultPatience || took > defaultPatience+maxBackoff {
			t.Errorf("gave up after %v", took)
		}
	})
}

func TestNoPatience(t *testing.T) {
	fake := &backendtest.Fake{Before: func(context.Context, backendtest.Call) error { return backend.ErrUnavailable }}
	s := New(fake, Options{Patience: -1})
	defer s.Close()
	for kind := range 3 {
		if err := oneCall(t.Context(), s, kind, "hello"); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
	if n := fake.Stats().Calls(); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
}

// TestQueueFull has an engine that refuses more than 3 calls at once, where 12 were promised.
func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fake *backendtest.Fake
		var mu sync.Mutex
		refused := 0
		fake = &backendtest.Fake{
			PerToken: 100 * time.Millisecond,
			Before: func(context.Context, backendtest.Call) error {
				mu.Lock()
				defer mu.Unlock()
				if fake.Stats().InFlight > 3 {
					refused++
					return fmt.Errorf("queue full: %w", backend.ErrUnavailable)
				}
				return nil
			},
		}
		s := New(fake, Options{Slots: 12})
		defer s.Close()
		start := time.Now()
		var wg sync.WaitGroup
		const n = 300
		for i := range n {
			wg.Go(func() {
				if err := oneCall(t.Context(), s, 0, fmt.Sprintf("question %d", i)); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		// Alone the engine would need 300 / 3 rounds of 400 ms, one by one 300.
		if took := time.Since(start); took > 80*time.Second {
			t.Errorf("took %v", took)
		}
		if refused > n/2 {
			t.Errorf("%d calls were refused", refused)
		}
	})
}

// TestPoison has one request that takes the engine away whenever it is asked. The others must be served.
func TestPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var back time.Time // when the engine will have restarted
		s := New(&backendtest.Fake{
			PerToken: 10 * time.Millisecond,
			Before: func(_ context.Context, call backendtest.Call) error {
				mu.Lock()
				defer mu.Unlock()
				if call.Generate.Messages[0].Text == "poison" {
					back = time.Now().Add(time.Second)
				}
				if time.Now().Before(back) {
					return backend.ErrUnavailable
				}
				return nil
			},
		}, Options{Slots: 4})
		defer s.Close()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := oneCall(t.Context(), s, 0, "poison"); !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("poison: %v", err)
			}
		})
		for i := range 40 {
			wg.Go(func() {
				if err := oneCall(t.Context(), s, 0, fmt.Sprint("question ", i)); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		wg.Wait()
	})
}
