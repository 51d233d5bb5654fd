package backendtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend"
)

// use starts nine calls, of every kind that the model can do, and returns a function that waits for
// their errors.
func (s *suite) use(b backend.Backend) (wait func() []error) {
	ctx := context.Background()
	var kinds []func(i int) error
	if s.info.Ops.Has(backend.CanGenerate) {
		kinds = append(kinds, func(i int) error {
			_, err := b.Generate(ctx, s.long(fmt.Sprintf("Tell a very long story about %d kings.", i)))
			return err
		})
	}
	if s.info.Ops.Has(backend.CanScore) {
		kinds = append(kinds, func(i int) error {
			_, err := b.Score(ctx, scoreOf(manyWords(s.info.Context/8+i), "yes", "no"))
			return err
		})
	}
	for _, e := range encodings() {
		if s.info.Ops.Has(e.output.Op()) {
			kinds = append(kinds, func(i int) error {
				_, err := b.Encode(ctx, e.request(e.thousand(fmt.Sprint("Closing ", i))...))
				return err
			})
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, 9)
	for i := range errs {
		wg.Go(func() { errs[i] = kinds[i%len(kinds)](i) })
	}
	return func() []error { wg.Wait(); return errs }
}

// testCloseInUse closes an instance that calls are using.
func (s *suite) testCloseInUse(t *testing.T) {
	b := s.Open(t)
	start := time.Now()
	s.b = b
	if s.info.Ops.Has(backend.CanGenerate) {
		s.generate(t, s.ask("Which animal barks?"))
	} else {
		for _, e := range encodings() {
			if s.info.Ops.Has(e.output.Op()) {
				s.encode(t, e, e.thousand("Before closing")[:50]...)
				break
			}
		}
	}
	took := time.Since(start)

	wait := s.use(b)
	<-time.After(took / 2) // so that some calls have begun; the test is as true if none has
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	closed := 0
	for i, err := range wait() {
		if err != nil {
			checkError(t, fmt.Sprintf("call %d in flight", i), err, backend.ErrClosed)
			closed++
		}
	}
	if closed == 0 {
		t.Error("every call in flight was answered in spite of Close")
	}
	s.checkClosed(t, b)
}

// testClose closes an idle instance, twice, and one that was never used.
func (s *suite) testClose(t *testing.T) {
	if err := s.b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	s.checkClosed(t, s.b)
	b := s.Open(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := b.Close(); err != nil {
				t.Errorf("Close, three at once: %v", err)
			}
		})
	}
	wg.Wait()
	s.checkClosed(t, b)
}

// checkClosed checks that b refuses everything but Info and another Close.
func (s *suite) checkClosed(t *testing.T, b backend.Backend) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
	if got := b.Info(); !reflect.DeepEqual(got, s.info) {
		t.Errorf("Info after Close is %+v, was %+v", got, s.info)
	}
	check := func(op backend.Ops, err error) {
		t.Helper()
		want := backend.ErrClosed
		if !s.info.Ops.Has(op) {
			want = errors.ErrUnsupported
		}
		if !s.info.Ops.Has(op) && errors.Is(err, backend.ErrClosed) {
			return // either is true
		}
		checkError(t, op.String()+" after Close", err, want)
	}
	_, err := b.Generate(context.Background(), s.ask("Hello."))
	check(backend.CanGenerate, err)
	_, err = b.Score(context.Background(), scoreOf("Hello.", "yes"))
	check(backend.CanScore, err)
	for _, e := range encodings() {
		_, err = b.Encode(context.Background(), e.request(e.input("Hello.")))
		check(e.output.Op(), err)
	}
}
