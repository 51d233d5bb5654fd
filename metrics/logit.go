package metrics

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/tokenize"
)

// logitMetrics are questions of yes and no, read as probabilities. None asks the judge to write anything: a
// question costs one pass over what its prompt does not share with another's.
//
// Their values are probabilities and means of such, never counts of verdicts: a judge too weak to cross one
// half on the right side may still give more to the better text.
func logitMetrics() []Metric {
	return []Metric{
		{
			Name:    "faithfulness/claims_logit",
			Doc:     "mean probability, over the answer's statements, that the contexts support one",
			Source:  "RAGAS (Es et al. 2023, arXiv 2309.15217), section 3, its verdicts read as probabilities",
			Formula: "sum of P(yes) over statements / statements",
			Calls:   "1 reply for the statements, 1 choice for each",
			Min:     0,
			Max:     1,
			Needs:   Question | Answer | Contexts,
			Asks:    Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
			Prompts: []string{"faithfulness_statements", "faithfulness_claim_yes"},
			Score:   scoreClaimsLogit,
		},
		{
			Name:    "faithfulness/logit",
			Doc:     "probability that the contexts support the whole answer",
			Source:  "Assay; one question, after P(True) (Kadavath et al. 2022, arXiv 2207.05221)",
			Formula: "P(yes); of several windows, the highest",
			Calls:   "1 choice for each window of the contexts",
			Min:     0,
			Max:     1,
			Needs:   Question | Answer | Contexts,
			Asks:    Asks{backend.Judge: backend.CanChoose},
			Prompts: []string{"faithfulness_answer_yes"},
			Score:   scoreFaithfulnessLogit,
		},
		{
			Name:    "answer_relevance/logit",
			Doc:     "probability that the answer addresses the question",
			Source:  "Assay; RAGAS' definition (Es et al. 2023, arXiv 2309.15217), asked in one question",
			Formula: "P(yes)",
			Calls:   "1 choice",
			Min:     0,
			Max:     1,
			Needs:   Question | Answer,
			Asks:    Asks{backend.Judge: backend.CanChoose},
			Prompts: []string{"answer_relevance_yes"},
			Score:   scoreAnswerRelevanceLogit,
		},
		{
			Name:    "answer_correctness/logit",
			Doc:     "probability that the answer agrees with the reference",
			Source:  "Assay; one question, after P(True) (Kadavath et al. 2022, arXiv 2207.05221)",
			Formula: "P(yes) by the reference with which it is highest",
			Calls:   "1 choice for each reference",
			Min:     0,
			Max:     1,
			Needs:   Question | Answer | References,
			Asks:    Asks{backend.Judge: backend.CanChoose},
			Prompts: []string{"answer_correctness_yes"},
			Score:   scoreCorrectnessLogit,
		},
		{
			Name:    "completeness/logit",
			Doc:     "probability that the answer gives all that the contexts say in reply to the question",
			Source:  "mtRAG's definition of completeness (Katsis et al. 2025, arXiv 2501.03468), asked in one question",
			Formula: "P(yes); of several windows, the lowest",
			Calls:   "1 choice for each window of the contexts",
			Default: true,
			Min:     0,
			Max:     1,
			Needs:   Question | Answer | Contexts,
			Asks:    Asks{backend.Judge: backend.CanChoose},
			Prompts: []string{"completeness_yes"},
			Score:   scoreCompletenessLogit,
		},
		contextRelevanceLogit(), contextRelevanceSentencesLogit(), contextPrecisionLogit(), contextRecallLogit(),
	}
}

// logitPrompts are those of logitMetrics.
func logitPrompts() map[string]promptExample {
	history := []backend.Message{{Role: backend.User, Text: "<history>"}, {Role: backend.Assistant, Text: "<reply>"}}
	answered := promptExample{
		answeredData{Context: "<context>", Question: "<question>", Answer: "<answer>", History: history},
		map[string]string{".Context": "<context>", ".Question": "<question>", ".Answer": "<answer>"},
	}
	return map[string]promptExample{
		"faithfulness_claim_yes": {
			verdictData{Context: "<context>", Statement: "<statement>", Question: "<question>", History: history},
			map[string]string{".Context": "<context>", ".Statement": "<statement>"},
		},
		"faithfulness_answer_yes": answered,
		"completeness_yes":        answered,
		"context_precision_yes":   answered,
		"answer_relevance_yes": {
			exchangeData{Question: "<question>", Answer: "<answer>", History: history},
			map[string]string{".Question": "<question>", ".Answer": "<answer>"},
		},
		"answer_correctness_yes": {
			agreementData{Question: "<question>", Reference: "<reference>", Answer: "<answer>", History: history},
			map[string]string{".Question": "<question>", ".Reference": "<reference>", ".Answer": "<answer>"},
		},
		"context_relevance_yes": {
			sentencesData{Question: "<question>", Context: "<context>", History: history},
			map[string]string{".Question": "<question>", ".Context": "<context>"},
		},
		"context_relevance_sentence_yes": {
			sentenceData{Context: "<context>", Question: "<question>", Sentence: "<sentence>", History: history},
			map[string]string{".Context": "<context>", ".Question": "<question>", ".Sentence": "<sentence>"},
		},
	}
}

