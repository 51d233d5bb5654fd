package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/assay-eval/assay/backend"
)

// gptScoreData is what gptscore is rendered with. What the aspect does not look at is empty.
type gptScoreData struct {
	Instruction                  string // what a good answer is told to be
	Context, Question, Reference string
	History                      []backend.Message
}

// gptScoreMetrics weigh the answer after an instruction that asks for one aspect of quality.
func gptScoreMetrics() []Metric {
	list := []struct {
		name, aspect, instruction string
		needs                     Field
	}{
		{"answer_relevance/gptscore", "relevance", "Answer the question. Keep to what it asks for.", Question | Answer},
		{"faithfulness/gptscore", "faithfulness", "Answer the question. Say only what the text says.", Question | Answer | Contexts},
		{"answer_correctness/gptscore", "correctness", "Answer the question. Say the same as the correct answer, in your own words.", Question | Answer | References},
		{"answer_quality/gptscore_fluency", "fluency", "Answer the question in fluent and faultless language.", Question | Answer},
		{"answer_quality/gptscore_coherence", "coherence", "Answer the question so that each sentence follows from the one before.", Question | Answer},
	}
	var metrics []Metric
	for _, g := range list {
		a := aspect{shown: g.needs} // what grades are taken over, likelihoods are too
		metrics = append(metrics, Metric{
			Name:    g.name,
			Doc:     "how probable the answer is where " + g.aspect + " is asked for: geometric mean of its token probabilities",
			Source:  "GPTScore (Fu et al. 2023, arXiv 2302.04166), section 3, with equal weights",
			Formula: "exp(mean log p(token of the answer | instruction))" + a.over(),
			Calls:   "1 text to weigh" + a.each(),
			Min:     0,
			Max:     1,
			Needs:   g.needs,
			Asks:    Asks{backend.Judge: backend.CanScore},
			Prompts: []string{"gptscore"},
			Score: func(ctx context.Context, m Models, s *Sample) (Score, error) {
				d := gptScoreData{Instruction: g.instruction, Question: s.Question, History: s.History}
				switch {
				case g.needs.Has(References):
					return gptScoreByReference(ctx, m, s, d)
				case g.needs.Has(Contexts):
					l, where, err := likelihoodInWindows(ctx, m, "gptscore", s.Contexts, func(text string) any {
						d.Context = text
						return d
					}, s.Answer)
					return likelihoodScore(l, where), err
				}
				l, err := likelihoodOf(ctx, m, "gptscore", d, s.Answer)
				return likelihoodScore(l, ""), err
			},
		})
	}
	return metrics
}

func likelihoodScore(l likelihood, where string) Score {
	return Score{Value: l.value(), Because: []Finding{l.finding(where)}}
}

func gptScoreByReference(ctx context.Context, m Models, s *Sample, d gptScoreData) (Score, error) {
	var score Score
	for _, r := range nonBlank(s.References) {
		d.Reference = r.text
		l, err := likelihoodOf(ctx, m, "gptscore", d, s.Answer)
		if err != nil {
			return Score{}, err
		}
		score.Value = max(score.Value, l.value())
		score.Because = append(score.Because, l.finding(fmt.Sprintf("by reference %d", r.number)))
	}
	return score, nil
}

// bartScoreMetrics weigh one text after another. BART is trained to write a text after its source without
// being told; other models are told by the prompt. Weights of tokens are equal, as in the paper.
func bartScoreMetrics() []Metric {
	metric := func(name, doc, formula, calls string, needs Field, score func(context.Context, Models, *Sample) (Score, error)) Metric {
		return Metric{
			Name: name, Doc: doc, Formula: formula, Calls: calls,
			Source: "BARTScore (Yuan et al. 2021, arXiv 2106.11520), section 3.2, with a prompt in place of BART's training and exp taken",
			Min:    0, Max: 1, Needs: needs, Asks: Asks{backend.Judge: backend.CanScore}, Prompts: []string{"bartscore"}, Score: score,
		}
	}
	return []Metric{
		metric("answer_correctness/bartscore_precision",
			"how probable the answer is after the reference: geometric mean of its token probabilities",
			"max over references of P, where log P = mean log p(token of the answer | reference)", "1 text to weigh for each reference", Answer|References,
			func(ctx context.Context, m Models, s *Sample) (Score, error) {
				return scoreBART(ctx, m, s, true, false)
			}),
		metric("answer_correctness/bartscore_recall",
			"how probable the reference is after the answer: geometric mean of its token probabilities",
			"max over references of R, where log R = mean log p(token of the reference | answer)", "1 text to weigh for each reference", Answer|References,
			func(ctx context.Context, m Models, s *Sample) (Score, error) {
				return scoreBART(ctx, m, s, false, true)
			}),
		metric("answer_correctness/bartscore_f",
			"how probable answer and reference are after each other",
			"max over references of F, where log F = (log P + log R) / 2, P and R being those of bartscore_precision and bartscore_recall",
			"2 texts to weigh for each reference", Answer|References,
			func(ctx context.Context, m Models, s *Sample) (Score, error) {
				return scoreBART(ctx, m, s, true, true)
			}),
		metric("faithfulness/bartscore",
			"how probable the answer is after the contexts: geometric mean of its token probabilities",
			"exp(mean log p(token of the answer | contexts)); of several windows, the highest", "1 text to weigh for each window of the contexts", Answer|Contexts,
			func(ctx context.Context, m Models, s *Sample) (Score, error) {
				l, where, err := likelihoodInWindows(ctx, m, "bartscore", s.Contexts, func(text string) any { return sourceData{text} }, s.Answer)
				return likelihoodScore(l, where), err
			}),
	}
}

// scoreBART is precision, recall or, if both, F. The paper's F is the mean of the two logarithms, so that of
// what they are the logarithms of it is the geometric mean.
func scoreBART(ctx context.Context, m Models, s *Sample, precision, recall bool) (Score, error) {
	var score Score
	for _, r := range nonBlank(s.References) {
		sum, n := 0.0, 0.0
		weigh := func(source, text, where string) error {
			l, err := likelihoodOf(ctx, m, "bartscore", sourceData{source}, text)
			if err != nil {
				return err
			}
			sum, n = sum+l.mean, n+1
			score.Because = append(score.Because, l.finding(fmt.Sprintf(where, r.number)))
			return nil
		}
		if precision {
			if err := weigh(r.text, s.Answer, "after reference %d"); err != nil {
				return Score{}, err
			}
		}
		if recall {
			if err := weigh(s.Answer, r.text, "reference %d after the answer"); err != nil {
				return Score{}, err
			}
		}
		score.Value = max(score.Value, min(1, math.Exp(sum/n)))
	}
	return score, nil
}
