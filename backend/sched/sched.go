// Package sched decides when a request may enter an engine, and in which order.
//
// A [Scheduler] stands before one engine and is itself a [backend.Backend]:
//
//  1. It lets in no more calls at once than the engine serves usefully (Info().Slots), and the others wait.
//  2. Of those that wait, it takes the one of the earliest sample (see [backend.WithPriority]) whose prompt
//     has the longest prefix in common with what was let in lately, since the engine has that part computed
//     already. Nobody is passed over for ever.
//  3. Texts or pairs that wait together for one output are encoded together, in one call.
//  4. When the engine is unavailable, it is asked again, less and less often, until it is back or
//     patience ends. Meanwhile one call at a time tries. An engine that is only busy is given fewer
//     calls at once (halved each time), then one more for every round that goes well.
package sched

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/assay-eval/assay/backend"
)

// Options change how a Scheduler works. The zero value suits every engine.
type Options struct {
	// Slots is how many calls may be in the engine at once; 0 means Info().Slots.
	Slots int

	// Ahead is how many calls more may be in the engine, to wait there: an engine with a queue of its own
	// then has the next call at hand when one ends, and chooses among them.
	Ahead int

	// Patience is how long an unavailable engine is asked again before its error is returned; 0 means
	// two minutes, and a negative value that it is never asked again. When it ends, it ends for all
	// calls that wait.
	Patience time.Duration

	// Retrying, if not nil, is told each time that the engine was unavailable and when it will be asked
	// again. It must not block.
	Retrying func(err error, wait time.Duration)
}

const (
	defaultPatience = 2 * time.Minute
	batchInputs     = 256 // of several callers, encoded in one call
)

// A Scheduler is a Backend that admits calls to another.
type Scheduler struct {
	engine   backend.Backend
	info     backend.Info
	patience time.Duration
	retrying func(err error, wait time.Duration)
	closed   chan struct{}

	mu       sync.Mutex
	done     bool // closed is closed
	queue    queue
	inFlight int
	health   health
	timer    *time.Timer // calls dispatch when an unavailable engine may be asked again; nil: not set
}

// New returns a Scheduler for engine, which it closes when it is closed.
func New(engine backend.Backend, o Options) *Scheduler {
	info := engine.Info()
	slots := o.Slots
	if slots <= 0 {
		slots = info.Slots
	}
	slots = max(slots, 1)
	info.Slots = slots
	patience := o.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	return &Scheduler{
		engine:   engine,
		info:     info,
		patience: patience,
		retrying: o.Retrying,
		closed:   make(chan struct{}),
		health:   health{slots: float64(slots + o.Ahead), limit: float64(slots + o.Ahead)},
	}
}

// Info is the engine's, with the Slots of the Scheduler.
func (s *Scheduler) Info() backend.Info { return s.info }

