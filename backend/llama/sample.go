package llama

import (
	"math"
	"math/rand/v2"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// A sampler chooses the tokens of one reply. The same logits, settings and seed give the same tokens.
type sampler struct {
	backend.Sampling
	rng   *rand.Rand
	probs []float64
	heap  []int32
}

func newSampler(s backend.Sampling, seed uint64) *sampler {
	return &sampler{Sampling: s, rng: rand.New(rand.NewPCG(seed, 0))}
}

// choose picks the next token. At temperature 0 that is the most probable, the first of equals. Otherwise
// the distribution is cut to the TopK most probable tokens, then to the fewest that hold TopP of what is
// left, and one is drawn.
func (s *sampler) choose(logits []float32) llama.Token {
	best := argmax(logits)
	if s.Temperature == 0 {
		return llama.Token(best)
	}
	if cap(s.probs) < len(logits) {
		s.probs = make([]float64, len(logits))
	}
	probs, sum := s.probs[:len(logits)], 0.0
	for i, l := range logits {
		probs[i] = math.Exp(float64(l-logits[best]) / s.Temperature)
		sum += probs[i]
	}
	k, p := s.TopK, s.TopP
	if k == 0 {
		k = len(probs)
	}
	if p == 0 {
		p = 1
	}
	if k >= len(probs) && p == 1 {
		return llama.Token(s.draw(len(probs), sum, func(i int) int { return i }))
	}
	kept, sum := s.mostProbable(probs, sum, min(k, len(probs)), p)
	return llama.Token(s.draw(len(kept), sum, func(i int) int { return int(kept[i]) }))
}

// draw picks one of n indices, in proportion to their weights in probs, which add up to sum.
func (s *sampler) draw(n int, sum float64, index func(int) int) int {
	left := s.rng.Float64() * sum
	last := 0
	for i := range n {
		at := index(i)
		if p := s.probs[at]; p > 0 {
			last = at
			if left -= p; left < 0 {
				break
			}
		}
	}
	return last
}

// mostProbable returns the indices of the k largest weights, or of the fewest of them that hold the share p
// of their total, and their sum. A heap finds them: they are few among many.
func (s *sampler) mostProbable(probs []float64, total float64, k int, p float64) ([]int32, float64) {
	if cap(s.heap) < len(probs) {
		s.heap = make([]int32, len(probs))
	}
	h := s.heap[:len(probs)]
	for i := range h {
		h[i] = int32(i)
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i, probs)
	}
	popped := 0 // they gather at the end of h, the most probable last
	pop := func() {
		popped++
		end := len(h) - popped
		h[0], h[end] = h[end], h[0]
		siftDown(h[:end], 0, probs)
	}
	if k < len(probs) { // p is a share of what k leaves
		total = 0
		for range k {
			pop()
			total += probs[h[len(h)-popped]]
		}
	}
	sum, n := 0.0, 0
	for n < k && (n == 0 || sum < p*total) {
		if n == popped {
			pop()
		}
		n++
		sum += probs[h[len(h)-n]]
	}
	return h[len(h)-n:], sum
}

// siftDown restores the heap below i: an index stands above those of smaller weight, and of equals the
// smaller index.
func siftDown(h []int32, i int, probs []float64) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if r := child + 1; r < len(h) && above(h[r], h[child], probs) {
			child = r
		}
		if !above(h[child], h[i], probs) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

func above(a, b int32, probs []float64) bool {
	return probs[a] > probs[b] || probs[a] == probs[b] && a < b
}

func argmax(logits []float32) int {
	best := 0
	for i, l := range logits {
		if l > logits[best] {
			best = i
		}
	}
	return best
}
