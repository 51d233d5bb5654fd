package criteria

import (
	"maps"
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// criteriaFamilyMetrics are the checks and criteria of their own that come with Assay.
func Metrics() []metrics.Metric {
	return slices.Concat(criteriaMetrics(), safetyMetrics())
}

// criteriaFamilyPrompts describe the prompts that they ask with, by name.
func Prompts() map[string]prompts.Example {
	all := make(map[string]prompts.Example)
	for _, part := range []map[string]prompts.Example{criteriaPrompts()} {
		maps.Copy(all, part)
	}
	return all
}
