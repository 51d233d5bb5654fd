package selfcheck

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// ngramMean and ngramLeast are likelihoods of the answer under a unigram model of the answer and the others. The answer
// is counted too, as in the paper, so that no word has a probability of 0.
func ngramMean() variant {
	return variant{
		Metric: metrics.Metric{
			Name: "faithfulness/selfcheck_ngram",
			Doc: "consistency with other answers of the system: geometric mean of the answer's word probabilities under " +
				"their unigram model",
			Source:  source + ".3, unigrams (Avg), with our words in place of spaCy's tokens",
			Formula: "exp(mean log(count of word in the answer and the others / words in them))",
			Calls:   "none",
		},
		compare: func(_ context.Context, _ metrics.Models, s *metrics.Sample, others []string) (metrics.Score, error) {
			words, err := unigrams(s, others)
			if err != nil {
				return metrics.Score{}, err
			}
			var score metrics.Score
			sum, n := 0.0, 0
			for _, w := range words {
				own := 0.0
				for _, log := range w.logs {
					own += log
				}
				sum, n = sum+own, n+len(w.logs)
				value := min(1, math.Exp(own/float64(len(w.logs))))
				score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: w.sentence, Value: &value})
			}
			score.Value = min(1, math.Exp(sum/float64(n)))
			return score, nil
		},
	}
}

func ngramLeast() variant {
	return variant{
		Metric: metrics.Metric{
			Name: "faithfulness/selfcheck_ngram_max",
			Doc: "consistency with other answers of the system: probability of each sentence's least probable word under " +
				"their unigram model",
			Source:  source + ".3, unigrams (Max), with our words in place of spaCy's tokens",
			Formula: "exp(mean over sentences of the minimum of log(count of word in the answer and the others / words in them))",
			Calls:   "none",
		},
		compare: func(_ context.Context, _ metrics.Models, s *metrics.Sample, others []string) (metrics.Score, error) {
			words, err := unigrams(s, others)
			if err != nil {
				return metrics.Score{}, err
			}
			var score metrics.Score
			sum := 0.0
			for _, w := range words {
				at := slices.Index(w.logs, slices.Min(w.logs))
				sum += w.logs[at]
				value := min(1, math.Exp(w.logs[at]))
				score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: w.sentence, Value: &value,
					Reason: fmt.Sprintf("the least probable word is %q", metrics.Bounded(w.words[at]))})
			}
			score.Value = min(1, math.Exp(sum/float64(len(words))))
			return score, nil
		},
	}
}

// A wordedSentence is a sentence with the log-probability of each of its words, of which it has one at least.
type wordedSentence struct {
	sentence string
	words    []string
	logs     []float64
}

// unigrams weighs the words of the answer's sentences.
func unigrams(s *metrics.Sample, others []string) ([]wordedSentence, error) {
	counts := make(map[string]int)
	total := 0
	for _, text := range slices.Concat(others, []string{s.Answer}) {
		if err := backend.CheckText(text); err != nil {
			return nil, err
		}
		for _, w := range tokenize.Words(text) {
			counts[w]++
			total++
		}
	}
	var list []wordedSentence
	for _, sentence := range metrics.Worded(s.Answer) {
		found := wordedSentence{sentence: sentence, words: tokenize.Words(sentence)}
		for _, w := range found.words {
			found.logs = append(found.logs, math.Log(float64(max(counts[w], 1))/float64(total)))
		}
		if len(found.words) > 0 {
			list = append(list, found)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: the answer %q holds no word", metrics.ErrNotApplicable, metrics.Bounded(s.Answer))
	}
	return list, nil
}
