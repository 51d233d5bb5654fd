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

// measure finds out how many requests the server works on at the same time, which no part of its API tells.
//
// It asks some short questions at once. The server's clock says when each answer was done and how long its
// computing took, so when it was worked on. Requests that wait for their turn have no such times in common;
// requests that share the model's steps do. The most that overlap at any moment are what the server serves, if not as many
// as were asked: then more are asked. Requests of other programs meanwhile can make the result too small, never too large.
func (e *Engine) measure(ctx context.Context) (int, error) {
	pace, err := e.probe(ctx, 4)
	if err != nil {
		return 0, err
	}
	// Long enough that requests sent together surely meet, and short on a slow machine.
	tokens := 3
	if step := pace.computing() / 4; step > 0 {
		tokens = min(max(int(100*time.Millisecond/step), tokens), 48)
	}
	served := 1
	for n := 2; n <= maxServed; n *= 4 {
		if served, err = e.overlap(ctx, n, tokens); err != nil || served < n {
			break
		}
	}
	return served, err
}

// A span is when the server worked on a request, by its own clock.
type span struct{ from, to time.Time }

func (s span) computing() time.Duration { return s.to.Sub(s.from) }

// probe asks one short question.
func (e *Engine) probe(ctx context.Context, tokens int) (span, error) {
	r, err := e.chat(ctx, e.chatRequest(&backend.GenerateRequest{
		Messages: []backend.Message{{Role: backend.User, Text: "Count from one to one hundred."}},
	}, tokens))
	if err != nil {
		return span{}, fmt.Errorf("asking model %s a first question: %w", e.name, err)
	}
	m := &r.last
	return span{m.CreatedAt.Add(-m.PromptEvalDuration - m.EvalDuration), m.CreatedAt}, nil
}

// overlap asks n questions at once and returns the most that the server worked on at one moment.
func (e *Engine) overlap(ctx context.Context, n, tokens int) (int, error) {
	spans := make([]span, n)
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() (err error) {
			spans[i], err = e.probe(ctx, tokens)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	return mostAtOnce(spans), nil
}

// mostAtOnce returns the largest number of spans that have a moment in common. The moments that matter are those in
// which one begins.
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
