package likelihood

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

const trace = "TRACe (RAGBench, Friel et al. 2024, arXiv 2407.11005), section 3, by sentences and first-token scoring"

// traceMetrics are those of TRACe that look at which sentences of the contexts an answer was written from. Its
// relevance is context_relevance/sentences_logit, its adherence faithfulness/claims_logit.
func traceMetrics() []metrics.Metric {
	utilization := metrics.Metric{
		Name:    "context_utilization/sentences_logit",
		Doc:     "share of the contexts' sentences that the answer was written from",
		Source:  trace + ": utilization",
		Formula: "sentences with P(used) of at least 1/2 / sentences of the contexts",
		Calls:   "1 first-token scoring for each sentence of the contexts",
		Default: true,
		Prompts: []*prompts.Prompt{contextUsedSentenceYesPrompt},
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			list, mass, err := traced(ctx, m, s, contextUsedSentenceYesPrompt, nil)
			if err != nil {
				return metrics.Score{}, err
			}
			var score metrics.Score
			used := 0
			for _, t := range list {
				if *t.first.Verdict {
					used++
				}
				score.Because = append(score.Because, t.first)
			}
			score.Value = float64(used) / float64(len(list))
			score.Because = append(score.Because, ask.Doubts(mass)...)
			return score, nil
		},
	}
	completeness := metrics.Metric{
		Name:    "completeness/sentences_logit",
		Doc:     "share of the contexts' sentences that are relevant to the question from which the answer was written",
		Source:  trace + ": completeness",
		Formula: "sentences that are relevant and used / sentences that are relevant, each with P(yes) of at least 1/2",
		Calls:   "1 first-token scoring for each sentence of the contexts, 1 more for each that is relevant",
		Prompts: []*prompts.Prompt{contextRelevanceSentenceYesPrompt, contextUsedSentenceYesPrompt},
		Score:   scoreTraceCompleteness,
	}
	list := []metrics.Metric{utilization, completeness}
	for i := range list {
		list[i].Max = 1
		list[i].Needs = metrics.Question | metrics.Answer | metrics.Contexts
		list[i].Asks = metrics.Asks{backend.Judge: backend.CanChoose}
	}
	return list
}

// scoreTraceCompleteness is not applicable where no sentence is relevant: there is nothing to leave out.
func scoreTraceCompleteness(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	list, mass, err := traced(ctx, m, s, contextRelevanceSentenceYesPrompt, contextUsedSentenceYesPrompt)
	if err != nil {
		return metrics.Score{}, err
	}
	var score metrics.Score
	used, relevant := 0, 0
	for _, t := range list {
		if !*t.first.Verdict {
			continue
		}
		relevant++
		if *t.then.Verdict {
			used++
		}
		score.Because = append(score.Because, t.then)
	}
	if relevant == 0 {
		return metrics.Score{}, fmt.Errorf("%w: no sentence of the contexts is relevant to the question",
			metrics.ErrNotApplicable)
	}
	score.Value = float64(used) / float64(relevant)
	score.Because = append(score.Because, ask.Doubts(mass)...)
	return score, nil
}

// A tracedSentence is a sentence of the contexts: what was answered to a question about it, and to a second one where the
// first was answered with yes.
type tracedSentence struct{ first, then metrics.Finding }

// traced asks a yes/no question about every sentence of the contexts, each shown with the context around it, and another
// one (nil: none) about those where the answer is yes. It returns the lowest probability that yes and no had together.
func traced(ctx context.Context, m metrics.Models, s *metrics.Sample,
	first, then *prompts.Prompt) (list []tracedSentence, mass float64, err error) {
	mass = 1
	for _, c := range metrics.NonBlank(s.Contexts) {
		view := metrics.View{Sample: s, Context: c.Number}
		_, err := view.InWindows(ask.InRow(m, first), func(e metrics.Excerpt) error {
			var own []tracedSentence
			least := 1.0
			answer := func(prompt *prompts.Prompt, sentence metrics.RowSentence) (metrics.Finding, error) {
				p, err := ask.PollOnce(ctx, m, prompt, usedData{e.Row, sentence.Number, e.Text, s.Question, sentence.Text,
					s.Answer, s.History})
				if err != nil {
					return metrics.Finding{}, err
				}
				yes := p.Yes[0][0] >= 0.5
				least = min(least, p.Mass)
				return metrics.Finding{Kind: "sentence", Text: sentence.Text, Verdict: &yes, Value: &p.Yes[0][0],
					Where: c.Where("")}, nil
			}
			for _, sentence := range e.Sentences {
				if !tokenize.HasWords(sentence.Text) {
					continue
				}
				f, err := answer(first, sentence)
				if err != nil {
					return err
				}
				t := tracedSentence{first: f}
				if then != nil && *f.Verdict {
					if t.then, err = answer(then, sentence); err != nil {
						return err
					}
				}
				own = append(own, t)
			}
			list, mass = append(list, own...), min(mass, least)
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
	}
	if len(list) == 0 {
		return nil, 0, fmt.Errorf("%w: the contexts hold no sentence", metrics.ErrNotApplicable)
	}
	return list, mass, nil
}

// usedData is what context_used_sentence_yes is rendered with, and context_relevance_sentence_yes, which sees no answer.
type usedData struct {
	Row                                 metrics.Row
	Number                              int // of the sentence
	Context, Question, Sentence, Answer string
	History                             []metrics.Turn
}

var contextUsedSentenceYesPrompt = prompts.Builtin("context_used_sentence_yes", prompts.Example{
	Data: usedData{Context: "<context>", Question: "<question>", Sentence: "<sentence>", Answer: "<answer>",
		History: history},
	Shown: map[string]string{".Context": "<context>", ".Sentence": "<sentence>", ".Answer": "<answer>"},
})