// Generate waits for a slot and asks the engine.
func (s *Scheduler) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	var g *backend.Generation
	err := s.do(ctx, prompt(req.Messages, req.Tokens), func() (err error) {
		g, err = s.engine.Generate(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Score waits for a slot and asks the engine.
func (s *Scheduler) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	var scores *backend.Scores
	err := s.do(ctx, prompt(req.Messages, req.Tokens), func() (err error) {
		scores, err = s.engine.Score(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// Close closes the engine. Calls that wait return ErrClosed at once.
func (s *Scheduler) Close() error {
	s.mu.Lock()
	if !s.done {
		s.done = true
		close(s.closed)
		if s.timer != nil {
			s.timer.Stop()
		}
	}
	s.mu.Unlock()
	return s.engine.Close()
}

// prompt is the text in which prompts may have a prefix in common.
func prompt(messages []backend.Message, tokens []int32) string {
	var b strings.Builder
	for _, id := range tokens {
		b.Write(binary.LittleEndian.AppendUint32(nil, uint32(id)))
	}
	for _, m := range messages {
		b.WriteString(string(m.Role))
		b.WriteByte(0)
		b.WriteString(m.Text)
		b.WriteByte(0)
	}
	return b.String()
}

// do runs ask when there is a slot for it, again and again while the engine is unavailable.
func (s *Scheduler) do(ctx context.Context, prompt string, ask func() error) error {
	c := &call{priority: backend.Priority(ctx), prompt: prompt}
	for {
		epoch, err := s.enter(ctx, c)
		if err != nil {
			return err
		}
		err = ask()
		if err = s.leave(ctx, c, epoch, err); err != errAgain {
			return err
		}
	}
}

// enter waits for a slot, which leave gives back. It returns the epoch that leave wants.
func (s *Scheduler) enter(ctx context.Context, c *call) (epoch int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	if s.done {
		s.mu.Unlock()
		return 0, backend.ErrClosed
	}
	c.admitted = make(chan struct{})
	s.queue.add(c)
	s.dispatch()
	s.mu.Unlock()

	select {
	case <-c.admitted:
		return c.epoch, c.refused
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.closed:
		err = backend.ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.queue.remove(c) && c.refused == nil { // it was let in at the same moment
		s.inFlight--
		s.dispatch()
	}
	return 0, err
}

// errAgain says that a call should be made again.
var errAgain = errors.New("again")

// leave gives a slot back after a call with the given outcome, and returns what the caller should see:
// errAgain if the engine should be asked once more.
func (s *Scheduler) leave(ctx context.Context, c *call, epoch int, err error) error {
	s.finish(epoch, err)
	if !errors.Is(err, backend.ErrUnavailable) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.again(c, err)
}

// finish gives a slot back and learns from the outcome of the call that had it.
func (s *Scheduler) finish(epoch int, err error) {
	s.mu.Lock()
	s.inFlight--
	var wait time.Duration // until the engine is asked again; 0: it is not
	switch {
	case err == nil:
		s.health.succeeded()
	case errors.Is(err, backend.ErrUnavailable):
		now := time.Now()
		news := epoch == s.health.epoch
		backoff := s.health.failed(now, epoch)
		switch gone := now.Sub(s.health.downSince); {
		case s.patience < 0:
		case gone >= s.patience:
			s.refuseAll(gaveUp(gone, err))
		case news:
			wait = backoff
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// It says nothing about the engine.
	default:
		s.health.answered()
	}
	s.dispatch()
	s.mu.Unlock()
	if wait > 0 && s.retrying != nil {
		s.retrying(err, wait)
	}
}

// refuseAll ends all calls that wait. The caller holds s.mu.
func (s *Scheduler) refuseAll(err error) {
	for _, c := range s.queue.waiting {
		if c.answer != nil {
			c.answer <- encodeAnswer{err: err}
			continue
		}
		c.refused = err
		close(c.admitted)
	}
	s.queue.waiting = nil
}

// again decides whether a call that found the engine unavailable is made again: it returns errAgain, or
// the error that ends it. A call ends when it, or the engine as a whole, has failed for all of patience.
func (s *Scheduler) again(c *call, err error) error {
	now := time.Now()
	if c.failures == 0 {
		c.firstFailure = now
	}
	c.failures++
	since := c.firstFailure
	s.mu.Lock()
	if s.health.down() && s.health.downSince.Before(since) {
		since = s.health.downSince
	}
	s.mu.Unlock()
	if gone := now.Sub(since); gone >= s.patience {
		return gaveUp(gone, err)
	}
	return errAgain
}

// gaveUp is the engine's error, with how long it has been asked in vain.
func gaveUp(after time.Duration, err error) error {
	if after <= 0 {
		return err
	}
	return fmt.Errorf("gave up after %v: %w", after.Round(time.Second), err)
}

// dispatch lets in as many waiting calls as there is room for. The caller holds s.mu.
func (s *Scheduler) dispatch() {
	for len(s.queue.waiting) > 0 && !s.done {
		wait, ok := s.health.room(time.Now(), s.inFlight)
		if !ok {
			if wait > 0 && s.timer == nil {
				s.timer = time.AfterFunc(wait, s.retry)
			}
			return
		}
		c := s.queue.take(s.health.down())
		s.inFlight++
		c.epoch = s.health.epoch
		if c.answer == nil {
			close(c.admitted)
			continue
		}
		s.startEncode(c)
	}
}

// retry runs when an unavailable engine may be asked again.
func (s *Scheduler) retry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	s.dispatch()
}
