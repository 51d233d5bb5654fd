package metrics

import (
	"slices"
)

// textFamilyMetrics are the metrics that compare the words of texts.
func textFamilyMetrics() []Metric {
	return slices.Concat(lexicalMetrics(), unitxtMetrics())
}
