package llama

import (
	"context"
	"fmt"
	"math"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// A textJob is a call of Embed, EmbedTokens or Rerank: texts as tokens, and what has become of them so far.
type textJob struct {
	ctx    context.Context
	texts  [][]llama.Token
	each   bool          // each token is to have a vector, rather than the text one
	answer [][][]float32 // of each text
	done   chan reading  // takes one
}

// A reading is the vectors of each text.
type reading struct {
	vectors [][][]float32
	err     error
}

// Embed returns one vector of length 1 per text, pooled as the model says. See [backend.Backend].
func (e *Engine) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if !e.info.Ops.Has(backend.CanEmbed) {
		return nil, backend.Unsupported(e.info, backend.CanEmbed)
	}
	for i, text := range texts {
		if err := backend.CheckText(text); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	return read(ctx, e, "text", texts, func(text string) []llama.Token { return e.model.vocab.tokens(text, true) })
}

// read cuts items into tokens and has the reader read them: one vector for each. An item is called what it is
// in errors.
func read[T any](ctx context.Context, e *Engine, what string, items []T, cut func(T) []llama.Token) ([][]float32, error) {
	j, err := newTextJob(ctx, e, what, items, cut)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	all, err := e.vectors(ctx, j)
	if err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(all))
	for i, v := range all {
		vectors[i] = v[0]
	}
	return vectors, nil
}

// vectors hands the owner a job and waits for its outcome.
func (e *Engine) vectors(ctx context.Context, j *textJob) ([][][]float32, error) {
	if err := hand(ctx, e, e.texts, j); err != nil {
		return nil, err
	}
	o, err := await(ctx, e, j.done)
	if err != nil {
		return nil, err
	}
	return o.vectors, o.err
}

func newTextJob[T any](ctx context.Context, e *Engine, what string, items []T, cut func(T) []llama.Token) (*textJob, error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	j := &textJob{ctx: ctx, done: make(chan reading, 1)}
	for i, item := range items {
		if err := e.refuse(ctx); err != nil {
			return nil, err
		}
		tokens := cut(item)
		switch {
		case len(tokens) > e.info.Context:
			return nil, fmt.Errorf("%s %d: %w", what, i, &backend.TooLongError{Tokens: len(tokens), Limit: e.info.Context})
		case len(tokens) == 0:
			return nil, fmt.Errorf("%s %d: %w: an empty text has no tokens for this model", what, i, backend.ErrInvalid)
		}
		j.texts = append(j.texts, tokens)
	}
	return j, nil
}

// A reader embeds texts and tokens, or runs the classification head on texts. It belongs to the engine's owner.
//
// Each text is computed alone. Packing texts into one pass would move the last bits of a vector with the
// texts that happen to stand beside it, and on a processor it gains nothing: measured, passes of 16 texts took
// 0.6 to 4 times as long per text as passes of one.
type reader struct {
	runner
	each    *runner                 // computes a vector for each token; nil until that is first asked for
	newEach func() (*runner, error) // makes it

	batch  llama.Batch
	width  int  // of a vector
	causal bool // a decoder
	ranks  bool // the vector is a classification head's

	waiting []*textJob

	count *counters
}

// turn reads the next text. It reports whether there are more.
func (r *reader) turn() bool {
	if len(r.waiting) == 0 {
		return false
	}
	j := r.waiting[0]
	r.waiting = r.waiting[1:]
	err := j.ctx.Err()
	if err == nil {
		var v [][]float32
		text := j.texts[len(j.answer)]
		read := r.read
		if j.each {
			read = r.readEach
		}
		if v, err = read(text); err == nil {
			j.answer = append(j.answer, v)
			r.count.texts.Add(1)
			r.count.textTokens.Add(int64(len(text)))
		}
	}
	switch {
	case err != nil:
		j.done <- reading{err: err}
	case len(j.answer) == len(j.texts):
		j.done <- reading{vectors: j.answer}
	default:
		r.waiting = append(r.waiting, j) // to the back: a small job does not wait for a large one
	}
	return len(r.waiting) > 0
}

// read computes one text's vector.
func (r *reader) read(tokens []llama.Token) ([][]float32, error) {
	if err := r.compute(&r.runner, tokens); err != nil {
		return nil, err
	}
	v, err := llama.GetEmbeddingsSeq(r.ctx, 0, int32(r.width))
	if err != nil {
		return nil, err
	}
	if r.ranks {
		v, err = finite(v)
	} else {
		v, err = unit(v)
	}
	return [][]float32{v}, err
}

// compute computes a text with one of the reader's two contexts. A decoder's cache is emptied first.
func (r *reader) compute(with *runner, tokens []llama.Token) error {
	r.batch.Clear()
	for i, t := range tokens {
		if err := r.batch.Add(t, llama.Pos(i), []llama.SeqId{0}, true); err != nil {
			return err
		}
	}
	if !r.causal {
		return with.run(llama.Encode, r.batch)
	}
	mem, err := llama.GetMemory(with.ctx)
	if err != nil {
		return err
	}
	if mem != 0 { // a decoder without one is given whole texts anyway
		if err := llama.MemoryClear(mem, false); err != nil {
			return err
		}
	}
	return with.run(llama.Decode, r.batch)
}

func (r *reader) free() {
	llama.BatchFree(r.batch)
	if r.each != nil {
		llama.Free(r.each.ctx)
	}
	llama.Free(r.ctx)
}

// unit returns a copy of v of length 1.
func unit(v []float32) ([]float32, error) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 0) {
		return nil, fmt.Errorf("the model gave a vector of length %v: its file may be damaged", length)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / length)
	}
	return out, nil
}
