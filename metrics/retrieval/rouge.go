package retrieval

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// rougeEnough is the share of a reference context's words that a retrieved context must hold in order to be it.
const rougeEnough = 0.7

// rougeMatches are recall and precision of the retrieved contexts, where a reference context is matched by one that holds
// most of its words in order: chunks cut elsewhere still match.
func rougeMatches() []metrics.Metric {
	threshold := rankParameter{"threshold", "0.5", "the threshold is a number above 0, up to 1", func(x float64) bool {
		return x > 0 && x <= 1
	}}
	measure := func(name, doc, formula string) metrics.Metric {
		return metrics.Metric{Name: name, Doc: doc, Formula: formula, Calls: "none", Max: 1,
			Source: "continuous-eval, PrecisionRecallF1 with RougeChunkMatch, whose threshold is 0.7; ROUGE-L (Lin 2004)",
			Needs:  metrics.Contexts | metrics.ReferenceContexts}
	}
	score := func(byReference bool) func(x float64) scorer {
		return func(x float64) scorer {
			return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				return rougeShare(s, byReference, x)
			}
		}
	}
	return []metrics.Metric{
		threshold.of(measure("context_recall/rouge", "share of the reference contexts whose words a retrieved context holds "+
			"in order (ROUGE-L recall)", "reference contexts matched / reference contexts; matched: the longest common "+
			"subsequence with a retrieved context has at least the threshold of its words"), rougeEnough, score(true)),
		threshold.of(measure("context_precision/rouge", "share of the retrieved contexts that hold the words of a reference "+
			"context in order (ROUGE-L recall)", "retrieved contexts that match a reference context / retrieved contexts"),
			rougeEnough, score(false)),
	}
}

// rougeShare is the share of the reference contexts that a retrieved one matches or, if not byReference, of the retrieved
// ones that match one.
func rougeShare(s *metrics.Sample, byReference bool, enough float64) (metrics.Score, error) {
	retrieved, references := metrics.NonBlank(s.Contexts), metrics.NonBlank(s.ReferenceContexts)
	recall := make([][]float64, len(references)) // by reference, then by retrieved context
	for i, ref := range references {
		want := tokenize.Words(tokenize.Normalize(ref.Text))
		if len(want) == 0 {
			return metrics.Score{}, fmt.Errorf("%w: reference context %d holds no word", metrics.ErrNotApplicable, ref.Number)
		}
		for _, got := range retrieved {
			have := tokenize.Words(tokenize.Normalize(got.Text))
			if int64(len(want))*int64(len(have)) > mostCompared {
				return metrics.Score{}, fmt.Errorf("%w: contexts of %d and %d words are too long to compare in order",
					metrics.ErrNotApplicable, len(want), len(have))
			}
			recall[i] = append(recall[i], portion(len(tokenize.CommonSubsequence(want, have)), len(want)))
		}
	}
	var score metrics.Score
	matched := 0
	add := func(text, where string, best float64) {
		match := best >= enough
		if match {
			matched++
		}
		score.Because = append(score.Because, metrics.Finding{Kind: "passage", Text: metrics.Bounded(text), Verdict: &match,
			Value: &best, Where: where})
	}
	if byReference {
		for i, ref := range references {
			best := 0.0
			for _, v := range recall[i] {
				best = max(best, v)
			}
			add(ref.Text, fmt.Sprintf("reference %d", ref.Number), best)
		}
		score.Value = portion(matched, len(references))
		return score, nil
	}
	for j, got := range retrieved {
		best := 0.0
		for i := range references {
			best = max(best, recall[i][j])
		}
		add(got.Text, fmt.Sprintf("context %d", got.Number), best)
	}
	score.Value = portion(matched, len(retrieved))
	return score, nil
}

// mostCompared bounds the work of finding longest common subsequences, in pairs of words: some seconds and 128 MiB.
const mostCompared = 1 << 30
