package sched

import (
	"context"
	"errors"
	"fmt"

	"github.com/assay-eval/assay/backend"
)

// An embedAnswer is what the caller of one Embed gets.
type embedAnswer struct {
	vectors [][]float32
	err     error
}

// A group is the Embed calls that are asked for in one call to the engine. It has a context of its own,
// so that a caller that leaves does not take the others' answers along; when all have left, it is cancelled.
type group struct {
	members []*call
	here    int // members that have not left
	cancel  context.CancelFunc
}

// Embed waits for its turn and asks the engine, together with other callers that wait.
func (s *Scheduler) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(texts) == 0 {
		return s.engine.Embed(ctx, texts)
	}
	c := &call{turn: backend.Turn(ctx), texts: texts, answer: make(chan embedAnswer, 1)}
	if !s.enqueueEmbed(c) {
		return nil, backend.ErrClosed
	}
	select {
	case a := <-c.answer:
		return a.vectors, a.err
	case <-ctx.Done():
		s.leaveGroup(c)
		return nil, ctx.Err()
	case <-s.closed:
		s.leaveGroup(c)
		return nil, backend.ErrClosed
	}
}

// enqueueEmbed has a call wait for its turn, unless its caller has left. It reports whether the Scheduler
// is still open.
func (s *Scheduler) enqueueEmbed(c *call) bool {
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

// startEmbed asks for the texts of first, which was just let in, with those of others that wait, as far as
// they make a batch. The caller holds s.mu.
func (s *Scheduler) startEmbed(first *call) {
	g := &group{members: []*call{first}}
	texts := append([]string(nil), first.texts...)
	for i := 0; i < len(s.queue.waiting) && !first.alone; {
		c := s.queue.waiting[i]
		if c.answer == nil || c.alone || len(texts)+len(c.texts) > batchTexts {
			i++
			continue
		}
		s.queue.remove(c)
		g.members = append(g.members, c)
		texts = append(texts, c.texts...)
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
		vectors, err := s.engine.Embed(ctx, texts)
		if err == nil && len(vectors) != len(texts) {
			err = fmt.Errorf("%s gave %d vectors for %d texts", s.info.Engine, len(vectors), len(texts))
		}
		s.deliver(g, epoch, vectors, err)
	}()
}

// deliver hands the answer to each of the group, or has it ask again: all of them when the engine was
// unavailable, and each alone when one of them spoilt the batch.
func (s *Scheduler) deliver(g *group, epoch int, vectors [][]float32, err error) {
	s.finish(epoch, err)
	for _, c := range g.members {
		var a embedAnswer
		switch {
		case err == nil:
			a.vectors, vectors = vectors[:len(c.texts):len(c.texts)], vectors[len(c.texts):]
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
		if !s.enqueueEmbed(c) {
			c.answer <- embedAnswer{err: backend.ErrClosed}
		}
	}
}
