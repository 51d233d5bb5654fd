package metrics

// embeddingMetrics are comparisons of vectors.
func embeddingMetrics() []Metric { return nil }
