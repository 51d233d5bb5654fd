package llama

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/grammar"
)

// An Engine is a model, loaded. It implements [backend.Backend].
type Engine struct {
	info  backend.Info
	model *model

	jobs  chan *job
	texts chan *textJob

	closing sync.Once
	quit    chan struct{} // closed when Close is called
	gone    chan struct{} // closed when everything is freed
	users   sync.RWMutex  // held for reading by callers that use the model, for writing to free it
}

// Info describes the model.
func (e *Engine) Info() backend.Info { return e.info }

// Stats returns what the engine has done so far.
func (e *Engine) Stats() Stats { return e.model.count.stats() }

// Generate writes one reply. See [backend.Backend].
func (e *Engine) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	if !e.info.Ops.Has(backend.CanGenerate) {
		return nil, backend.Unsupported(e.info, backend.CanGenerate)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	w := &writer{
		text:    e.model.speller(),
		sampler: newSampler(req.Sampling, req.DrawSeed()),
		reply:   newReply(req.Stop),
		max:     req.MaxTokens,
		once:    req.Once,
		all:     &e.model.count,
		done:    make(chan written, 1),
	}
	if req.Schema != nil {
		if !e.info.Ops.Has(backend.CanConstrain) {
			return nil, backend.Unsupported(e.info, backend.CanConstrain)
		}
		var err error
		if w.holds, err = e.constraint(ctx, req.Schema); err != nil {
			return nil, err
		}
	}
	j, err := e.newWriting(ctx, req, w)
	if err != nil {
		return nil, err
	}
	if err := hand(ctx, e, e.jobs, j); err != nil {
		return nil, err
	}
	o, err := await(ctx, e, w.done)
	if err != nil {
		return nil, err
	}
	return o.g, o.err
}

// constraint returns what holds a reply to a schema.
func (e *Engine) constraint(ctx context.Context, schema []byte) (*grammar.Constraint, error) {
	leave, err := e.enter(ctx) // the vocabulary is read once
	if err != nil {
		return nil, err
	}
	defer leave()
	c, err := e.model.constrainer.Constraint(schema)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return c, nil
}

// newWriting renders a request and cuts it into tokens.
func (e *Engine) newWriting(ctx context.Context, req *backend.GenerateRequest, w *writer) (*job, error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	prompt, tiles, err := e.prompt(req.Messages)
	if err != nil {
		return nil, err
	}
	if n := len(prompt) + req.MaxTokens; n > e.info.Context || n < 0 {
		return nil, &backend.TooLongError{Tokens: max(n, 0), Limit: e.info.Context}
	}
	w.prompt = len(prompt)
	j := newJob(ctx, prompt, len(prompt), tiles, w)
	j.limit = len(prompt) + req.MaxTokens
	return j, nil
}

// prompt renders messages and cuts them into tokens, at least one.
func (e *Engine) prompt(messages []backend.Message) ([]llama.Token, tiling, error) {
	parts, err := e.model.chat.render(messages)
	if err != nil {
		return nil, tiling{}, err
	}
	vocab := e.model.vocab
	if vocab.atLeast(parts) > e.info.Context {
		return nil, tiling{}, &backend.TooLongError{Limit: e.info.Context}
	}
	prompt := vocab.prompt(parts)
	if len(prompt) == 0 {
		return nil, tiling{}, fmt.Errorf("%w: the prompt has no tokens", backend.ErrInvalid)
	}
	before, until := lastParagraph(parts)
	last := common(prompt, vocab.prompt(before))
	border := common(prompt, vocab.prompt(until))
	// Behind the last tile there must be room to round a piece up.
	return prompt, newTiling(last, min(border, len(prompt)-1, e.info.Context-block)), nil
}

// lastParagraph returns what stands in a prompt before its last message, and until the last paragraph of that.
func lastParagraph(parts []part) (before, until []part) {
	for i := len(parts) - 1; i >= 0; i-- {
		if p := parts[i]; !p.template {
			at := max(0, strings.LastIndex(p.text, "\n\n"))
			return parts[:i], append(parts[:i:i], part{text: p.text[:at]})
		}
	}
	return nil, nil
}

// Close frees the model. Calls in flight return [backend.ErrClosed]; the pass that is being computed is
// waited for.
func (e *Engine) Close() error {
	e.closing.Do(func() { close(e.quit) })
	<-e.gone
	return nil
}

// enter lets a caller use the model until it calls leave.
func (e *Engine) enter(ctx context.Context) (leave func(), err error) {
	e.users.RLock()
	if err := e.refuse(ctx); err != nil {
		e.users.RUnlock()
		return nil, err
	}
	return e.users.RUnlock, nil
}

// refuse returns the reason to work no more for a caller, if there is one.
func (e *Engine) refuse(ctx context.Context) error {
	select {
	case <-e.quit:
		return backend.ErrClosed
	default:
		return ctx.Err()
	}
}

// hand gives the owner a piece of work.
func hand[T any](ctx context.Context, e *Engine, to chan<- T, work T) error {
	select {
	case to <- work:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.quit:
		return backend.ErrClosed
	}
}

// await waits for the outcome of work.
func await[T any](ctx context.Context, e *Engine, from <-chan T) (outcome T, err error) {
	select {
	case outcome = <-from:
		return outcome, nil
	case <-ctx.Done():
		return outcome, ctx.Err()
	case <-e.quit:
		return outcome, backend.ErrClosed
	}
}

// own is the goroutine that owns the model: it computes while there is work, and frees the model in the end.
func (e *Engine) own() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	writer, translator, reader := e.model.writer, e.model.translator, e.model.reader
	busy := false
	for e.receive(busy) {
		busy = false
		if writer != nil {
			start := time.Now()
			busy = writer.turn()
			e.model.count.busy.Add(int64(time.Since(start)))
		}
		if translator != nil {
			busy = translator.turn()
		}
		if reader != nil {
			busy = reader.turn() || busy
		}
	}
	e.users.Lock() // no caller uses the model now, and none will
	e.model.free()
	e.users.Unlock()
	close(e.gone)
}

// receive takes the work that has come, and waits for some if the owner has nothing to do. It returns
// false when the engine is being closed.
func (e *Engine) receive(busy bool) bool {
	for {
		if e.refuse(context.Background()) != nil {
			return false
		}
		if busy {
			select {
			case j := <-e.jobs:
				e.model.take(j)
			case t := <-e.texts:
				e.model.reader.waiting = append(e.model.reader.waiting, t)
			default:
				return true
			}
			continue
		}
		select {
		case <-e.quit:
			return false
		case j := <-e.jobs:
			e.model.take(j)
		case t := <-e.texts:
			e.model.reader.waiting = append(e.model.reader.waiting, t)
		}
		busy = true
	}
}
