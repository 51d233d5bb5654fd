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

// Embed implements [backend.Backend]. A single text that is too long fails the call: Ollama is told not to
// cut it.
func (e *Engine) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if !e.info.Ops.Has(backend.CanEmbed) {
		return nil, backend.Unsupported(e.info, backend.CanEmbed)
	}
	for i, text := range texts {
		if err := backend.CheckText(text); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	call, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	vectors := make([][]float32, 0, len(texts))
	for len(vectors) < len(texts) {
		n := batch(texts[len(vectors):])
		more, err := e.embed(call, texts[len(vectors):len(vectors)+n])
		if err != nil {
			e.doubt(err)
			return nil, err
		}
		vectors = append(vectors, more...)
		if len(vectors[0]) != len(more[0]) {
			return nil, fmt.Errorf("ollama gave vectors of %d, then of %d dimensions", len(vectors[0]), len(more[0]))
		}
	}
	return vectors, nil
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
	x := e.server.exchange()
	resp, err := x.client().Embed(ctx, &api.EmbedRequest{
		Model:     e.name,
		Input:     texts,
		KeepAlive: &api.Duration{Duration: keepAlive},
		Truncate:  new(false),
		Options:   e.loading(),
	})
	if err := x.outcome(ctx, err); err != nil {
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
