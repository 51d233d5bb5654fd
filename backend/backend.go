// Package backend is the one seam between the evaluator and the models it asks.
//
// A [Backend] runs one local model. Engines (backend/llama, backend/ollama) implement it; decorators
// (backend/sched, backend/cache, backend/linger) implement it over another Backend; metrics only ever see the
// interface. What a model cannot do is a cleared bit in [Info.Ops] and an error that wraps
// [errors.ErrUnsupported], so that a run can be refused before its first sample.
//
// Answers are identified by a [Key]: a hash over everything that can change them.
package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// A Backend runs one local model. Its methods are safe for concurrent use, and block until the answer
// is there, the context is cancelled, or the model is closed.
//
// Every method returns an error wrapping
//   - [ErrUnavailable] when the model cannot be reached now but may be later (a server away or busy);
//   - [ErrPromptTooLong] when the input does not fit; nothing is ever cut to make it fit;
//   - [ErrInvalid] when the input itself can never be answered (text that is not UTF-8, say);
//   - [ErrClosed] when Close was called;
//   - [errors.ErrUnsupported] when the ability is missing from Info().Ops;
//   - the context's error when the context ended first.
//
// Any other error is fatal to the request, not to the model.
type Backend interface {
	// Info describes the model. It is constant for the Backend's life.
	Info() Info

	// Generate writes one reply. The prompt, with room for MaxTokens, must fit in Info().Context.
	Generate(ctx context.Context, req *GenerateRequest) (*Generation, error)

	// Encode returns one output of each input, in order: a vector for a text, a vector for each of its tokens, or what
	// a classification head says about a pair. The answer to an input does not depend on those beside it, but one input
	// that is too long or invalid fails the whole request. No inputs are answered with no items.
	Encode(ctx context.Context, req *EncodeRequest) (*Encoding, error)

	// Score returns the natural-log probabilities of given continuations, teacher-forced: the model
	// is shown the true preceding tokens throughout.
	Score(ctx context.Context, req *ScoreRequest) (*Scores, error)

	// Close waits for nothing: calls in flight return ErrClosed soon. Closing twice is harmless.
	Close() error
}

// Info describes a model as it is loaded.
type Info struct {
	Engine  string `json:"engine"`  // with its version and whatever its bits depend on: "llama.cpp v0.4.0 cpu-haswell"
	Model   string `json:"model"`   // the name that the user knows it by
	Digest  string `json:"digest"`  // of the weights: "sha256:" and 64 hex digits; never a tag
	Context int    `json:"context"` // tokens that one call may use, prompt and reply together
	Slots   int    `json:"slots"`   // calls that the model usefully serves at once
	Ops     Ops    `json:"ops"`

	// Labels name the HeadOutputs, or the TokenOutputs, in their order. There are none if the model does not say.
	Labels []string `json:"labels,omitempty"`

	// Activation is what turns those numbers into what the model was trained to say.
	Activation Activation `json:"activation,omitempty"`
}

// An Activation is what is put over the numbers of a classification head. It is not part of keys: the numbers are
// stored without it.
type Activation string

// The activations that model files name. Without a name, the file does not say.
const (
	Softmax Activation = "softmax" // one of the labels is true: probabilities that add up to 1
	Sigmoid Activation = "sigmoid" // each label is true or not, a probability for each
	Linear  Activation = "linear"  // the numbers are the answer: a regression
)

// A Speaker is the role of a message in a chat. (A [Role] is that of a model in a run.)
type Speaker string

// The roles that chat templates know.
const (
	System    Speaker = "system"
	User      Speaker = "user"
	Assistant Speaker = "assistant"
)

// A Message is one message of a chat.
type Message struct {
	Role  Speaker `json:"role"`
	Text  string  `json:"text"`
	Marks []Mark  `json:"marks,omitempty"` // special tokens within Text, in order. They need CanMark
}

// Sampling says how tokens are chosen from the model's distribution.
type Sampling struct {
	Temperature float64 `json:"temperature"`     // 0: greedy, and the other fields do not matter
	TopP        float64 `json:"top_p,omitempty"` // nucleus in (0, 1]; 0 means 1, all of it
	TopK        int     `json:"top_k,omitempty"` // 0: no limit
	Seed        uint64  `json:"seed,omitempty"`  // the draw is mixed in by [GenerateRequest.DrawSeed]
}

