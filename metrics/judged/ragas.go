package judged

import (
	"github.com/assay-eval/assay/metrics"
)

// ragasMetrics are those of Ragas, in its present version. Where Ragas' implementation departs from its
// definition, the metric here does not, and says so; where somebody may need Ragas' number itself, a metric with
// "ragas" in its name gives it.
func ragasMetrics() []metrics.Metric {
	list := []metrics.Metric{
		contextPrecisionReference(), contextPrecisionAnswer(), contextRecallClaims(), contextRecallEntities(),
		answerCorrectnessRagas(), answerCorrectnessAccuracy(), answerRelevanceRagas(), contextRelevanceDual(), faithfulnessDual(),
		summaryScore(),
	}
	for _, c := range noiseChecks() {
		m := c.metric("Ragas 0.4, noise sensitivity; RAGChecker (Ru et al. 2024, arXiv 2408.08067)")
		m.Default = m.Name == "noise_sensitivity/relevant"
		list = append(list, m)
	}
	for _, c := range factualChecks() {
		list = append(list, c.metric("Ragas 0.4, factual correctness"))
	}
	return list
}
