// Package stats computes statistics with confidence intervals, and tests of differences.
//
// Its parts, a file each:
//
//	stats.go, cluster.go    means, also of clustered rows
//	bootstrap.go            BCa bootstrap intervals for any statistic of rows, and for the difference of two
//	rank.go, auc.go         agreement of scores with labels: rank correlations, AUC, thresholds
//	agreement.go            inter-rater agreement: Krippendorff's alpha, Cohen's kappa
//	probability.go          scores as probabilities: Brier score, log loss, expected calibration error
//	calibrate.go            calibration maps (Platt, isotonic), chosen by k-fold cross-validation
//	paired.go, power.go     paired comparisons: randomisation test, t-test, power, minimum detectable effect
//	contrast.go             the mean of some rows against that of all others
//	ppi.go                  prediction-powered inference: a few labels and many scores
//	active.go               active inference: values of rows that were drawn with unequal probabilities
//
// No number travels alone: a [Summary] or an [Estimate] carries how many values there were, a confidence interval
// with the method that gave it, and warnings. Nothing is random from one run to the next: whatever is drawn
// is seeded. What cannot be computed is an error that says why, never a NaN. The functions take
// finite values; slices that belong together must be of one length.
package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Options say how a Summary is made. The zero Options are good ones.
type Options struct {
	Level    float64 // of the interval, in (0, 1); 0 means 0.95
	Seed     uint64  // of the bootstrap
	Min, Max float64 // what the values could be; Min = Max means that this is not known

	// Groups holds the group of each row, for functions that take slices of rows: rows that share a group
	// are not independent. A row in "" is in no group; nil: no row is in one.
	Groups []string

	// Err, a context's for example, is asked while something is drawn many times: once it returns an error, the work is
	// given up. A function that returns errors returns that one; what any other returns then means nothing, and it is
	// the caller who asks Err again. nil: never.
	Err func() error
}

// err is what Err says, nil without one.
func (o Options) err() error {
	if o.Err == nil {
		return nil
	}
	return o.Err()
}

func (o Options) level() float64 {
	if o.Level == 0 {
		return 0.95
	}
	return o.Level
}

// A Summary describes a set of values by their mean.
type Summary struct {
	N int // values

	// Groups are the independent ones, single values included, as far as they are kept apart; 0 where no two values
	// share one.
	Groups int

	Mean     float64   // 0 if N is 0: look at N first
	Interval *Interval // nil if there is none: then a warning says why
	Warnings []string
}

// An Interval is a confidence interval.
type Interval struct {
	Lo, Hi float64
	Level  float64
	Method Method
}

// A Method is a way to compute an interval.
type Method string

// The methods for means; those of other statistics are with them.

const (
	// BCa is the bias-corrected and accelerated bootstrap (Efron 1987, "Better bootstrap confidence
	// intervals", JASA 82) with 10,000 resamples.
	BCa Method = "bca"

	// ABC is the analytic approximation to BCa (DiCiccio and Efron 1992, "More accurate confidence
	// intervals in exponential families", Biometrika 79), which needs three moments and no resamples. It is
	// the method for more than 2,000 values: there the two agree, and this one keeps no values.
	ABC Method = "abc"

	// Exact is for values that are all equal, where resampling would claim certainty. If a share p of all
	// rows had another value, n rows without any would be seen with probability (1-p)^n; the
	// interval reaches as far as p could pull the mean, with p as large as the level allows.
	Exact Method = "exact"
)

const (
	resamples = 10_000
	keepMost  = 2_000 // values; a larger set is summarised by its moments
	// values; below it, where the bootstrap's intervals are too short, there is a small-sample warning
	few = 20
)

// A Mean takes in values one by one, in bounded space, and summarises them. The zero Mean is empty.
type Mean struct {
	moments
	sum, lost  float64 // the sum, and what rounding took from it (Neumaier 1974)
	least, top float64
	values     []float64 // while there are few enough
	clusters   *clusters // nil while no value is in a group
}

