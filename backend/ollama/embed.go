package ollama

import (
	"context"
	"fmt"
	"math"

	"github.com/ollama/ollama/api"

	"github.com/assay-eval/assay/backend"
)

// Texts are sent in batches of so many, and no more than so many bytes together, unless one alone is
// longer. Ollama embeds them one after the other whatever the batch; larger ones would only make what is lost
// larger when the server fails.
const (
	batchTexts = 64
	batchBytes = 1 << 20
)

// Encode implements [backend.Backend] for embeddings: Ollama gives no vectors of tokens and runs no classification
// heads. A single text that is too long fails the call: Ollama is told not to cut it.
func (e *Engine) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	if op := req.Output.Op(); !e.info.Ops.Has(op) {
		return nil, backend.Unsupported(e.info, op)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	texts := make([]string, len(req.Inputs))
	for i, p := range req.Inputs {
		texts[i] = p.Text
	}
	call, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	answer := &backend.Encoding{Items: make([]backend.Encoded, 0, len(texts))}
	dimensions := 0
	for len(answer.Items) < len(texts) {
		rest := texts[len(answer.Items):]
		more, err := e.embed(call, rest[:batch(rest)])
		if err != nil {
			e.doubt(err)
			return nil, err
		}
		if dimensions == 0 {
			dimensions = len(more[0])
		}
		if len(more[0]) != dimensions {
			return nil, fmt.Errorf("ollama gave vectors of %d, then of %d dimensions", dimensions, len(more[0]))
		}
		for _, v := range more {
			answer.Items = append(answer.Items, backend.Encoded{Vectors: [][]float32{v}})
		}
	}
	return answer, nil
}

// batch returns how many of the texts, at least one, to send first.
func batch(texts []string) int {
	n, size := 1, len(texts[0])
	for n < min(len(texts), batchTexts) && size+len(texts[n]) <= batchBytes {
		size += len(texts[n])
		n++
	}
	return n
}

// embed asks for the vectors of one batch.
func (e *Engine) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := e.verify(ctx); err != nil {
		return nil, err
	}
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	var resp *api.EmbedResponse
	if err := e.insist(ctx, size, func(ctx context.Context, x *exchange) (err error) {
		resp, err = x.client().Embed(ctx, &api.EmbedRequest{
			Model:     e.name,
			Input:     texts,
			KeepAlive: &api.Duration{Duration: keepAlive},
			Truncate:  new(false),
			Options:   e.loading(),
		})
		return err
	}); err != nil {
		return nil, e.explain(ctx, err)
	}
	if len(resp.Embeddings) != len(texts) {
		return nil, fmt.Errorf("ollama gave %d vectors for %d texts", len(resp.Embeddings), len(texts))
	}
	for i, v := range resp.Embeddings {
		if len(v) == 0 || len(v) != len(resp.Embeddings[0]) {
			return nil, fmt.Errorf("ollama gave vectors of %d and of %d dimensions", len(resp.Embeddings[0]), len(v))
		}
		if !normalize(v) {
			return nil, fmt.Errorf("ollama gave a vector of length 0 or not finite for the text %.60q", texts[i])
		}
	}
	return resp.Embeddings, nil
}

// normalize scales a vector to length 1, and reports whether it could.
func normalize(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return true
}
