package sched

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

func ask(text string) *backend.GenerateRequest {
	return &backend.GenerateRequest{
		Messages:  []backend.Message{{Role: backend.User, Text: text}},
		MaxTokens: 4,
	}
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, backendtest.Config{Open: func(*testing.T) backend.Backend {
		return New(&backendtest.Fake{PerToken: 200 * time.Microsecond}, Options{})
	}})
}

// TestProperty sends calls of all kinds at random times to an engine with random faults, cancels some,
// and checks that no call is lost and that there are never more than Slots in the engine.
func TestProperty(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) { testProperty(t, seed) })
	}
}

func testProperty(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	slots := 1 + rng.IntN(6)
	faults := make([]bool, 4000) // by number of call
	for i := range faults {
		faults[i] = rng.IntN(10) == 0
	}
	fake := &backendtest.Fake{
		PerToken: 10 * time.Millisecond,
		Before: func(_ context.Context, call backendtest.Call) error {
			if call.N < len(faults) && faults[call.N] {
				return backend.ErrUnavailable
			}
			return nil
		},
	}
	s := New(fake, Options{Slots: slots})
	defer s.Close()

	var wg sync.WaitGroup
	for i := range 120 {
		text := fmt.Sprintf("prefix %d, question %d", rng.IntN(5), i)
		start := time.Duration(rng.IntN(1000)) * time.Millisecond
		limit := time.Hour
		if rng.IntN(4) == 0 {
			limit = time.Duration(rng.IntN(500)) * time.Millisecond
		}
		kind := rng.IntN(4)
		wg.Go(func() {
			time.Sleep(start)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			began := time.Now()
			err := oneCall(ctx, s, kind, text)
			if took := time.Since(began); took > limit {
				t.Errorf("seed %d: a call with a limit of %v took %v", seed, limit, took)
			}
			if err != nil && !(errors.Is(err, context.DeadlineExceeded) && limit < time.Hour) {
				t.Errorf("seed %d: call %d: %v", seed, i, err)
			}
		})
	}
	wg.Wait()
	synctest.Wait() // cancelled groups of embeddings leave a little later than their callers
	stats := fake.Stats()
	if stats.MaxInFlight > slots || stats.InFlight != 0 {
		t.Errorf("seed %d: %d slots, but %+v", seed, slots, stats)
	}
	if s.inFlight != 0 || len(s.queue.waiting) != 0 {
		t.Errorf("seed %d: afterwards %d in flight and %d waiting", seed, s.inFlight, len(s.queue.waiting))
	}
}

// oneCall makes a call of one of four kinds and checks that the answer is its own.
func oneCall(ctx context.Context, b backend.Backend, kind int, text string) error {
	switch kind {
	case 0:
		g, err := b.Generate(ctx, ask(text))
		if err == nil && !strings.HasPrefix(backendtest.Babble(ask(text)), g.Text) {
			return fmt.Errorf("wrong reply %q", g.Text)
		}
		return err
	case 1:
		texts := []string{text, "x " + text}
		v, err := backend.Embed(ctx, b, texts)
		if err == nil && (len(v) != 2 || !slices.Equal(v[0], backendtest.Vector(text)) ||
			!slices.Equal(v[1], backendtest.Vector(texts[1]))) {
			return errors.New("wrong vectors")
		}
		return err
	case 2:
		a, err := backend.EmbedTokens(ctx, b, []string{text})
		if err == nil && (len(a) != 1 || !reflect.DeepEqual(a[0], backendtest.TokenVectors(text))) {
			return errors.New("wrong tokens")
		}
		return err
	default:
		req := &backend.ScoreRequest{Messages: ask(text).Messages, Continuations: []string{"yes", "no, no"}}
		scores, err := b.Score(ctx, req)
		if err == nil && (len(scores.LogProbs) != 2 || len(scores.LogProbs[1]) != 3) {
			return errors.New("wrong scores")
		}
		return err
	}
}

// gate is a Fake's Before that notes prompts and holds each call until it is let go.
type gate struct {
	mu    sync.Mutex
	order []string
	pass  chan struct{}
}

