package text

import (
	"slices"
	"testing"
)

func TestCHRF(t *testing.T) {
	check := func(method string, want float64, answer string, references ...string) {
		t.Helper()
		checkLexical(t, "answer_similarity/"+method, want, answer, references...)
	}
	// From sacrebleu's tests of effective order.
	check("chrf", 1, "a", "a")
	check("chrf", 1, "a b c", "a b c")
	check("chrf", 1, "a b c", "abc")
	check("chrf", 0.25, "aa", "ab")
	check("chrf", 0, "abcdefg", "hijklmnop")
	// Characters 3/4 and 3/3, pairs 2/3 and 2/2, triples 1/2 and 1/1; the reference has no more. P is 23/36,
	// R is 1: 5 P R / (4 P + R).
	check("chrf", 5*23.0/36/(4*23.0/36+1), "abcx", "abc")
	check("chrf", 5*23.0/36/(4+23.0/36), "abc", "abcx")
	// Characters 2/3 and 2/2, pairs 1/2 and 1/1; words, the full stop one of them, 1/2 and 1/1. P is 5/9, R is 1.
	check("chrf++", 25.0/29, "hi.", "hi")
	// "a b" and "b a": characters 2/2, pairs 0/1; words 2/2, pairs of words 0/1. P and R are 1/2.
	check("chrf++", 0.5, "a b", "b a")
	check("chrf++", 0.5, "a b", "x", "b a", "y")
	check("chrf", 0.5, "a b", "b a")
	check("chrf", 0.5, "北京", "京北")
}

func TestCHRFWords(t *testing.T) {
	check := func(text string, want ...string) {
		t.Helper()
		if got := chrfWords(text); !slices.Equal(got, want) {
			t.Errorf("chrfWords(%q) = %q, want %q", text, got, want)
		}
	}
	check("")
	check("(hi) there!", "(hi", ")", "there", "!")
	check("\"so it is. . 好。", "\"", "so", "it", "is", ".", ".", "好。")
	check("... é ,", "..", ".", "é", ",")
}
