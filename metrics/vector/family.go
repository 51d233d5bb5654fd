// Package vector has the metrics that compare embeddings, and those that a cross-encoder scores.
//
//   - One embedding per text (backend.CanEmbed), compared by cosine: the methods cosine. answer_similarity/cosine is
//     Ragas' semantic similarity.
//   - Token embeddings (backend.CanEmbedTokens): BERTScore's greedy alignment (Zhang et al. 2020, arXiv 1904.09675),
//     with inverse document frequency or without; MoverScore's optimal transport (Zhao et al. 2019, arXiv
//     1909.02622); and alignment, the mean of exact and soft token matches.
//   - A cross-encoder's classification head on pairs of texts (backend.CanClassify): the methods encoder, after ARES
//     (Saad-Falcon et al. 2024, arXiv 2311.09476).
//
// [Frequencies] are the document frequencies of tokens in a dataset's references, which a [metrics.Preparation] counts.
package vector

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// Metrics are the metrics that ask an embedding model or a cross-encoder.
func Metrics() []metrics.Metric {
	return slices.Concat(embeddingMetrics(), encoderMetrics())
}