// A GenerateRequest asks for one reply. The engine renders the messages with the model's own chat
// template; the caller never sees template syntax, and text in a message can never become a control
// token.
type GenerateRequest struct {
	Messages []Message `json:"messages"`

	// Documents are what the chat template puts where it has a place for documents. They need CanReadDocuments.
	Documents []string `json:"documents,omitempty"`

	// Tokens are the prompt in place of Messages and Documents: token ids of the model's vocabulary, read as they are, with
	// no chat template and nothing else around them. They need CanReadTokens.
	Tokens []int32 `json:"tokens,omitempty"`

	// Schema is a JSON Schema that a reply which was not cut satisfies, by constrained decoding. It needs CanConstrain.
	Schema json.RawMessage `json:"schema,omitempty"`

	MaxTokens int      `json:"max_tokens"`     // at most this many tokens of reply; must be positive
	Stop      []string `json:"stop,omitempty"` // the reply ends before the first of these
	Sampling  Sampling `json:"sampling"`
	Draw      int      `json:"draw,omitempty"` // numbers repetitions of one prompt: 0, 1, 2, ...
	Once      bool     `json:"once,omitempty"` // the engine may end a reply that [Repeats] itself
}

// DrawSeed mixes Seed and Draw into the seed that an engine's sampler starts from, so that the draws of
// one prompt differ and each can be had again.
func (r *GenerateRequest) DrawSeed() uint64 {
	z := r.Sampling.Seed + uint64(r.Draw)*0x9e3779b97f4a7c15 // SplitMix64 (Steele, Lea and Flood 2014)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// A StopReason says why a reply ended.
type StopReason string

const (
	StopEnd    StopReason = "end"    // the model gave its end-of-sequence token, or a Stop string was met
	StopLength StopReason = "length" // MaxTokens was reached: the reply may be cut in the middle
	StopRepeat StopReason = "repeat" // the reply repeated itself and was asked for with Once
)

// A Generation is a reply.
type Generation struct {
	Text         string     `json:"text"`
	Stop         StopReason `json:"stop"`
	PromptTokens int        `json:"prompt_tokens"` // prefix-cached ones included
	OutputTokens int        `json:"output_tokens"` // completion tokens
}

// A ScoreRequest asks for the log-likelihood of each continuation of one prompt, or that of a text in tokens.
type ScoreRequest struct {
	Messages      []Message `json:"messages"`
	Documents     []string  `json:"documents,omitempty"` // as of a GenerateRequest
	Continuations []string  `json:"continuations"`       // each what the assistant would say next

	// Tokens are what the model reads in place of the above, as of a GenerateRequest: each but the first is scored given
	// all before it.
	Tokens []int32 `json:"tokens,omitempty"`

	// Likely is how many of the tokens that the model finds likeliest are told at each place of Tokens, at most MaxLikely.
	Likely int `json:"likely,omitempty"`
}

// MaxLikely is the most that [ScoreRequest.Likely] may be.
const MaxLikely = 20

// Scores holds, for each continuation, the natural-log probability of each of its tokens. Of Tokens it holds one list, one
// shorter than they are: nothing comes before the first.
type Scores struct {
	LogProbs     [][]float64 `json:"logprobs"` // as many lists as continuations, each value at most 0
	PromptTokens int         `json:"prompt_tokens"`

	// Likely are, where they were asked for, the likeliest tokens behind each of Tokens, the likeliest first; of those that
	// are equally likely, the one with the smaller id. The last are what the model would go on with.
	Likely [][]LikelyToken `json:"likely,omitempty"`
}

// A LikelyToken is a token that may come next.
type LikelyToken struct {
	ID      int32   `json:"id"`
	LogProb float64 `json:"logprob"` // natural, at most 0
}

// Sentinel errors: see [Backend] for what each means. Test with errors.Is.
var (
	ErrPromptTooLong = errors.New("prompt too long")
	ErrUnavailable   = errors.New("model unavailable")
	ErrInvalid       = errors.New("invalid request")
	ErrClosed        = errors.New("model closed")
)

// A TooLongError is an [ErrPromptTooLong] with its numbers, from an engine that knows them.
type TooLongError struct {
	Tokens int // what the request needs: its prompt and MaxTokens; 0 where the engine cannot tell
	Limit  int // what the model has: Info.Context
}

func (e *TooLongError) Error() string {
	if e.Tokens == 0 {
		return fmt.Sprintf("%v: it does not fit in %d tokens", ErrPromptTooLong, e.Limit)
	}
	return fmt.Sprintf("%v: needs %d of %d tokens", ErrPromptTooLong, e.Tokens, e.Limit)
}

// Is makes errors.Is(err, ErrPromptTooLong) true.
func (e *TooLongError) Is(target error) bool { return target == ErrPromptTooLong }

// Unsupported returns the error for an ability that a model lacks. It wraps [errors.ErrUnsupported].
func Unsupported(info Info, op Ops) error {
	return fmt.Errorf("%s on %s cannot %v: %w", info.Model, info.Engine, op, errors.ErrUnsupported)
}
