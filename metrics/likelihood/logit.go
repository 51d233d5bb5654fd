package likelihood

import (
	"context"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

// logitMetrics are yes/no questions by first-token scoring. None has the judge generate a reply: a question costs
// the prefill of what its prompt does not share with another's (prefix-cached prompt tokens).
//
// Their values are probabilities and means of such, never counts of verdicts at a threshold of one half: a weak
// judge that is badly calibrated may still rank the better text higher.
func logitMetrics() []metrics.Metric {
	return []metrics.Metric{
		{
			Name:    "faithfulness/logit",
			Doc:     "probability that the contexts support the whole answer",
			Source:  "Assay; one question, after P(True) (Kadavath et al. 2022, arXiv 2207.05221)",
			Formula: "P(yes); of several windows, the highest",
			Calls:   "1 first-token scoring for each window of the contexts",
			Min:     0,
			Max:     1,
			Needs:   metrics.Question | metrics.Answer | metrics.Contexts,
			Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
			Prompts: []*prompts.Prompt{faithfulnessAnswerYesPrompt},
			Score:   scoreFaithfulnessLogit,
		},
		{
			Name:    "answer_relevance/logit",
			Doc:     "probability that the answer addresses the question",
			Source:  "Assay; RAGAS' definition (Es et al. 2023, arXiv 2309.15217), be the answer true or not, in one question",
			Formula: "P(yes)",
			Calls:   "1 first-token scoring",
			Min:     0,
			Max:     1,
			Needs:   metrics.Question | metrics.Answer,
			Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
			Prompts: []*prompts.Prompt{answerRelevanceYesPrompt},
			Score:   scoreAnswerRelevanceLogit,
		},
		{
			Name: "answer_relevance/ares",
			Doc: "probability that the answer addresses all of the question with nothing that is wrong by the contexts: " +
				"ARES' definition",
			Source:  "ARES' answer relevance (Saad-Falcon et al. 2023, arXiv 2311.09476), section 3, asked in one question",
			Formula: "P(yes); of several windows, the highest",
			Calls:   "1 first-token scoring for each window of the contexts",
			Min:     0,
			Max:     1,
			Needs:   metrics.Question | metrics.Answer | metrics.Contexts,
			Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
			Prompts: []*prompts.Prompt{answerRelevanceARESYesPrompt},
			Score:   scoreAnswerRelevanceARES,
		},
		{
			Name:    "answer_correctness/logit",
			Doc:     "probability that the answer agrees with the reference",
			Source:  "Assay; one question, after P(True) (Kadavath et al. 2022, arXiv 2207.05221)",
			Formula: "P(yes) by the reference with which it is highest",
			Calls:   "1 first-token scoring for each reference",
			Min:     0,
			Max:     1,
			Needs:   metrics.Question | metrics.Answer | metrics.References,
			Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
			Prompts: []*prompts.Prompt{answerCorrectnessYesPrompt},
			Score:   scoreCorrectnessLogit,
		},
		{
			Name:    "completeness/logit",
			Doc:     "probability that the answer gives all that the contexts say in reply to the question",
			Source:  "mtRAG's definition of completeness (Katsis et al. 2025, arXiv 2501.03468), asked in one question",
			Formula: "P(yes); of several windows, the lowest",
			Calls:   "1 first-token scoring for each window of the contexts",
			Default: true,
			Min:     0,
			Max:     1,
			Needs:   metrics.Question | metrics.Answer | metrics.Contexts,
			Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
			Prompts: []*prompts.Prompt{completenessYesPrompt},
			Score:   scoreCompletenessLogit,
		},
	}
}

// answeredData is what prompts about a context, a question and an answer are rendered with. Row is for the row layout.
type answeredData struct {
	Row                       metrics.Row
	Context, Question, Answer string
	History                   []metrics.Turn
}

// contextData is a question and a context.
type contextData struct {
	Row               metrics.Row
	Number            int // of the context
	Question, Context string
	History           []metrics.Turn
}

// exchangeData is a question and its answer: answer_relevance_yes and p_true are rendered with it.
type exchangeData struct {
	Row              metrics.Row
	Question, Answer string
	History          []metrics.Turn
}

// agreementData is what answer_correctness_yes is rendered with.
type agreementData struct {
	Row                         metrics.Row
	Question, Reference, Answer string
	History                     []metrics.Turn
}

// pollAnswer asks one yes/no question about the answer and the contexts, in windows where they are too long.
func pollAnswer(ctx context.Context, m metrics.Models, prompt *prompts.Prompt, s *metrics.Sample) (ask.Poll, error) {
	return ask.PollView(ctx, m, prompt, metrics.View{Sample: s}, 1, func(e metrics.Excerpt, _ int) any {
		return answeredData{e.Row, e.Text, s.Question, s.Answer, s.History}
	})
}

func scoreFaithfulnessLogit(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	p, err := pollAnswer(ctx, m, faithfulnessAnswerYesPrompt, s)
	if err != nil {
		return metrics.Score{}, err
	}
	yes, where := p.Highest(0)
	return answerScore(s, yes, where, p.Mass), nil
}

// scoreCompletenessLogit reads an answer as complete if no window of the contexts has more to say.
func scoreCompletenessLogit(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	p, err := pollAnswer(ctx, m, completenessYesPrompt, s)
	if err != nil {
		return metrics.Score{}, err
	}
	yes, where := p.Lowest(0)
	return answerScore(s, yes, where, p.Mass), nil
}

func scoreAnswerRelevanceLogit(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	p, err := ask.PollFirst(ctx, m, answerRelevanceYesPrompt, metrics.View{Sample: s}, func(e metrics.Excerpt) any {
		return exchangeData{e.Row, s.Question, s.Answer, s.History}
	})
	if err != nil {
		return metrics.Score{}, err
	}
	return answerScore(s, p.Yes[0][0], "", p.Mass), nil
}

// scoreAnswerRelevanceARES shows the contexts with the answer: to ARES an answer that contradicts them does not address
// the question.
func scoreAnswerRelevanceARES(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	p, err := pollAnswer(ctx, m, answerRelevanceARESYesPrompt, s)
	if err != nil {
		return metrics.Score{}, err
	}
	yes, where := p.Highest(0)
	return answerScore(s, yes, where, p.Mass), nil
}

// answerScore is P(yes) for a question about the whole answer.
func answerScore(s *metrics.Sample, yes float64, where string, mass float64) metrics.Score {
	return metrics.Score{
		Value: yes,
		Because: append([]metrics.Finding{{Kind: "answer", Text: metrics.Bounded(s.Answer), Value: &yes, Where: where}},
			ask.Doubts(mass)...),
	}
}

func scoreCorrectnessLogit(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	var score metrics.Score
	mass := 1.0
	for _, r := range metrics.NonBlank(s.References) {
		p, err := ask.PollFirst(ctx, m, answerCorrectnessYesPrompt, metrics.View{Sample: s}, func(e metrics.Excerpt) any {
			return agreementData{e.Row, s.Question, r.Text, s.Answer, s.History}
		})
		if err != nil {
			return metrics.Score{}, err
		}
		yes := p.Yes[0][0]
		score.Value, mass = max(score.Value, yes), min(mass, p.Mass)
		score.Because = append(score.Because, metrics.Finding{Kind: "reference", Text: r.Text, Value: &yes})
	}
	score.Because = append(score.Because, ask.Doubts(mass)...)
	return score, nil
}

// answeredExample is that of a prompt with a context, a question and an answer. What people label faithful or complete
// are such.
func answeredExample(dimension string) prompts.Example {
	return prompts.Example{
		Data:  answeredData{Context: "<context>", Question: "<question>", Answer: "<answer>", History: history},
		Shown: map[string]string{".Context": "<context>", ".Question": "<question>", ".Answer": "<answer>"},
		Shot: func(s *prompts.Shot) (any, string) {
			if metrics.Blank(s.Context) || metrics.Blank(s.Answer) {
				return nil, ""
			}
			return answeredData{Context: s.Context, Question: s.Question, Answer: s.Answer}, s.Says(dimension)
		},
		Verdict: true,
	}
}

var faithfulnessAnswerYesPrompt = prompts.Builtin("faithfulness_answer_yes", answeredExample("faithfulness"))

var completenessYesPrompt = prompts.Builtin("completeness_yes", answeredExample("completeness"))

var answerRelevanceYesPrompt = prompts.Builtin("answer_relevance_yes", exchangeExample("answer_relevance"))

var answerRelevanceARESYesPrompt = prompts.Builtin("answer_relevance_ares_yes", answeredExample("answer_relevance"))

// exchangeExample is that of a prompt with a question and an answer.
func exchangeExample(dimension string) prompts.Example {
	return prompts.Example{
		Data:  exchangeData{Question: "<question>", Answer: "<answer>", History: history},
		Shown: map[string]string{".Question": "<question>", ".Answer": "<answer>"},
		Shot: func(s *prompts.Shot) (any, string) {
			if metrics.Blank(s.Question) || metrics.Blank(s.Answer) {
				return nil, ""
			}
			return exchangeData{Question: s.Question, Answer: s.Answer}, s.Says(dimension)
		},
		Verdict: true,
	}
}

var answerCorrectnessYesPrompt = prompts.Builtin("answer_correctness_yes", prompts.Example{
	Data:  agreementData{Question: "<question>", Reference: "<reference>", Answer: "<answer>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Reference": "<reference>", ".Answer": "<answer>"},
	Shot: func(s *prompts.Shot) (any, string) {
		// With one reference alone is it known which one the answer agrees with.
		if len(s.References) != 1 || metrics.Blank(s.Answer) {
			return nil, ""
		}
		return agreementData{Question: s.Question, Reference: s.References[0], Answer: s.Answer},
			s.Says("answer_correctness")
	},
	Verdict: true,
})
