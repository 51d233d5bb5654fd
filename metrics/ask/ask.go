// Package ask is how metrics ask the models: one function for each thing that can be asked, each of which renders a
// prompt, calls the backend, checks and decodes what comes back, and notes its cache key and tokens.
//
//   - [Judge] has the judge generate a reply (backend.CanGenerate), by constrained decoding where the prompt asks for
//     JSON and the engine can (backend.CanConstrain), and decodes it. A reply that cannot be decoded is retried as a
//     new draw.
//   - [Weigh], [Choose] and [Yes] are first-token scoring (backend.CanChoose): the probability of each of several
//     replies, by its first token. [PollInWindows], [PollOnce] and [YesInWindows] do it for many questions or for
//     texts that exceed the context length.
//   - [LogProbs] returns the token log-probabilities of given texts after a prompt (backend.CanScore).
//   - [Embed] returns embeddings.
//
// Decoders for what weak models write: [DecodeList] for lists (statements, entities, questions), [DecodeVerdicts] for a
// verdict on each of several statements, [Matcher] for sentences copied from a text. They accept JSON, numbered lines
// and prose, JSON that was cut included, and refuse what could be read in two ways.
package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A Query is one prompt and what goes into it.
type Query struct {
	Prompt *prompts.Prompt // as it is built in; the one that [metrics.Models] has in its place is asked
	Data   any             // what its templates use
	Room   int             // completion tokens allowed beyond the prompt's max_tokens

	// Schema is the JSON Schema of the reply, for a prompt that asks for JSON. It bounds the reply's length, too.
	// An engine with constrained decoding is held to it; none is trusted to have kept it.
	Schema json.RawMessage

	// The reply of draw number First is decoded; if it is refused, First+Step, First+2*Step, ... follow, Draws in
	// all. A Step of 0 means 1, and Draws of 0 [MaxDraws].
	First, Step, Draws int

	// Splittable says that the caller will ask for less when the reply is cut, rather than for another draw of
	// the same length.
	Splittable bool
}

// MaxDraws is how many replies are drawn, where nothing else helps, before a sample fails.
const MaxDraws = 3

// A Reply is what the judge wrote.
type Reply struct {
	Text string // valid UTF-8
	Cut  bool   // it reached its length limit, or repeated itself, and may end in the middle
}

// A Chat is what the judge is asked without a prompt: messages as they are.
type Chat struct {
	Name      string // what errors call it
	Messages  []backend.Message
	Documents []string // see [backend.GenerateRequest]
	MaxTokens int      // of a reply
}

// JudgeChat is [Judge] for a chat. A reply that is cut is one for decode to refuse, and a thought in it one to read.
func JudgeChat[T any](ctx context.Context, m metrics.Models, c Chat, decode func(Reply) (T, error)) (T, error) {
	req := backend.GenerateRequest{Messages: c.Messages, Documents: c.Documents, MaxTokens: c.MaxTokens}
	m.Thought = 0
	return judge(ctx, m, c.Name, req, Query{}, decode)
}

// Judge has the judge reply to q and decodes the reply. A reply that decode refuses is retried as a new draw, at
// a temperature above 0, since greedy decoding would only repeat itself; in the end the error wraps ErrBadReply
// and quotes the last reply. Errors of the backend are returned as they are.
func Judge[T any](ctx context.Context, m metrics.Models, q Query, decode func(Reply) (T, error)) (T, error) {
	var zero T
	p := m.Prompts.For(q.Prompt)
	messages, err := p.Render(q.Data)
	if err != nil {
		return zero, fmt.Errorf("prompt %s: %v", p.Name, err)
	}
	req := backend.GenerateRequest{
		Messages: messages, Stop: p.Stop, MaxTokens: p.MaxTokens + q.Room, Sampling: p.Sampling,
	}
	if p.JSON && m.Role(backend.Judge).Info().Ops.Has(backend.CanConstrain) {
		req.Schema = q.Schema
	}
	return judge(ctx, m, "prompt "+p.Name, req, q, decode)
}

// judge asks for the first draw of req, and for others as q says. The request that errors call name has the sampling of
// the first draw.
func judge[T any](ctx context.Context, m metrics.Models, name string, first backend.GenerateRequest, q Query,
	decode func(Reply) (T, error)) (T, error) {
	var zero T
	info := m.Role(backend.Judge).Info()
	for try := 0; ; try++ {
		req := first
		req.Sampling = sampling(first.Sampling, m.Draw, try, m.Seed)
		req.Draw, req.Once = drawNumber(m.Draw, q.First+try*max(q.Step, 1)), first.Schema == nil
		var err error
		if req.Messages, req.Thought, err = think(ctx, m, name, first.Messages, req.Draw); err != nil {
			return zero, err
		}
		g, err := m.Role(backend.Judge).Generate(ctx, &req)
		if err != nil {
			return zero, fmt.Errorf("%s: %w", name, err)
		}
		m.Note(backend.GenerateKey(info, &req), g.PromptTokens, g.OutputTokens)
		text := strings.ToValidUTF8(g.Text, "\uFFFD")
		said := text
		if q.Prompt != nil {
			said, err = reply(text)
		}
		r := Reply{mend(said), g.Stop != backend.StopEnd}
		var v T
		if err == nil {
			v, err = decode(r)
		}
		if err == nil {
			return v, nil
		}
		if try+1 == cmp.Or(q.Draws, MaxDraws) || q.Splittable && errors.Is(err, metrics.ErrCut) {
			return zero, fmt.Errorf("%s: %w: %w; the reply was %q", name, metrics.ErrBadReply, err,
				metrics.Bounded(mend(text)))
		}
	}
}

// DrawTemperature is that of the replies to a sample that is scored several times, where the prompt sets none: replies
// differ, and small models still keep to the form that is asked for.
const DrawTemperature = 0.7

// drawNumber is the number of reply k in a draw of the whole sample: no two draws share one.
func drawNumber(d metrics.Draw, k int) int { return d.Number + k*max(d.Of, 1) }

// sampling raises the temperature where a sample is scored several times, and from one try to the next. The run's seed
// is added only where tokens are sampled: it must not change the cache key of a greedy reply, which it does not change.
func sampling(s backend.Sampling, d metrics.Draw, try int, seed uint64) backend.Sampling {
	if d.Of > 0 && s.Temperature == 0 {
		s.Temperature = DrawTemperature
		if s.TopP == 0 {
			s.TopP = 0.95
		}
	}
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
