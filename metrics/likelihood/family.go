package likelihood

import (
	"maps"
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// likelihoodFamilyMetrics are the metrics that read a judge's probabilities: yes or no, grades, ranks and likelihoods.
func Metrics() []metrics.Metric {
	return slices.Concat(logitMetrics(), gradeMetrics(), likelihoodMetrics())
}

// likelihoodFamilyPrompts describe the prompts that they ask with, by name.
func Prompts() map[string]prompts.Example {
	all := make(map[string]prompts.Example)
	for _, part := range []map[string]prompts.Example{logitPrompts(), gradePrompts(), likelihoodPrompts()} {
		maps.Copy(all, part)
	}
	return all
}
