package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Pairing is a paired comparison of two scores of the same rows: the second's less the first's.
type Pairing struct {
	Difference Summary // the mean of the differences
	Wins       int     // rows in which the second is higher
	Ties       int
	Losses     int
	Deviation  float64 // the standard deviation of the differences
	Effect     float64 // the effect size, Cohen's d_z: the mean difference over Deviation; 0 without one

	// Spread is Deviation for planning: what it would have to be for independent rows to tell as little about
	// the mean as these rows do. It is Deviation unless rows come in groups.
	Spread float64

	P      float64 // of the randomisation test, two-sided; of Student's test for very many rows
	Exact  bool    // all permutations of the signs were counted
	Tested string  // "randomisation" or "t"
	T      *TTest  // nil if the differences do not vary
}

// A TTest is Student's paired t-test (Student 1908), with cluster-robust variance where rows come in groups.
type TTest struct {
	T, P    float64
	Freedom int
}

const (
	countMost = 20     // units up to which all sign patterns are enumerated
	flips     = 10_000 // at random, of more
	flipMost  = 10_000 // units; of more the two tests agree, and Student's needs no flips
)

// Pair compares two scores row by row. Options.Min and Max are those of the scores.
//
// The test is a randomisation (permutation) test that flips the signs of the differences (Fisher 1935, "The Design of
// Experiments", section 21): if it made no difference which system is which, every pattern of signs would be as
// likely. It assumes no distribution. Rows of a group are flipped together.
func Pair(first, second []float64, o Options) Pairing {
	d := make([]float64, len(first))
	var m moments
	var p Pairing
	for i := range first {
		d[i] = second[i] - first[i]
		m.add(d[i])
		switch {
		case d[i] > 0:
			p.Wins++
		case d[i] < 0:
			p.Losses++
		default:
			p.Ties++
		}
	}
	of := o
	if o.Min < o.Max {
		of.Min, of.Max = o.Min-o.Max, o.Max-o.Min
	}
	p.Difference = Of(d, of)
	sums, variance := differenceUnits(d, m.mean, o)
	if m.n > 1 {
		p.Deviation = math.Sqrt(m.m2 / float64(m.n-1))
		p.Spread = math.Sqrt(variance / float64(m.n))
	}
	if p.Deviation > 1e-12*math.Abs(m.mean) {
		p.Effect = m.mean / p.Deviation
	}
	p.T = tTest(sums, variance)
	p.P, p.Exact, p.Tested = p.test(sums, o)
	return p
}

// differenceUnits returns the sum of the differences of each unit, and the variance of the sum of them all.
func differenceUnits(d []float64, mean float64, o Options) (sums []float64, variance float64) {
	units := unitsOf(len(d), o.Groups)
	for _, rows := range units {
		sum, part := 0.0, 0.0
		for _, i := range rows {
			sum += d[i]
			part += d[i] - mean
		}
		sums = append(sums, sum)
		variance += part * part
	}
	if k := float64(len(units)); k > 1 {
		variance *= k / (k - 1)
	}
	return sums, variance
}

func tTest(sums []float64, variance float64) *TTest {
	total, size := 0.0, 0.0
	for _, s := range sums {
		total += s
		size += math.Abs(s)
	}
	if len(sums) < 2 || variance <= 1e-24*size*size {
		return nil
	}
	t := TTest{T: total / math.Sqrt(variance), Freedom: len(sums) - 1}
	student := distuv.StudentsT{Sigma: 1, Nu: float64(t.Freedom)}
	t.P = 2 * student.CDF(-math.Abs(t.T))
	return &t
}

func (p *Pairing) test(sums []float64, o Options) (value float64, exact bool, tested string) {
	if len(sums) > flipMost && p.T != nil {
		return p.T.P, false, "t"
	}
	sums = slices.DeleteFunc(slices.Clone(sums), func(s float64) bool { return s == 0 })
	if len(sums) <= countMost {
		return countFlips(sums), true, "randomisation"
	}
	return drawFlips(sums, o), false, "randomisation"
}

// countFlips is the share of all patterns of signs that bring the sum as far from 0 as it is. Flipping all signs
// changes nothing, so one sign can stay; a Gray code visits the patterns by flipping one sign at a time.
func countFlips(sums []float64) float64 {
	if len(sums) == 0 {
		return 1
	}
	total, size := sumOf(sums)
	limit := math.Abs(total) - 1e-9*size
	sign := make([]float64, len(sums))
	for i := range sign {
		sign[i] = 1
	}
	patterns := 1 << (len(sums) - 1)
	as, now := 0, total
	for k := 1; ; k++ {
		if math.Abs(now) >= limit {
			as++
		}
		if k == patterns {
			return float64(as) / float64(patterns)
		}
		i := bits.TrailingZeros(uint(k))
		now -= 2 * sign[i] * sums[i]
		sign[i] = -sign[i]
	}
}

// drawFlips estimates the same from random patterns; the pattern seen counts as one of them, so that the test
// keeps its level (Phipson and Smyth 2010, "Permutation p-values should never be zero").
func drawFlips(sums []float64, o Options) float64 {
	total, size := sumOf(sums)
	limit := math.Abs(total) - 1e-9*size
	rng := rand.New(rand.NewPCG(o.Seed, 0x666c6970))
	as := 1
	for range flips {
		if o.err() != nil {
			return 1
		}
		now := 0.0
		var coins uint64
		for i, s := range sums {
			if i%64 == 0 {
				coins = rng.Uint64()
			}
			if coins&1 == 0 {
				s = -s
			}
			now += s
			coins >>= 1
		}
		if math.Abs(now) >= limit {
			as++
		}
	}
	return float64(as) / (flips + 1)
}

func sumOf(sums []float64) (total, size float64) {
	for _, s := range sums {
		total += s
		size += math.Abs(s)
	}
	return total, size
}

// Holm adjusts p-values of several tests so that the family-wise error rate stays below the level that an adjusted
// value is compared with (Holm 1979, Scandinavian Journal of Statistics 6). It needs no independence.
func Holm(p []float64) []float64 {
	adjusted := make([]float64, len(p))
	least := 0.0
	for k, i := range sorted(p) {
		least = max(least, min(float64(len(p)-k)*p[i], 1))
		adjusted[i] = least
	}
	return adjusted
}
