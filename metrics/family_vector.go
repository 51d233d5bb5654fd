package metrics

import (
	"slices"
)

// vectorFamilyMetrics are the metrics that ask an embedding model or an encoder.
func vectorFamilyMetrics() []Metric {
	return slices.Concat(embeddingMetrics(), encoderMetrics())
}
