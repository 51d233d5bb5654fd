package ollama

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assay-eval/assay/backend"
)

// maxServed is the most requests at once that a server is credited with.
const maxServed = 32

// Spans that do not overlap tell nothing unless the requests computed for so long: sent at the same time,
// they arrive some milliseconds apart. A model that is too fast for it is asked for more tokens, up to so
// many.
const (
	longEnough = 50 * time.Millisecond
	mostTokens = 256
)

// measure finds out how many requests the server works on at the same time, which no part of its API tells.
//
// It asks some short questions at once. The server's clock says when each answer was done and how long its
// computing took, so when it was worked on. Requests that wait for a slot have no such times in common;
// requests that share the model's steps do. The most that overlap at any moment are what the server serves,
// if not as many as were asked: then more are asked. Requests of other programs meanwhile can make the result
// too small, never too large.
func (e *Engine) measure(ctx context.Context) (served int, err error) {
	if _, err := e.probe(ctx, 1); err != nil { // has the prompt computed, for the others to share
		return 0, err
	}
	for n, tokens := 2, 4; n <= maxServed; {
		spans, err := e.probes(ctx, n, tokens)
		if err != nil {
			return 0, err
		}
		served = mostAtOnce(spans)
		switch {
		case served == n:
			n *= 4
		case shortest(spans) < longEnough && tokens < mostTokens:
			tokens *= 4
		default:
			return served, nil
		}
	}
	return served, nil
}

// A span is when the server worked on a request, by its own clock.
type span struct{ from, to time.Time }

// probe asks one short question.
func (e *Engine) probe(ctx context.Context, tokens int) (span, error) {
	r, err := e.chat(ctx, e.chatRequest(&backend.GenerateRequest{
		Messages: []backend.Message{{Role: backend.User, Text: "Count to a hundred."}},
	}, tokens))
	if err != nil {
		return span{}, fmt.Errorf("asking model %s a first question: %w", e.name, err)
	}
	m := &r.last
	return span{m.CreatedAt.Add(-m.PromptEvalDuration - m.EvalDuration), m.CreatedAt}, nil
}

// probes asks n questions at once.
func (e *Engine) probes(ctx context.Context, n, tokens int) ([]span, error) {
	spans := make([]span, n)
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() (err error) {
			spans[i], err = e.probe(ctx, tokens)
			return err
		})
	}
	return spans, g.Wait()
}

// shortest returns the length of the shortest span.
func shortest(spans []span) time.Duration {
	least := spans[0].to.Sub(spans[0].from)
	for _, s := range spans[1:] {
		least = min(least, s.to.Sub(s.from))
	}
	return least
}

// mostAtOnce returns the largest number of spans that have a moment in common. The moments that matter are
// those in which one begins.
func mostAtOnce(spans []span) int {
	most := 0
	for _, at := range spans {
		n := 0
		for _, s := range spans {
			if !s.from.After(at.from) && s.to.After(at.from) {
				n++
			}
		}
		most = max(most, n)
	}
	return max(most, 1)
}
