package judged

import (
	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// ragasMetrics are those of Ragas, in its present version. Where Ragas gives a number that means something
// else, the metric here does not, and says so; where somebody may need Ragas' number itself, a metric with
// "ragas" in its name gives it.
func ragasMetrics() []metrics.Metric {
	noise := []claimCheck{
		{
			name: "noise_sensitivity/relevant", parts: noiseParts, score: noiseIn(true), lowerIsBetter: true,
			doc:     "share of the answer's statements that are wrong and come from a context of use",
			formula: noiseFormula(true),
		}, {
			name: "noise_sensitivity/irrelevant", parts: noiseParts, score: noiseIn(false), lowerIsBetter: true,
			doc:     "share of the answer's statements that are wrong and come from a context of no use",
			formula: noiseFormula(false),
		},
	}
	list := []metrics.Metric{
		contextPrecisionReference(), contextPrecisionAnswer(), contextRecallClaims(), contextRecallEntities(),
		answerCorrectnessRagas(), answerCorrectnessAccuracy(), contextRelevanceDual(), faithfulnessDual(), summaryScore(),
	}
	for _, c := range noise {
		m := c.metric("Ragas 0.4, noise sensitivity; RAGChecker (Ru et al. 2024, arXiv 2408.08067)")
		m.Default = m.Name == "noise_sensitivity/relevant"
		list = append(list, m)
	}
	for _, c := range factualChecks() {
		list = append(list, c.metric("Ragas 0.4, factual correctness"))
	}
	return list
}

// ragasPrompts are those of ragasMetrics that no other family has.
func ragasPrompts() map[string]prompts.Example {
	history := []backend.Message{{Role: backend.User, Text: "<history>"}, {Role: backend.Assistant, Text: "<reply>"}}
	accuracy := prompts.Example{
		Data:  accuracyData{Question: "<question>", Reference: "<reference>", Answer: "<answer>", History: history},
		Shown: map[string]string{".Reference": "<reference>", ".Answer": "<answer>"},
	}
	relevance := prompts.Example{
		Data:  relevanceData{Question: "<question>", Context: "<context>", History: history},
		Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
	}
	groundedness := prompts.Example{
		Data:  groundednessData{Question: "<question>", Answer: "<answer>", Context: "<context>", History: history},
		Shown: map[string]string{".Answer": "<answer>", ".Context": "<context>"},
	}
	return map[string]prompts.Example{
		"context_usefulness": {
			Data:  usefulnessData{Question: "<question>", Answer: "<answer>", Context: "<context>", History: history},
			Shown: map[string]string{".Question": "<question>", ".Answer": "<answer>", ".Context": "<context>"},
		},
		"context_entities":         {Data: entitiesData{Text: "<text>"}, Shown: map[string]string{".Text": "<text>"}},
		"answer_accuracy_first":    accuracy,
		"answer_accuracy_second":   accuracy,
		"context_relevance_first":  relevance,
		"context_relevance_second": relevance,
		"groundedness_first":       groundedness,
		"groundedness_second":      groundedness,
		"summary_phrases":          {Data: phrasesData{Text: "<text>"}, Shown: map[string]string{".Text": "<text>"}},
		"summary_questions": {
			Data:  summaryQuestionsData{Text: "<text>", Phrases: []string{"<first>", "<second>"}},
			Shown: map[string]string{".Text": "<text>", ".Phrases": "<first>", "every one of .Phrases": "<second>"},
		},
		"summary_verdicts": {
			Data:  verdictsData{Context: "<summary>", Statements: []string{"<first>", "<second>"}},
			Shown: map[string]string{".Context": "<summary>", ".Statements": "<first>", "every one of .Statements": "<second>"},
		},
		"summary_verdict": {
			Data:  VerdictData{Context: "<summary>", Statement: "<question>"},
			Shown: map[string]string{".Context": "<summary>", ".Statement": "<question>"},
		},
	}
}
