package llama

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// A job is a request on its way through the engine: tokens to compute, and something that is done with the
// logits that come out.
type job struct {
	ctx    context.Context
	turn   int           // see [backend.Turn]
	tokens []llama.Token // a prompt; then what is to be scored, or has been written so far
	prompt int           // tokens of prompt
	asked  int           // tokens when it came: the prompt, and what is to be scored
	tiles  tiling        // of the prompt
	from   int           // logits are wanted from this token on
	limit  int           // tokens that there may ever be; 0: no more than there are
	drafter
	passed int // jobs that came later and were admitted earlier
	task
}

// newJob returns a job for tokens that begin with so many of prompt, and whose logits are wanted from the
// last of those on.
func newJob(ctx context.Context, tokens []llama.Token, prompt int, tiles tiling, t task) *job {
	return &job{ctx: ctx, turn: backend.Priority(ctx), tokens: tokens, prompt: prompt, tiles: tiles,
		asked: len(tokens), from: prompt - 1, task: t}
}

// A task is what a job is for.
type task interface {
	// next takes the logits for the token after the job's first from+1. It returns tokens to append to the
	// job, which is done when from has come to its end.
	next(logits []float32) []llama.Token

	// end tells the caller that the job is done, or why it cannot be.
	end(err error)
}

// A writer writes one reply.
type writer struct {
	text    speller
	sampler *sampler
	reply   *reply
	prompt  int // tokens of prompt
	max     int // tokens of reply
	once    bool
	count   int         // tokens of reply
	holds   *constraint // to a schema; nil without one
	all     *counters

	stop backend.StopReason // "" while it is being written
	err  error              // why it cannot go on
	done chan written       // takes one
}

type written struct {
	g   *backend.Generation
	err error
}

// next chooses the next token of the reply, and with it those that a schema leaves no choice about.
func (w *writer) next(logits []float32) []llama.Token {
	token, ok := w.choose(logits)
	if !ok {
		w.err = errors.New("the model's vocabulary cannot spell what the schema wants next")
		return nil
	}
	if w.append(token); w.holds == nil || w.stop != "" {
		return w.unless(token)
	}
	more := []llama.Token{token}
	for _, token := range w.holds.forced() {
		w.holds.accept(token)
		more = append(more, token)
		if w.append(token); w.stop != "" {
			break
		}
	}
	if w.stop == "" && w.holds.ended() {
		w.stop = backend.StopEnd
	}
	return w.unless(more...)
}

// choose picks a token. Most tokens that a model likes best fit the schema, so the vocabulary is gone through
// only when one does not.
func (w *writer) choose(logits []float32) (token llama.Token, ok bool) {
	token = w.sampler.choose(logits)
	if w.holds == nil {
		return token, true
	}
	if !w.holds.allows(token) {
		if !w.holds.mask(logits) {
			return 0, false
		}
		token = w.sampler.choose(logits)
	}
	return token, w.holds.accept(token)
}

// append adds a token to the reply and sets stop if that is its end.
func (w *writer) append(token llama.Token) {
	if w.text.ends(token) {
		w.stop = backend.StopEnd
		return
	}
	w.count++
	switch {
	case w.reply.add(w.text.piece(token)):
		w.stop = backend.StopEnd
	case w.count == w.max && (w.holds == nil || !w.holds.ended()):
		w.stop = backend.StopLength
	case w.once && backend.Repeats(w.reply.text):
		w.stop = backend.StopRepeat
	}
}

// unless returns tokens to go on with, none when the reply has ended.
func (w *writer) unless(tokens ...llama.Token) []llama.Token {
	if w.stop != "" {
		return nil
	}
	return tokens
}

func (w *writer) end(err error) {
	w.all.outputTokens.Add(int64(w.count))
	if err = cmp.Or(err, w.err); err != nil {
		w.done <- written{err: err}
		return
	}
	w.done <- written{g: &backend.Generation{
		Text:         w.reply.String(),
		Stop:         w.stop,
		PromptTokens: w.prompt,
		OutputTokens: w.count,
	}}
}

// A scorer notes the probabilities of given continuations of one prompt that differ in their last token
// only: the tokens before it are the job's.
type scorer struct {
	stem     []llama.Token // what all of them begin with
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
