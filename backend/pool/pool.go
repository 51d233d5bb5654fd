// Package pool has several servers that run one model answer as one engine.
//
// A [Pool] stands where an engine does, behind the scheduler:
//
//  1. All servers have one identity (engine with version, weights, context size), which [New] sees to, so that neither an
//     answer's key nor what the user is told of the model depends on which of them is asked.
//  2. A call goes to a server that has a slot free. Of several it is the one that has read most of the beginning of its
//     prompt, as far as the pool remembers; then the one that is used least; then the fastest. A slow server so gets what it
//     can do: its slots are free less often.
//  3. When a server is away ([backend.ErrUnavailable]), its calls go to the others and it gets no more, until a probe in
//     the background finds it there again. One that comes back with another model or version is not asked again.
//  4. Only when none is left does a caller see that servers were away.
package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/remote"
)

// A Server is one of a pool.
type Server struct {
	Name   string // what messages call it
	Engine backend.Backend

	// Probe asks the server, without inference, whether it is there and has what Engine.Info says. The error wraps
	// [remote.ErrReplaced] where it has not.
	Probe func(context.Context) error
}

// Most is the number of servers that a pool can have.
const Most = 64

const (
	firstProbe = time.Second      // after a failure; each pause is twice the last,
	lastProbe  = 30 * time.Second // up to this
)

// A Pool is a [backend.Backend] over several.
type Pool struct {
	info backend.Info
	log  func(format string, args ...any)

	mu      sync.Mutex
	servers []*server
	read    prefixes

	life    context.Context // ends with Close
	end     context.CancelFunc
	probing sync.WaitGroup
}

// A server is what a pool knows of one. The pool's mu guards what changes.
type server struct {
	Server
	bit   uint64 // its own, in prefixes
	slots int
	open  int           // calls that it works on
	each  time.Duration // that a call takes: a moving average; 0: none has ended
	away  error         // why it is left out; nil: it is not
	epoch int           // how often it was left out
}

// New makes a pool of servers, which it closes when it is closed. They must run one model in one version with one context
// size: the error names two that do not. log, if not nil, is told when a server is left out or taken back.
func New(servers []Server, log func(format string, args ...any)) (*Pool, error) {
	if len(servers) == 0 || len(servers) > Most {
		return nil, fmt.Errorf("a pool is of 1 to %d servers, not of %d", Most, len(servers))
	}
	p := &Pool{info: servers[0].Engine.Info(), log: log, read: newPrefixes()}
	if p.log == nil {
		p.log = func(string, ...any) {}
	}
	p.info.Slots = 0
	for i, s := range servers {
		if slices.ContainsFunc(servers[:i], func(t Server) bool { return t.Name == s.Name }) {
			return nil, fmt.Errorf("%s is named twice", s.Name)
		}
		if err := alike(servers[0], s); err != nil {
			return nil, err
		}
		slots := max(1, s.Engine.Info().Slots)
		p.servers = append(p.servers, &server{Server: s, bit: 1 << i, slots: slots})
		p.info.Slots += slots
	}
	p.life, p.end = context.WithCancel(context.Background())
	return p, nil
}

// alike returns an error if two servers could answer the same request differently.
func alike(a, b Server) error {
	x, y := a.Engine.Info(), b.Engine.Info()
	differ := func(what string, of, and any) error {
		return fmt.Errorf("%s and %s have another %s of %s: %v and %v; one run takes servers that are alike", a.Name, b.Name,
			what, x.Model, of, and)
	}
	switch {
	case x.Digest != y.Digest:
		return differ("digest", x.Digest, y.Digest)
	case x.Engine != y.Engine:
		return differ("engine", x.Engine, y.Engine)
	case x.Context != y.Context:
		return differ("context size", x.Context, y.Context)
	case x.Ops != y.Ops:
		return differ("set of abilities", x.Ops, y.Ops)
	case !slices.Equal(x.Labels, y.Labels) || x.Activation != y.Activation:
		return differ("head", strings.Join(x.Labels, " "), strings.Join(y.Labels, " "))
	}
	return nil
}

// Info is that of each server, with the slots of all.
func (p *Pool) Info() backend.Info { return p.info }

// Generate asks one of the servers.
func (p *Pool) Generate(ctx context.Context, req *backend.GenerateRequest) (g *backend.Generation, err error) {
	err = p.do(ctx, p.read.marks(req.Messages, req.Documents, req.Tokens), func(e backend.Backend) (err error) {
		g, err = e.Generate(ctx, req)
		return err
	})
	return g, err
}

// Score asks one of the servers.
func (p *Pool) Score(ctx context.Context, req *backend.ScoreRequest) (s *backend.Scores, err error) {
	err = p.do(ctx, p.read.marks(req.Messages, req.Documents, req.Tokens), func(e backend.Backend) (err error) {
		s, err = e.Score(ctx, req)
		return err
	})
	return s, err
}

// Encode asks one of the servers for all inputs.
func (p *Pool) Encode(ctx context.Context, req *backend.EncodeRequest) (answer *backend.Encoding, err error) {
	err = p.do(ctx, nil, func(e backend.Backend) (err error) {
		answer, err = e.Encode(ctx, req)
		return err
	})
	return answer, err
}

