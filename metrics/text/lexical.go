package text

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// lexicalMetrics are the lexical comparisons of the answer with the references.
//
// Two rules hold for the family. Where an original knows ASCII only, so that it is blind to most of the world's
// scripts, the plain name counts words of every script and gives the original's number on text in ASCII; the name
// with _ascii is the original to the letter. And where there is nothing to compare (a reference of punctuation
// alone, one word where bigrams are counted) the metric does not apply, although an original may say 0; the
// _ascii ones say 0 too.
func lexicalMetrics() []metrics.Metric {
	return slices.Concat(rougeMetrics(), bleuMetrics(), chrfMetrics(), meteorMetrics(), editMetrics(), matchMetrics())
}

// lexical completes a metric that asks no model and has values from 0 to 1.
func lexical(m metrics.Metric) metrics.Metric {
	m.Calls, m.Min, m.Max = "none", 0, 1
	if m.Needs == 0 {
		m.Needs = metrics.Answer | metrics.References
	}
	return m
}

// matchMetrics ask whether the answer is, or holds, one of the references.
func matchMetrics() []metrics.Metric {
	const ragas, squad = "Ragas, string metrics", "SQuAD (Rajpurkar et al. 2016, arXiv 1606.05250), evaluation script"
	return []metrics.Metric{
		lexical(metrics.Metric{
			Name: "answer_correctness/exact_match", Source: ragas,
			Doc:     "whether the answer is one of the references, character for character",
			Formula: "1 if the answer equals a reference, else 0",
			Score:   scoreMatch(asWritten, func(answer, reference []string) bool { return answer[0] == reference[0] }),
		}),
		lexical(metrics.Metric{
			Name: "answer_correctness/exact_match_normalised", Source: squad,
			Doc: "whether the answer is one of the references but for case, punctuation and articles, in any " +
				"script",
			Formula: "1 if the answer's tokens are those of a reference, in order, else 0",
			Score:   scoreMatch(tokenize.Tokens, slices.Equal[[]string]),
		}),
		lexical(metrics.Metric{
			Name: "answer_correctness/exact_match_ascii", Source: squad,
			Doc:     "exact match by the letter of SQuAD's script, to which only ASCII punctuation is punctuation",
			Formula: "1 if the normalised answer equals a normalised reference, else 0",
			Score:   scoreMatch(squadText, slices.Equal[[]string]),
		}),
		lexical(metrics.Metric{
			Name: "answer_correctness/contains", Source: ragas,
			Doc:     "whether the answer contains one of the references, character for character",
			Formula: "1 if a reference is a substring of the answer, else 0",
			Score: scoreMatch(asWritten, func(answer, reference []string) bool {
				return strings.Contains(answer[0], reference[0])
			}),
		}),
		lexical(metrics.Metric{
			Name:   "answer_correctness/contains_normalised",
			Source: "DPR (Karpukhin et al. 2020, arXiv 2004.04906), has_answer, after DrQA (Chen et al. 2017, arXiv 1704.00051)",
			Doc:    "whether the answer contains one of the references, token by token in lower case",
			Formula: "1 if a reference's tokens are a contiguous run of the answer's, else 0; a token is a run of letters, " +
				"numbers and marks, or a mark of punctuation",
			Score: scoreMatch(tokenize.DPR, tokenize.ContainsRun),
		}),
	}
}

func asWritten(text string) []string { return []string{text} }

func squadText(text string) []string { return []string{tokenize.SQuAD(text)} }

// scoreMatch gives 1 if the answer matches any reference, both as cut brings them. A reference of which
// nothing is left matches nothing.
func scoreMatch(cut func(text string) []string, match func(answer, reference []string) bool) scoreFunc {
	return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		answer := cut(s.Answer)
		return bestReference(s, func(reference string) (metrics.Score, error) {
			want := cut(reference)
			if len(want) == 0 {
				return metrics.Score{}, fmt.Errorf("%w: the reference %q holds no word", metrics.ErrNotApplicable,
					metrics.Bounded(reference))
			}
			matched := match(answer, want)
			score := metrics.Score{Because: []metrics.Finding{{Kind: "reference", Text: metrics.Bounded(reference),
				Verdict: &matched}}}
			if matched {
				score.Value = 1
			}
			return score, nil
		})
	}
}

