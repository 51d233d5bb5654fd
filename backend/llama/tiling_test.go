package llama

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// TestShares checks, for random pairs of jobs, that of a shared prefix all is shared that both compute in the same way,
// and nothing else.
func TestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		n, a, b := rng.IntN(200), rng.IntN(300), rng.IntN(300)
		if rng.IntN(3) == 0 {
			b = a
		}
		want := 0
		for want < n && (want < a) == (want < b) {
			want++
		}
		if got := shares(n, a, b); got != want {
			t.Fatalf("of %d tokens, %d and %d of them in tiles, %d are shared, want %d", n, a, b, got, want)
		}
	}
}

// TestTiled checks what the scheduler relies on: the last token of a job is never in a tile, tiles end so early that a
// piece which does not fill one has room for padding, and no text that is shorter than a tile is in one.
func TestTiled(t *testing.T) {
	s := &scheduler{room: 512, columns: 4, sharing: true, exact: true}
	for prompt := 1; prompt <= s.room; prompt++ {
		for scored := range s.room - prompt {
			n := s.tiled(prompt, scored)
			switch {
			case n < 0 || n >= prompt+scored || n > s.room-s.columns:
				t.Fatalf("%d + %d tokens, %d in tiles", prompt, scored, n)
			case n > 0 && n < block, n == 0 && prompt+scored > 2*block:
				t.Fatalf("%d + %d tokens, %d in tiles", prompt, scored, n)
			case scored < block && n >= prompt:
				t.Fatalf("%d tokens to score are in tiles", scored)
			}
		}
	}
}

func TestPropose(t *testing.T) {
	text := []llama.Token{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4}
	for _, test := range []struct {
		what       string
		d          drafter
		tokens     []llama.Token
		most, free int
		want       []llama.Token
	}{
		{"four tokens match", drafter{}, text, 20, 0, []llama.Token{5, 6, 7}},
		{"drafts were right before", drafter{length: 7}, text, 20, 3, []llama.Token{5, 6, 7, 8, 9, 1, 2}},
		{"little may be written", drafter{length: 7}, text, 2, 3, []llama.Token{5, 6}},
		{"drafts were wrong before", drafter{pause: 3}, text, 20, 0, nil},
		{"wrong before, but free", drafter{length: 7, pause: 3}, text, 20, 2, []llama.Token{5, 6}},
		{"two tokens match", drafter{}, text[:11], 20, 0, nil},
		{"two tokens match, but free", drafter{}, text[:11], 20, 3, []llama.Token{3, 4, 5}},
		{"none match", drafter{}, text[:9], 20, 3, nil},
	} {
		if got := test.d.propose(test.tokens, test.most, test.free); !slices.Equal(got, test.want) {
			t.Errorf("%s: proposed %v, want %v", test.what, got, test.want)
		}
	}
}
