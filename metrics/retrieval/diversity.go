package retrieval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// repeated is alpha: by what share a passage is worth less for an aspect that one above it covers, as in ndeval.
const repeated = 0.5

// alphaNDCG is nDCG for questions with several aspects, some of which a passage covers. Its judgements are a sample's
// Aspects.
func alphaNDCG() metrics.Metric {
	m := retrieval("alpha_ndcg", "alpha-nDCG: discounted gain of new aspects of the question, over that of the best ranking",
		"Clarke et al. 2008, section 4, with alpha 0.5 and the ideal ranking found greedily, as in ndeval",
		"sum over ranks of the gain / log2(rank+1), over that of the ideal ranking; a passage gains 0.5^n for each aspect "+
			"that it covers and n passages above cover")
	m.Needs |= metrics.Aspects
	return cuttable(m, func(k int) scorer {
		return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			return aspectGain(s, k)
		}
	})
}

func aspectGain(s *metrics.Sample, k int) (metrics.Score, error) {
	first := make(map[string]int, len(s.ContextIDs))
	for i, id := range s.ContextIDs {
		if at, twice := first[id]; twice {
			return metrics.Score{}, fmt.Errorf("the passage %q is in the ranking twice, at ranks %d and %d",
				metrics.Bounded(id), at, i+1)
		}
		first[id] = i + 1
	}
	ranking := s.ContextIDs
	if k > 0 {
		ranking = ranking[:min(k, len(ranking))]
	} else {
		k = max(len(ranking), len(s.Aspects))
	}
	ideal := idealGain(s.Aspects, k)
	if ideal == 0 {
		return metrics.Score{}, fmt.Errorf("%w: no passage covers an aspect, so that no ranking could do well",
			metrics.ErrNotApplicable)
	}
	var score metrics.Score
	covered := map[string]int{}
	sum := 0.0
	for i, id := range ranking {
		gain := take(s.Aspects[id], covered)
		sum += discounted(gain, i)
		if i < maxShown {
			of := gain > 0
			reason := "of no aspect"
			if of {
				reason = "of " + strings.Join(s.Aspects[id], ", ")
			}
			score.Because = append(score.Because, metrics.Finding{Kind: "passage", Text: metrics.Bounded(id), Verdict: &of,
				Value: &gain, Reason: metrics.Bounded(reason), Where: fmt.Sprintf("rank %d", i+1)})
		}
	}
	score.Value = metrics.Clamp(sum/ideal, 0, 1) // the greedy ranking is not always the best one
	score.Because = append(score.Because, metrics.Finding{Kind: "note",
		Text: fmt.Sprintf("%d passages looked at cover %d aspects", len(ranking), len(covered))})
	return score, nil
}

// gainOf is what a passage gains that covers aspects, of which each was covered so often.
func gainOf(aspects []string, covered map[string]int) float64 {
	gain := 0.0
	for i, a := range aspects {
		if !slices.Contains(aspects[:i], a) {
			gain += math.Pow(1-repeated, float64(covered[a]))
		}
	}
	return gain
}

// take is gainOf, and counts the aspects as covered once more.
func take(aspects []string, covered map[string]int) float64 {
	gain := gainOf(aspects, covered)
	for i, a := range aspects {
		if !slices.Contains(aspects[:i], a) {
			covered[a]++
		}
	}
	return gain
}

// idealGain is the discounted gain of k passages, each of which gains most of those that are left; of equal ones the
// first by its id.
func idealGain(aspects map[string][]string, k int) float64 {
	var left []string
	for id, list := range aspects {
		if len(list) > 0 {
			left = append(left, id)
		}
	}
	slices.Sort(left)
	covered := map[string]int{}
	sum := 0.0
	for i := 0; i < k && len(left) > 0; i++ {
		best, most := 0, -1.0
		for j, id := range left {
			if gain := gainOf(aspects[id], covered); gain > most {
				best, most = j, gain
			}
		}
		sum += discounted(take(aspects[left[best]], covered), i)
		left = slices.Delete(left, best, best+1)
	}
	return sum
}

// judgedShare is the share of what was retrieved that is judged, at a cutoff of what is there of it.
func judgedShare() metrics.Metric {
	m := retrieval("judged", "share of the retrieved passages that are judged (Judged@k): where it is low, so is the worth "+
		"of other measures", "Judged@k of ir_measures (MacAvaney et al. 2022)",
		"passages retrieved with a judgement / min(cutoff, passages retrieved)")
	return cuttable(m, func(k int) scorer {
		return rankingScorer(k, func(r *ranking) (float64, error) {
			n := r.within(k)
			if n == 0 {
				return 0, fmt.Errorf("%w: nothing was retrieved", metrics.ErrNotApplicable)
			}
			judged := 0
			for _, g := range r.grades[:n] {
				if g >= 0 {
					judged++
				}
			}
			return portion(judged, n), nil
		})
	})
}
