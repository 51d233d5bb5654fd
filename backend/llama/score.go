package llama

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/chat"
)

// Score returns the natural-log probability of each token of each continuation. See [backend.Backend].
//
// Prompt and continuation are cut into tokens together, as they would be had the model written the text;
// where a token would reach across the border, the continuation is cut by itself. Continuations of one
// token take no more than the one pass over the prompt.
func (e *Engine) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	if !e.info.Ops.Has(backend.CanScore) {
		return nil, backend.Unsupported(e.info, backend.CanScore)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if needs := req.Needs(); !e.info.Ops.Has(needs) {
		return nil, backend.Unsupported(e.info, needs)
	}
	if len(req.Tokens) > 0 {
		return e.read(ctx, req)
	}
	prompt, tiles, continuations, err := e.continuations(ctx, req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // should one fail, the others need not go on
	var scorers []*scorer
	of := make([]int, len(continuations)) // which scorer has a continuation
	place := make([]int, len(continuations))
	for i, c := range continuations {
		stem, last := c[:len(c)-1], c[len(c)-1]
		at := slices.IndexFunc(scorers, func(s *scorer) bool { return slices.Equal(s.stem, stem) })
		if at < 0 {
			at = len(scorers)
			scorers = append(scorers, &scorer{stem: stem, done: make(chan error, 1)})
		}
		of[i], place[i] = at, len(scorers[at].last)
		scorers[at].last = append(scorers[at].last, last)
	}
	for _, s := range scorers {
		j := newJob(ctx, slices.Concat(prompt, s.stem), len(prompt), tiles, s)
		if err := hand(ctx, e, e.jobs, j); err != nil {
			return nil, err
		}
	}
	for _, s := range scorers {
		failed, err := await(ctx, e, s.done)
		if err != nil {
			return nil, err
		}
		if failed != nil {
			return nil, failed
		}
	}
	scores := &backend.Scores{PromptTokens: len(prompt)}
	for i := range continuations {
		s := scorers[of[i]]
		scores.LogProbs = append(scores.LogProbs, append(slices.Clone(s.logProbs), s.ends[place[i]]))
	}
	return scores, nil
}

// continuations renders a request and cuts it into tokens.
func (e *Engine) continuations(ctx context.Context, req *backend.ScoreRequest) (
	prompt []llama.Token, tiles tiling, list [][]llama.Token, err error,
) {
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, tiles, nil, err
	}
	defer leave()
	if prompt, tiles, err = e.prompt(req.Messages, req.Documents); err != nil {
		return nil, tiles, nil, err
	}
	for _, text := range req.Continuations {
		if err := e.refuse(ctx); err != nil {
			return nil, tiles, nil, err
		}
		c, err := e.continuation(req, prompt, text)
		if err != nil {
			return nil, tiles, nil, err
		}
		if n := len(prompt) + len(c); n > e.info.Context {
			return nil, tiles, nil, &backend.TooLongError{Tokens: n, Limit: e.info.Context}
		}
		list = append(list, c)
	}
	return prompt, tiles, list, nil
}

// continuation cuts one continuation of a prompt into tokens, at least one.
func (e *Engine) continuation(req *backend.ScoreRequest, prompt []llama.Token, text string) ([]llama.Token, error) {
	parts, err := e.model.chat.Render(req.Messages, req.Documents...)
	if err != nil {
		return nil, err
	}
	if e.model.vocab.atLeast([]chat.Part{{Text: text}}) > e.info.Context {
		return nil, &backend.TooLongError{Limit: e.info.Context}
	}
	whole := e.model.vocab.prompt(append(parts, chat.Part{Text: text}))
	if n := len(prompt); common(whole, prompt) == n && len(whole) > n {
		return whole[n:], nil
	}
	alone := e.model.vocab.tokens(text, false)
	if len(alone) == 0 {
		return nil, fmt.Errorf("%w: the continuation %q has no tokens", backend.ErrInvalid, text)
	}
	return alone, nil
}

// A scorer is the task of teacher forcing: it notes the probabilities of given continuations of one prompt that differ
// in their last token only: the tokens before it are the job's.
type scorer struct {
	stem     []llama.Token // their shared prefix
	last     []llama.Token // of each
	logProbs []float64     // of stem
	ends     []float64     // of last
	done     chan error    // takes one
}

// next notes how probable the next token was.
func (s *scorer) next(logits []float32) []llama.Token {
	norm := logSum(logits)
	logProb := func(t llama.Token) float64 { return min(0, float64(logits[t])-norm) }
	if n := len(s.logProbs); n < len(s.stem) {
		s.logProbs = append(s.logProbs, logProb(s.stem[n]))
		return nil
	}
	for _, t := range s.last {
		s.ends = append(s.ends, logProb(t))
	}
	return nil
}

func (s *scorer) end(err error) { s.done <- err }

// logSum returns the logarithm of the sum of the exponentials of logits.
func logSum(logits []float32) float64 {
	top := float64(logits[argmax(logits)])
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l) - top)
	}
	return top + math.Log(sum)
}
