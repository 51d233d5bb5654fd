package metrics

// lexicalMetrics are comparisons of the answer's words with those of the references.
func lexicalMetrics() []Metric { return nil }
