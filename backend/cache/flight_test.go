package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// held is a Fake whose calls begin by waiting on pass.
func held() (fake *backendtest.Fake, began <-chan backendtest.Call, pass chan struct{}) {
	calls := make(chan backendtest.Call, 100)
	pass = make(chan struct{})
	return &backendtest.Fake{Before: func(ctx context.Context, call backendtest.Call) error {
		calls <- call
		select {
		case <-pass:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, calls, pass
}

// TestOneCall sends equal requests at once, cancels the first of them, and checks that one call serves the
// others.
func TestOneCall(t *testing.T) { synctest.Test(t, testOneCall) }

func testOneCall(t *testing.T) {
	fake, began, pass := held()
	b := Wrap(fake, open(t), Use, nil)
	req := ask("popular")
	ctx, cancel := context.WithCancel(t.Context())
	leader := make(chan error)
	go func() {
		_, err := b.Generate(ctx, req)
		leader <- err
	}()
	<-began
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			g, err := b.Generate(t.Context(), req)
			if err != nil || g.Text == "" {
				t.Errorf("follower got %+v, %v", g, err)
			} else {
				g.Text = "callers own their answers"
			}
		})
	}
	synctest.Wait()
	cancel()
	if err := <-leader; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled leader got %v", err)
	}
	close(pass)
	wg.Wait()
	if g, err := b.Generate(t.Context(), req); err != nil || g.Text != backendtest.Babble(req)[:len(g.Text)] {
		t.Errorf("afterwards %+v, %v", g, err)
	}
	if n := fake.Stats().Calls(); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	if cached, computed := b.Calls(); cached != 21 || computed != 1 {
		t.Errorf("%d cached and %d computed, want 21 and 1", cached, computed)
	}
}

// TestAllLeave checks that a call nobody waits for is cancelled, and that the next caller asks anew.
func TestAllLeave(t *testing.T) { synctest.Test(t, testAllLeave) }

func testAllLeave(t *testing.T) {
	fake, began, pass := held()
	b := Wrap(fake, open(t), Use, nil)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	for range 2 {
		go func() {
			_, err := b.Generate(ctx, ask("unpopular"))
			errs <- err
		}()
	}
	<-began
	synctest.Wait()
	cancel()
	for range 2 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	close(pass)
	if _, err := b.Generate(t.Context(), ask("unpopular")); err != nil {
		t.Errorf("the next caller got %v", err)
	}
	if n := fake.Stats().Calls(); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

// TestEmbedTogether has callers share texts in flight, one batch of which fails over another text.
func TestEmbedTogether(t *testing.T) { synctest.Test(t, testEmbedTogether) }

func testEmbedTogether(t *testing.T) {
	fake, began, pass := held()
	inner := fake.Before
	fake.Before = func(ctx context.Context, call backendtest.Call) error {
		if err := inner(ctx, call); err != nil {
			return err
		}
		if slices.Contains(call.Texts(), "poison") {
			return backend.ErrInvalid
		}
		return nil
	}
	b := Wrap(fake, open(t), Use, nil)
	var wg sync.WaitGroup
	embed := func(ctx context.Context, want error, texts ...string) {
		wg.Go(func() {
			vectors, err := backend.Embed(ctx, b, texts)
			if !errors.Is(err, want) {
				t.Errorf("Embed(%q): %v, want %v", texts, err, want)
			}
			for i, v := range vectors {
				if !slices.Equal(v, backendtest.Vector(texts[i])) {
					t.Errorf("Embed(%q): wrong vector %d", texts, i)
				}
			}
		})
	}
	embed(t.Context(), backend.ErrInvalid, "poison", "shared")
	<-began
	embed(t.Context(), nil, "shared", "own")
	<-began
	embed(t.Context(), nil, "own", "shared")
	synctest.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	embed(ctx, context.Canceled, "own", "shared", "third")
	<-began
	cancel()
	synctest.Wait()
	close(pass)
	wg.Wait()
	embed(t.Context(), nil, "shared", "own", "third")
	wg.Wait()
}

// TestConcurrent has many callers ask for few things, some leaving early, and checks every answer.
func TestConcurrent(t *testing.T) {
	fake := &backendtest.Fake{PerToken: 100 * time.Microsecond}
	store := open(t)
	b := Wrap(fake, store, Use, nil)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			for range 60 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				if rng.IntN(4) == 0 {
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rng.IntN(1000))*time.Microsecond)
				}
				if err := randomCall(ctx, b, rng); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.flights) != 0 {
		t.Errorf("%d flights are left", len(b.flights))
	}
}

// randomCall asks for one of few things and checks the answer.
func randomCall(ctx context.Context, b backend.Backend, rng *rand.Rand) error {
	if rng.IntN(2) == 0 {
		req := ask(fmt.Sprint("question ", rng.IntN(30)))
		g, err := b.Generate(ctx, req)
		if err == nil && g.Text != backendtest.Babble(req)[:len(g.Text)] {
			return fmt.Errorf("wrong reply %q", g.Text)
		}
		return err
	}
	var texts []string
	for range 1 + rng.IntN(5) {
		texts = append(texts, fmt.Sprint("text ", rng.IntN(60)))
	}
	vectors, err := backend.Embed(ctx, b, texts)
	for i, v := range vectors {
		if !slices.Equal(v, backendtest.Vector(texts[i])) {
			return fmt.Errorf("wrong vector for %q", texts[i])
		}
	}
	return err
}
