package corpus

import (
	"cmp"
	"math"
	"slices"

	"github.com/assay-eval/assay/tokenize"
)

// The usual parameters of BM25: term-frequency saturation (k1) and length normalisation (b).
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// A BM25 is an inverted index that ranks texts by the words that they share with a query (Robertson and Zaragoza 2009):
//
//	score(q, d) = sum over the words w of q, each as often as it stands there:
//	              idf(w) * f * (k1 + 1) / (f + k1 * (1 - b + b * |d| / avg))
//	idf(w)      = ln(1 + (N - n + 0.5) / (n + 0.5))
//
// with f the term frequency of w in d, |d| the words of d and avg their mean over all texts, N the number of texts
// and n the document frequency of w. This idf is Lucene's, which is never negative. Words are those of
// [tokenize.Words]: case-folded, not stemmed, none left out.
type BM25 struct {
	postings map[string][]posting
	lengths  []int
	mean     float64
}

// A posting is a text with the word's term frequency in it.
type posting struct{ text, count int }

// NewBM25 indexes texts.
func NewBM25(texts []string) *BM25 {
	b := &BM25{postings: map[string][]posting{}, lengths: make([]int, len(texts))}
	total := 0
	for i, text := range texts {
		words := tokenize.Words(text)
		b.lengths[i] = len(words)
		total += len(words)
		for _, w := range words {
			list := b.postings[w]
			if n := len(list); n > 0 && list[n-1].text == i {
				list[n-1].count++
				continue
			}
			b.postings[w] = append(list, posting{i, 1})
		}
	}
	b.mean = float64(total) / float64(max(1, len(texts)))
	return b
}

// Search returns the k texts with the highest scores, best first, and in their own order where scores are
// equal. Texts that share no word with the query are not among them.
func (b *BM25) Search(query string, k int) []Hit {
	scores := map[int]float64{}
	for _, w := range tokenize.Words(query) {
		list := b.postings[w]
		n, all := float64(len(list)), float64(len(b.lengths))
		idf := math.Log1p((all - n + 0.5) / (n + 0.5))
		for _, p := range list {
			f := float64(p.count)
			scores[p.text] += idf * f * (bm25K1 + 1) / (f + bm25K1*(1-bm25B+bm25B*float64(b.lengths[p.text])/b.mean))
		}
	}
	hits := make([]Hit, 0, len(scores))
	for i, s := range scores {
		hits = append(hits, Hit{i, s})
	}
	return best(hits, k)
}

// best sorts hits and returns the first k.
func best(hits []Hit, k int) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Index, b.Index))
	})
	return hits[:min(max(k, 0), len(hits))]
}

// fuseK is the constant of reciprocal-rank fusion, as its authors chose it.
const fuseK = 60

// Fuse joins rankings by reciprocal rank fusion (Cormack et al. 2009): a passage scores the sum of 1 / (60 + rank)
// over the rankings that have it, ranks counted from 1. It returns the best k.
func Fuse(k int, rankings ...[]Hit) []Hit {
	scores := map[int]float64{}
	for _, list := range rankings {
		for rank, h := range list {
			scores[h.Index] += 1 / float64(fuseK+rank+1)
		}
	}
	hits := make([]Hit, 0, len(scores))
	for i, s := range scores {
		hits = append(hits, Hit{i, s})
	}
	return best(hits, k)
}
