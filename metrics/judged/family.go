package judged

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// judgedFamilyMetrics are the metrics whose judge replies in words: those of the RAGAS paper, of Ragas and of
// RAGChecker.
func Metrics() []metrics.Metric {
	return slices.Concat(paperMetrics(), ragasMetrics(), claimsMetrics())
}
