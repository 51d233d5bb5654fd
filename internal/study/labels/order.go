package labels

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Spread puts samples into an order whose every beginning lies evenly along their scores, and in which each sample
// has the same chance to be early. The samples, sorted by score and closed to a ring, are visited in steps of the
// golden ratio from a random place (a Kronecker sequence: Niederreiter 1992, section 3.1); one that was visited gives
// way to the next that was not. The random place makes the chances equal, as any rotation of the ring is as likely.
func Spread(samples []string, of map[string]float64, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 0x6c6162656c))
	sorted := slices.Clone(samples)
	rng.Shuffle(len(sorted), func(i, j int) { sorted[i], sorted[j] = sorted[j], sorted[i] }) // among equal scores
	slices.SortStableFunc(sorted, func(a, b string) int {
		switch {
		case of[a] < of[b]:
			return -1
		case of[a] > of[b]:
			return 1
		}
		return 0
	})
	n := len(sorted)
	next := make([]int, n) // where to look from a place that was taken
	for i := range next {
		next[i] = i
	}
	free := func(i int) int {
		for next[i] != i {
			next[i] = next[next[i]]
			i = next[i]
		}
		return i
	}
	const golden = 0.6180339887498949
	at := rng.Float64()
	order := make([]string, 0, n)
	for range n {
		i := free(min(int(at*float64(n)), n-1))
		order = append(order, sorted[i])
		if len(order) < n {
			next[i] = free((i + 1) % n)
		}
		at = math.Mod(at+golden, 1)
	}
	return order
}

// Uncertain puts those first whose scores are nearest to the middle of the range, in the order given where two are as
// near.
func Uncertain(samples []string, of map[string]float64, middle float64) []string {
	order := slices.Clone(samples)
	slices.SortStableFunc(order, func(a, b string) int {
		switch x, y := math.Abs(of[a]-middle), math.Abs(of[b]-middle); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return order
}
