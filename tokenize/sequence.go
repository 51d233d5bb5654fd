package tokenize

import (
	"math/bits"
	"slices"
	"strings"
)

// ContainsWords reports whether part occurs in text, from word boundary to word boundary; both are in
// normal form.
func ContainsWords(text, part string) bool {
	return strings.Contains(" "+text+" ", " "+part+" ")
}

// ContainsRun reports whether run stands in words, word for word.
func ContainsRun(words, run []string) bool {
	for i := 0; i+len(run) <= len(words); i++ {
		if slices.Equal(words[i:i+len(run)], run) {
			return true
		}
	}
	return false
}

// Agreement is the F1 of the longest common subsequence (LCS) of a and b: twice its length over their lengths together,
// in [0, 1].
// Where it cannot reach least it is 0, and not computed.
func Agreement(a, b []string, least float64) float64 {
	total := float64(len(a) + len(b))
	if 2*float64(min(len(a), len(b))) < least*total {
		return 0
	}
	return 2 * float64(len(CommonSubsequence(a, b))) / total
}

// CommonSubsequence returns the indexes in a, in order, of a longest common subsequence of a and b. Of several it is
// the one that rouge_score finds: read from the end, it drops a word of a rather than of b. One bit is kept
// of each cell of the table, so that long texts fit in memory.
func CommonSubsequence(a, b []string) []int {
	row := make([]int, len(b)+1) // row[j]: the length for the words of a so far and b[:j]
	stride := (len(b) + bits.UintSize - 1) / bits.UintSize
	dropB := make([]uint, len(a)*stride) // whether to go on with one word less of b rather than of a
	for i, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			switch {
			case x == y:
				row[j+1] = diagonal + 1
			case row[j] > above:
				row[j+1] = row[j]
				dropB[i*stride+j/bits.UintSize] |= 1 << (j % bits.UintSize)
			}
			diagonal = above
		}
	}
	indexes := make([]int, row[len(b)])
	for i, j, k := len(a)-1, len(b)-1, len(indexes)-1; k >= 0; {
		switch {
		case a[i] == b[j]:
			indexes[k] = i
			i, j, k = i-1, j-1, k-1
		case dropB[i*stride+j/bits.UintSize]>>(j%bits.UintSize)&1 == 1:
			j--
		default:
			i--
		}
	}
	return indexes
}

// Nearest returns the candidate that is most like name, or "" if none is much like it.
func Nearest(name string, candidates []string) string {
	best, bestLike := "", 0.6
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if like := Agreement(letters(name), letters(c), 0.8); like > bestLike {
			best, bestLike = c, like
		}
	}
	return best
}

// letters are the letters of a name; what separates words does not matter.
func letters(name string) []string {
	return strings.Split(strings.NewReplacer("_", "", "-", "", "/", "", " ", "").Replace(strings.ToLower(name)), "")
}
