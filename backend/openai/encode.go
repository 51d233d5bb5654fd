package openai

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai/wire"
)

// Texts are sent in batches of so many, and no more than so many bytes together, unless one alone is longer.
const (
	batchTexts = 64
	batchBytes = 1 << 20
)

// Encode implements [backend.Backend] for embeddings and, on servers whose /v1/rerank gives the head's own number
// (llama-server, vLLM, "assay serve"), for pairs.
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
	call, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	answer := &backend.Encoding{Items: make([]backend.Encoded, 0, len(req.Inputs))}
	for len(answer.Items) < len(req.Inputs) {
		rest := req.Inputs[len(answer.Items):]
		more, err := e.encode(call, req.Output, rest[:e.batch(req.Output, rest)])
		if err != nil {
			e.doubt(err)
			return nil, err
		}
		for _, v := range more {
			if first := append(answer.Items, backend.Encoded{Vectors: [][]float32{v}})[0].Vectors[0]; len(v) != len(first) {
				return nil, fmt.Errorf("the server gave vectors of %d, then of %d numbers", len(first), len(v))
			}
			answer.Items = append(answer.Items, backend.Encoded{Vectors: [][]float32{v}})
		}
	}
	return answer, nil
}

// batch returns how many of the inputs, at least one, to send first: pairs with one query, and by itself a text that
// could be longer than the context, where only the tokens of the whole batch tell whether it was cut.
func (e *Engine) batch(output backend.Output, inputs []backend.Pair) int {
	n, size := 1, len(inputs[0].Text)
	for n < min(len(inputs), batchTexts) && inputs[n].Query == inputs[0].Query {
		size += len(inputs[n].Text)
		if size > batchBytes || e.mayCut(inputs[n]) || e.mayCut(inputs[0]) {
			break
		}
		n++
	}
	return n
}

// mayCut reports whether the server could cut an input without a word: it has a byte at least for every token.
func (e *Engine) mayCut(p backend.Pair) bool {
	const around = 4 // tokens that a model puts around a text
	return e.said.kind != llamaServer && e.said.kind != assay && e.info.Context > 0 && len(p.Text)+around > e.info.Context
}

// encode asks for the answers to one batch.
func (e *Engine) encode(ctx context.Context, output backend.Output, inputs []backend.Pair) ([][]float32, error) {
	if err := e.verify(ctx); err != nil {
		return nil, err
	}
	var vectors [][]float32
	var err error
	if output == backend.HeadOutputs {
		vectors, err = e.rerank(ctx, inputs, false)
	} else {
		vectors, err = e.embed(ctx, inputs)
	}
	return vectors, e.explain(err)
}

// embed asks for vectors.
func (e *Engine) embed(ctx context.Context, inputs []backend.Pair) ([][]float32, error) {
	req := wire.EmbeddingRequest{Model: e.said.model, EncodingFormat: "float"}
	size := 0
	for _, p := range inputs {
		req.Input = append(req.Input, wire.Prompt{Text: p.Text})
		size += len(p.Text)
	}
	var answer wire.Embeddings
	if err := e.client.ask(ctx, e.limit(size, 0), e.client.route("embeddings"), req, &answer); err != nil {
		return nil, err
	}
	if len(inputs) == 1 && e.mayCut(inputs[0]) && (answer.Usage == nil || answer.Usage.PromptTokens >= e.info.Context) {
		return nil, &backend.TooLongError{Limit: e.info.Context}
	}
	vectors := make([][]float32, len(inputs))
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= len(vectors) || vectors[d.Index] != nil {
			return nil, fmt.Errorf("the server gave a vector for text %d of %d, or two", d.Index, len(vectors))
		}
		v, err := backend.UnitVector(d.Vector.Values)
		if err != nil {
			return nil, fmt.Errorf("the text %.60q: %w", inputs[d.Index].Text, err)
		}
		vectors[d.Index] = v
	}
	if len(answer.Data) != len(inputs) {
		return nil, fmt.Errorf("the server gave %d vectors for %d texts", len(answer.Data), len(inputs))
	}
	return vectors, nil
}

// rerank asks for the numbers of pairs with one query: the head's own or, where the server can put a function over them,
// what that makes of them.
func (e *Engine) rerank(ctx context.Context, inputs []backend.Pair, activated bool) ([][]float32, error) {
	req := struct {
		Model     string   `json:"model"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"` // llama-server takes no objects
		TopN      int      `json:"top_n"`
		Activated *bool    `json:"use_activation,omitempty"` // vLLM
	}{Model: e.said.model, Query: inputs[0].Query, TopN: len(inputs)}
	if e.said.kind == vllm {
		req.Activated = &activated
	}
	size := 0
	for _, p := range inputs {
		req.Documents = append(req.Documents, p.Text)
		size += len(p.Query) + len(p.Text)
	}
	var answer wire.Reranked
	if err := e.client.ask(ctx, e.limit(size, 0), e.client.route("rerank"), req, &answer); err != nil {
		return nil, err
	}
	numbers := make([][]float32, len(inputs))
	for _, r := range answer.Results {
		if r.Index < 0 || r.Index >= len(numbers) || numbers[r.Index] != nil || !wire.Finite(r.Score) {
			return nil, fmt.Errorf("the server gave %v for pair %d of %d, or two numbers", r.Score, r.Index, len(numbers))
		}
		numbers[r.Index] = []float32{float32(r.Score)}
	}
	if len(answer.Results) != len(inputs) {
		return nil, fmt.Errorf("the server gave %d numbers for %d pairs", len(answer.Results), len(inputs))
	}
	return numbers, nil
}
