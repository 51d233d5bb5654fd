package text

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// bleuMetrics are BLEU and its kin for one answer. There is no corpus BLEU here: it pools the counts of all
// answers and is not the mean of anything that one answer has.
func bleuMetrics() []metrics.Metric {
	const formula = "brevity penalty * geometric mean of the n-gram precisions, n = 1 to "
	return []metrics.Metric{
		lexical(metrics.Metric{
			Name: "answer_similarity/bleu",
			Doc:  "sacrebleu's sentence BLEU divided by 100; multi-reference, and no mean of it is corpus BLEU",
			Source: "BLEU (Papineni et al. 2002), sacrebleu's sentence_bleu (tokeniser 13a, exponential smoothing, " +
				"effective order)",
			Formula: formula + "4 or the answer's tokens if those are fewer, against the references together",
			Score:   scoreBLEU,
		}),
		lexical(metrics.Metric{
			Name: "answer_similarity/bleu_ragas",
			Doc: "BLEU as Ragas computes it: only the answer up to its first \". \", against any sentence of the " +
				"best reference",
			Source:  "Ragas 0.4, BleuScore",
			Formula: formula + "4, 0 if there are fewer than 4 tokens",
			Score:   scoreBLEURagas,
		}),
		lexical(metrics.Metric{
			Name: "answer_similarity/gleu",
			Doc: "Google BLEU: n-grams in common over those of the answer or the best reference, whichever has " +
				"more",
			Source:  "GLEU (Wu et al. 2016, arXiv 1609.08144), NLTK's sentence_gleu with sacrebleu's tokeniser 13a",
			Formula: "min(precision, recall) of the n-grams, n = 1 to 4",
			Score:   scoreGLEU,
		}),
	}
}

const maxBLEU = 4 // the longest n-grams counted

// bleuCounts are the counts that BLEU is computed from.
type bleuCounts struct {
	correct, total    [maxBLEU]int // clipped matches of the answer's n-grams, and all its n-grams, by n-1
	answer, reference int          // tokens; the reference's are those of the one nearest in length
}

// countBLEU counts the answer's n-grams and their clipped matches: each n-gram counts as correct no more often
// than it occurs in the reference that has it most.
func countBLEU(answer []string, references [][]string) bleuCounts {
	b := bleuCounts{answer: len(answer), reference: len(references[0])}
	for _, r := range references[1:] {
		// Of two that are equally near, the shorter.
		if d, best := lengthsApart(len(r), b.answer), lengthsApart(b.reference, b.answer); d < best || d == best &&
			len(r) < b.reference {
			b.reference = len(r)
		}
	}
	for n := range maxBLEU {
		most := make(map[string]int)
		for _, r := range references {
			for g, times := range counts(grams(r, n+1, " ")) {
				most[g] = max(most[g], times)
			}
		}
		for g, times := range counts(grams(answer, n+1, " ")) {
			b.correct[n] += min(times, most[g])
			b.total[n] += times
		}
	}
	return b
}

// score is BLEU in [0, 1] with exponential smoothing: an order without matches is taken for half a match, the
// next such one for a quarter, and so on; if there is no match at all the score is 0. Orders that the answer is
// too short for are left out where effective (effective order) is set; else they make it 0.
func (b bleuCounts) score(effective bool) float64 {
	sum, orders, smoothing := 0.0, 0, 1.0
	for n := range maxBLEU {
		if b.total[n] == 0 {
			break
		}
		orders++
		matches := float64(b.correct[n])
		if b.correct[n] == 0 {
			smoothing /= 2
			matches = smoothing
		}
		sum += math.Log(matches / float64(b.total[n]))
	}
	if b.correct == [maxBLEU]int{} || !effective && orders < maxBLEU {
		return 0
	}
	return b.penalty() * math.Exp(sum/float64(orders))
}

// penalty is the brevity penalty.
func (b bleuCounts) penalty() float64 {
	if b.answer >= b.reference {
		return 1
	}
	return math.Exp(1 - float64(b.reference)/float64(b.answer))
}

func (b bleuCounts) finding() metrics.Finding {
	var orders []string
	for n := range maxBLEU {
		if b.total[n] > 0 {
			orders = append(orders, fmt.Sprintf("%d of %d %d-grams", b.correct[n], b.total[n], n+1))
		}
	}
	return metrics.Finding{Kind: "note", Text: fmt.Sprintf("%s; %d tokens, %d in the reference nearest in length",
		strings.Join(orders, ", "), b.answer, b.reference)}
}

func scoreBLEU(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	var references [][]string
	for _, r := range s.References {
		if tokens := tokenize.MTEval(r); len(tokens) > 0 {
			references = append(references, tokens)
		}
	}
	answer := tokenize.MTEval(s.Answer)
	if len(answer) == 0 || references == nil {
		return metrics.Score{}, fmt.Errorf("%w: no token in the answer %q, or in the references",
			metrics.ErrNotApplicable, metrics.Bounded(s.Answer))
	}
	b := countBLEU(answer, references)
	return metrics.Score{Value: b.score(true), Because: []metrics.Finding{b.finding()}}, nil
}

// scoreBLEURagas has Ragas' quirk: it hands sacrebleu the answer's sentences as a corpus, but the reference's
// sentences as alternatives of which each has one line. So all lines but the first go without a reference and
// are dropped in silence.
func scoreBLEURagas(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	first, _, _ := strings.Cut(s.Answer, ". ")
	return bestReference(s, func(reference string) (metrics.Score, error) {
		var references [][]string
		for sentence := range strings.SplitSeq(reference, ". ") {
			if sentence != "" {
				references = append(references, tokenize.MTEval13a(sentence))
			}
		}
		if references == nil {
			return metrics.Score{}, fmt.Errorf("%w: no sentence in the reference %q", metrics.ErrNotApplicable,
				metrics.Bounded(reference))
		}
		b := countBLEU(tokenize.MTEval13a(first), references)
		return metrics.Score{Value: b.score(false),
			Because: []metrics.Finding{{Kind: "sentence", Text: metrics.Bounded(first)}, b.finding()}}, nil
	})
}

func scoreGLEU(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
	all := func(text string) (list []string) {
		tokens := tokenize.MTEval(text)
		for n := range maxBLEU {
			list = append(list, grams(tokens, n+1, " ")...)
		}
		return list
	}
	answer := all(s.Answer)
	return bestReference(s, func(reference string) (metrics.Score, error) {
		o := newOverlap(answer, all(reference), ofReference)
		if o.answer == 0 || o.reference == 0 {
			return metrics.Score{}, fmt.Errorf("%w: no token in the answer or in the reference %q",
				metrics.ErrNotApplicable, metrics.Bounded(reference))
		}
		note := fmt.Sprintf("%d n-grams in common, of %d in the answer and %d in the reference", o.common, o.answer,
			o.reference)
		return metrics.Score{Value: ratio(o.common, max(o.answer, o.reference)),
			Because: []metrics.Finding{{Kind: "note", Text: note}}}, nil
	})
}

// lengthsApart is the absolute difference.
func lengthsApart(a, b int) int { return max(a-b, b-a) }
