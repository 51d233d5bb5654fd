package gollama

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/models/gguf"
)

// An Engine is a loaded model. See [backend.Backend] for its methods.
type Engine struct {
	info    backend.Info
	model   binding
	longest int      // token, in bytes
	control []string // texts that the tokenizer reads as control tokens

	inUse chan struct{} // holds one while the model is in use, and for good once it is freed
	life  context.Context
	end   context.CancelFunc
	close sync.Once
}

func newEngine(info backend.Info, model binding, file *gguf.Header) *Engine {
	e := &Engine{
		info:    info,
		model:   model,
		longest: max(longest(file), len(unknown)),
		control: control(model, file),
		inUse:   make(chan struct{}, 1),
	}
	e.life, e.end = context.WithCancel(context.Background())
	return e
}

// unknown is what llama.cpp writes for the unknown token.
const unknown = "\u2585"

// control returns the texts that would reach the model as control tokens. The old llama.cpp looks for none in a
// text, but the tokenizer of Llama joins letters to whatever token they spell, if it gets there step by step.
func control(model binding, file *gguf.Header) []string {
	const controlType = 3
	words, _ := file.Strings("tokenizer.ggml.tokens")
	types, _ := file.Ints("tokenizer.ggml.token_type")
	var list []string
	for id := range min(len(words), len(types)) {
		if types[id] != controlType || words[id] == "" || strings.ContainsRune(words[id], 0) {
			continue
		}
		for _, before := range []string{"", "a", "\n"} {
			_, ids := model.tokens(before + words[id])
			if len(ids) > 0 && ids[len(ids)-1] == int32(id) {
				list = append(list, words[id])
				break
			}
		}
	}
	return list
}

// Info implements [backend.Backend].
func (e *Engine) Info() backend.Info { return e.info }

// Generate implements [backend.Backend]. The messages are put in the plain format.
func (e *Engine) Generate(ctx context.Context, req *backend.GenerateRequest) (*backend.Generation, error) {
	if !e.info.Ops.Has(backend.CanGenerate) {
		return nil, backend.Unsupported(e.info, backend.CanGenerate)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if needs := req.Needs(); !e.info.Ops.Has(needs) {
		return nil, backend.Unsupported(e.info, needs)
	}
	if req.Schema != nil {
		return nil, backend.Unsupported(e.info, backend.CanConstrain)
	}
	prompt := render(req.Messages)
	if err := e.plain(prompt); err != nil {
		return nil, err
	}
	return alone(ctx, e, func(ctx context.Context) (*backend.Generation, error) {
		return e.generate(ctx, prompt, req)
	})
}

// generate is Generate once the model is ours.
func (e *Engine) generate(
	ctx context.Context, prompt string, req *backend.GenerateRequest,
) (*backend.Generation, error) {
	n, err := e.count(prompt, req.MaxTokens)
	if err != nil {
		return nil, err
	}
	r := newReply(req)
	err = e.model.predict(prediction{
		prompt:      prompt,
		room:        (n+req.MaxTokens+1)*e.longest + 1,
		temperature: req.Sampling.Temperature,
		topP:        topP(req.Sampling),
		topK:        min(req.Sampling.TopK, math.MaxInt32),
		seed:        seed(req),
	}, func(piece string) bool { return ctx.Err() == nil && r.add(piece) })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("go-llama.cpp: %w (what llama.cpp says of it is on standard error)", err)
	}
	return &backend.Generation{Text: r.String(), Stop: r.stop(), PromptTokens: n, OutputTokens: r.count}, nil
}

// topP returns the nucleus as llama.cpp takes it.
func topP(s backend.Sampling) float64 {
	if s.TopP == 0 {
		return 1
	}
	return s.TopP
}

// seed returns a draw's seed. The binding has 32 bits for it, one of which would make it choose by the clock.
func seed(req *backend.GenerateRequest) int {
	s := req.DrawSeed()
	return int((s ^ s>>32) & math.MaxInt32)
}

