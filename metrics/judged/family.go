package judged

import (
	"maps"
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// judgedFamilyMetrics are the metrics whose judge replies in words: those of the RAGAS paper, of Ragas and of RAGChecker.
func Metrics() []metrics.Metric {
	return slices.Concat(paperMetrics(), ragasMetrics(), claimsMetrics())
}

// judgedFamilyPrompts describe the prompts that they ask with, by name.
func Prompts() map[string]prompts.Example {
	all := make(map[string]prompts.Example)
	for _, part := range []map[string]prompts.Example{paperPrompts(), ragasPrompts()} {
		maps.Copy(all, part)
	}
	return all
}
