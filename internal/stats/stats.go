// Package stats says how sure one can be of a mean.
//
// A mean never travels alone: a [Summary] carries the number of values, a confidence interval with the
// method that gave it, and warnings. Nothing here is random from one run to the next: the bootstrap is
// seeded, and the order of the values does not matter to it.
package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Options say how a Summary is made. The zero Options are good ones.
type Options struct {
	Level    float64 // of the interval, in (0, 1); 0 means 0.95
	Seed     uint64  // of the bootstrap
	Min, Max float64 // what the values could be; Min = Max means that this is not known
}

// A Summary describes a set of values by their mean.
type Summary struct {
	N        int
	Mean     float64   // 0 if N is 0: look at N first
	Interval *Interval // nil if there is none: then a warning says why
	Warnings []string
}

// An Interval is a confidence interval for a mean.
type Interval struct {
	Lo, Hi float64
	Level  float64
	Method Method
}

// A Method is a way to compute an interval.
type Method string

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
	few       = 20    // values; below it the bootstrap's intervals are known to be too short
)

// A Mean takes in values one by one, in constant space, and summarises them. The zero Mean is empty.
type Mean struct {
	n          int
	sum, lost  float64 // the sum, and what rounding took from it (Neumaier 1974)
	mean       float64 // as the moments need it: within rounding of sum / n
	m2, m3     float64 // sums of the second and third powers of the deviations from the mean
	least, top float64
	values     []float64 // while there are few enough
}

// Add takes in a value, which must be finite.
func (m *Mean) Add(v float64) {
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
	// Welford's update, for the third moment as in Pébay 2008 (Sandia report SAND2008-6212).
	before := float64(m.n)
	m.n++
	n := float64(m.n)
	delta := v - m.mean
	step := delta / n
	term := delta * step * before
	m.mean += step
	m.m3 += term*step*(n-2) - 3*step*m.m2
	m.m2 += term
	if m.n <= keepMost {
		m.values = append(m.values, v)
	} else {
		m.values = nil
	}
}

// N returns how many values there are.
func (m *Mean) N() int { return m.n }

// Summary describes the values taken in so far.
func (m *Mean) Summary(o Options) Summary {
	if o.Level == 0 {
		o.Level = 0.95
	}
	s := Summary{N: m.n}
	if m.n > 0 {
		s.Mean = m.within((m.sum + m.lost) / float64(m.n))
	}
	warn := func(format string, args ...any) { s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...)) }
	switch {
	case m.n == 0:
		warn("no values")
	case m.least == m.top && o.Min < o.Max && m.n > 1:
		s.Interval = m.exact(o)
		warn("all %d values are %v: the interval says how far others could pull the mean", m.n, m.least)
	case m.n == 1:
		warn("one value: no interval")
	case m.least == m.top:
		warn("all %d values are %v: no interval", m.n, m.least)
	case m.values == nil:
		s.Interval = m.abc(o.Level)
	default:
		s.Interval = m.bca(o)
	}
	if m.n > 1 && m.n < few {
		warn("only %d values: the interval is rough", m.n)
	}
	return s
}

// Of summarises values.
func Of(values []float64, o Options) Summary {
	var m Mean
	for _, v := range values {
		m.Add(v)
	}
	return m.Summary(o)
}

// acceleration is the a of BCa and ABC for a mean: a sixth of the skewness of the values, over the square
// root of their number (Efron 1987, equation 7.3). It is never beyond ±1/6.
func (m *Mean) acceleration() float64 { return m.m3 / (6 * math.Pow(m.m2, 1.5)) }

func (m *Mean) abc(level float64) *Interval {
	a := m.acceleration()
	deviation := math.Sqrt(m.m2) / float64(m.n) // of the mean
	end := func(p float64) float64 {
		w := a + normalQuantile(p) // the bias correction of a linear statistic equals a
		return m.within(m.mean + deviation*w/((1-a*w)*(1-a*w)))
	}
	tail := (1 - level) / 2
	return &Interval{Lo: end(tail), Hi: end(1 - tail), Level: level, Method: ABC}
}

func (m *Mean) bca(o Options) *Interval {
	means, below := m.resample(o.Seed)
	bias := normalQuantile(below)
	a := m.acceleration()
	end := func(p float64) float64 {
		w := bias + normalQuantile(p)
		return m.within(quantile(means, normalCDF(bias+w/(1-a*w))))
	}
	tail := (1 - o.Level) / 2
	return &Interval{Lo: end(tail), Hi: end(1 - tail), Level: o.Level, Method: BCa}
}

// resample returns the means of resamples, sorted, and the share of them below the mean of the values, equal
// ones counted half. The share is never 0 or 1.
func (m *Mean) resample(seed uint64) (means []float64, below float64) {
	values := slices.Clone(m.values)
	slices.Sort(values) // so that the order in which they came does not matter
	n := len(values)
	rng := rand.New(rand.NewPCG(seed, 0x6173736179)) // the stream's number is arbitrary
	means = make([]float64, resamples)
	mean, tolerance := m.mean, 1e-12*(m.top-m.least)
	for i := range means {
		sum := 0.0
		for range n {
			sum += values[rng.IntN(n)]
		}
		means[i] = sum / float64(n)
		switch d := means[i] - mean; {
		case math.Abs(d) <= tolerance: // equal, but summed in another order
			below += 0.5
		case d < 0:
			below++
		}
	}
	slices.Sort(means)
	return means, min(max(below, 0.5), resamples-0.5) / resamples
}

func (m *Mean) exact(o Options) *Interval {
	v := m.least
	p := -math.Expm1(math.Log1p(-o.Level) / float64(m.n)) // (1-p)^n = 1-level
	return &Interval{
		Lo:     v - p*max(v-o.Min, 0),
		Hi:     v + p*max(o.Max-v, 0),
		Level:  o.Level,
		Method: Exact,
	}
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

// normalCDF is the distribution function of the standard normal.
func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// normalQuantile is its inverse, for p in (0, 1).
func normalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
