package metrics

// gradeMetrics are grades and comparisons by the judge.
func gradeMetrics() []Metric { return nil }

// gradePrompts are those of gradeMetrics.
func gradePrompts() map[string]promptExample { return nil }
