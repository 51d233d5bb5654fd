package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/remote"
)

// Generate implements [backend.Backend].
//
// At temperature 0 the most probable token is taken at every step. Otherwise tokens are drawn from the whole
// distribution, less what TopK and TopP of the request take off: every penalty and limit that Ollama or the
// model's package would add is turned off.
//
// A prompt that does not fit in the context with MaxTokens beside it is an error wrapping
// [backend.ErrPromptTooLong] whether or not the reply would have stayed short. Ollama, asked not to shift the
// context, ends such a reply where the context ends; it is never passed on.
func (e *Engine) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	if err := e.model().Admit(req); err != nil {
		return nil, err
	}
	call, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	g, err := e.generate(call, req)
	e.doubt(err)
	return g, err
}

// model is what requests are judged by.
func (e *Engine) model() remote.Model {
	return remote.Model{Info: e.info, Name: e.name, Controls: e.controls}
}

func (e *Engine) generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	if err := e.verify(ctx); err != nil {
		return nil, err
	}
	r, err := e.chat(ctx, e.chatRequest(req, req.MaxTokens))
	if err == nil && r.brokenOff {
		// The stream ended without its counts. Asked for no more than was sent, the server gives the same
		// reply and ends it in good order.
		if r, err = e.chat(ctx, e.chatRequest(req, r.parts)); err == nil && r.brokenOff {
			err = errors.New("ollama broke the reply off: the model repeats itself")
		}
	}
	if err != nil {
		return nil, err
	}
	g := &backend.Generation{
		Text:         r.text.String(),
		PromptTokens: r.last.PromptEvalCount,
		OutputTokens: r.last.EvalCount,
	}
	if need := g.PromptTokens + req.MaxTokens; need > e.info.Context {
		return nil, &backend.TooLongError{Tokens: need, Limit: e.info.Context}
	}
	switch r.last.DoneReason {
	case "stop":
		g.Stop = backend.StopEnd
	case "length":
		g.Stop = backend.StopLength
	default:
		return nil, fmt.Errorf("%w: ollama ended the reply because of %.40q", backend.ErrUnavailable, r.last.DoneReason)
	}
	if req.Schema != nil && len(req.Stop) == 0 && g.Stop == backend.StopEnd && !json.Valid([]byte(g.Text)) {
		return nil, fmt.Errorf("ollama ignored the schema: the reply is not JSON: %.100q", g.Text)
	}
	return g, nil
}

// chatRequest puts a request for at most n tokens as Ollama wants it. Whatever would otherwise come from
// Ollama's defaults or the model's package is said.
func (e *Engine) chatRequest(req *backend.GenerateRequest, n int) *api.ChatRequest {
	options := e.loading()
	options["num_predict"] = n
	options["seed"] = int(req.DrawSeed() >> 33) // 31 bits: Ollama takes some larger seeds to mean a random one
	options["temperature"] = req.Sampling.Temperature
	options["top_k"] = req.Sampling.TopK
	options["top_p"] = req.Sampling.TopP
	if req.Sampling.TopP == 0 {
		options["top_p"] = 1
	}
	if req.Sampling.Temperature == 0 {
		options["top_k"], options["top_p"], options["seed"] = 1, 1, 0
	}
	options["min_p"] = 0
	options["typical_p"] = 1
	options["repeat_last_n"] = 0
	options["repeat_penalty"] = 1
	options["presence_penalty"] = 0
	options["frequency_penalty"] = 0
	if len(req.Stop) > 0 {
		options["stop"] = slices.Concat(e.stops, req.Stop)
	}
	messages := make([]api.Message, len(req.Messages))
	for i, m := range req.Messages {
		messages[i] = api.Message{Role: string(m.Role), Content: m.Text}
	}
	return &api.ChatRequest{
		Model:     e.name,
		Messages:  messages,
		Stream:    new(true), // so that what was sent counts when the stream breaks
		Format:    req.Schema,
		KeepAlive: &api.Duration{Duration: keepAlive},
		Options:   options,
		Think:     e.think,
		Truncate:  new(false),
		Shift:     new(false),
	}
}

// A reply is a chat's answer as it comes in.
type reply struct {
	text      strings.Builder
	parts     int                // how many the text came in
	top       []api.TokenLogprob // the most probable first tokens, if asked for
	last      api.ChatResponse   // the one that closes the answer
	brokenOff bool               // the server gave up on it: the model repeats itself
}

// repeats is how many parts that repeat the one before them Ollama sends before it gives a reply up.
const repeats = 30

// chat sends a request and collects the answer. If ctx ends meanwhile, the connection is closed, and with
// that the server stops working on it.
func (e *Engine) chat(ctx context.Context, req *api.ChatRequest) (*reply, error) {
	size := 0
	for _, m := range req.Messages {
		size += len(m.Content)
	}
	var r *reply
	if err := e.insist(ctx, size, func(ctx context.Context, x *exchange) (err error) {
		r, err = listen(ctx, x, req)
		return err
	}); err != nil {
		return nil, e.explain(ctx, err)
	}
	if r.last.Done || r.brokenOff {
		return r, nil
	}
	return nil, fmt.Errorf("%w: ollama ended a reply in the middle", backend.ErrUnavailable)
}

// listen sends a request once. The reply is whole if its last part says so.
func listen(ctx context.Context, x *exchange, req *api.ChatRequest) (*reply, error) {
	r, same, before := &reply{}, 0, ""
	err := x.client().Chat(ctx, req, func(part api.ChatResponse) error {
		if part.Done {
			r.last = part
		} else if piece := strings.TrimSpace(part.Message.Content); piece == before {
			same++
		} else {
			same, before = 0, piece
		}
		if len(part.Logprobs) > 0 && r.top == nil {
			r.top = part.Logprobs[0].TopLogprobs
		}
		if part.Message.Content != "" {
			r.parts++
		}
		r.text.WriteString(part.Message.Content)
		return nil
	})
	r.brokenOff = !r.last.Done && x.whole && same >= repeats
	return r, err
}

// explain turns a refusal into an error that says what it means here, by the words that servers of
// versions 0.12.6 to 0.17.4 use. Other errors it passes on.
func (e *Engine) explain(ctx context.Context, err error) error {
	r := (*refusal)(nil)
	if !errors.As(err, &r) {
		return err
	}
	says := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(r.message, text) })
	}
	switch {
	case says("context length") && says("exceeds"):
		return &backend.TooLongError{Limit: e.info.Context}
	case r.status == 404:
		list, err := e.server.list(ctx)
		if err != nil {
			return err
		}
		return notPulled(e.name, list)
	case says("invalid JSON schema", "invalid format", "sampling context", "initialize grammar"):
		return fmt.Errorf("%w: the schema: %v", backend.ErrInvalid, r)
	case says("no input provided"):
		return fmt.Errorf("%w: model %s makes nothing of an empty text", backend.ErrInvalid, e.name)
	case says("invalid image index"):
		return fmt.Errorf("%w: ollama takes a part of the text for an image: %v", backend.ErrInvalid, r)
	case says("more system memory", "incompatible", "NaN"), r.status >= 400 && r.status < 499 && r.status != 429:
		return r
	}
	return fmt.Errorf("%w: %v", backend.ErrUnavailable, r) // busy, restarting, or its runner died
}
