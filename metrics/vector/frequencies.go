package vector

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/assay-eval/assay/metrics"
)

// Frequencies are the document frequencies of the embedding model's tokens: in how many of a dataset's references
// each occurs. A metric that weighs tokens by inverse document frequency depends on all rows, so they are counted
// before the first one is scored: see [metrics.Metric.Prepare]. Answers do not count, so systems that are asked
// the same questions are measured alike.
type Frequencies struct {
	References int // that were counted
	Unread     int // samples whose references the model could not read: they are left out

	in map[string]int // the document frequency of each token
}

// CountReferences goes through samples and counts the tokens of their references. The embedding model of m must
// be the one that the metrics will ask: the token embeddings of each reference are then cached. Memory does not
// grow with the number of samples, only with that of distinct tokens.
//
// A sample whose references cannot be read is counted in [Frequencies.Unread] and has an error from every metric
// that reads them. What ends [metrics.Run] early ends the count, and is returned.
func CountReferences(ctx context.Context, samples iter.Seq2[*metrics.Sample, error], m metrics.Models,
	o metrics.Options) (*Frequencies, error) {
	f := &Frequencies{in: make(map[string]int)}
	var mu sync.Mutex
	count := metrics.Metric{Name: "counting tokens", Needs: metrics.References, Max: 1,
		Score: func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			references, err := tokenTexts(ctx, m, metrics.Saying(s.References))
			mu.Lock()
			defer mu.Unlock()
			for _, r := range references {
				f.add(r.tokens)
			}
			return metrics.Score{}, err
		}}
	err := metrics.Run(ctx, samples, []metrics.Metric{count}, m, o, func(r metrics.Result) error {
		if r.Score == nil && r.Kind != metrics.NotApplicable {
			f.Unread++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// countReferences is the preparation of metrics that weigh tokens by idf.
var countReferences = &metrics.Preparation{
	Doc: "counting tokens in the references",
	Read: func(ctx context.Context, samples iter.Seq2[*metrics.Sample, error], m metrics.Models,
		o metrics.Options) (metrics.Knowledge, error) {
		return CountReferences(ctx, samples, m, o)
	},
}

// frequencies are what countReferences learned.
func frequencies(m metrics.Models) *Frequencies {
	f, _ := m.Known(countReferences).(*Frequencies)
	return f
}

// Notes say that some references do not count.
func (f *Frequencies) Notes() []string {
	if f.Unread == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the references of %d samples could not be read and do not count for how rare a "+
		"token is", f.Unread)}
}

// add counts one reference, which may have a token several times.
func (f *Frequencies) add(tokens []string) {
	if len(tokens) == 0 {
		return
	}
	f.References++
	seen := make(map[string]bool, len(tokens))
	for _, token := range tokens {
		if !seen[token] {
			seen[token] = true
			f.in[token]++
		}
	}
}

// Digest identifies the counts: "sha256:" and 64 hexadecimal digits.
func (f *Frequencies) Digest() string {
	h := sha256.New()
	fmt.Fprint(h, f.References)
	for _, token := range slices.Sorted(maps.Keys(f.in)) {
		fmt.Fprintf(h, " %d %d:%s", f.in[token], len(token), token)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// idf is the inverse document frequency of a token: 0 if every reference has it, and highest if none does. It has
// add-one smoothing, so that it is finite then too.
func (f *Frequencies) idf(token string) float64 {
	return math.Log(float64(f.References+1) / float64(f.in[token]+1))
}

// weigh returns t with weights in proportion to each token's idf that sum to 1, or all 0 where every token is in
// every reference. A nil f leaves the weights uniform.
func (f *Frequencies) weigh(t tokenText) tokenText {
	if f == nil {
		return t
	}
	t.weights = make([]float64, len(t.tokens))
	sum := 0.0
	for i, token := range t.tokens {
		t.weights[i] = f.idf(token)
		sum += t.weights[i]
	}
	for i := range t.weights {
		if sum > 0 {
			t.weights[i] /= sum
		}
	}
	return t
}

// errWeightless says why a comparison weighted by idf was not made.
func errWeightless() error {
	return fmt.Errorf("%w: what is compared has no token that any reference of the dataset lacks, so nothing weighs "+
		"anything", metrics.ErrNotApplicable)
}

// tokenFindings show the tokens of a, as f weighed them, that decided most, and what each was matched with in b: those
// of the highest weight or, where all count the same, those that are least like anything in b.
func (f *Frequencies) tokenFindings(a, b tokenText, matches []tokenMatch, what string) []metrics.Finding {
	if f == nil {
		return weakestTokens(a, b, matches, what)
	}
	order := make([]int, len(matches))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int {
		return cmp.Or(cmp.Compare(a.weights[k], a.weights[i]), cmp.Compare(matches[i].cosine, matches[k].cosine))
	})
	list := shownTokens(order, a, b, matches, what, "heaviest")
	for n, i := range order[:min(maxTokens, len(order))] {
		list[n].Reason = fmt.Sprintf("weighs %.3f: in %d of %d references of the dataset", a.weights[i],
			f.in[a.tokens[i]], f.References)
	}
	return list
}

// idf is the method in which every token weighs by its inverse document frequency.
func (b bertscore) idf() metrics.Metric {
	m := b.metric()
	m.Name += "_idf"
	m.Aliases = nil
	m.Doc += ", where rare tokens weigh more"
	m.Source = "BERTScore (Zhang et al. 2020, arXiv 1904.09675), section 3, with idf, without rescaling"
	m.Formula = strings.ReplaceAll(m.Formula, "mean", "weighted mean") + idfFormula
	m.Calls += idfCalls
	m.Prepare = []*metrics.Preparation{countReferences}
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		return b.score(ctx, m, s, frequencies(m))
	}
	return m
}

const (
	idfFormula = "; a token that is in n of the dataset's M references weighs ln((M + 1) / (n + 1))"
	idfCalls   = "; every reference once before the first row, which the cache keeps"
)
