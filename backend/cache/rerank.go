package cache

import (
	"context"

	"github.com/assay-eval/assay/backend"
)

// Rerank asks the engine.
func (b *Backend) Rerank(ctx context.Context, pairs []backend.Pair) ([][]float32, error) {
	return b.engine.Rerank(ctx, pairs)
}
