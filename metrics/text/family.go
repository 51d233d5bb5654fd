// Package text has the lexical metrics: n-gram overlap, longest common subsequence and edit distance between an answer
// and its references, contexts or question. They ask no model (no Ops), and are deterministic.
//
//   - Exact match, containment, token precision, recall and F1: SQuAD (Rajpurkar et al. 2016, arXiv 1606.05250) and
//     unitxt; K-precision against the contexts (Adlakha et al. 2024, arXiv 2307.16877).
//   - ROUGE-1, -2, -L, -Lsum (Lin 2004), as the rouge_score package computes it.
//   - BLEU (Papineni et al. 2002) and chrF (Popović 2015), as sacrebleu does; Google BLEU (Wu et al. 2016) and METEOR
//     without WordNet (Lavie and Agarwal 2007), as NLTK does.
//   - Levenshtein, Hamming, Jaro and Jaro-Winkler similarity, as RapidFuzz does.
package text

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// Metrics are the lexical metrics.
func Metrics() []metrics.Metric {
	return slices.Concat(lexicalMetrics(), unitxtMetrics(), overlapMetrics())
}