// Close closes all engines and ends the probes.
func (p *Pool) Close() error {
	p.mu.Lock() // so that no probe is begun any more
	p.end()
	p.mu.Unlock()
	var errs []error
	for _, s := range p.servers {
		errs = append(errs, s.Engine.Close())
	}
	p.probing.Wait()
	return errors.Join(errs...)
}

// do has one server after another answer, until one is there that does. marks are of the call's prompt.
func (p *Pool) do(ctx context.Context, marks []uint64, ask func(backend.Backend) error) error {
	var asked uint64 // bits of the servers that were away
	for {
		s, epoch, err := p.choose(marks, asked)
		if err != nil {
			return err
		}
		began := time.Now()
		err = ask(s.Engine)
		p.ended(s, epoch, time.Since(began), err)
		if !isAway(err) || ctx.Err() != nil {
			return err
		}
		asked |= s.bit
	}
}

// isAway reports whether an error is the server's, not the request's.
func isAway(err error) bool {
	return errors.Is(err, backend.ErrUnavailable) || errors.Is(err, remote.ErrReplaced)
}

// choose takes a slot of the best server that is there and was not asked. If there is none, the error is that of one
// that is away: of one that may come back, if there is such a one.
func (p *Pool) choose(marks []uint64, asked uint64) (*server, int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return nil, 0, backend.ErrClosed
	}
	known := p.read.known(marks, len(p.servers))
	var best *server
	bestKnown := 0
	for i, s := range p.servers {
		if s.away == nil && s.bit&asked == 0 && (best == nil || s.before(best, known[i], bestKnown)) {
			best, bestKnown = s, known[i]
		}
	}
	if best == nil {
		return nil, 0, p.none()
	}
	best.open++
	p.read.add(marks, best.bit)
	return best, best.epoch, nil
}

// before reports whether a call is better sent to s than to t, which have read so many marks of its prompt.
func (s *server) before(t *server, known, knownT int) bool {
	free, freeT := s.open < s.slots, t.open < t.slots
	if free != freeT {
		return free
	}
	if !free { // the call waits there for its turn
		return s.wait(t.each) < t.wait(s.each)
	}
	return cmp.Or(cmp.Compare(knownT, known), cmp.Compare(s.open*t.slots, t.open*s.slots), cmp.Compare(s.each, t.each)) < 0
}

// wait is how long a call more would take in a server whose slots are taken; each is what a call takes where none of the
// server's has ended.
func (s *server) wait(each time.Duration) float64 {
	return float64(cmp.Or(s.each, each, 1)) * float64(s.open+1) / float64(s.slots)
}

// none is the error where no server can be asked.
func (p *Pool) none() error {
	var gone, away []error
	for _, s := range p.servers {
		if errors.Is(s.away, remote.ErrReplaced) {
			gone = append(gone, fmt.Errorf("%s: %w", s.Name, s.away))
		} else if s.away != nil {
			away = append(away, fmt.Errorf("%s: %w", s.Name, s.away))
		}
	}
	switch {
	case len(away) > 0 && errors.Is(errors.Join(away...), backend.ErrUnavailable):
		return errors.Join(away...)
	case len(away) > 0:
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, errors.Join(away...))
	case len(gone) == len(p.servers):
		return errors.Join(gone...)
	}
	// Each was away when this call asked it, and is back by now.
	return fmt.Errorf("%w: all %d servers were away for a moment", backend.ErrUnavailable, len(p.servers))
}

// ended gives a slot back and takes in how the call went.
func (p *Pool) ended(s *server, epoch int, took time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.open--
	switch {
	case err == nil && s.each == 0:
		s.each = took
	case err == nil:
		s.each += (took - s.each) / 8
	case isAway(err) && epoch == s.epoch && s.away == nil && p.life.Err() == nil:
		p.leaveOut(s, err)
	}
}

// leaveOut has a server get no calls until a probe finds it. The caller holds p.mu.
func (p *Pool) leaveOut(s *server, err error) {
	s.away = err
	s.epoch++
	p.read.forget(s.bit)
	there := 0
	for _, t := range p.servers {
		if t.away == nil {
			there++
		}
	}
	p.log("%s is left out, %d of %d servers go on: %v", s.Name, there, len(p.servers), err)
	if !errors.Is(err, remote.ErrReplaced) {
		p.probing.Go(func() { p.probe(s) })
	}
}

// probe waits until a server is there again, and takes it back.
func (p *Pool) probe(s *server) {
	for pause := firstProbe; ; pause = min(2*pause, lastProbe) {
		select {
		case <-time.After(pause):
		case <-p.life.Done():
			return
		}
		err := s.Probe(p.life)
		if p.life.Err() != nil {
			return
		}
		p.mu.Lock()
		replaced := errors.Is(err, remote.ErrReplaced)
		if s.away = err; err == nil {
			p.log("%s is there again", s.Name)
		} else if replaced {
			p.log("%s is not asked again: %v", s.Name, err)
		}
		p.mu.Unlock()
		if err == nil || replaced {
			return
		}
	}
}
