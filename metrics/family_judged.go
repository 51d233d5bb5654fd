package metrics

import (
	"maps"
	"slices"
)

// judgedFamilyMetrics are the metrics whose judge replies in words: those of the RAGAS paper, of Ragas and of RAGChecker.
func judgedFamilyMetrics() []Metric {
	return slices.Concat(paperMetrics(), ragasMetrics(), claimsMetrics())
}

// judgedFamilyPrompts describe the prompts that they ask with, by name.
func judgedFamilyPrompts() map[string]promptExample {
	all := make(map[string]promptExample)
	for _, part := range []map[string]promptExample{paperPrompts(), ragasPrompts()} {
		maps.Copy(all, part)
	}
	return all
}
