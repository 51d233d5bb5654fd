package stats

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// aircon is the time between failures of air-conditioning equipment, in hours (Proschan 1963), the
// running example of Davison and Hinkley 1997, "Bootstrap Methods and their Application".
func aircon() []float64 { return []float64{3, 5, 7, 18, 43, 85, 91, 98, 100, 130, 230, 487} }

// Davison and Hinkley, example 5.8, give 0.0938 as the acceleration of the mean of these data.
func TestPublished(t *testing.T) {
	var m Mean
	for _, v := range aircon() {
		m.Add(v)
	}
	if a := acceleration(m.m2, m.m3); !near(a, 0.0938, 0.00005) {
		t.Errorf("acceleration %.5f, want 0.0938", a)
	}
	s := m.Summary(Options{})
	if !near(s.Mean, 108.083, 0.001) || s.Interval.Method != BCa || s.Interval.Hi-s.Mean < 1.5*(s.Mean-s.Interval.Lo) {
		t.Errorf("%v %+v, want 108.083 and an interval that leans to the right as the data do", s.Mean, *s.Interval)
	}
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "only 12 values") {
		t.Errorf("warnings %q", s.Warnings)
	}
}

// Of zeros and ones every resample's mean is a binomial share, so that the BCa interval can be
// computed exactly, with no resampling, by another's distribution functions.
func TestAgainstBinomial(t *testing.T) {
	check := func(n, ones int) {
		t.Helper()
		values := make([]float64, n)
		for i := range ones {
			values[i] = 1
		}
		p := float64(ones) / float64(n)
		binomial := distuv.Binomial{N: float64(n), P: p}
		normal := distuv.UnitNormal
		bias := normal.Quantile(binomial.CDF(float64(ones)) - binomial.Prob(float64(ones))/2)
		a := (1 - 2*p) / math.Sqrt(float64(n)*p*(1-p)) / 6
		end := func(z float64) float64 {
			share := normal.CDF(bias + (bias+z)/(1-a*(bias+z)))
			k := 0
			for binomial.CDF(float64(k)) < share {
				k++
			}
			return float64(k) / float64(n)
		}
		s := Of(values, Options{})
		// A resample is one count off where the exact share falls next to a jump.
		lo, hi, step := end(-1.959964), end(1.959964), 1.01/float64(n)
		if !near(s.Interval.Lo, lo, step) || !near(s.Interval.Hi, hi, step) || s.Mean != p {
			t.Errorf("%d of %d: %v %+v, want %v to %v", ones, n, s.Mean, *s.Interval, lo, hi)
		}
	}
	check(30, 21)
	check(50, 3)
	check(200, 199)
	if !raceEnabled { // which has nothing to find in so many draws
		check(1000, 900)
		check(2000, 30)
	}
}

// The analytic intervals continue the resampled ones: on the same values they agree.
func TestMethodsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(name string, draw func() float64) {
		t.Helper()
		var m Mean
		for range keepMost {
			m.Add(draw())
		}
		b := m.Summary(Options{}).Interval
		a := m.abc(0.95, m.m2, acceleration(m.m2, m.m3))
		width := a.Hi - a.Lo
		if b.Method != BCa || !near(a.Lo, b.Lo, 0.03*width) || !near(a.Hi, b.Hi, 0.03*width) {
			t.Errorf("%s: bca %v to %v, abc %v to %v", name, b.Lo, b.Hi, a.Lo, a.Hi)
		}
		m.Add(draw())
		if method := m.Summary(Options{}).Interval.Method; method != ABC {
			t.Errorf("%s: %d values by %s, want abc", name, m.N(), method)
		}
	}
	check("exponential", rng.ExpFloat64)
	if raceEnabled {
		return // sixty million draws tell it nothing
	}
	check("uniform", rng.Float64)
	check("mostly ones", func() float64 {
		if rng.Float64() < 0.98 {
			return 1
		}
		return 0
	})
}

// The intervals must hold the true mean about as often as they say. Each band is four standard errors
// of the simulation around the coverage to be expected, so an interval that is off by a few per cent fails.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	check := func(name string, n, runs int, mean, least float64, draw func() float64) {
		t.Helper()
		inside := 0
		for run := range runs {
			var m Mean
			for range n {
				m.Add(draw())
			}
			i := m.Summary(Options{Seed: uint64(run), Max: 1}).Interval
			if i.Lo <= mean && mean <= i.Hi {
				inside++
			}
		}
		got := float64(inside) / float64(runs)
		t.Logf("%s, n = %d: %.3f", name, n, got)
		if margin := 4 * math.Sqrt(0.95*0.05/float64(runs)); got < least-margin || got > 0.95+margin {
			t.Errorf("%s, n = %d: the interval holds the mean in %.3f of %d runs, want %.2f to 0.95",
				name, n, got, runs, least)
		}
	}
	coin := func(p float64) func() float64 {
		return func() float64 {
			if rng.Float64() < p {
				return 1
			}
			return 0
		}
	}
	square := func() float64 { u := rng.Float64(); return u * u } // skewed, mean 1/3
	check("uniform", 30, runsOf(t, 600), 0.5, 0.93, rng.Float64)
	check("skewed", 50, runsOf(t, 600), 1.0/3, 0.93, square)
	check("coin .7", 50, runsOf(t, 600), 0.7, 0.93, coin(0.7))
	check("coin .9", 80, runsOf(t, 600), 0.9, 0.93, coin(0.9))
	check("skewed", keepMost+1, runsOf(t, 4000), 1.0/3, 0.945, square)
	check("coin .99", keepMost+1, runsOf(t, 4000), 0.99, 0.94, coin(0.99))
}

