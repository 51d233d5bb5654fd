package llama

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assay-eval/assay/backend"
)

func TestGreedyIsTheFirstOfTheLikeliest(t *testing.T) {
	s := newSampler(backend.Sampling{TopK: 1, TopP: 0.1}, 1)
	check := func(want int, logits ...float32) {
		t.Helper()
		if got := s.choose(logits); int(got) != want {
			t.Errorf("of %v it chose %d, want %d", logits, got, want)
		}
	}
	check(0, 5)
	check(1, 1, 3, 2)
	check(1, 1, 3, 3)
	check(2, -3, -2, -1)
	check(1, float32(math.Inf(-1)), 0)
}

func TestSeeds(t *testing.T) {
	logits := randomLogits(1, 300)
	draw := func(seed uint64) []int {
		s := newSampler(backend.Sampling{Temperature: 1, TopP: 0.95}, seed)
		var out []int
		for range 50 {
			out = append(out, int(s.choose(logits)))
		}
		return out
	}
	if !slices.Equal(draw(1), draw(1)) {
		t.Error("one seed gave two sequences")
	}
	for _, other := range []uint64{2, 1 << 32, 1<<32 + 1} {
		if slices.Equal(draw(1), draw(other)) {
			t.Errorf("seeds 1 and %d gave one sequence", other)
		}
	}
}

func randomLogits(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	logits := make([]float32, n)
	for i := range logits {
		logits[i] = float32(3 * rng.NormFloat64())
	}
	return logits
}

// TestSamplerDistribution compares how often tokens are drawn with the distribution as it is defined.
func TestSamplerDistribution(t *testing.T) {
	check := func(sampling backend.Sampling) {
		t.Helper()
		for seed := range uint64(3) {
			logits := randomLogits(seed, 40)
			want := define(sampling, logits)
			s := newSampler(sampling, seed)
			const n = 20_000
			counts := make([]float64, len(logits))
			for range n {
				counts[s.choose(logits)]++
			}
			for i, p := range want {
				if p == 0 && counts[i] > 0 {
					t.Errorf("%+v: token %d was drawn and has no probability left", sampling, i)
				}
				// Five standard deviations: less than one false alarm in a million comparisons.
				if d := math.Abs(counts[i] - n*p); d > 5*math.Sqrt(n*p*(1-p))+1e-9 {
					t.Errorf("%+v: token %d of probability %.4f was drawn %v times of %d", sampling, i, p, counts[i], n)
				}
			}
		}
	}
	check(backend.Sampling{Temperature: 1})
	check(backend.Sampling{Temperature: 0.3})
	check(backend.Sampling{Temperature: 2, TopP: 1})
	check(backend.Sampling{Temperature: 1, TopP: 0.5})
	check(backend.Sampling{Temperature: 1, TopP: 1e-9})
	check(backend.Sampling{Temperature: 1.5, TopP: 0.9})
	check(backend.Sampling{Temperature: 1, TopK: 1})
	check(backend.Sampling{Temperature: 1, TopK: 5})
	check(backend.Sampling{Temperature: 1, TopK: 1000})
	check(backend.Sampling{Temperature: 1, TopK: 10, TopP: 0.7})
	check(backend.Sampling{Temperature: 0.7, TopK: 3, TopP: 1})
}

// define computes the distribution that a sampler draws from, the plain way.
func define(s backend.Sampling, logits []float32) []float64 {
	order := make([]int, len(logits))
	probs := make([]float64, len(logits))
	for i, l := range logits {
		order[i] = i
		probs[i] = math.Exp(float64(l) / s.Temperature)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(probs[b], probs[a]) })
	if s.TopK > 0 && s.TopK < len(order) {
		order = order[:s.TopK]
	}
	total := 0.0
	for _, i := range order {
		total += probs[i]
	}
	if s.TopP > 0 {
		sum := 0.0
		for n, i := range order {
			if sum += probs[i]; sum >= s.TopP*total {
				order, total = order[:n+1], sum
				break
			}
		}
	}
	out := make([]float64, len(logits))
	for _, i := range order {
		out[i] = probs[i] / total
	}
	return out
}

// An impossible token is never drawn, nor is one beyond the end when rounding leaves a rest.
func TestSamplerEdges(t *testing.T) {
	inf := float32(math.Inf(-1))
	s := newSampler(backend.Sampling{Temperature: 1}, 3)
	for range 1000 {
		if got := s.choose([]float32{inf, 0, inf}); got != 1 {
			t.Fatalf("drew %d, want 1", got)
		}
	}
	s = newSampler(backend.Sampling{Temperature: 1e-300}, 3)
	if got := s.choose([]float32{1, 2, 1.999}); got != 1 {
		t.Errorf("at a tiny temperature it drew %d, want 1", got)
	}
	s = newSampler(backend.Sampling{Temperature: 100, TopP: 0.999999}, 3)
	for range 100 {
		s.choose(randomLogits(9, 1000))
	}
}

func BenchmarkSampler(b *testing.B) {
	logits := randomLogits(1, 32_000)
	for _, s := range []struct {
		name string
		backend.Sampling
	}{
		{"greedy", backend.Sampling{}},
		{"temperature", backend.Sampling{Temperature: 0.8}},
		{"nucleus", backend.Sampling{Temperature: 0.8, TopP: 0.95}},
		{"topk", backend.Sampling{Temperature: 0.8, TopK: 40, TopP: 0.95}},
	} {
		b.Run(s.name, func(b *testing.B) {
			sampler := newSampler(s.Sampling, 1)
			for b.Loop() {
				sampler.choose(logits)
			}
		})
	}
}