// answeredData is what faithfulness_answer_yes, completeness_yes and context_precision_yes are rendered with.
type answeredData struct {
	Context, Question, Answer string
	History                   []backend.Message
}

// exchangeData is a question and its answer: answer_relevance_yes and p_true are rendered with it.
type exchangeData struct {
	Question, Answer string
	History          []backend.Message
}

// agreementData is what answer_correctness_yes is rendered with.
type agreementData struct {
	Question, Reference, Answer string
	History                     []backend.Message
}

func scoreClaimsLogit(ctx context.Context, m Models, s *Sample) (Score, error) {
	claims, err := statements(ctx, m, s)
	if err != nil {
		return Score{}, err
	}
	if len(claims) == 0 {
		return Score{}, fmt.Errorf("%w: the judge found no statement in the answer %q", ErrNotApplicable, bounded(s.Answer))
	}
	p, err := pollInWindows(ctx, m, "faithfulness_claim_yes", s.Contexts, len(claims), func(text string, i int) any {
		return verdictData{text, claims[i], s.Question, s.History}
	})
	if err != nil {
		return Score{}, err
	}
	var score Score
	for i, claim := range claims {
		yes, where := p.highest(i)
		score.Value += yes / float64(len(claims))
		score.Because = append(score.Because, Finding{Kind: "claim", Text: claim, Value: &yes, Where: where})
	}
	score.Value = min(1, score.Value) // thirds do not add up exactly
	score.Because = append(score.Because, doubts(p.mass)...)
	return score, nil
}

func scoreFaithfulnessLogit(ctx context.Context, m Models, s *Sample) (Score, error) {
	p, err := pollInWindows(ctx, m, "faithfulness_answer_yes", s.Contexts, 1, func(text string, _ int) any {
		return answeredData{text, s.Question, s.Answer, s.History}
	})
	if err != nil {
		return Score{}, err
	}
	yes, where := p.highest(0)
	return answerScore(s, yes, where, p.mass), nil
}

// scoreCompletenessLogit reads an answer as complete if no window of the contexts has more to say.
func scoreCompletenessLogit(ctx context.Context, m Models, s *Sample) (Score, error) {
	p, err := pollInWindows(ctx, m, "completeness_yes", s.Contexts, 1, func(text string, _ int) any {
		return answeredData{text, s.Question, s.Answer, s.History}
	})
	if err != nil {
		return Score{}, err
	}
	yes, where := p.lowest(0)
	return answerScore(s, yes, where, p.mass), nil
}

func scoreAnswerRelevanceLogit(ctx context.Context, m Models, s *Sample) (Score, error) {
	p, err := pollOnce(ctx, m, "answer_relevance_yes", exchangeData{s.Question, s.Answer, s.History})
	if err != nil {
		return Score{}, err
	}
	return answerScore(s, p.yes[0][0], "", p.mass), nil
}

// answerScore is the probability of yes to a question about the whole answer.
func answerScore(s *Sample, yes float64, where string, mass float64) Score {
	return Score{
		Value:   yes,
		Because: append([]Finding{{Kind: "answer", Text: bounded(s.Answer), Value: &yes, Where: where}}, doubts(mass)...),
	}
}

func scoreCorrectnessLogit(ctx context.Context, m Models, s *Sample) (Score, error) {
	var score Score
	mass := 1.0
	for _, r := range nonBlank(s.References) {
		p, err := pollOnce(ctx, m, "answer_correctness_yes", agreementData{s.Question, r.text, s.Answer, s.History})
		if err != nil {
			return Score{}, err
		}
		yes := p.yes[0][0]
		score.Value, mass = max(score.Value, yes), min(mass, p.mass)
		score.Because = append(score.Because, Finding{Kind: "reference", Text: r.text, Value: &yes})
	}
	score.Because = append(score.Because, doubts(mass)...)
	return score, nil
}

// A textAt is one of a list, and its number in it, from 1.
type textAt struct {
	text   string
	number int
}

// nonBlank returns the texts of a list that are not blank, without white space around them.
func nonBlank(list []string) []textAt {
	var texts []textAt
	for i, text := range list {
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, textAt{text, i + 1})
		}
	}
	return texts
}

func textsOf(list []textAt) []string {
	var all []string
	for _, n := range list {
		all = append(all, n.text)
	}
	return all
}

// worded returns the sentences of a text that say something.
func worded(text string) []string {
	var list []string
	for _, s := range tokenize.Sentences(text) {
		if tokenize.HasWords(s.Text) {
			list = append(list, s.Text)
		}
	}
	return list
}
