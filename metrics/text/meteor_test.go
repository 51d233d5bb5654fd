package text

import (
	"slices"
	"strings"
	"testing"
)

func TestMETEOR(t *testing.T) {
	check := func(want float64, answer string, references ...string) {
		t.Helper()
		checkLexical(t, "answer_similarity/meteor", want, answer, references...)
	}
	// All six match, in one chunk: 1 - 0.5 / 6^3.
	check(1-0.5/216, "the cat sat on the mat", "The cat sat on the mat.")
	// All six, "on the mat", "sat", "the cat": three chunks. P = R = 1.
	check(1-0.5/8, "on the mat sat the cat", "the cat sat on the mat")
	// "cats" and "jumped" by their stems, one chunk of two; P = 2/3, R = 1: 10 P R / (R + 9 P) = 20/21.
	check((1-0.5/8)*20/21, "cats jumped high", "cat jumps")
	// Turned round: P = 1, R = 2/3: 10/3*2 / (2/3 + 9) = 20/29.
	check((1-0.5/8)*20/29, "cat jumps", "cats jumped high")
	check(0, "red", "blue")
	check(1-0.5/8, "two words", "nothing", "two words")
	check((1-0.5)*5/11, "北x京y", "京q") // one of 北, x, 京, y and one of 京, q
	refuseLexical(t, "answer_similarity/meteor", "...", "words")
}

// Words that stand more than once go where the fewest chunks come of it.
func TestAlignWords(t *testing.T) {
	check := func(answer, reference string, placed, chunks int, want ...int) {
		t.Helper()
		a := strings.Fields(answer)
		at := slices.Repeat([]int{-1}, len(a))
		n := alignWords(at, a, strings.Fields(reference))
		if n != placed || alignedChunks(at) != chunks || !slices.Equal(at, want) {
			t.Errorf("alignWords(%q, %q) = %d at %v in %d chunks, want %d at %v in %d", answer, reference, n, at,
				alignedChunks(at), placed, want, chunks)
		}
	}
	check("the cat the dog", "the dog the cat", 4, 2, 2, 3, 0, 1)
	check("a b a c", "a c a b", 4, 2, 2, 3, 0, 1)
	check("the the the", "the cat the", 2, 2, 0, 2, -1)
	check("the president of the united states", "president of the united states", 5, 1, -1, 0, 1, 2, 3, 4)
	check("a b c x b c d", "a b c d", 4, 2, 0, 1, 2, -1, -1, -1, 3) // the second "b c d" is cut
	check("x y", "z", 0, 0, -1, -1)
	// What is placed already stays, and what it takes is not free.
	at := []int{-1, 0, -1}
	if n := alignWords(at, []string{"r", "r", "r"}, []string{"r", "r"}); n != 1 || !slices.Equal(at, []int{1, 0, -1}) {
		t.Errorf("%d at %v", n, at)
	}
}
