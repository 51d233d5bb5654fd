package retrieval

import (
	"context"
	"fmt"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// contextCorrectness are unitxt's: the retrieved contexts against the reference contexts, matched by id or by
// their words. A context that comes twice counts twice, but for recall.
func contextCorrectness() []metrics.Metric {
	list := matchMeasures("", "id", metrics.ContextIDs|metrics.ReferenceContextIDs,
		func(s *metrics.Sample) (matches, []string) {
			return matchIDs(s.ContextIDs, s.ReferenceContextIDs), s.ContextIDs
		})
	list[0].Default = true
	return append(list, matchMeasures("text_", "text", metrics.Contexts|metrics.ReferenceContexts,
		func(s *metrics.Sample) (matches, []string) {
			return matchIDs(normalTexts(s.Contexts), normalTexts(s.ReferenceContexts)), s.Contexts
		})...)
}

// matchMeasures are unitxt's measures over one way of matching, the reciprocal rank first.
func matchMeasures(prefix, by string, needs metrics.Field,
	find func(s *metrics.Sample) (m matches, shown []string)) []metrics.Metric {
	measure := func(name, doc, formula string) metrics.Metric {
		return metrics.Metric{
			Name: "context_correctness/" + prefix + name, Doc: doc + ", by " + by,
			Source:  "unitxt, metrics.rag.context_correctness",
			Formula: formula, Calls: "none", Min: 0, Max: 1, Needs: needs,
		}
	}
	score := func(of func(m matches) metrics.Score, k int) scorer {
		return func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			m, shown := find(s)
			m = m.first(k)
			score := of(m)
			score.Because = m.findings(shown)
			return score, nil
		}
	}
	mrr := measure("mrr", "reciprocal rank of the first retrieved context that matches a reference context",
		"1 / rank of the first match, 0 without one")
	mrr.Score = score(func(m matches) metrics.Score { return metrics.Score{Value: m.reciprocalRank()} }, 0)
	mean := measure("map", "average precision over the matched contexts retrieved, not over all reference contexts "+
		"(see retrieval/map)",
		"sum of the precision at each match / matches")
	mean.Score = score(func(m matches) metrics.Score { return metrics.Score{Value: m.averagePrecision()} }, 0)

	cut := func(name, doc, formula string, of func(m matches) metrics.Score) metrics.Metric {
		return cuttable(measure(name, doc, formula), func(k int) scorer { return score(of, k) })
	}
	return []metrics.Metric{
		mrr,
		mean,
		cut("match", "whether a retrieved context matches a reference context", "1 with a match, 0 without one",
			matches.any),
		cut("precision", "share of the retrieved contexts, of as many as there are up to a cutoff, that match a "+
			"reference context",
			"matches / min(cutoff, contexts retrieved)", matches.precision),
		cut("recall", "share of the reference contexts that were retrieved",
			"references matched / references", matches.recall),
	}
}

// matches say, for each retrieved context, which reference it is.
type matches struct {
	of         []int // by rank: the index of its reference, -1 for none
	references int
}

// matchIDs matches what is equal. What stands among the references twice is one.
func matchIDs(retrieved, references []string) matches {
	index := map[string]int{}
	for _, id := range references {
		if _, known := index[id]; !known {
			index[id] = len(index)
		}
	}
	m := matches{references: len(index)}
	for _, id := range retrieved {
		at, known := index[id]
		if !known {
			at = -1
		}
		m.of = append(m.of, at)
	}
	return m
}

func normalTexts(texts []string) []string {
	list := make([]string, len(texts))
	for i, t := range texts {
		if list[i] = tokenize.Normalize(t); list[i] == "" {
			list[i] = t // no words: nothing is left to compare but the text itself
		}
	}
	return list
}

// first is m up to a cutoff; 0 is none. What is retrieved ends where it ends: the precision at 10 of three
// contexts is that at 3.
func (m matches) first(k int) matches {
	if k > 0 {
		m.of = m.of[:min(k, len(m.of))]
	}
	return m
}

func (m matches) count() int {
	n := 0
	for _, at := range m.of {
		if at >= 0 {
			n++
		}
	}
	return n
}

func (m matches) any() metrics.Score       { return metrics.Score{Value: float64(min(m.count(), 1))} }
func (m matches) precision() metrics.Score { return metrics.Portion(m.count(), len(m.of), nil) }

func (m matches) recall() metrics.Score {
	found := map[int]bool{}
	for _, at := range m.of {
		if at >= 0 {
			found[at] = true
		}
	}
	return metrics.Portion(len(found), m.references, nil)
}

