package likelihood

import (
	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// The prompts of this family, each with an example of what it is rendered with.
var (
	judgeScorePrompt = prompts.Builtin("judge_score", gradeExample)
	scoreLogitPrompt = prompts.Builtin("score_logit", gradeExample)
	rankPrompt       = prompts.Builtin("rank", prompts.Example{
		Data: rankData{Dimension: "<dimension>", Definition: "<definition>", Context: "<context>",
			Question:  "<question>",
			Reference: "<reference>", First: "<first>", Second: "<second>", History: history},
		Shown: map[string]string{".Definition": "<definition>", ".Context": "<context>", ".Question": "<question>",
			".Reference": "<reference>", ".First": "<first>", ".Second": "<second>"},
	})
	likelihoodAnswerPrompt = prompts.Builtin("likelihood_answer", prompts.Example{
		Data:  askedData{Question: "<question>", History: history},
		Shown: map[string]string{".Question": "<question>"},
	})
	likelihoodAnythingPrompt = prompts.Builtin("likelihood_anything", prompts.Example{Data: struct{}{}})
	likelihoodQuestionPrompt = prompts.Builtin("likelihood_question", prompts.Example{
		Data:  sourceData{Text: "<text>"},
		Shown: map[string]string{".Text": "<text>"},
	})
	bartscorePrompt = prompts.Builtin("bartscore", prompts.Example{
		Data:  sourceData{Text: "<text>"},
		Shown: map[string]string{".Text": "<text>"},
	})
	gptscorePrompt = prompts.Builtin("gptscore", prompts.Example{
		Data: gptScoreData{Instruction: "<instruction>", Context: "<context>", Question: "<question>",
			Reference: "<reference>", History: history},
		Shown: map[string]string{".Instruction": "<instruction>", ".Context": "<context>", ".Question": "<question>",
			".Reference": "<reference>"},
	})
	pTruePrompt = prompts.Builtin("p_true", prompts.Example{
		Data:  exchangeData{Question: "<question>", Answer: "<answer>", History: history},
		Shown: map[string]string{".Question": "<question>", ".Answer": "<answer>"},
	})
	selfcheckAnswerPrompt = prompts.Builtin("selfcheck_answer", prompts.Example{
		Data:  contextData{Question: "<question>", Context: "<context>", History: history},
		Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
	})
	examQuestionsPrompt = prompts.Builtin("exam_questions", prompts.Example{
		Data:  sourceData{Text: "<text>"},
		Shown: map[string]string{".Text": "<text>"},
	})
	examAnswerableYesPrompt = prompts.Builtin("exam_answerable_yes", prompts.Example{
		Data:  examData{Text: "<text>", Question: "<question>"},
		Shown: map[string]string{".Text": "<text>", ".Question": "<question>"},
	})
	faithfulnessAnswerYesPrompt = prompts.Builtin("faithfulness_answer_yes", answeredExample)
	completenessYesPrompt       = prompts.Builtin("completeness_yes", answeredExample)
	contextPrecisionYesPrompt   = prompts.Builtin("context_precision_yes", answeredExample)
	answerRelevanceYesPrompt    = prompts.Builtin("answer_relevance_yes", prompts.Example{
		Data:  exchangeData{Question: "<question>", Answer: "<answer>", History: history},
		Shown: map[string]string{".Question": "<question>", ".Answer": "<answer>"},
	})
	answerCorrectnessYesPrompt = prompts.Builtin("answer_correctness_yes", prompts.Example{
		Data:  agreementData{Question: "<question>", Reference: "<reference>", Answer: "<answer>", History: history},
		Shown: map[string]string{".Question": "<question>", ".Reference": "<reference>", ".Answer": "<answer>"},
	})
	contextRelevanceYesPrompt = prompts.Builtin("context_relevance_yes", prompts.Example{
		Data:  contextData{Question: "<question>", Context: "<context>", History: history},
		Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
	})
	contextRelevanceSentenceYesPrompt = prompts.Builtin("context_relevance_sentence_yes", prompts.Example{
		Data:  sentenceData{Context: "<context>", Question: "<question>", Sentence: "<sentence>", History: history},
		Shown: map[string]string{".Context": "<context>", ".Question": "<question>", ".Sentence": "<sentence>"},
	})
)

// history is the example of a conversation's earlier turns.
var history = []metrics.Turn{{Role: backend.User, Said: "<history>"}, {Role: backend.Assistant, Said: "<reply>"}}

var gradeExample = prompts.Example{
	Data: gradeData{Dimension: "<dimension>", Definition: "<definition>", Context: "<context>", Question: "<question>",
		Reference: "<reference>", Answer: "<answer>", History: history},
	Shown: map[string]string{".Definition": "<definition>", ".Context": "<context>", ".Question": "<question>",
		".Reference": "<reference>", ".Answer": "<answer>"},
}

var answeredExample = prompts.Example{
	Data:  answeredData{Context: "<context>", Question: "<question>", Answer: "<answer>", History: history},
	Shown: map[string]string{".Context": "<context>", ".Question": "<question>", ".Answer": "<answer>"},
}
