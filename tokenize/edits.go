package tokenize

import (
	"fmt"
	"math/bits"
)

// mostEdited bounds the work of Edits, in pairs of characters: two texts of 256 Ki characters, some seconds.
const mostEdited int64 = 1 << 36

// Edits is the Levenshtein distance of two texts: the least number of insertions, deletions and substitutions of
// a character. It is an error where that would take minutes.
//
// It is bit-parallel: 64 rows of the dynamic-programming table at a time (Myers 1999, in the form of Hyyrö 2003): of
// what stands in the table only the differences of neighbours are kept, which are 1, 0 or -1, as a bit for 1 and a
// bit for -1 in a word for the column.
func Edits(a, b []rune) (int, error) {
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
		return 0, fmt.Errorf("the texts differ over %d and %d characters, too many to count the edits", len(a), len(b))
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
