package vector

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// vectorFamilyMetrics are the metrics that ask an embedding model or an encoder.
func Metrics() []metrics.Metric {
	return slices.Concat(embeddingMetrics(), encoderMetrics())
}
