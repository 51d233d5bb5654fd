package llama

import (
	"cmp"
	"errors"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/grammar"
)

// A writer is the task of generating one reply: it samples, constrained to a schema where there is one.
type writer struct {
	text    speller
	sampler *sampler
	reply   *reply
	prompt  int // tokens of prompt
	max     int // tokens of reply
	once    bool
	count   int                 // tokens of reply
	holds   *grammar.Constraint // constrains the reply to a schema; nil without one
	all     *counters

	stop backend.StopReason // "" while it is being written
	err  error              // why it cannot go on
	done chan written       // takes one
}

type written struct {
	g   *backend.Generation
	err error
}

// next chooses the next token of the reply, and with it the tokens that a schema forces.
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
	for _, forced := range w.holds.Forced() {
		w.holds.Accept(forced)
		token := llama.Token(forced)
		more = append(more, token)
		if w.append(token); w.stop != "" {
			break
		}
	}
	if w.stop == "" && w.holds.Ended() {
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
	if !w.holds.Allows(int32(token)) {
		if !w.holds.Mask(logits) {
			return 0, false
		}
		token = w.sampler.choose(logits)
	}
	return token, w.holds.Accept(int32(token))
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
	case w.count == w.max && (w.holds == nil || !w.holds.Ended()):
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
