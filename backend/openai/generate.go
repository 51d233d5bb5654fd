package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai/wire"
	"github.com/assay-eval/assay/backend/remote"
)

// A form is how a server takes a schema.
type form int

const (
	noForm       form = iota // it does not
	formResponse             // response_format of type json_schema, as OpenAI has it
	formGuided               // guided_json: vLLM before 0.12
	formPlain                // json_schema: llama-server
)

// A chatRequest is a request with what some servers take beside OpenAI's fields.
type chatRequest struct {
	wire.ChatRequest
	extras
}

// extras are those fields. One that is not set is not sent.
type extras struct {
	Samplers          []string        `json:"samplers,omitempty"`           // llama-server
	RepetitionPenalty *float64        `json:"repetition_penalty,omitempty"` // vLLM, SGLang
	RepeatPenalty     *float64        `json:"repeat_penalty,omitempty"`     // llama-server, LM Studio
	MinP              *float64        `json:"min_p,omitempty"`
	ReasoningEffort   string          `json:"reasoning_effort,omitempty"`     // Ollama
	TemplateArguments map[string]bool `json:"chat_template_kwargs,omitempty"` // llama-server, vLLM, SGLang
	GuidedJSON        json.RawMessage `json:"guided_json,omitempty"`
	JSONSchema        json.RawMessage `json:"json_schema,omitempty"`

	RenderOnly bool `json:"_debug_render_only,omitempty"` // Ollama: answer with the prompt
}

// A chatAnswer is an answer with what some servers add.
type chatAnswer struct {
	wire.ChatCompletion
	Debug struct {
		Rendered string `json:"rendered_template"`
	} `json:"_debug_info"`
}

// Generate implements [backend.Backend].
//
// At temperature 0 the most probable token is taken at every step. Otherwise tokens are drawn from the whole
// distribution, less what TopK and TopP of the request take off, as far as the server lets itself be told.
//
// A prompt that does not fit in the context with MaxTokens beside it is an error wrapping [backend.ErrPromptTooLong]
// whether or not the reply would have stayed short.
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
	return remote.Model{Info: e.info, Name: e.said.model, Controls: e.controls}
}

func (e *Engine) generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	if err := e.verify(ctx); err != nil {
		return nil, err
	}
	if err := e.examine(ctx, req.Messages, req.MaxTokens); err != nil {
		return nil, err
	}
	reply, err := e.ask(ctx, req, 0)
	if err != nil {
		return nil, err
	}
	if err := e.whole(req.Messages, reply.usage, req.MaxTokens); err != nil {
		return nil, err
	}
	g := &backend.Generation{Text: reply.text, PromptTokens: reply.usage.PromptTokens,
		OutputTokens: reply.usage.CompletionTokens}
	switch reply.finish {
	case "stop":
		g.Stop = backend.StopEnd
	case "length":
		g.Stop = backend.StopLength
	default:
		return nil, fmt.Errorf("the server ended the reply because of %.40q", reply.finish)
	}
	if req.Schema != nil && len(req.Stop) == 0 && g.Stop == backend.StopEnd && !json.Valid([]byte(g.Text)) {
		return nil, fmt.Errorf("the server ignored the schema: the reply is not JSON: %.100q", g.Text)
	}
	return g, nil
}

// chatRequest puts a request as the server wants it. Whatever would otherwise come from the server's defaults is said.
func (e *Engine) chatRequest(req *backend.GenerateRequest) *chatRequest {
	r := &chatRequest{ChatRequest: wire.ChatRequest{Model: e.said.model, Messages: messages(req.Messages),
		Sampling: e.sampling(req)}, extras: e.extras()}
	switch {
	case req.Schema == nil:
	case e.form == formResponse:
		r.ResponseFormat = &wire.ResponseFormat{Type: "json_schema",
			JSONSchema: &wire.JSONSchema{Name: "reply", Strict: new(true), Schema: req.Schema}}
	case e.form == formGuided:
		r.GuidedJSON = req.Schema
	case e.form == formPlain:
		r.JSONSchema = req.Schema
	}
	return r
}

func messages(list []backend.Message) []wire.Message {
	out := make([]wire.Message, len(list))
	for i, m := range list {
		out[i] = wire.Message{Role: string(m.Role), Content: wire.Content(m.Text)}
	}
	return out
}

