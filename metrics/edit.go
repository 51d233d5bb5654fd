package metrics

import (
	"context"
	"fmt"
)

// editMetrics compare characters and where they stand: Ragas' string similarity, which takes its measures
// from RapidFuzz. A character is a Unicode code point; case and white space count.
//
// The measures are written out here: each is a few lines, and the usual library for edit distances counts
// in 16 bits, which long answers overflow.
func editMetrics() []Metric {
	var list []Metric
	for _, measure := range []struct {
		name, doc, formula string
		compare            func(a, b []rune) (float64, string)
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
		list = append(list, lexical(Metric{
			Name:    "answer_similarity/" + measure.name,
			Doc:     measure.doc,
			Source:  "Ragas, NonLLMStringSimilarity (RapidFuzz)",
			Formula: measure.formula,
			Score: func(_ context.Context, _ Models, s *Sample) (Score, error) {
				answer := []rune(s.Answer)
				return bestReference(s, func(reference string) (Score, error) {
					value, note := measure.compare(answer, []rune(reference))
					return Score{value, []Finding{{Kind: "note", Text: note}}}, nil
				})
			},
		}))
	}
	return list
}

// levenshtein is 1 less the edit distance over the length of the longer text. The texts are not both empty;
// so for all four.
func levenshtein(a, b []rune) (float64, string) {
	longer := max(len(a), len(b))
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	row := make([]int, len(b)+1) // row[j]: the distance of a so far to b[:j]
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal
			} else {
				row[j+1] = 1 + min(diagonal, above, row[j])
			}
			diagonal = above
		}
	}
	edits := row[len(b)]
	return 1 - ratio(edits, longer), fmt.Sprintf("%d edits, the longer text has %d characters", edits, longer)
}

// hamming counts what the longer text has more as places that differ.
func hamming(a, b []rune) (float64, string) {
	longer, equal := max(len(a), len(b)), 0
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			equal++
		}
	}
	return ratio(equal, longer), fmt.Sprintf("%d of %d places have equal characters", equal, longer)
}

// jaro matches every character of a with the first free equal one of b that stands no farther off than half
// the longer text less one. The pairs of matches that are out of order, halved and rounded down, are the
// transpositions.
func jaro(a, b []rune) (float64, string) {
	reach := max(max(len(a), len(b))/2-1, 0)
	taken := make([]bool, len(b))
	var matched []rune // of a, in order
	for i, x := range a {
		for j := max(i-reach, 0); j < min(i+reach+1, len(b)); j++ {
			if !taken[j] && b[j] == x {
				taken[j] = true
				matched = append(matched, x)
				break
			}
		}
	}
	if len(matched) == 0 {
		return 0, "no character matches"
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
	return min(1, value), fmt.Sprintf("%d characters match, %d of them out of order, of %d in the answer and %d in the reference", n, moved, len(a), len(b))
}

// jaroWinkler is jaro raised by what the beginnings have in common.
func jaroWinkler(a, b []rune) (float64, string) {
	value, note := jaro(a, b)
	prefix := 0
	for prefix < min(4, len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	if value > 0.7 {
		value += 0.1 * float64(prefix) * (1 - value)
	}
	return min(1, value), fmt.Sprintf("%s; common prefix %d", note, prefix)
}
