package selfcheck

import (
	"context"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
)

func prompted() variant {
	return variant{
		Metric: metrics.Metric{
			Name: "faithfulness/selfcheck_prompt",
			Doc: "consistency with other answers of the system: mean probability that one supports a sentence of the " +
				"answer",
			Source:  source + ".5, its verdicts by first-token scoring",
			Formula: "mean over sentences and other answers of P(yes)",
			Calls:   "1 first-token scoring for each sentence and other answer",
			Needs:   metrics.Question,
			Asks:    metrics.Asks{backend.Judge: backend.CanChoose},
			Prompts: []*prompts.Prompt{sentenceYesPrompt},
		},
		compare: comparePrompted,
	}
}

// sentenceData is what selfcheck_sentence_yes is rendered with: Context is an other answer, Answer a sentence.
type sentenceData struct {
	Context, Question, Answer string
	History                   []metrics.Turn
}

// comparePrompted asks about every sentence in the words of faithfulness/logit, an other answer standing for the text.
func comparePrompted(ctx context.Context, m metrics.Models, s *metrics.Sample, others []string) (metrics.Score, error) {
	own, err := sentences(s)
	if err != nil {
		return metrics.Score{}, err
	}
	means := make([]float64, len(own))
	mass := 1.0
	for _, other := range others {
		p, err := ask.PollInWindows(ctx, m, sentenceYesPrompt, []string{other}, len(own), func(text string, i int) any {
			return sentenceData{Context: text, Question: s.Question, Answer: own[i], History: s.History}
		})
		if err != nil {
			return metrics.Score{}, err
		}
		for i := range own {
			yes, _ := p.Highest(i)
			means[i] += yes / float64(len(others))
		}
		mass = min(mass, p.Mass)
	}
	score := mean(own, means)
	score.Because = append(score.Because, ask.Doubts(mass)...)
	return score, nil
}

var sentenceYesPrompt = prompts.Builtin("selfcheck_sentence_yes", prompts.Example{
	Data: sentenceData{Context: "<context>", Question: "<question>", Answer: "<answer>",
		History: history},
	Shown: map[string]string{".Context": "<context>", ".Question": "<question>", ".Answer": "<answer>"},
	Shot: func(s *prompts.Shot) (any, string) {
		if metrics.Blank(s.Context) || metrics.Blank(s.Answer) {
			return nil, ""
		}
		return sentenceData{Context: s.Context, Question: s.Question, Answer: s.Answer}, s.Says("faithfulness")
	},
	Verdict: true,
})
