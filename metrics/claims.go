package metrics

// claimsMetrics are RAGChecker's, which check claims both ways.
func claimsMetrics() []Metric { return nil }

// claimsPrompts are those of claimsMetrics.
func claimsPrompts() map[string]promptExample { return nil }
