package metrics

// safetyMetrics are judgements on harm, and signs of it.
func safetyMetrics() []Metric { return nil }

// safetyPrompts are those of safetyMetrics.
func safetyPrompts() map[string]promptExample { return nil }
