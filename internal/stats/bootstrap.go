package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// An Estimate is a statistic of rows with its confidence interval.
type Estimate struct {
	Value    float64
	N        int       // rows
	Interval *Interval // nil if there is none: then a warning says why
	Warnings []string
}

func (e *Estimate) warn(format string, args ...any) {
	e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...))
}

// A statistic computes a number from rows that count weight[i] times each, a whole number of times. It reports
// false where it is not defined: a correlation of equal values. Weights are how resampling stays cheap: what must
// be sorted is sorted once.
type statistic func(weight []float64) (float64, bool)

// A bootstrap is the bootstrap distribution of a statistic, with BCa's two corrections of its percentiles: bias and
// acceleration (Efron 1987).
type bootstrap struct {
	values       []float64 // sorted
	bias         float64
	acceleration float64
}

// ends are the ends of the BCa interval.
func (b *bootstrap) ends(level float64) (lo, hi float64) {
	end := func(p float64) float64 {
		w := b.bias + distuv.UnitNormal.Quantile(p)
		return quantile(b.values, distuv.UnitNormal.CDF(b.bias+w/(1-b.acceleration*w)))
	}
	tail := (1 - level) / 2
	return end(tail), end(1 - tail)
}

// p is the two-sided p-value of the hypothesis that the statistic is v, by inverting the interval: one less the level
// of the BCa interval that ends at v (Efron and Tibshirani 1998, "The problem of regions", Annals of Statistics 26).
// It and the interval never contradict each other. It is never less than what so many resamples can tell.
func (b *bootstrap) p(v float64) float64 {
	w := distuv.UnitNormal.Quantile(shareBelow(b.values, v, 1e-12)) - b.bias
	one := distuv.UnitNormal.CDF(w/(1+b.acceleration*w) - b.bias)
	return max(min(2*min(one, 1-one), 1), 1/float64(len(b.values)))
}

// errSame says that the bootstrap distribution is degenerate, so that it would claim certainty.
var errSame = errors.New("the value is the same in all resamples")

// distribution resamples n rows or, as a cluster bootstrap, the groups that they are in. The share of resamples in
// which the statistic is not defined is returned as lost; those are left out.
func distribution(n int, s statistic, value float64, o Options) (b *bootstrap, lost float64, err error) {
	units := unitsOf(n, o.Groups)
	rng := random(o.Seed)
	weight := make([]float64, n)
	b = &bootstrap{}
	draws := drawsFor(n)
	for range draws {
		if err := o.err(); err != nil {
			return nil, 0, err
		}
		clear(weight)
		for range units {
			for _, row := range units[rng.IntN(len(units))] {
				weight[row]++
			}
		}
		if v, ok := s(weight); ok {
			b.values = append(b.values, v)
		}
	}
	lost = 1 - float64(len(b.values))/float64(draws)
	if len(b.values) == 0 {
		return nil, lost, errors.New("it is not defined in any resample")
	}
	slices.Sort(b.values)
	if b.values[len(b.values)-1]-b.values[0] <= 1e-12*math.Abs(value) {
		return nil, lost, errSame
	}
	b.bias = distuv.UnitNormal.Quantile(shareBelow(b.values, value, 1e-12))
	b.acceleration = jackknife(n, units, s, o)
	return b, lost, o.err()
}

// drawsFor is how many resamples of n rows are made: fewer of very many rows, whose distribution is nearly normal.
func drawsFor(n int) int { return min(max(40_000_000/n, 1000), 2000) }

// jackknife is the acceleration of a statistic: a sixth of the skewness of its jackknife values, which leave out one
// unit each (Efron 1987, section 6). Where it cannot be computed, it is 0, which means none.
func jackknife(n int, units [][]int, s statistic, o Options) float64 {
	weight := make([]float64, n)
	for i := range weight {
		weight[i] = 1
	}
	parts := min(len(units), max(20_000_000/n, 200), 1000) // with more units it is a delete-d jackknife
	var m moments
	for part := range parts {
		if o.err() != nil {
			return 0
		}
		for u := part; u < len(units); u += parts {
			for _, row := range units[u] {
				weight[row] = 0
			}
		}
		if v, ok := s(weight); ok {
			m.add(-v)
		}
		for u := part; u < len(units); u += parts {
			for _, row := range units[u] {
				weight[row] = 1
			}
		}
	}
	if m.m2 <= 0 {
		return 0
	}
	return acceleration(m.m2, m.m3)
}

