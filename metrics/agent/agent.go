package agent

import (
	"maps"
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Metrics are judgements on conversations and on the use of tools.
func Metrics() []metrics.Metric {
	return slices.Concat(toolCallMetrics(), topicMetrics(), goalMetrics(), conversationMetrics())
}

// Prompts are those of agentMetrics.
func Prompts() map[string]prompts.Example {
	all := make(map[string]prompts.Example)
	for _, prompts := range []map[string]prompts.Example{topicPrompts(), goalPrompts(), conversationPrompts()} {
		maps.Copy(all, prompts)
	}
	return all
}
