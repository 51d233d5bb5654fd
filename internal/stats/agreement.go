package stats

import (
	"errors"
	"math"
	"slices"
)

// Weights are the disagreement weights of Cohen's kappa.
type Weights int

// The weights of a disagreement.
const (
	Unweighted Weights = iota // any disagreement counts the same
	Quadratic                 // as the square of how far the values are apart
)

// CohenKappa is the inter-rater agreement of two raters beyond what their marginal frequencies would give by chance:
// 1 is perfect, 0 is chance (Cohen 1960, Educational and Psychological Measurement 20; weighted: Cohen 1968). With a
// BCa interval.
func CohenKappa(a, b []float64, w Weights, o Options) (Estimate, error) {
	return estimate(len(a), kappa(a, b, w), o,
		"both sides have one and the same value: agreement beyond chance is not defined")
}

func kappa(a, b []float64, w Weights) statistic {
	values := slices.Concat(a, b)
	slices.Sort(values)
	values = slices.Compact(values)
	place := func(v float64) int { i, _ := slices.BinarySearch(values, v); return i }
	ia, ib := make([]int, len(a)), make([]int, len(b))
	for i := range a {
		ia[i], ib[i] = place(a[i]), place(b[i])
	}
	cost := func(x, y int) float64 {
		d := math.Abs(values[x] - values[y])
		if w == Quadratic || d == 0 {
			return d * d
		}
		return 1
	}
	apart := make([]float64, len(a)) // each row's weighted disagreement
	for i := range a {
		apart[i] = cost(ia[i], ib[i])
	}
	fa, fb := make([]float64, len(values)), make([]float64, len(values))
	return func(weight []float64) (float64, bool) {
		clear(fa)
		clear(fb)
		seen, n := 0.0, 0.0
		for i, k := range weight {
			seen += k * apart[i]
			fa[ia[i]] += k
			fb[ib[i]] += k
			n += k
		}
		chance := 0.0
		for x, p := range fa {
			for y, q := range fb {
				if p > 0 && q > 0 {
					chance += p * q * cost(x, y)
				}
			}
		}
		if chance == 0 {
			return 0, false
		}
		return 1 - n*seen/chance, true
	}
}

// A Scale is the level of measurement of ratings: what the differences between them mean.
type Scale int

// The scales of ratings.
const (
	Nominal      Scale = iota // names: equal or not
	Ordinal                   // ranks: what counts is how many ratings lie between
	IntervalData              // numbers: the square of their difference
)

// Krippendorff is Krippendorff's alpha, inter-rater agreement: 1 less the observed disagreement within units over the
// expected one, of all ratings pooled (Krippendorff 2004, "Content Analysis", chapter 11; Hayes and Krippendorff
// 2007). A unit holds the ratings that one item received, by however many raters; a unit with fewer than two says
// nothing and is left out. N counts the others. With a BCa interval over the units.
func Krippendorff(units [][]float64, scale Scale, o Options) (Estimate, error) {
	var paired [][]float64
	var groups []string
	for i, u := range units {
		if len(u) >= 2 {
			paired = append(paired, u)
			groups = append(groups, o.group(i))
		}
	}
	if len(paired) == 0 {
		return Estimate{}, errors.New("no unit has two ratings")
	}
	o.Groups = groups
	return estimate(len(paired), alpha(paired, scale), o,
		"all ratings are equal: agreement beyond chance is not defined")
}

// alpha uses that on every scale disagreement adds up without looking at pairs: for numbers by sums of squares; for
// ranks too, as Krippendorff's ordinal difference is that of mean ranks; for names by counts.
func alpha(units [][]float64, scale Scale) statistic {
	flat := slices.Concat(units...)
	unit := make([]int, 0, len(flat)) // of each rating
	for i, u := range units {
		for range u {
			unit = append(unit, i)
		}
	}
	order := sorted(flat)
	if scale == Nominal {
		return nominalAlpha(flat, order, unit, units)
	}
	counts := make([]float64, len(flat))
	rank := make([]float64, len(flat))
	return func(weight []float64) (float64, bool) {
		for i, u := range unit {
			counts[i] = weight[u]
		}
		values := flat
		if scale == Ordinal {
			ranks(rank, flat, order, counts)
			values = rank
		}
		return intervalAlpha(values, counts, units, weight)
	}
}

func intervalAlpha(values, counts []float64, units [][]float64, weight []float64) (float64, bool) {
	n, mean := 0.0, 0.0
	for i, c := range counts {
		n += c
		mean += c * values[i]
	}
	if n == 0 {
		return 0, false
	}
	mean /= n // taken off, so that the squares do not cancel
	expected, seen := 0.0, 0.0
	at := 0
	for i, u := range units {
		sum, squares := 0.0, 0.0
		for range u {
			d := values[at] - mean
			sum += d
			squares += d * d
			at++
		}
		m := float64(len(u))
		seen += weight[i] * (m*squares - sum*sum) / (m - 1)
		expected += weight[i] * squares
	}
	expected *= n / (n - 1)
	if expected <= 1e-12 {
		return 0, false
	}
	return 1 - seen/expected, true
}

func nominalAlpha(flat []float64, order, unit []int, units [][]float64) statistic {
	name := make([]int, len(flat)) // of each rating, as its place among the different ones
	names := 0
	for at := 0; at < len(order); names++ {
		end, _ := tie(flat, order, flat, at)
		for _, i := range order[at:end] {
			name[i] = names
		}
		at = end
	}
	apart := make([]float64, len(units)) // the disagreement in each unit
	for i, u := range units {
		m, equal := float64(len(u)), 0.0
		for _, a := range u {
			for _, b := range u {
				if a == b {
					equal++
				}
			}
		}
		apart[i] = (m*m - equal) / (m - 1)
	}
	counts := make([]float64, names)
	return func(weight []float64) (float64, bool) {
		clear(counts)
		for i, u := range unit {
			counts[name[i]] += weight[u]
		}
		n, same := 0.0, 0.0
		for _, k := range counts {
			n += k
			same += k * k
		}
		expected := (n*n - same) / (n - 1)
		if n < 2 || expected <= 0 {
			return 0, false
		}
		seen := 0.0
		for i, k := range weight {
			seen += k * apart[i]
		}
		return 1 - seen/expected, true
	}
}
