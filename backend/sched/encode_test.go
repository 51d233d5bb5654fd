package sched

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

func TestEncodesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		fake := &backendtest.Fake{Before: g.before}
		s := New(fake, Options{Slots: 1})
		defer s.Close()
		go backend.Embed(t.Context(), s, []string{"holds the slot"})
		synctest.Wait()
		var wg sync.WaitGroup
		for i := range batchInputs + 10 {
			wg.Go(func() {
				text := fmt.Sprint("text ", i)
				if v, err := backend.Embed(t.Context(), s, []string{text}); err != nil ||
					!slices.Equal(v[0], backendtest.Vector(text)) {
					t.Errorf("text %d: %v", i, err)
				}
			})
		}
		wg.Go(func() {
			large := make([]string, 3*batchInputs)
			if v, err := backend.Embed(t.Context(), s, large); err != nil || len(v) != len(large) {
				t.Errorf("large batch: %d vectors, %v", len(v), err)
			}
		})
		synctest.Wait()
		close(g.pass)
		wg.Wait()
		if stats := fake.Stats(); stats.Encodes != 4 || stats.Inputs != 1+batchInputs+10+3*batchInputs {
			t.Errorf("%+v, want 4 calls", stats)
		}
	})
}

// TestEncodeSpoilt has one text of a batch refused: it alone must fail.
func TestEncodeSpoilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		s := New(&backendtest.Fake{Before: g.before}, Options{Slots: 1})
		defer s.Close()
		go backend.Embed(t.Context(), s, []string{"holds the slot"})
		synctest.Wait()
		errs := make([]error, 5)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				text := fmt.Sprint("text ", i)
				if i == 3 {
					text = "\xff"
				}
				_, errs[i] = backend.Embed(t.Context(), s, []string{text})
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

// TestEncodeLeavers checks that a caller that leaves takes nothing from the others of its batch, and that a
// batch that all have left is cancelled.
func TestEncodeLeavers(t *testing.T) {
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
				if _, err := backend.Embed(ctx, s, []string{"a"}); !errors.Is(err, want) {
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
		if stats := fake.Stats(); cancelled.Load() != 1 || stats.Encodes != 2 || stats.InFlight != 1 {
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

// TestEncodeOutputs has calls for all outputs wait: those for one output are one batch, and each gets its own answer.
func TestEncodeOutputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		fake := &backendtest.Fake{Before: g.before}
		s := New(fake, Options{Slots: 1})
		defer s.Close()
		go s.Generate(t.Context(), ask("holds the slot"))
		synctest.Wait()
		var wg sync.WaitGroup
		outputs := backend.Outputs()
		for i := range 4 * len(outputs) {
			wg.Go(func() {
				req := &backend.EncodeRequest{
					Output: outputs[i%len(outputs)], Inputs: backend.Texts(fmt.Sprint("text ", i), "other"),
				}
				want, err := new(backendtest.Fake).Encode(t.Context(), req)
				if err != nil {
					t.Error(err)
				}
				if got, err := s.Encode(t.Context(), req); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s %d: %+v, %v", req.Output, i, got, err)
				}
			})
		}
		synctest.Wait()
		close(g.pass)
		wg.Wait()
		if stats := fake.Stats(); stats.Encodes != len(outputs) || stats.Inputs != 8*len(outputs) {
			t.Errorf("%+v, want a call for each output", stats)
		}
	})
}
