package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
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

// Jaro of long texts is that of the definition, which tries every pair in reach.
func TestJaroByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		var texts [2][]rune
		for i := range texts {
			for range 1 + rng.IntN(40) {
				texts[i] = append(texts[i], rune('a'+rng.IntN(1+rng.IntN(8))))
			}
		}
		a, b := texts[0], texts[1]
		reach := max(max(len(a), len(b))/2-1, 0)
		taken := make([]bool, len(b))
		n := 0
		for i, x := range a {
			for j := max(i-reach, 0); j < min(i+reach+1, len(b)); j++ {
				if !taken[j] && b[j] == x {
					taken[j] = true
					n++
					break
				}
			}
		}
		_, note, _ := jaro(a, b)
		want := fmt.Sprintf("%d characters match, ", n)
		if n == 0 {
			want = "no character matches"
		}
		if !strings.HasPrefix(note, want) {
			t.Errorf("%q and %q: %s; want %d matches", string(a), string(b), note, n)
		}
	}
}

// Texts that would take minutes are refused.
func TestEditsTooLong(t *testing.T) {
	long := strings.Repeat("abcdefgh", 1<<17)
	refuseLexical(t, "answer_similarity/levenshtein", "x"+long, long+"y")
}

// BenchmarkEdits compares two texts of 100 KB that have nothing in common but their letters.
func BenchmarkEdits(b *testing.B) {
	rng := rand.New(rand.NewPCG(13, 14))
	text := func() string {
		list := make([]byte, 100_000)
		for i := range list {
			list[i] = "etaoin shrdlu"[rng.IntN(13)]
		}
		return string(list)
	}
	s := metrics.Sample{Answer: text(), References: []string{text()}}
	for _, m := range editMetrics() {
		b.Run(strings.TrimPrefix(m.Name, "answer_similarity/"), func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Score(b.Context(), metrics.Models{}, &s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
