package metrics

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// A query is one prompt and what goes into it.
type query struct {
	prompt string // its name
	data   any    // what its templates use
	room   int    // tokens of reply beyond the prompt's max_tokens

	// schema is that of the reply, for a prompt that asks for JSON. It bounds the reply's length. An engine
	// that can is held to it; none is trusted to have kept it.
	schema json.RawMessage

	// The reply to draw number first is decoded; if it is bad, first+step, first+2*step, ... follow, draws
	// in all. A step of 0 means 1, and draws of 0 maxDraws.
	first, step, draws int

	// splittable says that the caller will ask for less when the reply is cut, rather than for another
	// draw of the same length.
	splittable bool
}

// maxDraws is how many replies are had, where nothing else helps, before a sample fails.
const maxDraws = 3

// A reply is what the judge wrote.
type reply struct {
	text string // valid UTF-8
	cut  bool   // it reached its length limit, or repeated itself, and may end in the middle
}

// ask has the judge reply to q and decodes the reply. A reply that decode refuses is asked for again as
// a new draw, at some temperature, since a greedy one would only repeat itself; in the end the error
// wraps ErrBadReply and quotes the last reply. Errors of the backend are returned as they are.
func ask[T any](ctx context.Context, m Models, q query, decode func(reply) (T, error)) (T, error) {
	var zero T
	p, ok := m.Prompts.Lookup(q.prompt)
	if !ok {
		return zero, fmt.Errorf("no prompt %q", q.prompt)
	}
	messages, err := p.render(q.data)
	if err != nil {
		return zero, fmt.Errorf("prompt %s: %v", p.Name, err)
	}
	info := m.Role(backend.Judge).Info()
	var schema json.RawMessage
	if p.JSON && info.Ops.Has(backend.CanConstrain) {
		schema = q.schema
	}
	for try := 0; ; try++ {
		req := &backend.GenerateRequest{
			Messages: messages, Stop: p.Stop, MaxTokens: p.MaxTokens + q.room,
			Schema:   schema,
			Sampling: retrySampling(p.Sampling, try, m.Seed), Draw: q.first + try*max(q.step, 1), Once: schema == nil,
		}
		g, err := m.Role(backend.Judge).Generate(ctx, req)
		if err != nil {
			return zero, fmt.Errorf("prompt %s: %w", p.Name, err)
		}
		m.Note(backend.GenerateKey(info, req), g.PromptTokens, g.OutputTokens)
		r := reply{mend(strings.ToValidUTF8(g.Text, "\uFFFD")), g.Stop != backend.StopEnd}
		v, err := decode(r)
		if err == nil {
			return v, nil
		}
		if try+1 == cmp.Or(q.draws, maxDraws) || q.splittable && errors.Is(err, errCut) {
			return zero, fmt.Errorf("prompt %s: %w: %w; the reply was %q", p.Name, ErrBadReply, err, bounded(r.text))
		}
	}
}

// retrySampling warms the sampling up from one try to the next. The run's seed is added where there is
// anything to draw: it must not change the key of a greedy reply, which it does not change.
func retrySampling(s backend.Sampling, try int, seed uint64) backend.Sampling {
	if try > 0 {
		s.Temperature = max(s.Temperature, 0.35*float64(try))
		if s.TopP == 0 {
			s.TopP = 0.95
		}
	}
	if s.Temperature > 0 {
		s.Seed += seed
	}
	return s
}
