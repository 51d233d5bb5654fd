package metrics

import (
	"strings"
	"testing"
)

func TestEdits(t *testing.T) {
	check := func(method string, want float64, answer string, references ...string) {
		t.Helper()
		checkLexical(t, "answer_similarity/"+method, want, answer, references...)
	}
	check("levenshtein", 1-3.0/7, "sitting", "kitten")
	check("levenshtein", 1-3.0/8, "saturday", "sunday")
	check("levenshtein", 1-2.0/4, "abab", "baba")
	check("levenshtein", 1-1.0/3, "北京市", "北京")
	check("levenshtein", 0, "abc", "xy")
	check("levenshtein", 1-1.0/5, "paris", "london", "Paris")
	long := strings.Repeat("ab", 40_000) // more than 16 bits count
	check("levenshtein", 0, strings.Repeat("c", 2), long)

	check("hamming", 4.0/7, "karolin", "kathrin")
	check("hamming", 3.0/5, "abcxy", "abc") // the rest differs
	check("hamming", 0, "ab", "ba")

	// Winkler 1990, table of examples.
	for _, pair := range []struct {
		a, b          string
		jaro, winkler float64
	}{
		{"MARTHA", "MARHTA", 0.94444, 0.96111},
		{"DIXON", "DICKSONX", 0.76667, 0.81333},
		{"DWAYNE", "DUANE", 0.82222, 0.84},
		{"SHACKLEFORD", "SHACKELFORD", 0.96970, 0.98182},
		{"DUNNINGHAM", "CUNNIGHAM", 0.89630, 0.89630},
		{"NICHLESON", "NICHULSON", 0.92593, 0.95556},
		{"MASSEY", "MASSIE", 0.88889, 0.93333},
		{"ABROMS", "ABRAMS", 0.88889, 0.92222},
		{"JERALDINE", "GERALDINE", 0.92593, 0.92593},
		{"MICHELLE", "MICHAEL", 0.86905, 0.92143},
	} {
		check("jaro", pair.jaro, pair.a, pair.b)
		check("jaro_winkler", pair.winkler, pair.a, pair.b)
	}
	check("jaro", 0, "a", "b")
	check("jaro", 1, "a", "a")
	check("jaro", 0, "ab", "ba") // too near each other to be looked for
	// Two of three characters match; at 0.7 or less a common beginning does not help.
	check("jaro_winkler", (1.0/3+1.0/5+1)/3, "axy", "abcde")
}
