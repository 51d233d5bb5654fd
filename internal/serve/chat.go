package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai/wire"
)

// chat answers /v1/chat/completions.
func (s *Server) chat(ctx context.Context, in *wire.ChatRequest) (any, error) {
	if err := offered(s.models.Judge, in.Model, "model"); err != nil {
		return nil, err
	}
	if in.MaxCompletionTokens != nil {
		in.MaxTokens = in.MaxCompletionTokens
	}
	messages, err := messagesOf(in.Messages)
	if err != nil {
		return nil, err
	}
	if in.PromptLogProbs != nil || in.ContinueFinalMessage || in.AddGenerationPrompt != nil {
		return s.scoreLast(ctx, in, messages)
	}
	switch {
	case in.LogProbs || in.TopLogProbs != nil && *in.TopLogProbs > 0:
		return nil, refuse("logprobs", "those of generated tokens are not kept; /v1/completions with echo has those of given ones")
	case !isEmpty(in.Tools):
		return nil, refuse("tools", "this server calls no tools")
	}
	req, replies, err := sampled(&in.Sampling)
	if err != nil {
		return nil, err
	}
	req.Messages = messages
	if req.MaxTokens == 0 {
		if req.MaxTokens, err = room(ctx, s.models.Judge, req); err != nil {
			return nil, err
		}
	}
	list, err := s.generate(ctx, []*backend.GenerateRequest{req}, replies)
	if err != nil {
		return nil, err
	}
	info := s.models.Judge.Info()
	answer := &wire.ChatCompletion{ID: "chatcmpl-" + backend.GenerateKey(info, req).String(), Object: "chat.completion",
		Created: s.now().Unix(), Model: info.Model, SystemFingerprint: info.Engine, Usage: usageOf(list, replies)}
	for i, g := range list {
		answer.Choices = append(answer.Choices, wire.ChatChoice{Index: i, FinishReason: finishOf(g.Stop),
			Message: wire.Message{Role: "assistant", Content: wire.Content(g.Text)}})
	}
	if in.Stream {
		return chatStream(answer, in.StreamOptions), nil
	}
	return answer, nil
}

// isEmpty reports a value that says nothing.
func isEmpty(v json.RawMessage) bool {
	v = bytes.TrimSpace(v)
	return len(v) == 0 || bytes.Equal(v, []byte("null")) || bytes.Equal(v, []byte("[]"))
}

// messagesOf turns messages into those of a chat.
func messagesOf(in []wire.Message) ([]backend.Message, error) {
	if len(in) == 0 {
		return nil, refuse("messages", "there are none")
	}
	speakers := map[string]backend.Speaker{"system": backend.System, "developer": backend.System, "user": backend.User,
		"assistant": backend.Assistant}
	var messages []backend.Message
	for i, m := range in {
		speaker, known := speakers[m.Role]
		switch {
		case !known:
			return nil, refuse("messages", "message %d has the role %.40q: system, user and assistant are known", i, m.Role)
		case !isEmpty(m.ToolCalls):
			return nil, refuse("messages", "message %d calls tools, which chat templates are not given here", i)
		case m.Name != "" || m.ReasoningContent != "":
			return nil, refuse("messages", "message %d has more than a role and content, which chat templates are not given here", i)
		}
		messages = append(messages, backend.Message{Role: speaker, Text: string(m.Content)})
	}
	return messages, nil
}

// sampled is the part of a request that says how to generate, without its prompt, and how many replies are wanted.
// MaxTokens is 0 where it was left out.
func sampled(in *wire.Sampling) (req *backend.GenerateRequest, replies int, err error) {
	req = &backend.GenerateRequest{Stop: in.Stop, Sampling: backend.Sampling{Temperature: 1}}
	set := func(to *float64, from *float64) {
		if from != nil {
			*to = *from
		}
	}
	set(&req.Sampling.Temperature, in.Temperature)
	set(&req.Sampling.TopP, in.TopP)
	replies = 1
	if in.N != nil {
		replies = *in.N
	}
	if in.TopK != nil {
		req.Sampling.TopK = max(0, *in.TopK)
	}
	if in.Seed != nil {
		req.Sampling.Seed = uint64(*in.Seed)
	}
	if req.Sampling.Temperature == 0 { // nothing is drawn: the same answers as without these
		req.Sampling = backend.Sampling{}
	}
	switch {
	case in.MaxTokens != nil && *in.MaxTokens < 1:
		return nil, 0, refuse("max_tokens", "it is %d, not positive", *in.MaxTokens)
	case in.MaxTokens != nil:
		req.MaxTokens = *in.MaxTokens
	}
	if req.Schema, err = schemaOf(in.ResponseFormat); err != nil {
		return nil, 0, err
	}
	isSet := func(v *float64) bool { return v != nil && *v != 0 }
	switch {
	case replies < 1 || replies > maxReplies:
		return nil, 0, refuse("n", "it is %d, not in 1 to %d", replies, maxReplies)
	case in.TopP != nil && *in.TopP <= 0:
		return nil, 0, refuse("top_p", "it is %v, not positive", *in.TopP)
	case isSet(in.FrequencyPenalty):
		return nil, 0, refuse("frequency_penalty", "only 0 can be honoured")
	case isSet(in.PresencePenalty):
		return nil, 0, refuse("presence_penalty", "only 0 can be honoured")
	case len(in.LogitBias) > 0:
		return nil, 0, refuse("logit_bias", "it cannot be honoured")
	case in.StreamOptions != nil && !in.Stream:
		return nil, 0, refuse("stream_options", "they are for a stream")
	}
	return req, replies, nil
}

