// Package judged has the metrics whose judge replies in words: statement extraction (claim decomposition) and a verdict
// on each statement, questions derived from an answer, copied sentences, ratings.
//
// They ask the judge to generate (backend.CanGenerate), most by constrained decoding where the engine can; the
// relevance of an answer also embeds (backend.CanEmbed), and faithfulness/claims_logit takes its verdicts from
// first-token scoring (backend.CanChoose).
//
//   - The paper's own methods: faithfulness/claims, answer_relevance/questions, context_relevance/sentences. RAGAS: Es
//     et al. 2023, arXiv 2309.15217.
//   - Those of Ragas 0.4: context_precision, context_recall, answer_correctness/claims_f1, noise_sensitivity, the dual
//     ratings of NVIDIA, the summary score. See https://docs.ragas.io.
//   - The rates of three verdicts (supported, contradicted, not said), RefChecker's, by the contexts and by the
//     reference: faithfulness/verdicts and its kin; DeepEval's faithfulness is the rate of what is not contradicted.
//   - Statements checked by passages of a corpus that are found for each: factuality/factscore, factuality/veriscore.
//   - Those of RAGChecker: ragchecker/precision and its kin, all from one table of claims and verdicts. Ru et al. 2024,
//     arXiv 2408.08067.
//
// Metrics that extract the same statements or ask for the same verdicts ask with the same prompts, so that their
// requests are shared.
package judged

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// Metrics are the metrics whose judge replies in words: those of the RAGAS paper, of Ragas and of RAGChecker.
func Metrics() []metrics.Metric {
	return slices.Concat(paperMetrics(), ragasMetrics(), claimsMetrics(), stanceMetrics(),
		factualityMetrics())
}
