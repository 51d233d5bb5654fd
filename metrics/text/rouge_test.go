package text

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

func TestROUGE(t *testing.T) {
	check := func(method string, want float64, answer string, references ...string) {
		t.Helper()
		checkLexical(t, "answer_similarity/"+method, want, answer, references...)
		if strings.HasPrefix(method, "rouge") && !strings.Contains(method, "_") { // all of this is ASCII
			checkLexical(t, "answer_similarity/"+method+"_ascii", want, answer, references...)
		}
	}
	// The examples of rouge_score's tests.
	check("rouge1", 1.0/2, "testing", "testing one two")
	check("rouge1_precision", 1, "testing", "testing one two")
	check("rouge1_recall", 1.0/3, "testing", "testing one two")
	check("rouge2", 2.0/3, "testing one", "testing one two")
	check("rouge2_precision", 1, "testing one", "testing one two")
	check("rouge2_recall", 1.0/2, "testing one", "testing one two")
	check("rougeL", 4.0/5, "testing two", "testing one two")
	check("rougeL_recall", 2.0/3, "testing two", "testing one two")

	// The sentences of rouge_score's manual. Stems in common: the (twice), quick, brown, dog, jump; of 8 and
	// 9. In order: the quick brown jump the.
	const dog, log = "The quick brown fox jumps over the lazy dog", "The quick brown dog jumps on the log."
	check("rouge1", 12.0/17, log, dog)
	check("rouge2", 4.0/15, log, dog) // the quick, quick brown; of 7 and 8
	check("rougeL", 10.0/17, log, dog)
	check("rougeL_precision", 5.0/8, log, dog)
	check("rougeL_recall", 5.0/9, log, dog)

	// Lin 2004, section 3.2: the union of w1 w2 and w1 w3 w5, 4 of 5 and of 10.
	check("rougeLsum", 8.0/15, "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5")
	// A word counts no more often than it stands in the answer: w1 is in the reference's two lines.
	check("rougeLsum", 2.0/5, "w1 w4", "w1 w2\n\nw1")
	check("rougeL", 4.0/5, "w1 w4 w2", "w1\nw2")

	// Stemmed, but for words of three letters.
	check("rouge1", 1, "jumping dogs", "jumped dog")
	check("rouge1", 0, "ads", "ad")

	// The best F-measure decides, also where another reference has more recall.
	check("rouge1_recall", 2.0/4, "red fox", "red hen house", "red fox big hen", "red") // F 2/5, 4/6, 2/3
	check("rouge1", 0, "one", "two")
}

func TestROUGEBeyondASCII(t *testing.T) {
	check := func(answer, reference string, words, ascii float64) {
		t.Helper()
		checkLexical(t, "answer_similarity/rouge1", words, answer, reference)
		checkLexical(t, "answer_similarity/rouge1_ascii", ascii, answer, reference)
	}
	check("北京市", "北京", 4.0/5, 0)
	check("الرياض هي العاصمة", "العاصمة الرياض", 4.0/5, 0)
	check("दिल्ली है", "दिल्ली", 2.0/3, 0)
	check("café noir", "cafe noir", 1.0/2, 1.0/2)
	check("café", "cafè", 0, 1)

	// Where there is nothing to compare, rouge_score says 0.
	for _, method := range []string{"rouge2", "rouge2_precision", "rouge2_recall"} {
		refuseLexical(t, "answer_similarity/"+method, "Paris", "Paris")
	}
	refuseLexical(t, "answer_similarity/rouge1", "Paris", "...")
	refuseLexical(t, "answer_similarity/rouge2_precision", "Paris", "Paris France")
	checkLexical(t, "answer_similarity/rouge2", 0, "Paris", "Paris France")
	checkLexical(t, "answer_similarity/rouge2_ascii", 0, "Paris", "Paris")
}

func TestCommonSubsequence(t *testing.T) {
	check := func(a, b string, want ...int) {
		t.Helper()
		if got := tokenize.CommonSubsequence(strings.Fields(a), strings.Fields(b)); !slices.Equal(got, want) {
			t.Errorf("tokenize.CommonSubsequence(%q, %q) = %v, want %v", a, b, got, want)
		}
	}
	check("1 2 3 4 5", "2 5 3 4", 1, 2, 3) // rouge_score's tests
	check("1 2 3 4 5", "1 2 6 7 8", 0, 1)
	check("1 2 3 4 5", "1 3 8 9 5", 0, 2, 4)
	check("1 2", "3 4")
	check("", "1")
	check("1", "")
	check("a b", "b a", 0)            // of two that are equally long
	check("b x a y c", "a b c", 0, 4) // from the end: c, then x and a are dropped rather than b
}

// The length is that of the textbook's table, over more words than one row of bits holds.
func FuzzCommonSubsequence(f *testing.F) {
	f.Add("abcabba", "cbabac")
	f.Add(strings.Repeat("abc", 50), strings.Repeat("ca", 70))
	f.Fuzz(func(t *testing.T, x, y string) {
		if len(x) > 500 || len(y) > 500 {
			return
		}
		a, b := strings.Split(x, ""), strings.Split(y, "")
		table := make([][]int, len(a)+1)
		table[0] = make([]int, len(b)+1)
		for i := range a {
			table[i+1] = make([]int, len(b)+1)
			for j := range b {
				table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
				if a[i] == b[j] {
					table[i+1][j+1] = table[i][j] + 1
				}
			}
		}
		got := tokenize.CommonSubsequence(a, b)
		if len(got) != table[len(a)][len(b)] || !slices.IsSorted(got) {
			t.Fatalf("tokenize.CommonSubsequence(%q, %q) = %v, want %d", a, b, got, table[len(a)][len(b)])
		}
		rest := b
		for _, i := range got {
			at := slices.Index(rest, a[i])
			if at < 0 {
				t.Fatalf("tokenize.CommonSubsequence(%q, %q) = %v: not in order in the second", a, b, got)
			}
			rest = rest[at+1:]
		}
	})
}

// A text that would take minutes is refused, not waited for; one that differs in length alone is not.
func TestRougeBounded(t *testing.T) {
	long := strings.Repeat("a b\n", 40_000)
	for _, name := range []string{"answer_similarity/rougeL", "answer_similarity/rougeLsum"} {
		if _, err := tryLexical(t, name, &metrics.Sample{Answer: long, References: []string{long}}); !errors.Is(err,
			metrics.ErrNotApplicable) {
			t.Errorf("%s of 80,000 words each: %v, want not applicable", name, err)
		}
		score, err := tryLexical(t, name, &metrics.Sample{Answer: long, References: []string{"a b"}})
		if err != nil || score.Value <= 0 {
			t.Errorf("%s of a long answer: %v, %v", name, score.Value, err)
		}
	}
}
