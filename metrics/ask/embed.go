package ask

import (
	"context"
	"fmt"
	"math"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// Norm is the Euclidean length of a vector.
func Norm(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// Cosine is the cosine of the angle between two vectors that [Embed] returned, in [-1, 1].
func Cosine(a, b []float32) float64 {
	dot := 0.0
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return min(1, max(-1, dot/(Norm(a)*Norm(b))))
}

// Embed returns one embedding per text and notes their cache keys. The vectors are finite and not zero, and all
// of one dimension.
func Embed(ctx context.Context, m metrics.Models, texts []string) ([][]float32, error) {
	vectors, err := backend.Embed(ctx, m.Role(backend.Embedder), texts)
	if err != nil {
		return nil, fmt.Errorf("embedding: %w", err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embedding: %d vectors for %d texts", len(vectors), len(texts))
	}
	info := m.Role(backend.Embedder).Info()
	for i, v := range vectors {
		m.Note(backend.EncodeKey(info, backend.Embedding, backend.Pair{Text: texts[i]}), 0, 0)
		if n := Norm(v); len(v) != len(vectors[0]) || !(n > 0) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("embedding: the vector of %q is not usable: %d numbers, length %v",
				metrics.Bounded(texts[i]), len(v), n)
		}
	}
	return vectors, nil
}
