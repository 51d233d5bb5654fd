package labels

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/assay-eval/assay/internal/stats"
)

// A Stratum is the samples whose scores by a metric lie between two values. Within one, each sample was as likely to be
// picked.
type Stratum struct {
	By   string  // the metric
	Low  float64 // the lowest score and
	High float64 // the highest
}

// Active picks samples to label next, so many of them: more where the labels so far vary more among samples of alike
// scores, in strata of which each sample is as likely as another. Seen reports a label, and whether the sample was shown
// and whether it has a label. Returned are the samples, mixed, with the stratum of each.
func Active(samples []string, of map[string]float64, seen func(sample string) (label float64, shown, labelled bool),
	wanted int, by string, seed uint64) ([]string, map[string]Stratum) {
	const most = 6 // strata: fewer than for an expensive metric, as people label fewer rows
	values, known := make([]float64, len(samples)), make([]bool, len(samples))
	for i, id := range samples {
		values[i], known[i] = of[id], true
	}
	place, n := stats.Stratify(values, known, most)
	bounds := make([]Stratum, n)
	var s stats.Survey
	open, asked := make([][]string, n), make([]int, n)
	for i, id := range samples {
		h := place[i]
		if bounds[h].By == "" {
			bounds[h] = Stratum{by, of[id], of[id]}
		}
		bounds[h].Low, bounds[h].High = min(bounds[h].Low, of[id]), max(bounds[h].High, of[id])
		label, shown, labelled := seen(id)
		s.Add(stats.SurveyRow{Stratum: h, Asked: shown, Scored: labelled, Value: label})
		if shown {
			asked[h]++
		} else {
			open[h] = append(open[h], id)
		}
	}
	byNumber := func(a, b string) int { return cmp.Compare(stats.RowNumber(seed, a), stats.RowNumber(seed, b)) }
	var plan []string
	in := map[string]Stratum{}
	for h, n := range s.Allocate(s.Asked() + wanted) {
		slices.SortStableFunc(open[h], byNumber)
		for _, id := range open[h][:n-asked[h]] {
			plan, in[id] = append(plan, id), bounds[h]
		}
	}
	slices.SortStableFunc(plan, byNumber)
	return plan, in
}

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
