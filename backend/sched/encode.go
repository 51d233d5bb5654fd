package sched

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
)

// An encodeAnswer is what the caller of one Encode gets.
type encodeAnswer struct {
	items []backend.Encoded
	err   error
}

// A group is the Encode calls that are asked for in one call to the engine: all of one output. It has a context of its
// own, so that a caller that leaves does not take the others' answers along; when all have left, it is cancelled.
type group struct {
	members []*call
	here    int // members that have not left
	cancel  context.CancelFunc
}

// Encode waits for a slot and asks the engine, together with other callers that wait for the same output.
func (s *Scheduler) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(req.Inputs) == 0 {
		return s.engine.Encode(ctx, req)
	}
	c := &call{priority: backend.Priority(ctx), encode: req, answer: make(chan encodeAnswer, 1)}
	if !s.enqueueEncode(c) {
		return nil, backend.ErrClosed
	}
	select {
	case a := <-c.answer:
		if a.err != nil {
			return nil, a.err
		}
		return &backend.Encoding{Items: a.items}, nil
	case <-ctx.Done():
		s.leaveGroup(c)
		return nil, ctx.Err()
	case <-s.closed:
		s.leaveGroup(c)
		return nil, backend.ErrClosed
	}
}

// enqueueEncode has a call wait for a slot, unless its caller has left. It reports whether the Scheduler
// is still open.
func (s *Scheduler) enqueueEncode(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return false
	}
	c.group = nil
	if !c.gone {
		s.queue.add(c)
		s.dispatch()
	}
	return true
}

// leaveGroup gives up a call, wherever it is.
func (s *Scheduler) leaveGroup(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.gone = true
	if s.queue.remove(c) || c.group == nil {
		return
	}
	c.group.here--
	if c.group.here == 0 {
		c.group.cancel()
	}
}

// startEncode asks for the inputs of first, which was just let in, with those of others that wait for the same output,
// as far as they make a batch. The caller holds s.mu.
func (s *Scheduler) startEncode(first *call) {
	g := &group{members: []*call{first}}
	req := &backend.EncodeRequest{Output: first.encode.Output, Inputs: slices.Clone(first.encode.Inputs)}
	for i := 0; i < len(s.queue.waiting) && !first.alone; {
		c := s.queue.waiting[i]
		if c.answer == nil || c.alone || c.encode.Output != req.Output ||
			len(req.Inputs)+len(c.encode.Inputs) > batchInputs {
			i++
			continue
		}
		s.queue.remove(c)
		g.members = append(g.members, c)
		req.Inputs = append(req.Inputs, c.encode.Inputs...)
	}
	for _, c := range g.members {
		c.group = g
	}
	g.here = len(g.members)
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	epoch := first.epoch
	go func() {
		defer cancel()
		answer, err := s.engine.Encode(ctx, req)
		if err != nil {
			s.deliver(g, epoch, nil, err)
			return
		}
		if err = req.CheckAnswer(answer); err != nil {
			err = fmt.Errorf("%s: %w", s.info.Engine, err)
		}
		s.deliver(g, epoch, answer.Items, err)
	}()
}

// deliver hands the answer to each of the group, or has it ask again: all of them when the engine was
// unavailable, and each alone when one of them spoilt the batch.
func (s *Scheduler) deliver(g *group, epoch int, items []backend.Encoded, err error) {
	s.finish(epoch, err)
	for _, c := range g.members {
		var a encodeAnswer
		switch n := len(c.encode.Inputs); {
		case err == nil:
			a.items, items = items[:n:n], items[n:]
		case errors.Is(err, backend.ErrUnavailable):
			a.err = s.again(c, err)
		case len(g.members) > 1 && !errors.Is(err, backend.ErrClosed):
			c.alone = true
			a.err = errAgain
		default:
			a.err = err
		}
		if a.err != errAgain {
			c.answer <- a
			continue
		}
		if !s.enqueueEncode(c) {
			c.answer <- encodeAnswer{err: backend.ErrClosed}
		}
	}
}
