package llama

import (
	"context"

	"github.com/assay-eval/assay/backend"
)

// Rerank is not supported yet.
func (e *Engine) Rerank(context.Context, []backend.Pair) ([][]float32, error) {
	return nil, backend.Unsupported(e.info, backend.CanRerank)
}
