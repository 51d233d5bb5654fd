package llama

import (
	"context"
	"fmt"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/chat"
	"github.com/assay-eval/assay/models/head"
)

// A textJob is a call of Encode: texts as tokens, and what has become of them so far.
type textJob struct {
	ctx    context.Context
	texts  [][]llama.Token
	output backend.Output
	answer [][][]float32 // of each text
	done   chan reading  // takes one
}

// A reading is the vectors of each text.
type reading struct {
	vectors [][][]float32
	err     error
}

// Encode reads each text or pair and returns what the model says of it: a vector of length 1, pooled as the model
// says; what its last layer says of each token, before any pooling; or the output of its classification head, as
// llama.cpp gives it. Over that no sigmoid is put; of the Qwen3 family it is a softmax already. See
// [backend.Backend].
func (e *Engine) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	if op := req.Output.Op(); !e.info.Ops.Has(op) {
		return nil, backend.Unsupported(e.info, op)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	if needs := req.Needs(); !e.info.Ops.Has(needs) {
		return nil, backend.Unsupported(e.info, needs)
	}
	inputs, err := e.inputs(ctx, req)
	if err != nil {
		return nil, err
	}
	j := &textJob{ctx: ctx, output: req.Output, done: make(chan reading, 1)}
	for _, in := range inputs {
		if !in.silent() {
			j.texts = append(j.texts, in.tokens)
		}
	}
	var vectors [][][]float32
	if len(j.texts) > 0 {
		if vectors, err = e.vectors(ctx, j); err != nil {
			return nil, err
		}
	}
	answer := &backend.Encoding{Items: make([]backend.Encoded, len(inputs))}
	for i, in := range inputs {
		if in.silent() {
			continue
		}
		answer.Items[i].Vectors, vectors = vectors[0], vectors[1:]
		if in.framed {
			answer.Items[i] = in.own(answer.Items[i].Vectors)
		}
	}
	return answer, nil
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

// inputs cuts the inputs of a request into tokens. One that is too long is an error, and so is one without tokens,
// unless it is its tokens that are asked for.
func (e *Engine) inputs(ctx context.Context, req *backend.EncodeRequest) ([]input, error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	list := make([]input, len(req.Inputs))
	for i, p := range req.Inputs {
		if err := e.refuse(ctx); err != nil {
			return nil, err
		}
		in, err := e.model.input(req.Output, p)
		unknown := e.model.vocab.unknown(chat.Marked(p.Text, p.Marks))
		switch {
		case err != nil:
		case unknown != "":
			err = backend.UnknownToken(e.info, unknown)
		case len(in.tokens) > e.info.Context:
			err = &backend.TooLongError{Tokens: len(in.tokens), Limit: e.info.Context}
		case len(in.tokens) == 0 && !in.framed:
			err = fmt.Errorf("%w: an empty text has no tokens for this model", backend.ErrInvalid)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", req.Kind(), i, err)
		}
		list[i] = in
	}
	return list, nil
}

// An input is a text or pair as tokens, special tokens included.
type input struct {
	tokens []llama.Token
	framed bool           // its own tokens are asked for, which are
	start  int            // tokens[start:start+len(pieces)]
	pieces []string       // of its own tokens
	spans  []backend.Span // of these, where labels are asked for
}

// silent reports whether an input is known to have no answer without being read.
func (in input) silent() bool { return in.framed && len(in.pieces) == 0 }

// own returns an input's own tokens with their vectors, which are among vectors.
func (in input) own(vectors [][]float32) backend.Encoded {
	vectors = vectors[in.start : in.start+len(in.pieces)]
	if in.spans != nil {
		return backend.Encoded{Spans: in.spans, Vectors: vectors}
	}
	return backend.Encoded{Tokens: in.pieces, Vectors: vectors}
}

// input cuts a text or pair into tokens as an output needs them.
func (m *model) input(output backend.Output, p backend.Pair) (input, error) {
	switch output {
	case backend.TokenEmbeddings:
		return m.frame(p.Text)
	case backend.TokenOutputs:
		return m.label(p)
	case backend.HeadOutputs:
		tokens, err := m.pair(p)
		return input{tokens: tokens}, err
	}
	return input{tokens: m.vocab.tokens(p.Text, true)}, nil
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
	width  int        // of a vector
	causal bool       // a decoder
	ranks  bool       // the vector is a classification head's
	head   *head.Head // which is computed here; nil if llama.cpp computes it

	waiting []*textJob

	count *counters
}

// round reads the next text. It reports whether there are more.
func (r *reader) round() bool {
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
		switch j.output {
		case backend.TokenEmbeddings:
			read = r.readEach
		case backend.TokenOutputs:
			read = r.readLabels
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
	switch {
	case r.head != nil:
		if v, err = r.head.Apply(v); err == nil {
			v, err = finite(v)
		}
	case r.ranks:
		v, err = finite(v)
	default:
		v, err = backend.UnitVector(v)
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