// moments are the number of values, their mean to within rounding, and the sums of the second and third powers of
// the deviations from it.
type moments struct {
	n            int
	mean, m2, m3 float64
}

// add is Welford's update, for the third moment as in Pébay 2008 (Sandia report SAND2008-6212).
func (m *moments) add(v float64) {
	before := float64(m.n)
	m.n++
	n := float64(m.n)
	delta := v - m.mean
	step := delta / n
	term := delta * step * before
	m.mean += step
	m.m3 += term*step*(n-2) - 3*step*m.m2
	m.m2 += term
}

// Add takes in a value, which must be finite, of a row in no group.
func (m *Mean) Add(v float64) {
	m.take(v)
	if m.clusters != nil {
		m.clusters.addLone(v)
	}
}

// AddTo takes in a value of a row in a group. Rows of one group are not independent: where two values share one, the
// interval is over the groups. The group "" is none.
func (m *Mean) AddTo(group string, v float64) {
	if group == "" {
		m.Add(v)
		return
	}
	if m.clusters == nil {
		m.clusters = newClusters(m)
	}
	m.take(v)
	m.clusters.add(group, v)
}

func (m *Mean) take(v float64) {
	if m.n == 0 {
		m.least, m.top = v, v
	}
	m.least, m.top = min(m.least, v), max(m.top, v)
	sum := m.sum + v
	if math.Abs(m.sum) >= math.Abs(v) {
		m.lost += (m.sum - sum) + v
	} else {
		m.lost += (v - sum) + m.sum
	}
	m.sum = sum
	m.moments.add(v)
	if m.n <= keepMost {
		m.values = append(m.values, v)
	} else {
		m.values = nil
	}
}

// N returns how many values there are.
func (m *Mean) N() int { return m.n }

// Summary describes the values taken in so far. It leaves Options.Groups alone: see [Mean.AddTo].
func (m *Mean) Summary(o Options) Summary {
	o.Level = o.level()
	s := Summary{N: m.n}
	if m.n > 0 {
		s.Mean = m.within((m.sum + m.lost) / float64(m.n))
	}
	warn := func(format string, args ...any) { s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...)) }
	what, units := "values", m.n
	if m.grouped() {
		s.Groups = m.clusters.count()
		what, units = "groups", s.Groups
		if m.clusters.thrown {
			warn("%d values from more than %d groups, whose rows are not independent: the interval is over %d parts "+
				"that hold whole groups", m.n, mostGroups, units)
		} else if units > 1 {
			warn("%d values from %d groups, whose rows are not independent: the interval is over the groups",
				m.n, units)
		}
	}
	switch {
	case m.n == 0:
		warn("no values")
	case m.n == 1:
		warn("one value: no interval")
	case units == 1:
		warn("one group: no interval")
	case m.least == m.top && o.Min < o.Max:
		s.Interval = m.exact(o, units)
		warn("all %d values are %v: the interval says how far others could pull the mean", m.n, m.least)
	case m.least == m.top:
		warn("all %d values are %v: no interval", m.n, m.least)
	default:
		s.Interval = m.interval(o)
		if s.Interval == nil {
			warn("all groups have one mean: no interval")
		}
	}
	if units > 1 && units < few {
		warn("only %d %s: the interval is rough", units, what)
	}
	return s
}

// Of summarises values.
func Of(values []float64, o Options) Summary {
	var m Mean
	for i, v := range values {
		m.AddTo(o.group(i), v)
	}
	return m.Summary(o)
}

// group is the group of row i.
func (o Options) group(i int) string {
	if o.Groups == nil {
		return ""
	}
	return o.Groups[i]
}

// interval resamples where that is affordable; nil if the units do not vary.
func (m *Mean) interval(o Options) *Interval {
	m2, m3 := m.m2, m.m3
	var units []unit
	if m.grouped() {
		m2, m3 = m.clusters.spread(m.mean)
		units = m.clusters.units()
		if m2 <= 1e-24*(m.top-m.least)*(m.top-m.least) {
			return nil
		}
	} else {
		units = single(m.values)
	}
	a := acceleration(m2, m3)
	if units == nil {
		return m.abc(o.Level, m2, a)
	}
	return m.bca(o, units, a)
}

