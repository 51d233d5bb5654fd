package likelihood

import (
	"context"
	"fmt"
	"math"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// gptScoreData is what gptscore is rendered with. What the aspect does not look at is empty.
type gptScoreData struct {
	Instruction                  string // what a good answer is told to be
	Context, Question, Reference string
	History                      []metrics.Turn
}

// gptScoreMetrics are the likelihood of the answer given an instruction that asks for one aspect of quality.
func gptScoreMetrics() []metrics.Metric {
	list := []struct {
		name, aspect, instruction string
		needs                     metrics.Field
	}{
		{"answer_relevance/gptscore", "relevance", "Answer the question. Keep to what it asks for.",
			metrics.Question | metrics.Answer},
		{"faithfulness/gptscore", "faithfulness", "Answer the question. Say only what the text says.",
			metrics.Question | metrics.Answer | metrics.Contexts},
		{"answer_correctness/gptscore", "correctness",
			"Answer the question. Say the same as the correct answer, in your own words.",
			metrics.Question | metrics.Answer | metrics.References},
		{"answer_quality/gptscore_fluency", "fluency", "Answer the question in fluent and faultless language.",
			metrics.Question | metrics.Answer},
		{"answer_quality/gptscore_coherence", "coherence",
			"Answer the question so that each sentence follows from the one before.",
			metrics.Question | metrics.Answer},
	}
	var all []metrics.Metric
	for _, g := range list {
		a := grading{aspect: aspect{shown: g.needs}} // what grades are taken over, likelihoods are too
		all = append(all, metrics.Metric{
			Name: g.name,
			Doc: "geometric mean of the answer's token probabilities given an instruction that asks for " +
				g.aspect,
			Source:  "GPTScore (Fu et al. 2023, arXiv 2302.04166), section 3, with equal weights",
			Formula: "exp(mean log p(token of the answer | instruction))" + a.over(),
			Calls:   "1 text's log-likelihood" + a.each(),
			Min:     0,
			Max:     1,
			Needs:   g.needs,
			Asks:    metrics.Asks{backend.Judge: backend.CanScore},
			Prompts: []*prompts.Prompt{gptscorePrompt},
			Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				d := gptScoreData{Instruction: g.instruction, Question: s.Question, History: s.History}
				switch {
				case g.needs.Has(metrics.References):
					return gptScoreByReference(ctx, m, s, d)
				case g.needs.Has(metrics.Contexts):
					l, where, err := likelihoodInWindows(ctx, m, gptscorePrompt, s.Contexts, func(text string) any {
						d.Context = text
						return d
					}, s.Answer)
					return likelihoodScore(l, where), err
				}
				l, err := likelihoodOf(ctx, m, gptscorePrompt, d, s.Answer)
				return likelihoodScore(l, ""), err
			},
		})
	}
	return all
}

func likelihoodScore(l likelihood, where string) metrics.Score {
	return metrics.Score{Value: l.value(), Because: []metrics.Finding{l.finding(where)}}
}

func gptScoreByReference(ctx context.Context, m metrics.Models, s *metrics.Sample,
	d gptScoreData) (metrics.Score, error) {
	var score metrics.Score
	for _, r := range metrics.NonBlank(s.References) {
		d.Reference = r.Text
		l, err := likelihoodOf(ctx, m, gptscorePrompt, d, s.Answer)
		if err != nil {
			return metrics.Score{}, err
		}
		score.Value = max(score.Value, l.value())
		score.Because = append(score.Because, l.finding(fmt.Sprintf("by reference %d", r.Number)))
	}
	return score, nil
}

