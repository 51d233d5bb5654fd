package likelihood

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// selfCheckMetrics are SelfCheckGPT: consistency of the answer with others sampled for the same question, since a
// hallucination differs from sample to sample. Values are the paper's score reversed, so that higher is
// better.
func selfCheckMetrics() []metrics.Metric {
	const source = "SelfCheckGPT (Manakul et al. 2023, arXiv 2303.08896), section 5"
	const calls = "5 replies, where the sample has no other answers"
	return []metrics.Metric{
		{
			Name: "faithfulness/selfcheck_ngram",
			Doc: "consistency with the other answers to the question: geometric mean of the answer's word " +
				"probabilities under their unigram model",
			Source:  source + ".3, unigrams, with our words in place of spaCy's tokens",
			Formula: "exp(mean log(count of word in the answer and the others / words in them))",
			Calls:   "none",
			Min:     0,
			Max:     1,
			Needs:   metrics.Answer | metrics.OtherAnswers,
			Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				return unigramScore(s, metrics.TextsOf(metrics.NonBlank(s.OtherAnswers)))
			},
		},
		{
			Name:    "faithfulness/selfcheck_ngram_drawn",
			Doc:     "faithfulness/selfcheck_ngram with five answers sampled from the judge",
			Source:  source + ".3, unigrams, with our words in place of spaCy's tokens",
			Formula: "exp(mean log(count of word in the answer and the draws / words in them))",
			Calls:   "5 replies",
			Min:     0,
			Max:     1,
			Needs:   metrics.Question | metrics.Answer,
			Asks:    metrics.Asks{backend.Judge: backend.CanGenerate},
			Prompts: []*prompts.Prompt{selfcheckAnswerPrompt},
			Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				drawn, err := drawAnswers(ctx, m, s)
				if err != nil {
					return metrics.Score{}, err
				}
				return unigramScore(s, drawn)
			},
		},
		{
			Name: "faithfulness/selfcheck_embed",
			Doc: "consistency with the other answers: mean similarity of the answer's sentences to the nearest " +
				"sentence of each",
			Source:  source + ".1, with cosines of whole sentences in place of BERTScore",
			Formula: "mean over sentences and other answers of the highest cosine with a sentence of it",
			Calls:   calls + "; each sentence to embed",
			Min:     -1,
			Max:     1,
			Needs:   metrics.Question | metrics.Answer,
			Asks:    metrics.Asks{backend.Judge: backend.CanGenerate, backend.Embedder: backend.CanEmbed},
			Prompts: []*prompts.Prompt{selfcheckAnswerPrompt},
			Score:   scoreSelfCheckEmbed,
		},
		{
			Name:    "faithfulness/selfcheck_prompt",
			Doc:     "consistency with the other answers: mean probability that one supports a sentence of the answer",
			Source:  source + ".5, its verdicts by first-token scoring",
			Formula: "mean over sentences and other answers of P(yes)",
			Calls:   calls + "; 1 first-token scoring for each sentence and other answer",
			Min:     0,
			Max:     1,
			Needs:   metrics.Question | metrics.Answer,
			Asks:    metrics.Asks{backend.Judge: backend.CanGenerate | backend.CanChoose},
			Prompts: []*prompts.Prompt{selfcheckAnswerPrompt, selfcheckSentenceYesPrompt},
			Score:   scoreSelfCheckPrompt,
		},
	}
}

// selfCheckDraws is how many answers are sampled. The paper samples 20; its curves are flat by then, and steep up
// to about this.
const selfCheckDraws = 5

// otherAnswers are those of the dataset's row, else sampled from the judge.
func otherAnswers(ctx context.Context, m metrics.Models, s *metrics.Sample) ([]string, error) {
	if given := metrics.NonBlank(s.OtherAnswers); len(given) > 0 {
		return metrics.TextsOf(given), nil
	}
	return drawAnswers(ctx, m, s)
}

// errNoAnswer says that a reply holds no word.
var errNoAnswer = errors.New("no answer in the reply")

// drawAnswers has the judge answer the question, by the contexts where there are any. A draw that reaches
// its length limit is a shorter answer.
func drawAnswers(ctx context.Context, m metrics.Models, s *metrics.Sample) ([]string, error) {
	data := contextData{Question: s.Question, Context: metrics.NewPassage(s.Contexts).Text, History: s.History}
	var drawn []string
	for i := range selfCheckDraws {
		q := ask.Query{Prompt: selfcheckAnswerPrompt, Data: data, First: i, Step: selfCheckDraws}
		text, err := ask.Judge(ctx, m, q, func(r ask.Reply) (string, error) {
			if !tokenize.HasWords(r.Text) {
				return "", errNoAnswer
			}
			return strings.TrimSpace(r.Text), nil
		})
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, text)
	}
	return drawn, nil
}

