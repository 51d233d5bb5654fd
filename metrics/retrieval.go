package metrics

// retrievalMetrics are measures of a ranking, computed from judgements.
func retrievalMetrics() []Metric { return nil }
