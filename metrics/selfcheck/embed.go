package selfcheck

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
)

func embed() variant {
	return variant{
		Metric: metrics.Metric{
			Name: "faithfulness/selfcheck_embed",
			Doc: "consistency with other answers of the system: mean similarity of the answer's sentences to the nearest " +
				"sentence of each",
			Source:  source + ".1, with cosines of whole sentences in place of BERTScore",
			Formula: "mean over sentences and other answers of the highest cosine with a sentence of it",
			Calls:   "each sentence to embed",
			Min:     -1,
			Asks:    metrics.Asks{backend.Embedder: backend.CanEmbed},
		},
		compare: compareEmbedded,
	}
}

func compareEmbedded(ctx context.Context, m metrics.Models, s *metrics.Sample, others []string) (metrics.Score, error) {
	own, err := sentences(s)
	if err != nil {
		return metrics.Score{}, err
	}
	all := slices.Clone(own)
	var ends []int // of each other answer's sentences in all
	for _, text := range others {
		all = append(all, metrics.Worded(text)...)
		ends = append(ends, len(all))
	}
	vectors, err := ask.Embed(ctx, m, all)
	if err != nil {
		return metrics.Score{}, err
	}
	means := make([]float64, len(own))
	for i := range own {
		from, n := len(own), 0
		for _, end := range ends {
			if from == end {
				continue // an answer without words
			}
			best := -1.0
			for _, v := range vectors[from:end] {
				best = max(best, ask.Cosine(vectors[i], v))
			}
			means[i] += best
			from, n = end, n+1
		}
		if n == 0 {
			return metrics.Score{}, fmt.Errorf("%w: none of the other answers holds a word", metrics.ErrNotApplicable)
		}
		means[i] /= float64(n)
	}
	return mean(own, means), nil
}
