// Package criteria has the metrics by a criterion in words, those that are built in and those that a user describes in
// a file ([Load]) or a line ([Parse]), and checks that need no judge.
//
//   - Aspect critics: a yes/no question read as P(yes) by first-token scoring (backend.CanChoose), or as the judge's
//     reply (backend.CanGenerate) where an engine tells no probabilities. After Ragas' AspectCritic.
//   - Grades by a criterion, with evaluation steps that the judge writes or the user gives, as the expectation over the
//     probabilities of a scale's numbers. After G-Eval (Liu et al. 2023, arXiv 2303.16634).
//   - Rubrics: the expected level, of general rubrics or of each row's own. After Ragas' RubricsScore.
//   - Decision graphs: yes/no questions whose answers lead to a score. DeepEval has the like as its DAG metric.
//   - Safety: toxicity, bias, refusal, prompt injection in the contexts, each one question.
//   - Checks without a model: JSON and JSON Schema, regular expressions, texts contained, number of words.
//
// docs/criteria.md has the form of the file.
package criteria

import (
	"slices"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Metrics are the criteria and checks that are built in.
func Metrics() []metrics.Metric {
	return slices.Concat(criteriaMetrics(), safetyMetrics())
}

// Prompts are the prompts that criteria ask with, a user's own criteria too.
func Prompts() []*prompts.Prompt {
	return []*prompts.Prompt{criteriaQuestionPrompt, criteriaRubricPrompt, criteriaScorePrompt, criteriaStepsPrompt}
}