func TestDegenerate(t *testing.T) {
	check := func(values []float64, o Options, want Summary) {
		t.Helper()
		if got := Of(values, o); !reflect.DeepEqual(got, want) {
			t.Errorf("%v:\n got %+v\nwant %+v", values, got, want)
		}
	}
	ones := slices.Repeat([]float64{1}, 40)
	check(nil, Options{Max: 1}, Summary{Warnings: []string{"no values"}})
	check([]float64{0.5}, Options{Max: 1}, Summary{N: 1, Mean: 0.5, Warnings: []string{"one value: no interval"}})
	check(ones, Options{}, Summary{N: 40, Mean: 1, Warnings: []string{"all 40 values are 1: no interval"}})
	// (1-p)^40 = 0.05: the rule of three would say p = 0.075.
	s := Of(ones, Options{Max: 1})
	if i := s.Interval; i.Method != Exact || i.Hi != 1 || !near(math.Pow(i.Lo, 40), 0.05, 1e-12) {
		t.Errorf("forty ones: %+v", *i)
	}
	s = Of([]float64{0.1, 0.1, 0.1}, Options{Min: -1, Max: 1})
	p := 1 - math.Cbrt(0.05)
	if i := s.Interval; s.Mean != 0.1 || !near(i.Lo, 0.1-1.1*p, 1e-12) || !near(i.Hi, 0.1+0.9*p, 1e-12) ||
		len(s.Warnings) != 2 {
		t.Errorf("three equal values: %+v, %+v", s, *i)
	}
	s = Of([]float64{0, 1}, Options{Max: 1})
	if i := s.Interval; i.Lo < 0 || i.Hi > 1 || i.Lo >= i.Hi {
		t.Errorf("two values: %+v", *i)
	}
}

func TestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	previous := math.Inf(1)
	for _, n := range []int{25, 100, 400, 2400} {
		values := make([]float64, n)
		var m Mean
		for i := range values {
			values[i] = math.Round(rng.Float64()*8) / 8
			m.Add(values[i])
		}
		s := m.Summary(Options{Seed: 7})
		mean, sd := stat.MeanStdDev(values, nil)
		skew := stat.Skew(values, nil)
		k := float64(n)
		moments := (k - 1) * sd * sd
		third := skew * math.Pow(sd, 3) * (k - 1) * (k - 2) / k
		if !near(s.Mean, mean, 1e-12) || !near(m.m2, moments, 1e-9*moments) || !near(m.m3, third, 1e-9*k) {
			t.Errorf("n = %d: mean %v, moments %v and %v, want %v, %v, %v", n, s.Mean, m.m2, m.m3, mean, moments, third)
		}
		if again := Of(values, Options{Seed: 7}); !reflect.DeepEqual(again, s) {
			t.Errorf("n = %d: not repeatable: %+v and %+v", n, again, s)
		}
		rng.Shuffle(n, func(i, j int) { values[i], values[j] = values[j], values[i] })
		if again := Of(values, Options{Seed: 7}).Interval; !near(again.Lo, s.Interval.Lo, 1e-9) ||
			!near(again.Hi, s.Interval.Hi, 1e-9) {
			t.Errorf("n = %d: in another order %+v, before %+v", n, *again, *s.Interval)
		}
		if width := s.Interval.Hi - s.Interval.Lo; width >= previous || s.Interval.Lo > s.Mean ||
			s.Interval.Hi < s.Mean {
			t.Errorf("n = %d: interval %+v around %v, no shorter than %v", n, *s.Interval, s.Mean, previous)
		} else {
			previous = width
		}
		if wide := Of(values, Options{Level: 0.99}).Interval; wide.Hi-wide.Lo <= previous || wide.Level != 0.99 {
			t.Errorf("n = %d: at level 0.99 %+v, at 0.95 %+v", n, *wide, *s.Interval)
		}
	}
}

// A million values take no more space than a few.
func TestConstantSpace(t *testing.T) {
	var m Mean
	for i := range 1_000_000 {
		m.Add(float64(i%5) / 4)
	}
	if m.values != nil {
		t.Errorf("%d values kept", len(m.values))
	}
	// The standard error is that of five equally likely values: sqrt(1/8) over a thousand.
	half := 1.959964 * math.Sqrt(0.125) / 1000
	if s := m.Summary(Options{}); s.Mean != 0.5 || !near(s.Interval.Lo, 0.5-half, 1e-6) ||
		!near(s.Interval.Hi, 0.5+half, 1e-6) {
		t.Errorf("%+v %+v, want 0.5 ± %v", s, *s.Interval, half)
	}
}

func FuzzMean(f *testing.F) {
	f.Add([]byte{0, 255, 3, 3}, uint64(1))
	f.Add([]byte{9, 9}, uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		values := make([]float64, min(len(b), 50))
		for i := range values {
			values[i] = float64(b[i]) / 255
		}
		s := Of(values, Options{Seed: seed, Max: 1})
		if s.N != len(values) || (s.Interval == nil) != (s.N < 2) {
			t.Fatalf("%v: %+v", values, s)
		}
		if i := s.Interval; i != nil && !(0 <= i.Lo && i.Lo <= i.Hi && i.Hi <= 1 && i.Lo <= s.Mean+1e-9 &&
			s.Mean <= i.Hi+1e-9) {
			t.Fatalf("%v: mean %v, interval %+v", values, s.Mean, *i)
		}
	})
}

func BenchmarkBCa(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	var m Mean
	for range keepMost {
		m.Add(rng.Float64())
	}
	for b.Loop() {
		m.Summary(Options{})
	}
}
