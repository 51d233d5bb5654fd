package metrics

// ragasMetrics are those of Ragas, in its present version.
func ragasMetrics() []Metric { return nil }

// ragasPrompts are those of ragasMetrics.
func ragasPrompts() map[string]promptExample { return nil }