// Encode implements [backend.Backend] for embeddings: the binding gives one vector for a text, the last layer's output
// at its last token, and knows no classification heads.
func (e *Engine) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	if op := req.Output.Op(); !e.info.Ops.Has(op) {
		return nil, backend.Unsupported(e.info, op)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	for i, p := range req.Inputs {
		if err := e.plain(p.Text); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	return alone(ctx, e, func(ctx context.Context) (*backend.Encoding, error) {
		answer := &backend.Encoding{}
		for i, p := range req.Inputs {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			v, err := e.embed(p.Text)
			if err != nil {
				return nil, fmt.Errorf("text %d: %w", i, err)
			}
			answer.Items = append(answer.Items, backend.Encoded{Vectors: [][]float32{v}})
		}
		return answer, nil
	})
}

// embed embeds one text.
func (e *Engine) embed(text string) ([]float32, error) {
	n, err := e.count(text, 0)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: an empty text has no tokens for this model", backend.ErrInvalid)
	}
	v, err := e.model.embed(text)
	if err != nil {
		return nil, fmt.Errorf("go-llama.cpp: %w", err)
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 0) {
		return nil, errors.New("the model gave a vector without a direction: it may not be one for embeddings")
	}
	unit := make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) / length)
	}
	return unit, nil
}

// Score implements [backend.Backend]: the binding gives no probabilities.
func (e *Engine) Score(context.Context, *backend.ScoreRequest) (*backend.Scores, error) {
	return nil, backend.Unsupported(e.info, backend.CanScore)
}

// Close implements [backend.Backend]. The model's memory is given back when the call in flight has ended.
func (e *Engine) Close() error {
	e.close.Do(func() {
		e.end()
		go func() {
			e.inUse <- struct{}{}
			e.model.free()
		}()
	})
	return nil
}

// plain reports text that would not reach the model as it is.
func (e *Engine) plain(text string) error {
	if at := strings.IndexByte(text, 0); at >= 0 {
		return fmt.Errorf("%w: go-llama.cpp would cut the text at its zero byte", backend.ErrInvalid)
	}
	for _, c := range e.control {
		if strings.Contains(text, c) {
			return fmt.Errorf("%w: go-llama.cpp would read the text's %q as a control token", backend.ErrInvalid, c)
		}
	}
	return nil
}

// count returns how many tokens a text takes, if they fit with as many more.
func (e *Engine) count(text string, more int) (int, error) {
	limit := e.info.Context
	if more > limit || len(text) > (limit+1)*e.longest { // without cutting up what is far too long
		return 0, &backend.TooLongError{Limit: limit}
	}
	n, _ := e.model.tokens(text)
	if n+more > limit {
		return 0, &backend.TooLongError{Tokens: n + more, Limit: limit}
	}
	return n, nil
}

// alone runs f when the model is free. The context that f gets ends with the engine, too. Where it ends in the
// middle of a prompt the model cannot be stopped: alone returns, and the model goes on until it can.
func alone[T any](ctx context.Context, e *Engine, f func(context.Context) (T, error)) (T, error) {
	var none T
	if e.life.Err() != nil || ctx.Err() != nil {
		return none, e.ended(ctx)
	}
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	select {
	case e.inUse <- struct{}{}:
	case <-both.Done():
		return none, e.ended(ctx)
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: both.Err()}
		if a.err == nil {
			a.value, a.err = f(both)
		}
		<-e.inUse
		done <- a
	}()
	select {
	case a := <-done:
		if a.err != nil && a.err == both.Err() {
			return none, e.ended(ctx)
		}
		return a.value, a.err
	case <-both.Done():
		return none, e.ended(ctx)
	}
}

// ended says why a call cannot go on.
func (e *Engine) ended(ctx context.Context) error {
	if e.life.Err() != nil {
		return backend.ErrClosed
	}
	return ctx.Err()
}