// bartScoreMetrics are the likelihood of one text given another. BART is fine-tuned to generate a text from its
// source without instructions; other models are instructed by the prompt. All tokens weigh the same, as in the
// paper.
func bartScoreMetrics() []metrics.Metric {
	metric := func(name, doc, formula, calls string, needs metrics.Field, score func(context.Context, metrics.Models,
		*metrics.Sample) (metrics.Score, error)) metrics.Metric {
		return metrics.Metric{
			Name: name, Doc: doc, Formula: formula, Calls: calls,
			Source: "BARTScore (Yuan et al. 2021, arXiv 2106.11520), section 3.2, with a prompt in place of BART's " +
				"fine-tuning and exp taken",
			Min: 0, Max: 1, Needs: needs, Asks: metrics.Asks{backend.Judge: backend.CanScore},
			Prompts: []*prompts.Prompt{bartscorePrompt}, Score: score,
		}
	}
	return []metrics.Metric{
		metric("answer_correctness/bartscore_precision",
			"geometric mean of the answer's token probabilities given the reference",
			"max over references of P, where log P = mean log p(token of the answer | reference)",
			"1 text's log-likelihood for each reference", metrics.Answer|metrics.References,
			func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				return scoreBART(ctx, m, s, true, false)
			}),
		metric("answer_correctness/bartscore_recall",
			"geometric mean of the reference's token probabilities given the answer",
			"max over references of R, where log R = mean log p(token of the reference | answer)",
			"1 text's log-likelihood for each reference", metrics.Answer|metrics.References,
			func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				return scoreBART(ctx, m, s, false, true)
			}),
		metric("answer_correctness/bartscore_f",
			"geometric mean of the likelihoods of answer and reference given each other",
			"max over references of F, where log F = (log P + log R) / 2, P and R being those of bartscore_precision "+
				"and bartscore_recall",
			"the log-likelihoods of 2 texts for each reference", metrics.Answer|metrics.References,
			func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				return scoreBART(ctx, m, s, true, true)
			}),
		metric("faithfulness/bartscore",
			"geometric mean of the answer's token probabilities given the contexts",
			"exp(mean log p(token of the answer | contexts)); of several windows, the highest",
			"1 text's log-likelihood for each window of the contexts", metrics.Answer|metrics.Contexts,
			func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				l, where, err := likelihoodInWindows(ctx, m, bartscorePrompt, s.Contexts, func(text string) any {
					return sourceData{text}
				}, s.Answer)
				return likelihoodScore(l, where), err
			}),
	}
}

// scoreBART is precision, recall or, if both, F. The paper's F is the mean of the two logarithms, so that of
// what they are the logarithms of it is the geometric mean.
func scoreBART(ctx context.Context, m metrics.Models, s *metrics.Sample, precision,
	recall bool) (metrics.Score, error) {
	var score metrics.Score
	for _, r := range metrics.NonBlank(s.References) {
		sum, n := 0.0, 0.0
		weigh := func(source, text, where string) error {
			l, err := likelihoodOf(ctx, m, bartscorePrompt, sourceData{source}, text)
			if err != nil {
				return err
			}
			sum, n = sum+l.mean, n+1
			score.Because = append(score.Because, l.finding(fmt.Sprintf(where, r.Number)))
			return nil
		}
		if precision {
			if err := weigh(r.Text, s.Answer, "after reference %d"); err != nil {
				return metrics.Score{}, err
			}
		}
		if recall {
			if err := weigh(s.Answer, r.Text, "reference %d after the answer"); err != nil {
				return metrics.Score{}, err
			}
		}
		score.Value = max(score.Value, min(1, math.Exp(sum/n)))
	}
	return score, nil
}

var gptscorePrompt = prompts.Builtin("gptscore", prompts.Example{
	Data: gptScoreData{Instruction: "<instruction>", Context: "<context>", Question: "<question>",
		Reference: "<reference>", History: history},
	Shown: map[string]string{".Instruction": "<instruction>", ".Context": "<context>", ".Question": "<question>",
		".Reference": "<reference>"},
})

var bartscorePrompt = prompts.Builtin("bartscore", prompts.Example{
	Data:  sourceData{Text: "<text>"},
	Shown: map[string]string{".Text": "<text>"},
})
