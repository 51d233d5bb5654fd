package metrics

import (
	"context"
	"fmt"
	"math/bits"
)

// editMetrics compare characters and where they stand: Ragas' string similarity, which takes its measures
// from RapidFuzz. A character is a Unicode code point; case and white space count.
//
// The measures are written out here: each is a few lines, and the usual libraries for edit distances count
// in 16 bits, which long answers overflow, or take one step for each pair of characters, which takes minutes.
func editMetrics() []Metric {
	var list []Metric
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
		list = append(list, lexical(Metric{
			Name:    "answer_similarity/" + measure.name,
			Doc:     measure.doc,
			Source:  "Ragas, NonLLMStringSimilarity (RapidFuzz)",
			Formula: measure.formula,
			Score: func(_ context.Context, _ Models, s *Sample) (Score, error) {
				answer := []rune(s.Answer)
				return bestReference(s, func(reference string) (Score, error) {
					value, note, err := measure.compare(answer, []rune(reference))
					return Score{value, []Finding{{Kind: "note", Text: note}}}, err
				})
			},
		}))
	}
	return list
}

// levenshtein is 1 less the edit distance over the length of the longer text. The texts are not both empty;
// so for all four.
func levenshtein(a, b []rune) (float64, string, error) {
	n, err := edits(a, b)
	longer := max(len(a), len(b))
	return 1 - ratio(n, longer), fmt.Sprintf("%d edits, the longer text has %d characters", n, longer), err
}

// mostEdited bounds the work of edits, in pairs of characters: two texts of 256 Ki characters, some seconds.
const mostEdited int64 = 1 << 36

// edits is the Levenshtein distance of two texts: the least number of insertions, deletions and substitutions of
// a character. It is ErrNotApplicable where that would take minutes.
//
// It computes 64 rows of the usual table at a time (Myers 1999, in the form of Hyyrö 2003): of what stands in the
// table only the differences of neighbours are kept, which are 1, 0 or -1, as a bit for 1 and a bit for -1 in a
// word for the column.
func edits(a, b []rune) (int, error) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a) + len(b), nil
	case int64(len(a)) > mostEdited/int64(len(b)):
		return 0, fmt.Errorf("%w: the texts differ over %d and %d characters, too many to count the edits", ErrNotApplicable, len(a), len(b))
	}
	where := make(map[rune]int) // the place of each of a's characters in rows
	for _, x := range a {
		if _, known := where[x]; !known {
			where[x] = len(where)
		}
	}
	columns := make([]int, len(b)) // the places of b's characters; after all others those that a lacks
	for j, y := range b {
		at, known := where[y]
		if !known {
			at = len(where)
		}
		columns[j] = at
	}
	rows := make([]uint64, len(where)+1) // of the rows at hand, those with a character
	across := make([]step, len(b))       // from a column to the next, in the last row so far
	for j := range across {
		across[j] = step{up: 1}
	}
	distance := len(b) // in the last column
	for len(a) > 0 {
		block := a[:min(64, len(a))]
		a = a[len(block):]
		for i, x := range block {
			rows[where[x]] |= 1 << i
		}
		distance += editBlock(rows, columns, across, len(block))
		for _, x := range block {
			rows[where[x]] = 0
		}
	}
	return distance, nil
}

// A step is the difference of two neighbours in a table of edits: up is 1 for one more, down for one less.
type step struct{ up, down uint8 }

// editBlock computes the next rows of a table of edits, 64 at most, and returns by how much the last column grows
// in them.
func editBlock(rows []uint64, columns []int, across []step, height int) int {
	more, less := ^uint64(0), uint64(0) // in the column so far, the rows with one more than the row above, or one less
	last := uint(height-1) & 63
	for j, at := range columns {
		in := across[j]
		equal := rows[at]
		vertical := equal | less
		equal |= uint64(in.down)
		diagonal := (equal&more + more) ^ more | equal
		up, down := less|^(diagonal|more), more&diagonal // the rows with one more than the column before, or one less
		across[j] = step{uint8(up >> last & 1), uint8(down >> last & 1)}
		up, down = up<<1|uint64(in.up), down<<1|uint64(in.down)
		more, less = down|^(vertical|up), up&vertical
	}
	mask := ^uint64(0) >> (63 - last)
	return bits.OnesCount64(more&mask) - bits.OnesCount64(less&mask)
}

// hamming counts what the longer text has more as places that differ.
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
	return min(1, value), fmt.Sprintf("%d characters match, %d of them out of order, of %d in the answer and %d in the reference", n, moved, len(a), len(b)), nil
}

// jaroWinkler is jaro raised by what the beginnings have in common.
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
