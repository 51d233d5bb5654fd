package metrics

// logitMetrics are questions of yes and no, read as probabilities.
func logitMetrics() []Metric { return nil }

// logitPrompts are those of logitMetrics.
func logitPrompts() map[string]promptExample { return nil }
