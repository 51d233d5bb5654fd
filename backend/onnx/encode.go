package onnx

import (
	"context"
	"errors"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/tokenizer"
)

// Encode reads each text or pair and returns what the model says of it: a vector of length 1, the mean of what its last
// layer says of each token unless the model says otherwise; that of each token; the logits of its classification head;
// or those of its token classification head for each token. See [backend.Backend].
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
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	answer, err := e.encode(ctx, req)
	if err == nil {
		return answer, nil
	}
	if ended := e.refuse(ctx); ended != nil {
		return nil, ended
	}
	return nil, err
}

// encode computes the inputs side by side. All are cut into tokens first, so that one that is too long costs little.
func (e *Engine) encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	ctx, cancel := e.until(ctx)
	defer cancel()
	inputs := make([]input, len(req.Inputs))
	for i, p := range req.Inputs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var err error
		if inputs[i], err = e.tokens(req.Output, p); err != nil {
			return nil, fmt.Errorf("%s %d: %w", req.Kind(), i, err)
		}
	}
	answer := &backend.Encoding{Items: make([]backend.Encoded, len(inputs))}
	group, all := errgroup.WithContext(ctx)
	group.SetLimit(e.info.Slots)
	for i := range inputs {
		if all.Err() != nil {
			break
		}
		group.Go(func() (err error) {
			answer.Items[i], err = e.compute(all, req.Output, inputs[i])
			if err != nil {
				err = fmt.Errorf("%s %d: %w", req.Kind(), i, err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return answer, ctx.Err()
}

// one encodes one input.
func (e *Engine) one(ctx context.Context, output backend.Output, p backend.Pair) (backend.Encoded, error) {
	in, err := e.tokens(output, p)
	if err != nil {
		return backend.Encoded{}, err
	}
	return e.compute(ctx, output, in)
}

// An input is a text or a pair, cut into tokens.
type input struct {
	tokenizer.Encoded
	own   []int          // the places of the text's own tokens
	spans []backend.Span // where in the text they stand; of TokenOutputs alone
}

// tokens cuts an input into tokens. One that is too long is an error, and so is one without tokens, unless it is its
// tokens that are asked for.
func (e *Engine) tokens(output backend.Output, p backend.Pair) (in input, err error) {
	text := 0
	switch {
	case p.Query != "":
		in.Encoded, err = e.cutter.Pair(p.Query, p.Text)
		text = 1
	case len(p.Marks) > 0:
		in.Encoded, err = e.cutter.Marked(backend.Marked(p.Text, p.Marks))
	default:
		in.Encoded, err = e.cutter.Single(p.Text)
	}
	if unknown := (*tokenizer.UnknownError)(nil); errors.As(err, &unknown) {
		return in, backend.UnknownToken(e.info, unknown.Name)
	}
	n := len(in.IDs)
	each := output == backend.TokenEmbeddings || output == backend.TokenOutputs
	switch {
	case err != nil:
		return in, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	case len(in.Types) != n || len(in.Tokens) != n || len(in.Pairs) != n:
		return in, errors.New("the tokenizer gives lists of several lengths")
	case n > e.info.Context:
		return in, &backend.TooLongError{Tokens: n, Limit: e.info.Context}
	case n == 0 && !each:
		return in, fmt.Errorf("%w: an empty text has no tokens for this model", backend.ErrInvalid)
	}
	for i, of := range in.Pairs {
		if of == text {
			in.own = append(in.own, i)
		}
	}
	if output != backend.TokenOutputs {
		return in, nil
	}
	spans, err := e.cutter.Locate(p.Text)
	if err != nil {
		return in, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	if len(spans) != len(in.own) {
		return in, fmt.Errorf("the tokenizer finds %d of the text's %d tokens in it", len(spans), len(in.own))
	}
	for _, s := range spans {
		in.spans = append(in.spans, backend.Span{Low: s[0], High: s[1]})
	}
	return in, nil
}

// compute computes one input, as soon as a core is free.
func (e *Engine) compute(ctx context.Context, output backend.Output, in input) (backend.Encoded, error) {
	if len(in.own) == 0 && (output == backend.TokenEmbeddings || output == backend.TokenOutputs) {
		return backend.Encoded{}, nil
	}
	select {
	case e.cores <- struct{}{}:
		defer func() { <-e.cores }()
	case <-ctx.Done():
		return backend.Encoded{}, ctx.Err()
	}
	switch output {
	case backend.HeadOutputs:
		v, err := e.logits(ctx, in)
		if err == nil {
			err = finite(v)
		}
		return backend.Encoded{Vectors: [][]float32{v}}, err
	case backend.TokenOutputs:
		return e.labelled(ctx, in)
	case backend.Embedding:
		v, err := e.embedding(ctx, in)
		if err == nil {
			v, err = backend.UnitVector(v)
		}
		return backend.Encoded{Vectors: [][]float32{v}}, err
	}
	return e.each(ctx, in)
}

// run computes one output.
func (e *Engine) run(ctx context.Context, output string, in input) (Tensor, error) {
	var rows [][]int64
	for _, slot := range e.session.Inputs {
		row := in.IDs
		switch slot.Name {
		case "attention_mask":
			row = make([]int64, len(in.IDs))
			for i := range row {
				row[i] = 1
			}
		case "token_type_ids":
			row = in.Types
		case "position_ids":
			row = make([]int64, len(in.IDs))
			for i := range row {
				row[i] = e.origin + int64(i)
			}
		}
		rows = append(rows, row)
	}
	list, err := e.session.Run(ctx, rows, output)
	if err != nil {
		return Tensor{}, err
	}
	return list[0], nil
}

// vector computes an output that is one vector.
func (e *Engine) vector(ctx context.Context, output string, in input) ([]float32, error) {
	t, err := e.run(ctx, output, in)
	if err == nil && (len(t.Shape) != 2 || t.Shape[0] != 1 || t.Shape[1] == 0) {
		err = fmt.Errorf("its output %s has the shape %v for one text", output, t.Shape)
	}
	return t.Values, err
}

// logits computes what the classification head says.
func (e *Engine) logits(ctx context.Context, in input) ([]float32, error) {
	if !e.first {
		return e.vector(ctx, e.head, in)
	}
	rows, err := e.rows(ctx, e.head, in)
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// labelled computes what the token classification head says of each of a text's own tokens.
func (e *Engine) labelled(ctx context.Context, in input) (backend.Encoded, error) {
	rows, err := e.rows(ctx, e.labels, in)
	if err != nil {
		return backend.Encoded{}, err
	}
	item := backend.Encoded{Spans: in.spans}
	for _, i := range in.own {
		if err := finite(rows[i]); err != nil {
			return backend.Encoded{}, err
		}
		item.Vectors = append(item.Vectors, rows[i])
	}
	return item, nil
}

// rows computes an output that is a vector for each token.
func (e *Engine) rows(ctx context.Context, output string, in input) ([][]float32, error) {
	t, err := e.run(ctx, output, in)
	if err != nil {
		return nil, err
	}
	n := len(in.IDs)
	if len(t.Shape) != 3 || t.Shape[0] != 1 || t.Shape[1] != int64(n) || t.Shape[2] == 0 {
		return nil, fmt.Errorf("its output %s has the shape %v for one text of %d tokens", output, t.Shape, n)
	}
	width := int(t.Shape[2])
	rows := make([][]float32, n)
	for i := range rows {
		rows[i] = t.Values[i*width : (i+1)*width]
	}
	return rows, nil
}

// embedding computes a text's vector, of any length.
func (e *Engine) embedding(ctx context.Context, in input) ([]float32, error) {
	if e.sentence != "" {
		return e.vector(ctx, e.sentence, in)
	}
	rows, err := e.rows(ctx, e.hidden, in)
	if err != nil || e.pooling == "cls" {
		return append([][]float32{nil}, rows...)[min(1, len(rows))], err
	}
	mean := make([]float32, len(rows[0]))
	for k := range mean {
		sum := 0.0
		for _, row := range rows {
			sum += float64(row[k])
		}
		mean[k] = float32(sum / float64(len(rows)))
	}
	return mean, nil
}

// each computes a vector for each of a text's own tokens.
func (e *Engine) each(ctx context.Context, in input) (backend.Encoded, error) {
	rows, err := e.rows(ctx, e.hidden, in)
	if err != nil {
		return backend.Encoded{}, err
	}
	var item backend.Encoded
	for _, i := range in.own {
		v, err := backend.UnitVector(rows[i])
		if err != nil {
			return backend.Encoded{}, err
		}
		for k, x := range v {
			v[k] = backend.Brief(x)
		}
		item.Tokens = append(item.Tokens, in.Tokens[i])
		item.Vectors = append(item.Vectors, v)
	}
	return item, nil
}

// finite reports values that are not numbers.
func finite(v []float32) error {
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("the model's classification head gave %v: its file may be damaged", x)
		}
	}
	return nil
}
