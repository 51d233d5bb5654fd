package sched

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

func TestEmbedsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		fake := &backendtest.Fake{Before: g.before}
		s := New(fake, Options{Slots: 1})
		defer s.Close()
		go s.Embed(t.Context(), []string{"holds the slot"})
		synctest.Wait()
		var wg sync.WaitGroup
		for i := range batchTexts + 10 {
			wg.Go(func() {
				text := fmt.Sprint("text ", i)
				if v, err := s.Embed(t.Context(), []string{text}); err != nil || !slices.Equal(v[0], backendtest.Vector(text)) {
					t.Errorf("text %d: %v", i, err)
				}
			})
		}
		wg.Go(func() {
			large := make([]string, 3*batchTexts)
			if v, err := s.Embed(t.Context(), large); err != nil || len(v) != len(large) {
				t.Errorf("large batch: %d vectors, %v", len(v), err)
			}
		})
		synctest.Wait()
		close(g.pass)
		wg.Wait()
		if stats := fake.Stats(); stats.Embeds != 4 || stats.Texts != 1+batchTexts+10+3*batchTexts {
			t.Errorf("%+v, want 4 calls", stats)
		}
	})
}

// TestEmbedSpoilt has one text of a batch refused: it alone must fail.
func TestEmbedSpoilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		s := New(&backendtest.Fake{Before: g.before}, Options{Slots: 1})
		defer s.Close()
		go s.Embed(t.Context(), []string{"holds the slot"})
		synctest.Wait()
		errs := make([]error, 5)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				text := fmt.Sprint("text ", i)
				if i == 3 {
					text = "\xff"
				}
				_, errs[i] = s.Embed(t.Context(), []string{text})
			})
		}
		synctest.Wait()
		close(g.pass)
		wg.Wait()
		for i, err := range errs {
			if i == 3 && !errors.Is(err, backend.ErrInvalid) || i != 3 && err != nil {
				t.Errorf("text %d: %v", i, err)
			}
		}
	})
}

// TestEmbedLeavers checks that a caller that leaves takes nothing from the others of its batch, and that a
// batch that all have left is cancelled.
func TestEmbedLeavers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pass := make(chan struct{})
		var cancelled atomic.Int64
		fake := &backendtest.Fake{Before: func(ctx context.Context, call backendtest.Call) error {
			if call.Op == backend.CanGenerate {
				return nil
			}
			select {
			case <-pass:
				return nil
			case <-ctx.Done():
				cancelled.Add(1)
				return ctx.Err()
			}
		}}
		s := New(fake, Options{Slots: 1})
		defer s.Close()
		first, leave1 := context.WithCancel(t.Context())
		second, leave2 := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		embed := func(ctx context.Context, want error) {
			wg.Go(func() {
				if _, err := s.Embed(ctx, []string{"a"}); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			})
			synctest.Wait()
		}
		embed(first, context.Canceled) // alone in the engine
		embed(first, context.Canceled) // these three wait, and will be one batch
		embed(second, context.Canceled)
		embed(t.Context(), nil)
		leave1()
		synctest.Wait()
		if stats := fake.Stats(); cancelled.Load() != 1 || stats.Embeds != 2 || stats.InFlight != 1 {
			t.Errorf("after the first leavers: %d cancelled, %+v", cancelled.Load(), stats)
		}
		leave2()
		synctest.Wait()
		if cancelled.Load() != 1 {
			t.Error("a batch was cancelled although one caller still waits for it")
		}
		close(pass)
		wg.Wait()
		if _, err := s.Generate(t.Context(), ask("still there?")); err != nil {
			t.Error(err)
		}
	})
}
