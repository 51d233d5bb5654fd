package metrics

// agentMetrics are judgements on conversations and on the use of tools.
func agentMetrics() []Metric { return toolCallMetrics() }

// agentPrompts are those of agentMetrics.
func agentPrompts() map[string]promptExample { return nil }
