package stats

import (
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Contrast compares the mean of some rows with that of all others.
type Contrast struct {
	Inside, Outside float64   // the means
	Difference      float64   // Inside less Outside
	Interval        *Interval // of Difference, by [Welch]; nil where nothing varies
	P               float64   // two-sided, of no difference
}

// Welch is the interval of the difference of two means by Student's distribution, with variances of their own and the
// degrees of freedom of Welch (1947, "The generalization of 'Student's' problem", Biometrika 34).
const Welch Method = "welch"

// fewest is how many independent rows each side of a [Contrast] must have: fewer say too little of how they vary.
const fewest = 5

// ContrastOf compares the rows that are in with those that are not, by Welch's t-test. Where rows share a group, on one
// side or across both, what varies independently are the groups, and the variance is the cluster-robust one (see
// cluster.go). Ok is false if one of the sides has fewer than five independent rows.
//
// Where no side varies, t says nothing: P is then the chance that a random choice of as many units would be just these,
// as in a randomisation test. Options.Min and Max are those of the values.
func ContrastOf(values []float64, in []bool, o Options) (c Contrast, ok bool) {
	var sums, rows [2]float64
	side := func(row int) int {
		if in[row] {
			return 0
		}
		return 1
	}
	for i, v := range values {
		sums[side(i)] += v
		rows[side(i)]++
	}
	if rows[0] == 0 || rows[1] == 0 {
		return Contrast{}, false
	}
	mean := [2]float64{sums[0] / rows[0], sums[1] / rows[1]}
	var units, variance [2]float64 // of the means
	var both, covariance float64
	for unit := range eachUnit(len(values), o.Groups) {
		var part [2]float64
		var has [2]bool
		for _, row := range unit {
			s := side(row)
			has[s] = true
			part[s] += (values[row] - mean[s]) / rows[s]
		}
		for s := range has {
			if has[s] {
				units[s]++
				variance[s] += part[s] * part[s]
			}
		}
		if has[0] && has[1] {
			both++
			covariance += part[0] * part[1]
		}
	}
	if units[0] < fewest || units[1] < fewest {
		return Contrast{}, false
	}
	for s := range variance {
		variance[s] *= units[s] / (units[s] - 1)
	}
	if both > 1 {
		covariance *= both / (both - 1)
	}
	c = Contrast{Inside: mean[0], Outside: mean[1], Difference: mean[0] - mean[1]}
	total := variance[0] + variance[1] - 2*covariance
	if scale := math.Abs(mean[0]) + math.Abs(mean[1]); total <= 1e-24*scale*scale {
		if c.P = 1; math.Abs(c.Difference) > 1e-12*scale {
			c.P = oneOf(units[0], units[0]+units[1]-both)
		}
		return c, true
	}
	share := func(s int) float64 { return variance[s] * variance[s] / (units[s] - 1) }
	sum := variance[0] + variance[1]
	student := distuv.StudentsT{Sigma: 1, Nu: sum * sum / (share(0) + share(1))}
	deviation := math.Sqrt(total)
	c.P = min(1, 2*student.CDF(-math.Abs(c.Difference)/deviation))
	half := deviation * student.Quantile(1-(1-o.level())/2)
	c.Interval = &Interval{Lo: c.Difference - half, Hi: c.Difference + half, Level: o.level(), Method: Welch}
	if o.Min < o.Max {
		c.Interval.Lo = max(c.Interval.Lo, o.Min-o.Max)
		c.Interval.Hi = min(c.Interval.Hi, o.Max-o.Min)
	}
	return c, true
}

// eachUnit goes through the rows of each group. Without groups it takes no memory for the rows.
func eachUnit(n int, groups []string) iter.Seq[[]int] {
	if groups != nil {
		return slices.Values(unitsOf(n, groups))
	}
	return func(yield func([]int) bool) {
		unit := make([]int, 1)
		for unit[0] < n && yield(unit) {
			unit[0]++
		}
	}
}

// oneOf is the chance of one certain choice of k among n: one over the binomial coefficient.
func oneOf(k, n float64) float64 {
	lg := func(x float64) float64 { v, _ := math.Lgamma(x + 1); return v }
	return min(1, math.Exp(lg(k)+lg(n-k)-lg(n)))
}
