package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A ChatRequest asks for replies in a chat: POST /v1/chat/completions.
type ChatRequest struct {
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	Sampling
	MaxCompletionTokens *int            `json:"max_completion_tokens,omitempty"` // the newer name of max_tokens
	LogProbs            bool            `json:"logprobs,omitempty"`
	TopLogProbs         *int            `json:"top_logprobs,omitempty"`
	Tools               json.RawMessage `json:"tools,omitempty"`
	ToolChoice          json.RawMessage `json:"tool_choice,omitempty"`

	// These three are vLLM's. Together they ask for the log-probabilities of a last message of the assistant's, given the
	// chat before it: PromptLogProbs 0, no generation prompt, and the message to be continued.
	PromptLogProbs       *int  `json:"prompt_logprobs,omitempty"` // so many likely tokens beside each of the prompt's
	AddGenerationPrompt  *bool `json:"add_generation_prompt,omitempty"`
	ContinueFinalMessage bool  `json:"continue_final_message,omitempty"`
}

// Sampling are the fields that chat completions and completions have in common.
type Sampling struct {
	MaxTokens        *int               `json:"max_tokens,omitempty"`
	Temperature      *float64           `json:"temperature,omitempty"` // without it, 1
	TopP             *float64           `json:"top_p,omitempty"`       // without it, 1
	TopK             *int               `json:"top_k,omitempty"`       // vLLM and llama-server: below 1 there is no limit
	Seed             *int64             `json:"seed,omitempty"`
	Stop             Strings            `json:"stop,omitempty"`
	N                *int               `json:"n,omitempty"` // replies; without it, 1
	FrequencyPenalty *float64           `json:"frequency_penalty,omitempty"`
	PresencePenalty  *float64           `json:"presence_penalty,omitempty"`
	LogitBias        map[string]float64 `json:"logit_bias,omitempty"`
	ResponseFormat   *ResponseFormat    `json:"response_format,omitempty"`
	Stream           bool               `json:"stream,omitempty"`
	StreamOptions    *StreamOptions     `json:"stream_options,omitempty"`
	User             string             `json:"user,omitempty"` // who asks: it changes nothing
}

// StreamOptions say what a stream has besides its chunks.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage,omitempty"` // one more chunk, without choices, at the end
}

// A ResponseFormat holds a reply to a form.
type ResponseFormat struct {
	Type       string      `json:"type"` // "text", "json_object" or "json_schema"
	JSONSchema *JSONSchema `json:"json_schema,omitempty"`
}

// A JSONSchema is a schema with its name.
type JSONSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// A Message is one of a chat, or a reply.
type Message struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`

	// ReasoningContent is what a model thought before its reply, kept apart from it: vLLM, llama-server.
	ReasoningContent string `json:"reasoning_content,omitempty"`

	Name      string          `json:"name,omitempty"`
	ToolCalls json.RawMessage `json:"tool_calls,omitempty"`
}

// Content is a message's text. In JSON it is a string, null, or a list of parts, of which only texts can be read.
type Content string

// UnmarshalJSON reads each of the forms. The texts of parts follow each other with nothing between them.
func (c *Content) UnmarshalJSON(b []byte) error {
	var text *string
	if json.Unmarshal(b, &text) == nil {
		if text != nil {
			*c = Content(*text)
		}
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(b, &parts) != nil {
		return errors.New("content: want a string or a list of parts")
	}
	var all strings.Builder
	for i, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("content: part %d is of type %.40q: only text can be read", i, p.Type)
		}
		all.WriteString(p.Text)
	}
	*c = Content(all.String())
	return nil
}

// A ChatCompletion is the answer to a [ChatRequest].
type ChatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"` // "chat.completion"
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []ChatChoice `json:"choices"`
	Usage   *Usage       `json:"usage,omitempty"`

	// SystemFingerprint changes where the same request may get another answer.
	SystemFingerprint string `json:"system_fingerprint,omitempty"`

	// PromptLogProbs are vLLM's, one entry for each token of the prompt, by ids; null where nothing is told.
	PromptLogProbs []map[string]PromptLogProb `json:"prompt_logprobs,omitempty"`
}

// A PromptLogProb is the natural-log probability of a token of a prompt.
type PromptLogProb struct {
	LogProb float64 `json:"logprob"`
	Decoded string  `json:"decoded_token,omitempty"`
}

// A ChatChoice is one reply.
type ChatChoice struct {
	Index        int           `json:"index"`
	Message      Message       `json:"message"`
	LogProbs     *ChatLogProbs `json:"logprobs"`
	FinishReason string        `json:"finish_reason"` // "stop", "length", ...
}

// ChatLogProbs are the log-probabilities of a reply's tokens.
type ChatLogProbs struct {
	Content []ChatToken `json:"content"`
}

// A ChatToken is a token of a reply with the likeliest ones in its place.
type ChatToken struct {
	TokenLogProb
	TopLogProbs []TokenLogProb `json:"top_logprobs"`
}

// A TokenLogProb is a token with its natural-log probability.
type TokenLogProb struct {
	Token   string  `json:"token"`
	LogProb float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // the token's own, where Token cannot show them
}

// A ChatChunk is a piece of a streamed reply.
type ChatChunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"` // "chat.completion.chunk"
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []ChunkChoice `json:"choices"`
	Usage   *Usage        `json:"usage,omitempty"`
}

// A ChunkChoice is what a chunk adds to one reply.
type ChunkChoice struct {
	Index        int           `json:"index"`
	Delta        Delta         `json:"delta"`
	LogProbs     *ChatLogProbs `json:"logprobs,omitempty"`
	FinishReason *string       `json:"finish_reason"` // null until the last
}

// A Delta is the part of a message that a chunk brings.
type Delta struct {
	Role             string `json:"role,omitempty"`
	Content          string `json:"content,omitempty"`
	ReasoningContent string `json:"reasoning_content,omitempty"`
}