// acceleration is the a of BCa and ABC for a mean: a sixth of the skewness of the values, over the square
// root of their number (Efron 1987, equation 7.3). It is never beyond ±1/6.
func acceleration(m2, m3 float64) float64 { return m3 / (6 * math.Pow(m2, 1.5)) }

func (m *Mean) abc(level, m2, a float64) *Interval {
	deviation := math.Sqrt(m2) / float64(m.n) // of the mean
	end := func(p float64) float64 {
		w := a + distuv.UnitNormal.Quantile(p) // the bias correction of a linear statistic equals a
		return m.within(m.mean + deviation*w/((1-a*w)*(1-a*w)))
	}
	tail := (1 - level) / 2
	return &Interval{Lo: end(tail), Hi: end(1 - tail), Level: level, Method: ABC}
}

func (m *Mean) bca(o Options, units []unit, a float64) *Interval {
	means, below := m.resample(o, units)
	b := bootstrap{values: means, bias: distuv.UnitNormal.Quantile(below), acceleration: a}
	lo, hi := b.ends(o.Level)
	return &Interval{Lo: m.within(lo), Hi: m.within(hi), Level: o.Level, Method: BCa}
}

// resample returns the means of resamples of the units, sorted, and the share of them below the mean of the values,
// equal ones counted half. The share is never 0 or 1.
func (m *Mean) resample(o Options, units []unit) (means []float64, below float64) {
	slices.SortFunc(units, unit.compare) // so that the order in which they came does not matter
	sums, sizes := make([]float64, len(units)), make([]int, len(units))
	alike := true // in size: then only the sums are drawn
	for i, u := range units {
		sums[i], sizes[i] = u.sum, u.n
		alike = alike && u.n == units[0].n
	}
	rng := random(o.Seed)
	means = make([]float64, resamples)
	for i := range means {
		if o.err() != nil {
			break
		}
		sum, n := 0.0, 0
		if alike {
			for range sums {
				sum += sums[rng.IntN(len(sums))]
			}
			n = len(sums) * sizes[0]
		} else {
			for range sums {
				k := rng.IntN(len(sums))
				sum += sums[k]
				n += sizes[k]
			}
		}
		means[i] = sum / float64(n)
	}
	below = shareBelow(means, m.mean, 1e-12*(m.top-m.least))
	slices.Sort(means)
	return means, below
}

// random is the source of everything that is drawn.
func random(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0x6173736179)) // the stream's number is arbitrary
}

// shareBelow is the share of values below v, those equal to it (to within a tolerance, as they were summed in
// another order) counted half. It is never 0 or 1.
func shareBelow(values []float64, v, tolerance float64) float64 {
	below := 0.0
	for _, x := range values {
		switch d := x - v; {
		case math.Abs(d) <= tolerance:
			below += 0.5
		case d < 0:
			below++
		}
	}
	n := float64(len(values))
	return min(max(below, 0.5), n-0.5) / n
}

func (m *Mean) exact(o Options, units int) *Interval {
	i := exactly(m.least, units, o)
	return &i
}

// exactly is the exact interval of a mean of n values that are all v.
func exactly(v float64, n int, o Options) Interval {
	p := -math.Expm1(math.Log1p(-o.level()) / float64(n)) // (1-p)^n = 1-level
	return Interval{Lo: v - p*max(v-o.Min, 0), Hi: v + p*max(o.Max-v, 0), Level: o.level(), Method: Exact}
}

// within keeps rounding from carrying a mean, or an end of its interval, beyond the values.
func (m *Mean) within(v float64) float64 { return min(max(v, m.least), m.top) }

// quantile interpolates between the order statistics of sorted (definition 7 of Hyndman and Fan 1996).
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