// schemaOf is the schema that a response format stands for.
func schemaOf(f *wire.ResponseFormat) (json.RawMessage, error) {
	switch {
	case f == nil || f.Type == "text":
		return nil, nil
	case f.Type == "json_object":
		return json.RawMessage(`{"type":"object"}`), nil
	case f.Type == "json_schema" && f.JSONSchema != nil && !isEmpty(f.JSONSchema.Schema):
		return f.JSONSchema.Schema, nil
	case f.Type == "json_schema":
		return nil, refuse("response_format", "json_schema has no schema")
	}
	return nil, refuse("response_format", "the type is %.40q: text, json_object and json_schema are known", f.Type)
}

// room is how many tokens a reply may have, where a request does not say: all that the context has left.
func room(ctx context.Context, b backend.Backend, req *backend.GenerateRequest) (int, error) {
	most := *req
	most.MaxTokens = b.Info().Context
	var long *backend.TooLongError
	_, err := b.Generate(ctx, &most) // which does not fit, and so is refused before anything is computed
	switch {
	case errors.As(err, &long) && long.Tokens > most.MaxTokens && long.Tokens-most.MaxTokens < long.Limit:
		return long.Limit - (long.Tokens - most.MaxTokens), nil
	case errors.As(err, &long) && long.Tokens > most.MaxTokens:
		return 0, &backend.TooLongError{Tokens: long.Tokens - most.MaxTokens + 1, Limit: long.Limit}
	case err != nil && !errors.As(err, &long):
		return 0, err
	}
	return 0, refuse("max_tokens", "say how long a reply may be: this engine does not tell how long the prompt is")
}

// generate gets so many replies to each request, in their order.
func (s *Server) generate(ctx context.Context, reqs []*backend.GenerateRequest, replies int) ([]*backend.Generation, error) {
	list := make([]*backend.Generation, len(reqs)*replies)
	err := each(ctx, len(list), func(ctx context.Context, i int) (err error) {
		req := *reqs[i/replies]
		if req.Sampling.Temperature > 0 {
			req.Draw = i % replies
		}
		list[i], err = s.models.Judge.Generate(ctx, &req)
		return err
	})
	return list, err
}

// finishOf is the reason that a reply ended for as clients know it.
func finishOf(stop backend.StopReason) string {
	if stop == backend.StopLength {
		return "length"
	}
	return "stop"
}

// usageOf counts tokens of replies, of which so many are to one prompt.
func usageOf(list []*backend.Generation, replies int) *wire.Usage {
	u := &wire.Usage{}
	for i, g := range list {
		if i%replies == 0 {
			u.PromptTokens += g.PromptTokens
		}
		u.CompletionTokens += g.OutputTokens
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// scoreLast answers with the probabilities of the last message, the assistant's, given those before it: what vLLM is
// asked for with prompt_logprobs. Ids of a chat's tokens are not known, so those of the last message go by their places.
func (s *Server) scoreLast(ctx context.Context, in *wire.ChatRequest, messages []backend.Message) (any, error) {
	last := len(messages) - 1
	switch {
	case in.PromptLogProbs == nil || *in.PromptLogProbs != 0 || !in.ContinueFinalMessage ||
		in.AddGenerationPrompt == nil || *in.AddGenerationPrompt || in.MaxTokens == nil || *in.MaxTokens != 1 || in.Stream:
		return nil, refuse("prompt_logprobs", "only 0 can be honoured, and only with add_generation_prompt false, "+
			"continue_final_message true and max_tokens 1: the probabilities of a last message of the assistant's")
	case messages[last].Role != backend.Assistant || last == 0:
		return nil, refuse("messages", "the last of several is to be the assistant's, whose probabilities are asked for")
	}
	req := &backend.ScoreRequest{Messages: messages[:last], Continuations: []string{messages[last].Text}}
	scores, err := s.models.Judge.Score(ctx, req)
	if err != nil {
		return nil, err
	}
	info := s.models.Judge.Info()
	own := scores.LogProbs[0]
	answer := &wire.ChatCompletion{ID: "chatcmpl-" + backend.ScoreKey(info, req).String(), Object: "chat.completion",
		Created: s.now().Unix(), Model: info.Model, SystemFingerprint: info.Engine,
		Choices:        []wire.ChatChoice{{Message: wire.Message{Role: "assistant"}, FinishReason: "length"}},
		PromptLogProbs: make([]map[string]wire.PromptLogProb, scores.PromptTokens+len(own)),
		Usage:          &wire.Usage{PromptTokens: scores.PromptTokens + len(own), TotalTokens: scores.PromptTokens + len(own)}}
	for i, v := range own {
		if !wire.Finite(v) {
			return nil, fmt.Errorf("token %d of the last message has the log-probability %v", i, v)
		}
		answer.PromptLogProbs[scores.PromptTokens+i] = map[string]wire.PromptLogProb{strconv.Itoa(i): {LogProb: v}}
	}
	return answer, nil
}
