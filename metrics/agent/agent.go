// Package agent measures conversations and the use of tools: calls of tools beside those expected (tool_calls/f1,
// accuracy), whether the goal was reached (goal/reached), whether a conversation kept to its topics
// (topic_adherence/f1), and what the assistant's replies are worth turn by turn (conversation/completeness, relevance,
// knowledge_retention, role_adherence). Calls of tools are compared without a model; the rest asks a judge for replies
// (CanGenerate) and for first-token scoring (CanChoose). The measures are Ragas' for agents and DeepEval's for
// conversations.
package agent

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
)

// Metrics are judgements on conversations and on the use of tools.
func Metrics() []metrics.Metric {
	return slices.Concat(toolCallMetrics(), topicMetrics(), goalMetrics(), conversationMetrics())
}
