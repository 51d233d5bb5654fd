package metrics

// likelihoodMetrics are read from the probabilities of texts.
func likelihoodMetrics() []Metric { return nil }

// likelihoodPrompts are those of likelihoodMetrics.
func likelihoodPrompts() map[string]promptExample { return nil }
