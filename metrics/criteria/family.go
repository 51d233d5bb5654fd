package criteria

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// criteriaFamilyMetrics are the checks and criteria of their own that come with Assay.
func Metrics() []metrics.Metric {
	return slices.Concat(criteriaMetrics(), safetyMetrics())
}

// Prompts are those that criteria ask with.
func Prompts() []*prompts.Prompt {
	return []*prompts.Prompt{criteriaQuestionPrompt, criteriaRubricPrompt, criteriaScorePrompt, criteriaStepsPrompt}
}