// A scoreFunc is the Score of a [metrics.Metric].
type scoreFunc = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error)

// bestReference compares the answer with each reference and returns the best score, the first of equals,
// with a finding that says which reference it comes from where there are several: see [metrics.BestReference].
func bestReference(s *metrics.Sample, compare func(reference string) (metrics.Score, error)) (metrics.Score, error) {
	return rankedReference(s, func(reference string) (float64, metrics.Score, error) {
		score, err := compare(reference)
		return score.Value, score, err
	})
}

// rankedReference is bestReference where the best is not the one of the highest value, but of the highest
// rank.
func rankedReference(s *metrics.Sample,
	compare func(reference string) (rank float64, score metrics.Score, err error)) (metrics.Score, error) {
	type ranked struct {
		rank  float64
		score metrics.Score
	}
	better := func(a, b ranked) bool { return a.rank > b.rank }
	found, at, err := metrics.BestReference(s.References, better, func(reference string) (ranked, error) {
		rank, score, err := compare(reference)
		return ranked{rank, score}, err
	})
	if err != nil {
		return metrics.Score{}, err
	}
	best := found.score
	if len(metrics.NonBlank(s.References)) > 1 {
		where := fmt.Sprintf("reference %d of %d", at+1, len(s.References))
		if f := best.Because; len(f) > 0 && f[0].Kind == "reference" {
			f[0].Where = where
		} else {
			best.Because = append(f, metrics.Finding{Kind: "reference", Text: metrics.Bounded(s.References[at]),
				Where: where})
		}
	}
	return best, nil
}

// A share says which ratio of an overlap is asked for.
type share int

const (
	ofBoth      share = iota // F1
	ofAnswer                 // precision: the share of the answer's units that are in the other text
	ofReference              // recall: the share of the other text's units that are in the answer
)

// An overlap is what an answer and another text have in common, counted in units: tokens, n-grams, or tokens of
// the longest common subsequence.
type overlap struct {
	common, answer, reference int
	found, missing            []string // units of the answer if its share is asked for, else of the reference
}

// newOverlap is the multiset intersection: every unit counts as often as both texts have it.
func newOverlap(answer, reference []string, of share) overlap {
	o := overlap{answer: len(answer), reference: len(reference)}
	if of == ofAnswer {
		o.found, o.missing = inCommon(answer, reference)
	} else {
		o.found, o.missing = inCommon(reference, answer)
	}
	o.common = len(o.found)
	return o
}

// inCommon divides units into those that other has too, each no more often than other has it (clipped counts),
// and the rest.
func inCommon(units, other []string) (found, missing []string) {
	left := counts(other)
	for _, u := range units {
		if left[u] > 0 {
			left[u]--
			found = append(found, u)
		} else {
			missing = append(missing, u)
		}
	}
	return found, missing
}

// counts says how often each unit occurs.
func counts(units []string) map[string]int {
	n := make(map[string]int, len(units))
	for _, u := range units {
		n[u]++
	}
	return n
}

// value is the share asked for, 0 where there is nothing to divide by.
func (o overlap) value(of share) float64 {
	switch of {
	case ofAnswer:
		return ratio(o.common, o.answer)
	case ofReference:
		return ratio(o.common, o.reference)
	}
	return ratio(2*o.common, o.answer+o.reference)
}

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// unitFindings show the units that were found and those that were not, as far as a reader wants to see them.
func (o overlap) unitFindings() []metrics.Finding {
	var list []metrics.Finding
	for _, units := range []struct {
		list  []string
		found bool
	}{{o.found, true}, {o.missing, false}} {
		if len(units.list) > 0 {
			list = append(list, metrics.Finding{Kind: "tokens", Text: metrics.Bounded(strings.Join(units.list, ", ")),
				Verdict: &units.found})
		}
	}
	return list
}

// grams returns the n-grams of units, each as one string.
func grams(units []string, n int, separator string) []string {
	var list []string
	for _, g := range tokenize.NGrams(units, n) {
		list = append(list, strings.Join(g, separator))
	}
	return list
}
