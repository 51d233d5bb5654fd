package metrics

import (
	"maps"
	"slices"
)

// agentMetrics are judgements on conversations and on the use of tools.
func agentMetrics() []Metric {
	return slices.Concat(toolCallMetrics(), topicMetrics(), goalMetrics(), conversationMetrics())
}

// agentPrompts are those of agentMetrics.
func agentPrompts() map[string]promptExample {
	all := make(map[string]promptExample)
	for _, prompts := range []map[string]promptExample{topicPrompts(), goalPrompts(), conversationPrompts()} {
		maps.Copy(all, prompts)
	}
	return all
}
