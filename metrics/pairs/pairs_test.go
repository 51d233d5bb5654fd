package pairs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/tokenize"
)

// TestCuts holds the windows to their promises on sentences of every length: nothing is left out, none is too
// long but for a lone sentence, neighbours share one sentence at most, and none had room for the next sentence.
func TestCuts(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var texts []string
		var all []string
		for range 1 + rng.IntN(3) {
			var text []string
			for range 1 + rng.IntN(12) {
				text = append(text, fmt.Sprintf("N%d", len(all))+strings.Repeat(" word", rng.IntN(1+rng.IntN(150)))+".")
				all = append(all, text[len(text)-1])
			}
			texts = append(texts, strings.Join(text, " "))
		}
		reached := 0 // sentences in the windows so far
		for i, w := range windowsOf(texts, Words) {
			var sentences []string
			for _, s := range tokenize.Sentences(w) {
				sentences = append(sentences, s.Text)
			}
			if n := len(tokenize.Words(w)); n > Words && len(sentences) > 1 {
				t.Fatalf("seed %d, window %d has %d words", seed, i, n)
			}
			from := slices.Index(all, sentences[0])
			if from < 0 || from > reached || from < reached-1 ||
				!slices.Equal(sentences, all[from:from+len(sentences)]) {
				t.Fatalf("seed %d, window %d after %d sentences is %q", seed, i, reached, sentences)
			}
			if from+len(sentences) <= reached {
				t.Fatalf("seed %d, window %d says nothing new", seed, i)
			}
			if reached = from + len(sentences); reached < len(all) &&
				len(tokenize.Words(w+" "+all[reached])) <= Words {
				t.Fatalf("seed %d, window %d had room for %q", seed, i, all[reached])
			}
		}
		if reached != len(all) {
			t.Fatalf("seed %d: %d of %d sentences were shown", seed, reached, len(all))
		}
	}
}
