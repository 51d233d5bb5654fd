package agent

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// Metrics are judgements on conversations and on the use of tools.
func Metrics() []metrics.Metric {
	return slices.Concat(toolCallMetrics(), topicMetrics(), goalMetrics(), conversationMetrics())
}