func (m matches) reciprocalRank() float64 {
	for i, at := range m.of {
		if at >= 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// averagePrecision is the mean precision at the ranks of the matches.
func (m matches) averagePrecision() float64 {
	sum, found := 0.0, 0
	for i, at := range m.of {
		if at >= 0 {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	return sum / float64(max(found, 1))
}

func (m matches) findings(shown []string) []metrics.Finding {
	var list []metrics.Finding
	for i, at := range m.of[:min(len(m.of), maxShown)] {
		match := at >= 0
		f := metrics.Finding{Kind: "passage", Text: metrics.Bounded(shown[i]), Verdict: &match,
			Where: fmt.Sprintf("rank %d", i+1)}
		if match {
			f.Reason = fmt.Sprintf("reference %d", at+1)
		}
		list = append(list, f)
	}
	return append(list, metrics.Finding{Kind: "note", Text: fmt.Sprintf("%d of %d retrieved match one of %d references",
		m.count(), len(m.of), m.references)})
}

// contextMatches are Ragas' context precision and recall without a model.
func contextMatches() []metrics.Metric {
	byID := func(name, doc, formula string, value func(s *metrics.Sample) (metrics.Score, error)) metrics.Metric {
		return metrics.Metric{
			Name: name, Doc: doc, Source: "Ragas, IDBasedContextPrecision and IDBasedContextRecall", Formula: formula,
			Calls: "none",
			Min:   0, Max: 1, Needs: metrics.ContextIDs | metrics.ReferenceContextIDs,
			Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				score, err := value(s)
				if err != nil {
					return metrics.Score{}, err
				}
				score.Because = matchIDs(s.ContextIDs, s.ReferenceContextIDs).findings(s.ContextIDs)
				return score, nil
			},
		}
	}
	byString := func(name, doc, formula string, score func(s *metrics.Sample) (metrics.Score, error)) metrics.Metric {
		return metrics.Metric{
			Name: name, Doc: doc, Source: "Ragas, NonLLMContextPrecisionWithReference and NonLLMContextRecall",
			Formula: formula, Calls: "none",
			Min: 0, Max: 1, Needs: metrics.Contexts | metrics.ReferenceContexts,
			Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
				return score(s)
			},
		}
	}
	recall := func(s *metrics.Sample) (metrics.Score, error) {
		return matchIDs(s.ContextIDs, s.ReferenceContextIDs).recall(), nil
	}
	precision := func(s *metrics.Sample) (metrics.Score, error) {
		if len(s.ContextIDs) == 0 {
			return metrics.Score{}, fmt.Errorf("%w: nothing was retrieved", metrics.ErrNotApplicable)
		}
		return matchIDs(s.ReferenceContextIDs, s.ContextIDs).recall(), nil // the two sides changed: each id counts once
	}
	return []metrics.Metric{
		byID("context_precision/ids", "share of the retrieved ids that are reference ids",
			"distinct ids in both / distinct ids retrieved", precision),
		byID("context_recall/ids", "share of the reference ids that were retrieved",
			"distinct ids in both / distinct reference ids", recall),
		byString("context_precision/string", "average precision of the retrieved contexts, relevant being a "+
			"Levenshtein similarity >= 0.5 with a reference",
			"sum of the precision at each context with a similarity >= 0.5 / such contexts; 0 without one",
			stringPrecision),
		byString("context_recall/string", "share of the reference contexts with a Levenshtein similarity > 0.5 with "+
			"a retrieved one",
			"references with a similarity > 0.5 / references", stringRecall),
	}
}

// mostAlike returns the highest Levenshtein similarity of a text to any other, 1 - edits / characters of the
// longer text, and the index of that one. Nothing under 0.5 is looked for: it returns 0 and -1 then.
func mostAlike(text string, others []string) (value float64, at int, err error) {
	at = -1
	a := []rune(text)
	for i, other := range others {
		b := []rune(other)
		longest := max(len(a), len(b))
		if longest-min(len(a), len(b)) > longest/2 {
			continue // so many edits at least
		}
		n, err := tokenize.Edits(a, b)
		if err != nil {
			return 0, -1, fmt.Errorf("%w: %v", metrics.ErrNotApplicable, err)
		}
		if v := 1 - portion(n, longest); n <= longest/2 && v > value {
			value, at = v, i
		}
	}
	return value, at, nil
}

// stringPrecision is Ragas' average precision of contexts by similarity.
func stringPrecision(s *metrics.Sample) (metrics.Score, error) {
	m := matches{references: len(s.ReferenceContexts)}
	var score metrics.Score
	for i, text := range s.Contexts {
		value, at, err := mostAlike(text, s.ReferenceContexts)
		if err != nil {
			return metrics.Score{}, err
		}
		m.of = append(m.of, at)
		score.Because = append(score.Because, alikeFinding(text, fmt.Sprintf("rank %d", i+1), value, at >= 0))
	}
	score.Value = m.averagePrecision()
	return score, nil
}

// stringRecall is Ragas' recall of contexts by similarity: its threshold itself is too little here.
func stringRecall(s *metrics.Sample) (metrics.Score, error) {
	found := 0
	var score metrics.Score
	for i, text := range s.ReferenceContexts {
		value, _, err := mostAlike(text, s.Contexts)
		if err != nil {
			return metrics.Score{}, err
		}
		match := value > 0.5
		if match {
			found++
		}
		score.Because = append(score.Because, alikeFinding(text, fmt.Sprintf("reference %d", i+1), value, match))
	}
	return metrics.Portion(found, len(s.ReferenceContexts), score.Because), nil
}

func alikeFinding(text, where string, value float64, match bool) metrics.Finding {
	f := metrics.Finding{Kind: "passage", Text: metrics.Bounded(text), Verdict: &match, Where: where}
	if value > 0 {
		f.Value = &value
	}
	return f
}