func (g *gate) before(ctx context.Context, call backendtest.Call) error {
	g.mu.Lock()
	if call.Generate != nil {
		g.order = append(g.order, call.Generate.Messages[0].Text)
	} else {
		g.order = append(g.order, strings.Join(call.Texts(), "|"))
	}
	g.mu.Unlock()
	select {
	case <-g.pass:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestOrderFollowsPrefixes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		s := New(&backendtest.Fake{Before: g.before}, Options{Slots: 1})
		defer s.Close()
		var wg sync.WaitGroup
		for _, text := range []string{"A: one", "B: one", "C: one", "A: two", "B: two", "A: one and more", "C: two"} {
			wg.Go(func() { s.Generate(t.Context(), ask(text)) })
			synctest.Wait() // each comes after the one before
		}
		close(g.pass)
		wg.Wait()
		want := []string{"A: one", "A: one and more", "A: two", "B: one", "B: two", "C: one", "C: two"}
		if !slices.Equal(g.order, want) {
			t.Errorf("order is %q, want %q", g.order, want)
		}
	})
}

// TestOrderFollowsPriorities checks that samples are worked on in their order, whatever their prompts share.
func TestOrderFollowsPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		s := New(&backendtest.Fake{Before: g.before}, Options{Slots: 1})
		defer s.Close()
		var wg sync.WaitGroup
		for i, text := range []string{"A: one", "A: two", "A: three", "B: one", "B: two", "A: four"} {
			priority := []int{1, 3, 2, 1, 3, 1}[i]
			wg.Go(func() { s.Generate(backend.WithPriority(t.Context(), priority), ask(text)) })
			synctest.Wait()
		}
		close(g.pass)
		wg.Wait()
		want := []string{"A: one", "A: four", "B: one", "A: three", "A: two", "B: two"}
		if !slices.Equal(g.order, want) {
			t.Errorf("order is %q, want %q", g.order, want)
		}
	})
}

// TestNobodyStarves keeps the queue full of calls that share everything, beside one that shares nothing.
func TestNobodyStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int64
		s := New(&backendtest.Fake{PerToken: time.Millisecond, Before: func(context.Context, backendtest.Call) error {
			served.Add(1)
			return nil
		}}, Options{Slots: 1})
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for ctx.Err() == nil {
					s.Generate(ctx, ask("a very popular prompt"))
				}
			})
		}
		time.Sleep(time.Second)
		before := served.Load()
		if _, err := s.Generate(ctx, ask("Lonely")); err != nil {
			t.Error(err)
		}
		if passed := served.Load() - before; passed < 10 || passed > maxPassed+5 {
			t.Errorf("%d calls went before, want many, but at most about %d", passed, maxPassed)
		}
		cancel()
		wg.Wait()
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		fake := &backendtest.Fake{Before: g.before}
		s := New(fake, Options{Slots: 1})
		go s.Generate(t.Context(), ask("holds the slot"))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		for kind := range 3 {
			go func() { errs <- oneCall(ctx, s, kind, "waits") }()
		}
		synctest.Wait()
		cancel()
		for range 3 {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled while waiting: %v", err)
			}
		}
		for kind := range 3 {
			go func() { errs <- oneCall(t.Context(), s, kind, "waits") }()
		}
		synctest.Wait()
		s.Close()
		for range 3 {
			if err := <-errs; !errors.Is(err, backend.ErrClosed) {
				t.Errorf("closed while waiting: %v", err)
			}
		}
		if n := fake.Stats().Calls(); n != 1 {
			t.Errorf("%d calls reached the engine, want 1", n)
		}
		close(g.pass)
	})
}

func TestSharedPrefix(t *testing.T) {
	long := strings.Repeat("0123456789", 30)
	check := func(a, b string, want int) {
		t.Helper()
		if got := sharedPrefix(a, b); got != want {
			t.Errorf("sharedPrefix(%.20q, %.20q) = %d, want %d", a, b, got, want)
		}
	}
	check("", "", 0)
	check("abc", "", 0)
	check("abc", "abd", 2)
	check("abc", "abcd", 3)
	check(long, long, len(long))
	for _, n := range []int{0, 1, 63, 64, 65, 128, 255} {
		check(long[:n]+"x", long[:n]+"y", n)
		check(long[:n], long, n)
	}
}