// unigramScore is the likelihood of the answer under a unigram model of the answer and the others. The answer is
// counted too, as in the paper, so that no word has a probability of 0.
func unigramScore(s *metrics.Sample, others []string) (metrics.Score, error) {
	counts := make(map[string]int)
	total := 0
	for _, text := range slices.Concat(others, []string{s.Answer}) {
		if err := backend.CheckText(text); err != nil {
			return metrics.Score{}, err
		}
		for _, w := range tokenize.Words(text) {
			counts[w]++
			total++
		}
	}
	var score metrics.Score
	sum, n := 0.0, 0
	for _, sentence := range metrics.Worded(s.Answer) {
		words := tokenize.Words(sentence)
		if len(words) == 0 {
			continue
		}
		own := 0.0
		for _, w := range words {
			own += math.Log(float64(max(counts[w], 1)) / float64(total))
		}
		value := probability(own / float64(len(words)))
		sum, n = sum+own, n+len(words)
		score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: sentence, Value: &value})
	}
	if n == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the answer %q holds no word", metrics.ErrNotApplicable,
			metrics.Bounded(s.Answer))
	}
	score.Value = probability(sum / float64(n))
	score.Because = append(score.Because, compared(others)...)
	return score, nil
}

// compared are the answers that an answer was compared with.
func compared(others []string) []metrics.Finding {
	var list []metrics.Finding
	for _, text := range others {
		list = append(list, metrics.Finding{Kind: "other answer", Text: metrics.Bounded(text)})
	}
	return list
}

func scoreSelfCheckEmbed(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	own := metrics.Worded(s.Answer)
	if len(own) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the answer %q holds no word", metrics.ErrNotApplicable,
			metrics.Bounded(s.Answer))
	}
	others, err := otherAnswers(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	all := slices.Clone(own)
	var ends []int // of each other answer's sentences in all
	for _, text := range others {
		all = append(all, metrics.Worded(text)...)
		ends = append(ends, len(all))
	}
	vectors, err := ask.Embed(ctx, m, all)
	if err != nil {
		return metrics.Score{}, err
	}
	means := make([]float64, len(own))
	for i := range own {
		from, n := len(own), 0
		for _, end := range ends {
			if from == end {
				continue // an answer without words
			}
			best := -1.0
			for _, v := range vectors[from:end] {
				best = max(best, ask.Cosine(vectors[i], v))
			}
			means[i] += best
			from, n = end, n+1
		}
		if n == 0 {
			return metrics.Score{}, fmt.Errorf("%w: none of the other answers holds a word", metrics.ErrNotApplicable)
		}
		means[i] /= float64(n)
	}
	return sentencesMean(own, means, others), nil
}

// sentencesMean is the mean over an answer's sentences.
func sentencesMean(sentences []string, values []float64, others []string) metrics.Score {
	var score metrics.Score
	for i, sentence := range sentences {
		score.Value += values[i] / float64(len(sentences))
		score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: sentence, Value: &values[i]})
	}
	score.Value = min(1, max(-1, score.Value))
	score.Because = append(score.Because, compared(others)...)
	return score
}

// scoreSelfCheckPrompt asks about every sentence in the words of faithfulness/logit, an other answer standing for the
// text.
func scoreSelfCheckPrompt(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	own := metrics.Worded(s.Answer)
	if len(own) == 0 {
		return metrics.Score{}, fmt.Errorf("%w: the answer %q holds no word", metrics.ErrNotApplicable,
			metrics.Bounded(s.Answer))
	}
	others, err := otherAnswers(ctx, m, s)
	if err != nil {
		return metrics.Score{}, err
	}
	means := make([]float64, len(own))
	mass := 1.0
	for _, other := range others {
		p, err := ask.PollInWindows(ctx, m, selfcheckSentenceYesPrompt, []string{other}, len(own),
			func(text string, i int) any {
				return answeredData{Context: text, Question: s.Question, Answer: own[i], History: s.History}
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
	score := sentencesMean(own, means, others)
	score.Because = append(score.Because, ask.Doubts(mass)...)
	return score, nil
}

var selfcheckAnswerPrompt = prompts.Builtin("selfcheck_answer", prompts.Example{
	Data:  contextData{Question: "<question>", Context: "<context>", History: history},
	Shown: map[string]string{".Question": "<question>", ".Context": "<context>"},
})

var selfcheckSentenceYesPrompt = prompts.Builtin("selfcheck_sentence_yes", answeredExample("faithfulness"))
