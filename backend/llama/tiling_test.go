package llama

import (
	"math/rand/v2"
	"testing"
)

// TestTilingShares checks, for random pairs of prompts, that as much as possible is shared of what both
// compute in the same way, and nothing else.
func TestTilingShares(t *testing.T) {
	// way says how a token is computed: in which block, or in none.
	way := func(t tiling, i int) int {
		switch {
		case i < t.head:
			return 1 + i/block
		case t.last <= i && i < t.end:
			return 1000 + (i-t.last)/block
		}
		return 0
	}
	whole := func(t tiling, n int) bool { // a prompt cut after n tokens cuts no block
		return n == 0 || way(t, n-1) == 0 || way(t, n) != way(t, n-1)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		last := rng.IntN(300)
		a := newTiling(last, last+rng.IntN(300))
		b := newTiling(last, last+rng.IntN(300))
		if rng.IntN(3) == 0 {
			b = a
		}
		n := rng.IntN(700)
		want := 0
		for k := 1; k <= n && way(a, k-1) == way(b, k-1); k++ {
			if whole(a, k) && whole(b, k) {
				want = k
			}
		}
		if got := a.shares(n, b); got != want || got != b.shares(n, a) {
			t.Fatalf("%+v and %+v share %d and %d of %d tokens, want %d", a, b, got, b.shares(n, a), n, want)
		}
		other := newTiling(rng.IntN(300), 300)
		for k := range a.shares(n, other) {
			if way(a, k) != way(other, k) {
				t.Fatalf("%+v and %+v share token %d, which they compute in two ways", a, other, k)
			}
		}
	}
}