// sampling puts what all servers take.
func (e *Engine) sampling(req *backend.GenerateRequest) wire.Sampling {
	s := wire.Sampling{MaxTokens: new(req.MaxTokens), Temperature: new(req.Sampling.Temperature), TopP: new(1.0),
		Seed: new(int64(0)), Stop: req.Stop}
	unlimited := -1
	if req.Sampling.Temperature > 0 {
		*s.Seed = int64(req.DrawSeed() >> 33) // 31 bits: some servers take the largest of 32 to mean a random one
		if req.Sampling.TopP > 0 {
			*s.TopP = req.Sampling.TopP
		}
		if req.Sampling.TopK > 0 {
			s.TopK = new(req.Sampling.TopK)
		}
	}
	if s.TopK == nil && e.said.kind != ollama && e.said.kind != other {
		s.TopK = &unlimited
	}
	if len(req.Stop) > 0 {
		s.Stop = slices.Concat(e.stops, req.Stop)
	}
	return s
}

// extras puts what the server at hand takes beside, to turn off what it would add by default.
func (e *Engine) extras() extras {
	switch e.said.kind {
	case llamaServer:
		return extras{Samplers: []string{"top_k", "top_p", "temperature"},
			TemplateArguments: map[string]bool{"enable_thinking": false}}
	case vllm, sglang:
		return extras{RepetitionPenalty: new(1.0), MinP: new(0.0),
			TemplateArguments: map[string]bool{"enable_thinking": false}}
	case lmStudio:
		return extras{RepeatPenalty: new(1.0), MinP: new(0.0)}
	case ollama:
		return extras{ReasoningEffort: "none"}
	}
	return extras{}
}

// A reply is what a server wrote.
type reply struct {
	text, finish string
	usage        wire.Usage
	top          []wire.TokenLogProb // the most probable first tokens, if asked for
}

// ask sends a request and collects the answer, with so many of the most probable first tokens. If ctx ends meanwhile,
// the connection is closed, and with that the server stops working on it.
func (e *Engine) ask(ctx context.Context, req *backend.GenerateRequest, top int) (*reply, error) {
	if e.said.kind == llamaServer {
		return e.complete(ctx, req, top)
	}
	r := e.chatRequest(req)
	if top > 0 {
		r.LogProbs, r.TopLogProbs = true, &top
	}
	answer, err := e.send(ctx, r, req.MaxTokens)
	if err != nil {
		return nil, err
	}
	if len(answer.Choices) != 1 || answer.Usage == nil {
		return nil, miscounted(len(answer.Choices))
	}
	choice := &answer.Choices[0]
	return &reply{string(choice.Message.Content), choice.FinishReason, *answer.Usage, firstOf(choice.LogProbs)}, nil
}

func miscounted(replies int) error {
	return fmt.Errorf("%w: the server sent %d replies for one, or no count of tokens", backend.ErrUnavailable, replies)
}

// firstOf returns the most probable first tokens of a reply.
func firstOf(l *wire.ChatLogProbs) []wire.TokenLogProb {
	if l == nil || len(l.Content) == 0 {
		return nil
	}
	return l.Content[0].TopLogProbs
}

func (e *Engine) send(ctx context.Context, req *chatRequest, tokens int) (*chatAnswer, error) {
	size := 0
	for _, m := range req.Messages {
		size += len(m.Content)
	}
	var answer chatAnswer
	err := e.client.ask(ctx, e.limit(size, tokens), e.client.route("chat/completions"), req, &answer)
	return &answer, e.explain(err)
}

// complete has llama-server render the chat, and then go on with it. Its chat route would take the reply apart, which
// fails for what the template's maker did not expect, and lets JSON stand in a fence of Markdown.
func (e *Engine) complete(ctx context.Context, req *backend.GenerateRequest, top int) (*reply, error) {
	chat := e.chatRequest(req)
	var rendered struct{ Prompt string }
	err := e.client.ask(ctx, e.limit(bytesOf(req.Messages), 0), e.client.side("apply-template"), &chatRequest{
		ChatRequest: wire.ChatRequest{Model: chat.Model, Messages: chat.Messages},
		extras:      extras{TemplateArguments: chat.TemplateArguments}}, &rendered)
	if err != nil {
		return nil, e.explain(err)
	}
	r := struct {
		wire.CompletionRequest
		extras
	}{wire.CompletionRequest{Model: chat.Model, Prompt: wire.Prompts{{Text: rendered.Prompt}}, Sampling: chat.Sampling},
		extras{Samplers: chat.Samplers, JSONSchema: chat.JSONSchema}}
	if top > 0 {
		r.LogProbs = &top
	}
	var answer struct {
		Choices []struct {
			Text         string
			FinishReason string             `json:"finish_reason"`
			LogProbs     *wire.ChatLogProbs `json:"logprobs"` // in the form of a chat's
		}
		Usage *wire.Usage
	}
	err = e.client.ask(ctx, e.limit(len(rendered.Prompt), req.MaxTokens), e.client.route("completions"), &r, &answer)
	if err != nil {
		return nil, e.explain(err)
	}
	if len(answer.Choices) != 1 || answer.Usage == nil {
		return nil, miscounted(len(answer.Choices))
	}
	choice := &answer.Choices[0]
	return &reply{choice.Text, choice.FinishReason, *answer.Usage, firstOf(choice.LogProbs)}, nil
}

