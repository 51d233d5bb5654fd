package text

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// rougeMetrics are ROUGE as the rouge_score package counts it with its stemmer on: tokens are stemmed runs of
// letters and numbers, and of several references the one of the best F-measure counts, for precision and
// recall too.
func rougeMetrics() []metrics.Metric {
	const source = "ROUGE (Lin 2004), rouge_score package"
	var list []metrics.Metric
	for _, kind := range []struct {
		name, units, formula string
		count                rougeCount
	}{
		{"rouge1", "words in common", "of the words in common", rougeN(1)},
		{"rouge2", "pairs of words in common", "of the pairs of consecutive words in common", rougeN(2)},
		{"rougeL", "words in common and in order", "of the longest common subsequence of words", rougeL},
		{"rougeLsum", "words in common and in order, line by line",
			"of each reference line's words in the longest common subsequences with the answer's lines", rougeLsum},
	} {
		add := func(suffix, doc, value string, cut func(string) []string, of share, original bool) {
			list = append(list, lexical(metrics.Metric{
				Name:    "answer_similarity/" + kind.name + suffix,
				Doc:     doc,
				Source:  source,
				Formula: value + " " + kind.formula,
				Score:   scoreRouge(kind.count, cut, of, original),
			}))
		}
		add("", "F-measure by "+kind.units+", stemmed, in any script", "F1", tokenize.Alphanumeric, ofBoth, false)
		add("_ascii", "F-measure by "+kind.units+", by the letter of rouge_score, whose words are of ASCII only", "F1",
			tokenize.AlphanumericASCII, ofBoth, true)
		if kind.name == "rougeLsum" {
			continue // nobody asks for its precision and recall
		}
		add("_precision", "share of the answer by "+kind.units+", stemmed, in any script", "precision",
			tokenize.Alphanumeric, ofAnswer, false)
		add("_recall", "share of the best reference by "+kind.units+", stemmed, in any script", "recall",
			tokenize.Alphanumeric, ofReference, false)
	}
	return list
}

// A rougeCount counts what two texts have in common once cut brings them into tokens.
type rougeCount func(answer, reference string, cut func(string) []string) (overlap, error)

// scoreRouge scores by a kind of ROUGE. In the original what cannot be computed is 0.
func scoreRouge(count rougeCount, cut func(string) []string, of share, original bool) scoreFunc {
	stemmed := func(text string) []string {
		tokens := cut(text)
		for i, t := range tokens {
			if utf8.RuneCountInString(t) > 3 { // rouge_score leaves short words as they are
				tokens[i] = tokenize.Stem(t)
			}
		}
		return tokens
	}
	return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return rankedReference(s, func(reference string) (float64, metrics.Score, error) {
			o, err := count(s.Answer, reference, stemmed)
			if err != nil {
				return 0, metrics.Score{}, err
			}
			if !original && (o.reference == 0 || of == ofAnswer && o.answer == 0) {
				return 0, metrics.Score{},
					fmt.Errorf("%w: there are too few words in the reference %q, or in the answer",
						metrics.ErrNotApplicable, metrics.Bounded(reference))
			}
			note := fmt.Sprintf("%d in common, of %d in the answer and %d in the reference", o.common, o.answer,
				o.reference)
			because := append([]metrics.Finding{{Kind: "note", Text: note}}, o.unitFindings()...)
			return o.value(ofBoth), o.score(of, because), nil
		})
	}
}

// rougeN counts n-grams of words.
func rougeN(n int) rougeCount {
	return func(answer, reference string, cut func(string) []string) (overlap, error) {
		return newOverlap(grams(cut(answer), n, " "), grams(cut(reference), n, " "), ofReference), nil
	}
}

// mostCompared bounds the work of finding longest common subsequences, in pairs of words: two texts of 32 Ki
// words, some seconds and 128 MiB.
const mostCompared int64 = 1 << 30

// comparableWords is ErrNotApplicable for texts of so many words that their longest common subsequence would take
// minutes.
func comparableWords(answer, reference int) error {
	if int64(answer)*int64(reference) > mostCompared {
		return fmt.Errorf("%w: the answer has %d words and the reference %d, too many to compare in order",
			metrics.ErrNotApplicable, answer, reference)
	}
	return nil
}

// rougeL counts the words of the longest common subsequence.
func rougeL(answer, reference string, cut func(string) []string) (overlap, error) {
	got, want := cut(answer), cut(reference)
	o := overlap{answer: len(got), reference: len(want)}
	if err := comparableWords(o.answer, o.reference); err != nil {
		return o, err
	}
	common := make(map[int]bool)
	for _, i := range tokenize.CommonSubsequence(want, got) {
		common[i] = true
	}
	for i, t := range want {
		if common[i] {
			o.found = append(o.found, t)
		} else {
			o.missing = append(o.missing, t)
		}
	}
	o.common = len(o.found)
	return o, nil
}

// rougeLsum counts, for every line of the reference, the words that are in its longest common subsequence
// with any line of the answer, but no word more often than it stands in the answer.
func rougeLsum(answer, reference string, cut func(string) []string) (overlap, error) {
	var o overlap
	cutLines := func(text string) (lines [][]string, words int) {
		for line := range strings.SplitSeq(text, "\n") {
			lines = append(lines, cut(line))
			words += len(lines[len(lines)-1])
		}
		return lines, words
	}
	var got, want [][]string
	got, o.answer = cutLines(answer)
	want, o.reference = cutLines(reference)
	if err := comparableWords(o.answer, o.reference); err != nil {
		return o, err
	}
	left := make(map[string]int) // words of the answer that no hit has used yet
	for _, words := range got {
		for _, w := range words {
			left[w]++
		}
	}
	for _, words := range want {
		common := make([]bool, len(words))
		for _, line := range got {
			for _, i := range tokenize.CommonSubsequence(words, line) {
				common[i] = true
			}
		}
		for i, w := range words {
			if common[i] && left[w] > 0 {
				left[w]--
				o.found = append(o.found, w)
			} else {
				o.missing = append(o.missing, w)
			}
		}
	}
	o.common = len(o.found)
	return o, nil
}
