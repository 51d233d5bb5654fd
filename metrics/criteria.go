package metrics

// criteriaMetrics are judgements by criteria in words.
func criteriaMetrics() []Metric { return nil }

// criteriaPrompts are those of criteriaMetrics.
func criteriaPrompts() map[string]promptExample { return nil }
