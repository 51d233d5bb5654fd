package text

import (
	"context"
	"fmt"
	"math"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// METEOR's parameters, as in NLTK: the weight of recall, and the fragmentation penalty.
const (
	meteorAlpha = 0.9
	meteorBeta  = 3.0
	meteorGamma = 0.5
)

// meteorMetrics is METEOR.
func meteorMetrics() []metrics.Metric {
	return []metrics.Metric{lexical(metrics.Metric{
		Name: "answer_similarity/meteor",
		Doc: "F-measure of words and stems aligned with the best reference, less a fragmentation penalty; no " +
			"synonyms",
		Source: "METEOR (Lavie and Agarwal 2007), with alpha 0.9, beta 3 and gamma 0.5 as in NLTK, without WordNet",
		Formula: "(1 - 0.5 * (chunks / matches)^3) * P * R / (0.9 * P + 0.1 * R), P and R the matched shares of the " +
			"answer's and the reference's words, chunks the runs of matches that stand alike in both",
		Score: scoreMETEOR,
	})}
}

func scoreMETEOR(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	answer := tokenize.Words(s.Answer)
	return bestReference(s, func(reference string) (metrics.Score, error) {
		want := tokenize.Words(reference)
		if len(answer) == 0 || len(want) == 0 {
			return metrics.Score{}, fmt.Errorf("%w: no word in the answer or in the reference %q",
				metrics.ErrNotApplicable, metrics.Bounded(reference))
		}
		at := make([]int, len(answer)) // for each word of the answer its place in the reference, -1 for none
		for i := range at {
			at[i] = -1
		}
		exact := alignWords(at, answer, want)
		matches := exact + alignWords(at, stems(answer), stems(want))
		chunks := alignedChunks(at)
		note := fmt.Sprintf("%d words matched, %d of them by stem only, in %d chunks; %d words in the answer, %d in "+
			"the reference",
			matches, matches-exact, chunks, len(answer), len(want))
		score := metrics.Score{Because: []metrics.Finding{{Kind: "note", Text: note}}}
		if matches > 0 {
			p, r := ratio(matches, len(answer)), ratio(matches, len(want))
			mean := p * r / (meteorAlpha*p + (1-meteorAlpha)*r)
			score.Value = (1 - meteorGamma*math.Pow(ratio(chunks, matches), meteorBeta)) * min(1, mean)
		}
		return score, nil
	})
}

func stems(words []string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = tokenize.Stem(w)
	}
	return list
}

// alignWords matches words of the answer that at does not place yet with equal words of the reference that are
// free, as many as there are, and returns how many it placed. METEOR wants an alignment of few chunks, so the
// longest runs of words are placed first. (NLTK takes the last free place for each word from the end on, and so
// scatters words that stand more than once.)
func alignWords(at []int, answer, reference []string) int {
	taken := make([]bool, len(reference))
	for _, place := range at {
		if place >= 0 {
			taken[place] = true
		}
	}
	runs := freeRuns(at, taken, answer, reference)
	placed := 0
	for n := len(runs) - 1; n > 0; n-- {
		for _, r := range runs[n] {
			// What longer runs have taken since cuts this one into shorter ones.
			for from, to := 0, 0; to <= n; to++ {
				if to < n && at[r.word+to] < 0 && !taken[r.place+to] {
					continue
				}
				switch to - from {
				case 0:
				case n:
					for k := range n {
						at[r.word+k], taken[r.place+k] = r.place+k, true
					}
					placed += n
				default:
					runs[to-from] = append(runs[to-from], wordRun{r.word + from, r.place + from})
				}
				from = to + 1
			}
		}
	}
	return placed
}

// A wordRun is where words that two texts have in common begin in the answer and in the reference.
type wordRun struct{ word, place int }

// freeRuns returns the runs of words that can be matched and that are not a part of a longer one on the same
// diagonal, by their lengths.
func freeRuns(at []int, taken []bool, answer, reference []string) [][]wordRun {
	places := make(map[string][]int)
	for place, w := range reference {
		places[w] = append(places[w], place)
	}
	match := func(i, place int) bool {
		return i >= 0 && i < len(answer) && place >= 0 && place < len(reference) &&
			at[i] < 0 && !taken[place] && answer[i] == reference[place]
	}
	runs := make([][]wordRun, min(len(answer), len(reference))+1)
	for i, w := range answer {
		for _, place := range places[w] {
			if match(i, place) && !match(i-1, place-1) {
				n := 1
				for match(i+n, place+n) {
					n++
				}
				runs[n] = append(runs[n], wordRun{i, place})
			}
		}
	}
	return runs
}

// alignedChunks counts the runs of words that are matched and stand side by side in both texts.
func alignedChunks(at []int) int {
	chunks := 0
	for i, place := range at {
		if place >= 0 && (i == 0 || at[i-1] < 0 || place != at[i-1]+1) {
			chunks++
		}
	}
	return chunks
}
