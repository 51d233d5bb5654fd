package metrics

import (
	"maps"
	"slices"
)

// likelihoodFamilyMetrics are the metrics that read a judge's probabilities: yes or no, grades, ranks and likelihoods.
func likelihoodFamilyMetrics() []Metric {
	return slices.Concat(logitMetrics(), gradeMetrics(), likelihoodMetrics())
}

// likelihoodFamilyPrompts describe the prompts that they ask with, by name.
func likelihoodFamilyPrompts() map[string]promptExample {
	all := make(map[string]promptExample)
	for _, part := range []map[string]promptExample{logitPrompts(), gradePrompts(), likelihoodPrompts()} {
		maps.Copy(all, part)
	}
	return all
}
