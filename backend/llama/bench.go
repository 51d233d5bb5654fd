package llama

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// A Shape is a batch of work to measure: so many sequences at once, each of so many tokens of prompt, that
// none shares with another, and of reply. llama.cpp's llama-batched-bench measures the same.
type Shape struct {
	Sequences int `json:"sequences"`
	Prompt    int `json:"prompt"`
	Reply     int `json:"reply"`
}

// A Speed is how fast a Shape was computed, all sequences together.
type Speed struct {
	Shape
	PromptTime time.Duration `json:"prompt_ns"`
	ReplyTime  time.Duration `json:"reply_ns"`
}

// PromptRate is in tokens of prompt a second.
func (s Speed) PromptRate() float64 {
	return float64(s.Sequences*s.Prompt) / s.PromptTime.Seconds()
}

// ReplyRate is in tokens written a second.
func (s Speed) ReplyRate() float64 { return float64(s.Sequences*s.Reply) / s.ReplyTime.Seconds() }

// Rate is in tokens of both a second.
func (s Speed) Rate() float64 {
	return float64(s.Sequences*(s.Prompt+s.Reply)) / (s.PromptTime + s.ReplyTime).Seconds()
}

// Bench measures a shape, on an engine that does nothing else meanwhile. The prompts are drawn at random,
// others each time.
func (e *Engine) Bench(ctx context.Context, shape Shape) (Speed, error) {
	switch {
	case !e.info.Ops.Has(backend.CanGenerate):
		return Speed{}, backend.Unsupported(e.info, backend.CanGenerate)
	case shape.Sequences < 1 || shape.Prompt < 1 || shape.Reply < 1:
		return Speed{}, fmt.Errorf("%w: %+v is to be positive throughout", backend.ErrInvalid, shape)
	case shape.Sequences > e.info.Slots:
		return Speed{}, fmt.Errorf("%w: %d sequences on %d slots", backend.ErrInvalid, shape.Sequences, e.info.Slots)
	case shape.Prompt+shape.Reply+1 > e.info.Context:
		return Speed{}, &backend.TooLongError{Tokens: shape.Prompt + shape.Reply + 1, Limit: e.info.Context}
	}
	prompts := make([][]llama.Token, shape.Sequences)
	for i := range prompts {
		for range shape.Prompt {
			prompts[i] = append(prompts[i], llama.Token(rand.IntN(e.model.vocab.size)))
		}
	}
	speed := Speed{Shape: shape}
	var err error
	if speed.PromptTime, err = e.time(ctx, prompts, 1); err != nil {
		return Speed{}, err
	}
	// The prompts are cached now. Their last tokens are computed again, as the first of this step.
	speed.ReplyTime, err = e.time(ctx, prompts, shape.Reply)
	return speed, err
}

// time writes replies of n tokens to prompts and tells how long that took.
func (e *Engine) time(ctx context.Context, prompts [][]llama.Token, n int) (time.Duration, error) {
	start := time.Now()
	var writers []*writer
	var jobs []*job
	for _, prompt := range prompts {
		w := &writer{
			text:    endless{},
			sampler: newSampler(backend.Sampling{}, 0),
			reply:   newReply(nil),
			prompt:  len(prompt),
			max:     n,
			all:     &e.model.count,
			done:    make(chan written, 1),
		}
		writers = append(writers, w)
		jobs = append(jobs, newJob(ctx, prompt, len(prompt), w))
	}
	if err := hand(ctx, e, e.jobs, jobs); err != nil {
		return 0, err
	}
	for _, w := range writers {
		o, err := await(ctx, e, w.done)
		if err == nil {
			err = o.err
		}
		if err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// endless is the speller of a model that never ends its turn.
type endless struct{}

func (endless) piece(llama.Token) []byte { return nil }
func (endless) ends(llama.Token) bool    { return false }
