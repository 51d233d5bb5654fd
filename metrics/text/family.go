package text

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// textFamilyMetrics are the metrics that compare the words of texts.
func Metrics() []metrics.Metric {
	return slices.Concat(lexicalMetrics(), unitxtMetrics())
}
