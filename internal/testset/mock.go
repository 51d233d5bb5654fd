package testset

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Mock makes mock systems of known accuracy out of labelled rows: each has so many rows that are right and so many that
// are not. With them ARES tests whether systems are ranked as they should be (Saad-Falcon et al. 2023,
// arXiv 2311.09476, section 4.2: accuracies from 0.70 to 0.90 in steps of 0.025).
type Mock struct {
	From, To, Step float64 // accuracies
	N              int     // rows of each system; 0: as many as there are for all of them
	Gold           int     // rows that are kept apart from the systems', for people's labels
	Seed           uint64
}

// A MockSystem is a system of known accuracy.
type MockSystem struct {
	Name     string  // its accuracy as it was asked for: "0.725"
	Accuracy float64 // as it is: the share of its rows that are right
	Rows     []int   // their places among the labelled rows, in order
}

// leastMock is the fewest rows of a mock system.
const leastMock = 10

// Draw makes the systems from labels: right says of each row whether it is. Rows are drawn without replacement, for each
// system anew, so that two systems share rows as far as chance has it.
func (m Mock) Draw(right []bool) (systems []MockSystem, gold []int, err error) {
	if !(m.From >= 0 && m.From <= m.To && m.To <= 1 && m.Step > 0) || m.N < 0 || m.Gold < 0 {
		return nil, nil, errors.New("accuracies go from one between 0 and 1 to a higher one, in positive steps")
	}
	steps := int(math.Floor((m.To-m.From)/m.Step+1e-9)) + 1
	if steps > 1000 {
		return nil, nil, fmt.Errorf("%d systems: at most 1000", steps)
	}
	rng := rand.New(rand.NewPCG(m.Seed, 3))
	order := rng.Perm(len(right))
	if m.Gold > len(order) {
		return nil, nil, fmt.Errorf("%d gold rows of %d labelled ones", m.Gold, len(order))
	}
	gold = slices.Sorted(slices.Values(order[:m.Gold]))
	var good, bad []int
	for _, i := range order[m.Gold:] {
		if right[i] {
			good = append(good, i)
		} else {
			bad = append(bad, i)
		}
	}
	fits := func(n int) bool {
		return rounded(m.To, n) <= len(good) && n-rounded(m.From, n) <= len(bad)
	}
	n := m.N
	if n == 0 {
		for n = len(good) + len(bad); n > 0 && !fits(n); n-- {
		}
	}
	if n < leastMock || !fits(n) {
		return nil, nil, fmt.Errorf("%d rows that are right and %d that are not make no systems of %d rows from %v to %v",
			len(good), len(bad), max(n, leastMock), m.From, m.To)
	}
	for k := range steps {
		a := m.From + float64(k)*m.Step
		yes := rounded(a, n)
		shuffle(rng, good)
		shuffle(rng, bad)
		rows := slices.Sorted(slices.Values(slices.Concat(good[:yes], bad[:n-yes])))
		systems = append(systems, MockSystem{fmt.Sprintf("%.3f", a), float64(yes) / float64(n), rows})
	}
	return systems, gold, nil
}

// rounded is the whole number nearest to a share of n.
func rounded(share float64, n int) int { return int(math.Round(share * float64(n))) }

func shuffle(rng *rand.Rand, list []int) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
