package judged

import (
	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// The prompts of this family, each with an example of what it is rendered with.
var (
	faithfulnessClaimYesPrompt = prompts.Builtin("faithfulness_claim_yes", prompts.Example{
		Data:  verdictData{Context: "<context>", Statement: "<statement>", Question: "<question>", History: history},
		Shown: map[string]string{".Context": "<context>", ".Statement": "<statement>"},
	})
	faithfulnessStatementsPrompt = prompts.Builtin("faithfulness_statements", prompts.Example{
		Data:  statementsData{Question: "<question>", Answer: "<answer>", History: history},
		Shown: map[string]string{".Answer": "<answer>"},
	})
	faithfulnessVerdictsPrompt = prompts.Builtin("faithfulness_verdicts", prompts.Example{
		Data: verdictsData{Context: "<context>", Statements: []string{"<first>", "<second>"}, Question: "<question>",
			History: history},
		Shown: map[string]string{".Context": "<context>", ".Statements": "<first>",
			"every one of .Statements": "<second>"},
	})
	faithfulnessVerdictPrompt = prompts.Builtin("faithfulness_verdict", prompts.Example{
		Data:  verdictData{Context: "<context>", Statement: "<statement>", Question: "<question>", History: history},
		Shown: map[string]string{".Context": "<context>", ".Statement": "<statement>"},
	})
	answerRelevanceQuestionPrompt = prompts.Builtin("answer_relevance_question", prompts.Example{
		Data:  questionData{Answer: "<answer>"},
		Shown: map[string]string{".Answer": "<answer>"},
	})
	contextRelevanceSentencesPrompt = prompts.Builtin("context_relevance_sentences", prompts.Example{
		Data:  sentencesData{Question: "<question>", Context: "<context>", History: history},
		Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
	})
	contextUsefulnessPrompt = prompts.Builtin("context_usefulness", prompts.Example{
		Data:  usefulnessData{Question: "<question>", Answer: "<answer>", Context: "<context>", History: history},
		Shown: map[string]string{".Question": "<question>", ".Answer": "<answer>", ".Context": "<context>"},
	})
	contextEntitiesPrompt = prompts.Builtin("context_entities",
		prompts.Example{Data: entitiesData{Text: "<text>"}, Shown: map[string]string{".Text": "<text>"}})
	answerAccuracyFirstPrompt    = prompts.Builtin("answer_accuracy_first", accuracyExample)
	answerAccuracySecondPrompt   = prompts.Builtin("answer_accuracy_second", accuracyExample)
	contextRelevanceFirstPrompt  = prompts.Builtin("context_relevance_first", relevanceExample)
	contextRelevanceSecondPrompt = prompts.Builtin("context_relevance_second", relevanceExample)
	groundednessFirstPrompt      = prompts.Builtin("groundedness_first", groundednessExample)
	groundednessSecondPrompt     = prompts.Builtin("groundedness_second", groundednessExample)
	summaryPhrasesPrompt         = prompts.Builtin("summary_phrases", prompts.Example{Data: phrasesData{Text: "<text>"},
		Shown: map[string]string{".Text": "<text>"}})
	summaryQuestionsPrompt = prompts.Builtin("summary_questions", prompts.Example{
		Data:  summaryQuestionsData{Text: "<text>", Phrases: []string{"<first>", "<second>"}},
		Shown: map[string]string{".Text": "<text>", ".Phrases": "<first>", "every one of .Phrases": "<second>"},
	})
	summaryVerdictsPrompt = prompts.Builtin("summary_verdicts", prompts.Example{
		Data: verdictsData{Context: "<summary>", Statements: []string{"<first>", "<second>"}},
		Shown: map[string]string{".Context": "<summary>", ".Statements": "<first>",
			"every one of .Statements": "<second>"},
	})
	summaryVerdictPrompt = prompts.Builtin("summary_verdict", prompts.Example{
		Data:  verdictData{Context: "<summary>", Statement: "<question>"},
		Shown: map[string]string{".Context": "<summary>", ".Statement": "<question>"},
	})
)

// history is the example of a conversation's earlier turns.
var history = []metrics.Turn{{Role: backend.User, Said: "<history>"}, {Role: backend.Assistant, Said: "<reply>"}}

var accuracyExample = prompts.Example{
	Data:  accuracyData{Question: "<question>", Reference: "<reference>", Answer: "<answer>", History: history},
	Shown: map[string]string{".Reference": "<reference>", ".Answer": "<answer>"},
}

var relevanceExample = prompts.Example{
	Data:  relevanceData{Question: "<question>", Context: "<context>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
}

var groundednessExample = prompts.Example{
	Data:  groundednessData{Question: "<question>", Answer: "<answer>", Context: "<context>", History: history},
	Shown: map[string]string{".Answer": "<answer>", ".Context": "<context>"},
}
