package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
)

// A CompletionRequest asks for how texts go on: POST /v1/completions. No chat template is put around them.
type CompletionRequest struct {
	Model  string  `json:"model"`
	Prompt Prompts `json:"prompt"`
	Sampling
	Echo     bool    `json:"echo,omitempty"`     // the answer begins with the prompt, and log-probabilities are also of that
	LogProbs *int    `json:"logprobs,omitempty"` // so many of the likeliest tokens beside each
	BestOf   *int    `json:"best_of,omitempty"`
	Suffix   *string `json:"suffix,omitempty"`

	// AddSpecialTokens is vLLM's: whether a prompt that is text gets the tokens that the model's texts begin with.
	// Without it, it does. A prompt of tokens is never added to.
	AddSpecialTokens *bool `json:"add_special_tokens,omitempty"`
}

// Prompts are what a request asks about: in JSON a text, a list of texts, a list of tokens, or a list of such lists.
type Prompts []Prompt

// A Prompt is a text or its tokens.
type Prompt struct {
	Text   string
	Tokens []int32 // nil: the prompt is Text
}

// UnmarshalJSON reads each of the four forms.
func (p *Prompts) UnmarshalJSON(b []byte) error {
	var text *string
	if json.Unmarshal(b, &text) == nil {
		if text == nil {
			return errors.New("the prompt is null")
		}
		*p = Prompts{{Text: *text}}
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		return errPrompts
	}
	if len(list) == 0 {
		*p = Prompts{}
		return nil
	}
	if tokens, ok := parseTokens(b); ok {
		*p = Prompts{{Tokens: tokens}}
		return nil
	}
	all := make(Prompts, len(list))
	for i, item := range list {
		if isNull(item) {
			return errPrompts
		}
		var ok bool
		if all[i].Tokens, ok = parseTokens(item); !ok && json.Unmarshal(item, &all[i].Text) != nil {
			return errPrompts
		}
	}
	*p = all
	return nil
}

var errPrompts = errors.New("want a text, a list of texts, a list of token ids, or a list of such lists")

// hasNull reports a null, or one among numbers, which would be read as 0.
func hasNull(b []byte) bool { return bytes.Contains(b, []byte("null")) }

// parseTokens reads a list of token ids, which is not nil where it is one.
func parseTokens(b []byte) ([]int32, bool) {
	tokens := []int32{}
	if hasNull(b) || json.Unmarshal(b, &tokens) != nil {
		return nil, false
	}
	return tokens, true
}

// MarshalJSON writes one prompt by itself and several as a list.
func (p Prompts) MarshalJSON() ([]byte, error) {
	if len(p) == 1 && (p[0].Tokens == nil || len(p[0].Tokens) > 0) { // no tokens by themselves are no prompts
		return json.Marshal(p[0])
	}
	return json.Marshal([]Prompt(p))
}

// MarshalJSON writes a text or a list of tokens.
func (p Prompt) MarshalJSON() ([]byte, error) {
	if p.Tokens != nil {
		return json.Marshal(p.Tokens)
	}
	return json.Marshal(p.Text)
}

// A Completion is the answer to a [CompletionRequest]; streamed, a piece of it.
type Completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"` // "text_completion"
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []CompletionChoice `json:"choices"` // N for each prompt, in the order of the prompts
	Usage   *Usage             `json:"usage,omitempty"`

	SystemFingerprint string `json:"system_fingerprint,omitempty"`
}

// A CompletionChoice is how one prompt goes on, with Echo behind the prompt itself.
type CompletionChoice struct {
	Index        int                 `json:"index"`
	Text         string              `json:"text"`
	LogProbs     *CompletionLogProbs `json:"logprobs"`
	FinishReason string              `json:"finish_reason"`
}

// CompletionLogProbs are lists of one length, with one entry for each token of a choice's text.
type CompletionLogProbs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogProbs []*float64           `json:"token_logprobs"` // null for the first of a text: nothing is before it
	TopLogProbs   []map[string]float64 `json:"top_logprobs"`   // null for the first of a text
	TextOffset    []int                `json:"text_offset"`    // where the token begins in prompt and reply, in characters
}

// Finite reports a log-probability that JSON can hold.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// A TokenizeRequest asks how a text is cut into tokens: POST /tokenize, as vLLM has it.
type TokenizeRequest struct {
	Model            string `json:"model"`
	Prompt           string `json:"prompt"`                       // special tokens that it spells are those tokens
	AddSpecialTokens *bool  `json:"add_special_tokens,omitempty"` // without it, they are added
}

// Tokenized is the answer to a [TokenizeRequest].
type Tokenized struct {
	Count       int     `json:"count"`
	MaxModelLen int     `json:"max_model_len"`
	Tokens      []int32 `json:"tokens"`
}

// A DetokenizeRequest asks which text tokens spell: POST /detokenize, as vLLM has it.
type DetokenizeRequest struct {
	Model  string  `json:"model"`
	Tokens []int32 `json:"tokens"`
}

// Detokenized is the answer to a [DetokenizeRequest].
type Detokenized struct {
	Prompt string `json:"prompt"`
}

// TokenizerInfo is the answer of GET /tokenizer_info, as vLLM has it. A token or template that a model lacks is null.
type TokenizerInfo struct {
	BOSToken     *string `json:"bos_token"`
	EOSToken     *string `json:"eos_token"`
	ChatTemplate *string `json:"chat_template"`
}