// explain turns a refusal into an error that says what it means here. Other errors it passes on.
func (e *Engine) explain(err error) error {
	r := (*refusal)(nil)
	switch {
	case !errors.As(err, &r) || errors.Is(err, backend.ErrUnavailable):
		return err
	case r.says("prompt too long", "context length", "context size", "context window", "maximum model length", "context_length_exceeded",
		"too large to process", "maximum allowed number of tokens"):
		return &backend.TooLongError{Limit: e.info.Context}
	case r.says("unexpectedly stopped"): // Ollama, when what runs the model died
		return fmt.Errorf("%w: %v", backend.ErrUnavailable, r)
	case r.status == 400 || r.status == 422:
		return fmt.Errorf("%w: %v", backend.ErrInvalid, r)
	}
	return err
}

// whole reports a prompt of which the server read less than was sent, or more than leaves room for the reply.
func (e *Engine) whole(list []backend.Message, usage wire.Usage, maxTokens int) error {
	if need := usage.PromptTokens + maxTokens; need > e.info.Context && e.info.Context > 0 {
		return &backend.TooLongError{Tokens: need, Limit: e.info.Context}
	}
	if size := bytesOf(list); size > remote.BytesPerToken*usage.PromptTokens {
		return fmt.Errorf("%w: the server read %d tokens of a prompt of %d bytes, so it must have cut it",
			backend.ErrPromptTooLong, usage.PromptTokens, size)
	}
	return nil
}

func bytesOf(list []backend.Message) int {
	size := 0
	for _, m := range list {
		size += len(m.Text)
	}
	return size
}

// examine looks into a prompt, as far as the server helps, for what it would not read as it stands.
func (e *Engine) examine(ctx context.Context, list []backend.Message, maxTokens int) error {
	switch e.said.kind {
	case llamaServer:
		return e.examineTokens(ctx, list)
	case ollama:
		// A token is a byte at least. Templates put less than that around a message.
		const around = 64
		if bytesOf(list)+around*len(list)+maxTokens > e.info.Context {
			return e.examineRendered(ctx, list)
		}
	}
	return nil
}

// examineTokens has llama-server cut the messages into tokens as it will, and again with control tokens spelt out: they
// differ where there is one.
func (e *Engine) examineTokens(ctx context.Context, list []backend.Message) error {
	type request struct {
		Content string `json:"content"`
		Special bool   `json:"parse_special"`
		Pieces  bool   `json:"with_pieces"`
	}
	type piece struct {
		ID    int
		Piece json.RawMessage
	}
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = m.Text
	}
	var read, spelt struct{ Tokens []int }
	all := strings.Join(texts, "\n")
	for _, ask := range []struct {
		special bool
		out     any
	}{{true, &read}, {false, &spelt}} {
		err := e.client.ask(ctx, e.limit(len(all), 0), e.client.side("tokenize"), request{all, ask.special, false}, ask.out)
		if err != nil {
			return e.explain(err)
		}
	}
	if slices.Equal(read.Tokens, spelt.Tokens) {
		return nil
	}
	var pieces struct{ Tokens []piece }
	if err := e.client.look(ctx, e.client.side("tokenize"), request{all, true, true}, &pieces); err != nil {
		return e.explain(err)
	}
	at := 0
	for at < min(len(read.Tokens), len(spelt.Tokens)) && read.Tokens[at] == spelt.Tokens[at] {
		at++
	}
	mark := "a control token"
	for _, p := range pieces.Tokens[min(at, len(pieces.Tokens)):] {
		var text string
		if json.Unmarshal(p.Piece, &text) == nil && strings.TrimSpace(text) != "" {
			mark = strings.TrimSpace(text)
			break
		}
	}
	i := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(text, mark) })
	return e.model().ControlToken(max(i, 0), mark)
}

// examineRendered has Ollama show the prompt, from which it drops messages until it fits.
func (e *Engine) examineRendered(ctx context.Context, list []backend.Message) error {
	req := e.chatRequest(&backend.GenerateRequest{Messages: list, MaxTokens: 1})
	req.RenderOnly = true
	answer, err := e.send(ctx, req, 1)
	if err != nil {
		return err
	}
	for _, m := range list {
		if !strings.Contains(answer.Debug.Rendered, strings.TrimSpace(m.Text)) {
			return &backend.TooLongError{Limit: e.info.Context}
		}
	}
	return nil
}
