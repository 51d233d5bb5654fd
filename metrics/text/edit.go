package text

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// editMetrics are similarities by edit distance of characters: Ragas' string similarity, which takes its measures
// from RapidFuzz. A character is a Unicode code point; case and white space count.
//
// The measures are written out here: each is a few lines, and the usual libraries for edit distances count
// in 16 bits, which long answers overflow, or take one step for each pair of characters, which takes minutes.
func editMetrics() []metrics.Metric {
	var list []metrics.Metric
	for _, measure := range []struct {
		name, doc, formula string
		compare            func(a, b []rune) (value float64, note string, err error)
	}{
		{"levenshtein", "share of characters that need no edit to turn the answer into the best reference",
			"1 - (insertions + deletions + substitutions) / characters of the longer text", levenshtein},
		{"hamming", "share of places where the answer and the best reference have the same character",
			"places with equal characters / characters of the longer text", hamming},
		{"jaro", "Jaro similarity to the best reference: characters in common that stand near each other",
			"mean of matches / answer, matches / reference and (matches - transpositions) / matches", jaro},
		{"jaro_winkler", "Jaro similarity to the best reference, raised where the first four characters agree",
			"jaro + 0.1 * common prefix (4 at most) * (1 - jaro) where jaro is above 0.7, else jaro", jaroWinkler},
	} {
		list = append(list, lexical(metrics.Metric{
			Name:    "answer_similarity/" + measure.name,
			Doc:     measure.doc,
			Source:  "Ragas, NonLLMStringSimilarity (RapidFuzz)",
			Formula: measure.formula,
			Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				answer := []rune(s.Answer)
				return bestReference(s, func(reference string) (metrics.Score, error) {
					value, note, err := measure.compare(answer, []rune(reference))
					return metrics.Score{Value: value, Because: []metrics.Finding{{Kind: "note", Text: note}}}, err
				})
			},
		}))
	}
	return list
}

// levenshtein is the normalised similarity: 1 less the edit distance over the length of the longer text. The
// texts are not both empty; so for all four.
func levenshtein(a, b []rune) (float64, string, error) {
	longer := max(len(a), len(b))
	n, err := tokenize.Edits(a, b)
	if err != nil {
		return 0, "", fmt.Errorf("%w: %v", metrics.ErrNotApplicable, err)
	}
	return 1 - ratio(n, longer), fmt.Sprintf("%d edits, the longer text has %d characters", n, longer), nil
}

// hamming counts the surplus of the longer text as substitutions.
func hamming(a, b []rune) (float64, string, error) {
	longer, equal := max(len(a), len(b)), 0
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			equal++
		}
	}
	return ratio(equal, longer), fmt.Sprintf("%d of %d places have equal characters", equal, longer), nil
}

// jaro matches every character of a with the first free equal one of b that stands no farther off than half
// the longer text less one. The pairs of matches that are out of order, halved and rounded down, are the
// transpositions.
func jaro(a, b []rune) (float64, string, error) {
	reach := max(max(len(a), len(b))/2-1, 0)
	free := make(map[rune][]int) // the places in b of each character that may still be matched, in order
	for j, y := range b {
		free[y] = append(free[y], j)
	}
	taken := make([]bool, len(b))
	var matched []rune // of a, in order
	for i, x := range a {
		places := free[x]
		for len(places) > 0 && places[0] < i-reach { // nor will they be in reach of what follows
			places = places[1:]
		}
		if len(places) > 0 && places[0] <= i+reach {
			taken[places[0]] = true
			matched = append(matched, x)
			places = places[1:]
		}
		free[x] = places
	}
	if len(matched) == 0 {
		return 0, "no character matches", nil
	}
	n, moved := 0, 0
	for j, y := range b {
		if taken[j] {
			if y != matched[n] {
				moved++
			}
			n++
		}
	}
	value := (ratio(n, len(a)) + ratio(n, len(b)) + ratio(n-moved/2, n)) / 3
	return min(1, value), fmt.Sprintf("%d characters match, %d of them out of order, of %d in the answer and %d in "+
		"the reference", n, moved, len(a), len(b)), nil
}

// jaroWinkler is jaro raised by the length of the common prefix.
func jaroWinkler(a, b []rune) (float64, string, error) {
	value, note, err := jaro(a, b)
	prefix := 0
	for prefix < min(4, len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	if value > 0.7 {
		value += 0.1 * float64(prefix) * (1 - value)
	}
	return min(1, value), fmt.Sprintf("%s; common prefix %d", note, prefix), err
}
