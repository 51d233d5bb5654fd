package stats

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Fisher is the interval by Fisher's z transformation of a correlation, which is nearly normal. Pearson's r has the
// variance 1/(n-3) there, if the pairs are bivariate normal (Fisher 1921), and Spearman's (1+r²/2)/(n-3) (Bonett and
// Wright 2000, Psychometrika 65). It is the method for fewer than 20 independent rows, where the bootstrap's intervals
// are too short.
const Fisher Method = "fisher"

const equalValues = "all values of one side are equal: there is no correlation"

// Pearson is the product-moment correlation of x and y, with a BCa interval, or of few rows Fisher's.
func Pearson(x, y []float64, o Options) (Estimate, error) {
	return correlate(len(x), pearson(x, y), o, func(float64) float64 { return 1 })
}

// correlate estimates a correlation, that of few independent rows with Fisher's interval. The variance, which may
// depend on the correlation, is relative to Pearson's.
func correlate(n int, s statistic, o Options, variance func(r float64) float64) (Estimate, error) {
	if n == 0 || n >= few || len(unitsOf(n, o.Groups)) < n {
		return estimate(n, s, o, equalValues)
	}
	e := Estimate{N: n}
	value, ok := s(ones(n))
	if !ok {
		return e, errors.New(equalValues)
	}
	e.Value = value
	e.Interval = fisher(value, n, variance(value), o.level())
	if e.Interval == nil {
		e.warn("%d rows, and a correlation of %.3g: no interval", n, value)
		return e, nil
	}
	e.few(o, 0)
	return e, nil
}

// fisher is the interval of a correlation r of n pairs; nil where there is none.
func fisher(r float64, n int, variance, level float64) *Interval {
	if n < 4 || math.Abs(r) > 1-1e-12 {
		return nil
	}
	half := distuv.UnitNormal.Quantile((1+level)/2) * math.Sqrt(variance/float64(n-3))
	z := math.Atanh(r)
	return &Interval{Lo: math.Tanh(z - half), Hi: math.Tanh(z + half), Level: level, Method: Fisher}
}

// Spearman is the rank correlation of x and y: Pearson's correlation of their ranks, where tied values share
// the mean of their ranks (Kendall and Gibbons 1990, chapters 1 and 3). With a BCa interval, or of few rows Fisher's.
func Spearman(x, y []float64, o Options) (Estimate, error) {
	return correlate(len(x), spearman(x, y), o, func(r float64) float64 { return 1 + r*r/2 })
}

// Kendall is Kendall's tau-b of x and y, which takes ties into account (Kendall 1945, "The treatment of ties in ranking
// problems", Biometrika 33), with a BCa interval. gonum's stat.Kendall is tau-a, which cannot reach 1 where there
// are ties, and takes quadratic time.
func Kendall(x, y []float64, o Options) (Estimate, error) {
	return estimate(len(x), kendall(x, y), o, equalValues)
}

// SpearmanDifference compares two scores by their rank correlations with y on the same rows: the second's less the
// first's.
func SpearmanDifference(first, second, y []float64, o Options) (Difference, error) {
	return differenceOf(len(y), spearman(first, y), spearman(second, y), o, equalValues)
}

func pearson(x, y []float64) statistic {
	return func(weight []float64) (float64, bool) { return correlation(x, y, weight) }
}

// correlation is gonum's, which gives NaN, or what rounding left over, for equal values.
func correlation(x, y, weight []float64) (float64, bool) {
	if !varies(x, weight) || !varies(y, weight) {
		return 0, false
	}
	return min(max(stat.Correlation(x, y, weight), -1), 1), true
}

// varies reports whether the values that count are not all equal.
func varies(x, weight []float64) bool {
	first := -1
	for i, w := range weight {
		switch {
		case w == 0:
		case first < 0:
			first = i
		case x[i] != x[first]:
			return true
		}
	}
	return false
}

func spearman(x, y []float64) statistic {
	xs, ys := sorted(x), sorted(y)
	rx, ry := make([]float64, len(x)), make([]float64, len(y))
	return func(weight []float64) (float64, bool) {
		ranks(rx, x, xs, weight)
		ranks(ry, y, ys, weight)
		return correlation(rx, ry, weight)
	}
}

// sorted returns the indices of v in ascending order of their values.
func sorted(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case v[i] < v[j]:
			return -1
		case v[i] > v[j]:
			return 1
		}
		return 0
	})
	return order
}

// ranks writes the mean rank of each value, from 1, given their order and how often each counts.
func ranks(into, v []float64, order []int, weight []float64) {
	before := 0.0
	for at := 0; at < len(order); {
		end, here := tie(v, order, weight, at)
		for _, i := range order[at:end] {
			into[i] = before + (here+1)/2
		}
		before += here
		at = end
	}
}

// tie returns where the values equal to the one at a place end, and how often they count together.
func tie(v []float64, order []int, weight []float64, at int) (end int, here float64) {
	for end = at; end < len(order) && v[order[end]] == v[order[at]]; end++ {
		here += weight[order[end]]
	}
	return end, here
}

func kendall(x, y []float64) statistic {
	xs, ys := sorted(x), sorted(y)
	place := make([]int, len(y)) // of y among its different values, from 1
	for at, p := 0, 1; at < len(ys); p++ {
		end, _ := tie(y, ys, y, at)
		for _, i := range ys[at:end] {
			place[i] = p
		}
		at = end
	}
	seen := make([]float64, len(y)+1) // a Fenwick tree over the places: how often they have come
	return func(weight []float64) (float64, bool) {
		clear(seen)
		total := 0.0
		balance := 0.0 // concordant less discordant pairs
		for at := 0; at < len(xs); {
			end, here := tie(x, xs, weight, at)
			for _, i := range xs[at:end] {
				if weight[i] > 0 {
					lower, upTo := fenwickSum(seen, place[i]-1), fenwickSum(seen, place[i])
					balance += weight[i] * (lower - (total - upTo))
				}
			}
			for _, i := range xs[at:end] {
				fenwickAdd(seen, place[i], weight[i])
			}
			total += here
			at = end
		}
		pairs := total * (total - 1) / 2
		free := (pairs - tiedPairs(x, xs, weight)) * (pairs - tiedPairs(y, ys, weight))
		if free <= 0 {
			return 0, false
		}
		return min(max(balance/math.Sqrt(free), -1), 1), true
	}
}

func tiedPairs(v []float64, order []int, weight []float64) float64 {
	n := 0.0
	for at := 0; at < len(order); {
		end, here := tie(v, order, weight, at)
		n += here * (here - 1) / 2
		at = end
	}
	return n
}

func fenwickAdd(tree []float64, at int, v float64) {
	for ; at < len(tree); at += at & -at {
		tree[at] += v
	}
}

func fenwickSum(tree []float64, at int) float64 {
	sum := 0.0
	for ; at > 0; at -= at & -at {
		sum += tree[at]
	}
	return sum
}
