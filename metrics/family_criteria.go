package metrics

import (
	"maps"
	"slices"
)

// criteriaFamilyMetrics are the checks and criteria of their own that come with Assay.
func criteriaFamilyMetrics() []Metric {
	return slices.Concat(criteriaMetrics(), safetyMetrics())
}

// criteriaFamilyPrompts describe the prompts that they ask with, by name.
func criteriaFamilyPrompts() map[string]promptExample {
	all := make(map[string]promptExample)
	for _, part := range []map[string]promptExample{criteriaPrompts()} {
		maps.Copy(all, part)
	}
	return all
}
