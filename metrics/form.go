package metrics

// formMetrics are checks of an answer's form.
func formMetrics() []Metric { return nil }
