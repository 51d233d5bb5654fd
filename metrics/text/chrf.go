package text

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// chrfMetrics are chrF, of character n-grams, and chrF++, of word unigrams and bigrams, too.
func chrfMetrics() []metrics.Metric {
	const formula = "F2 of the mean precision and mean recall over the n-grams of 1 to 6 characters"
	return []metrics.Metric{
		lexical(metrics.Metric{
			Name:    "answer_similarity/chrf",
			Doc:     "F2 of character n-grams with the best reference: sacrebleu's chrF divided by 100",
			Source:  "chrF (Popović 2015), sacrebleu's sentence_chrf",
			Formula: formula,
			Score:   scoreCHRF(0),
		}),
		lexical(metrics.Metric{
			Name:    "answer_similarity/chrf++",
			Doc:     "F2 of character and word n-grams with the best reference: sacrebleu's chrF++ divided by 100",
			Source:  "chrF++ (Popović 2017), sacrebleu's sentence_chrf with word order 2",
			Formula: formula + " and of 1 to 2 words",
			Score:   scoreCHRF(2),
		}),
	}
}

const maxCHRF = 6 // the longest n-grams of characters

func scoreCHRF(maxWords int) scoreFunc {
	return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		answer := chrfGrams(s.Answer, maxWords)
		return bestReference(s, func(reference string) (metrics.Score, error) {
			want := chrfGrams(reference, maxWords)
			precision, recall, orders := 0.0, 0.0, 0
			for i, got := range answer {
				if len(got) > 0 && len(want[i]) > 0 { // orders that a text is too short for are left out
					o := newOverlap(got, want[i], ofReference)
					precision += o.value(ofAnswer)
					recall += o.value(ofReference)
					orders++
				}
			}
			if orders == 0 {
				return metrics.Score{}, fmt.Errorf("%w: no character in the answer or in the reference %q",
					metrics.ErrNotApplicable, metrics.Bounded(reference))
			}
			precision, recall = precision/float64(orders), recall/float64(orders)
			note := fmt.Sprintf("mean precision %.3f and recall %.3f over %d orders", precision, recall, orders)
			return metrics.Score{Value: f2(precision, recall),
				Because: []metrics.Finding{{Kind: "note", Text: note}}}, nil
		})
	}
}

// f2 is the F-measure in which recall weighs twice as much as precision (beta 2).
func f2(precision, recall float64) float64 {
	if precision+recall == 0 {
		return 0
	}
	return min(1, 5*precision*recall/(4*precision+recall))
}

// chrfGrams returns a text's n-grams: those of characters for each n, white space left out, then those of
// words.
func chrfGrams(text string, maxWords int) [][]string {
	var list [][]string
	characters := strings.Split(strings.Join(tokenize.PythonFields(text), ""), "")
	for n := range maxCHRF {
		list = append(list, grams(characters, n+1, ""))
	}
	words := chrfWords(text)
	for n := range maxWords {
		list = append(list, grams(words, n+1, " "))
	}
	return list
}

// chrfWords cuts text at white space and takes off one mark of ASCII punctuation, at the end of a word or
// else at its beginning: "(hi)" is "(hi" and ")".
func chrfWords(text string) []string {
	var words []string
	for _, w := range tokenize.PythonFields(text) {
		switch last := len(w) - 1; {
		case utf8.RuneCountInString(w) == 1:
			words = append(words, w)
		case chrfMark(w[last]):
			words = append(words, w[:last], w[last:])
		case chrfMark(w[0]):
			words = append(words, w[:1], w[1:])
		default:
			words = append(words, w)
		}
	}
	return words
}

func chrfMark(c byte) bool { return strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) >= 0 }