// unitsOf lists the rows of each group; each row in none is a unit by itself.
func unitsOf(n int, groups []string) [][]int {
	units := make([][]int, 0, n)
	index := map[string]int{}
	rows := make([]int, n) // of all units without a group, one after the other
	for row := range n {
		if groups == nil || groups[row] == "" {
			rows[row] = row
			units = append(units, rows[row:row+1:row+1])
			continue
		}
		i, seen := index[groups[row]]
		if !seen {
			i = len(units)
			index[groups[row]] = i
			units = append(units, nil)
		}
		units[i] = append(units[i], row)
	}
	return units
}

// estimate computes a statistic with its BCa interval. undefined says why it could not be computed.
func estimate(n int, s statistic, o Options, undefined string) (Estimate, error) {
	e := Estimate{N: n}
	if n == 0 {
		return e, errors.New("no rows")
	}
	value, ok := s(ones(n))
	if !ok {
		return e, errors.New(undefined)
	}
	e.Value = value
	b, lost, err := distribution(n, s, value, o)
	if ended := o.err(); ended != nil {
		return e, ended
	}
	if err != nil {
		e.warn("%v: no interval", err)
		return e, nil
	}
	lo, hi := b.ends(o.level())
	e.Interval = &Interval{Lo: lo, Hi: hi, Level: o.level(), Method: BCa}
	e.few(o, lost)
	return e, nil
}

// few adds the small-sample warning, and what else makes an interval rough.
func (e *Estimate) few(o Options, lost float64) {
	what, units := "rows", e.N
	if k := len(unitsOf(e.N, o.Groups)); k < e.N {
		what, units = "groups", k
		e.warn("%d rows in %d groups, which are not independent: the interval is over the groups", e.N, k)
	}
	if units < few {
		e.warn("only %d %s: the interval is rough", units, what)
	}
	if lost > 0.01 {
		e.warn("not defined in %.0f%% of the resamples: the interval is over the others", 100*lost)
	}
}

// A Difference is that of two statistics of the same rows, the second less the first.
type Difference struct {
	Estimate
	P float64 // of the hypothesis that there is none, two-sided; 1 where nothing can be told
}

// differenceOf bootstraps the difference of two statistics of the same rows.
func differenceOf(n int, first, second statistic, o Options, undefined string) (Difference, error) {
	s := func(weight []float64) (float64, bool) {
		a, ok := first(weight)
		if !ok {
			return 0, false
		}
		b, ok := second(weight)
		return b - a, ok
	}
	if n == 0 {
		return Difference{}, errors.New("no rows")
	}
	value, ok := s(ones(n))
	if !ok {
		return Difference{}, errors.New(undefined)
	}
	d := Difference{Estimate: Estimate{Value: value, N: n}, P: 1}
	b, lost, err := distribution(n, s, value, o)
	if ended := o.err(); ended != nil {
		return d, ended
	}
	if err != nil {
		d.warn("%v: no interval", err)
		return d, nil
	}
	lo, hi := b.ends(o.level())
	d.Interval = &Interval{Lo: lo, Hi: hi, Level: o.level(), Method: BCa}
	d.P = b.p(0)
	d.few(o, lost)
	return d, nil
}

func ones(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1
	}
	return w
}

// folds assigns rows to k grouped folds of about one size: those of a group are in one fold.
func folds(n, k int, o Options) []int {
	units := unitsOf(n, o.Groups)
	rng := rand.New(rand.NewPCG(o.Seed, 0x666f6c6473)) // another stream than the resamples'
	rng.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	k = min(k, len(units))
	part := make([]int, n)
	for i, rows := range units {
		for _, row := range rows {
			part[row] = i % k
		}
	}
	return part
}
