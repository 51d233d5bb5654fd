package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// weightedMean is the mean as a statistic, so that what works for any statistic can be held to what is known of means.
func weightedMean(values []float64) statistic {
	return func(weight []float64) (float64, bool) {
		total, n := 0.0, 0.0
		for i, w := range weight {
			total += w * values[i]
			n += w
		}
		return total / n, n > 0
	}
}

// Davison and Hinkley, example 5.8, give the acceleration 0.0938 for the mean of the air-conditioning data. The
// jackknife finds it, its sign too; and the ends of the interval and their p-values fit each other, where skewness
// makes the wrong corrections show.
func TestBootstrapOfMean(t *testing.T) {
	values := aircon()
	n := len(values)
	s := weightedMean(values)
	if a := jackknife(n, unitsOf(n, nil), s, Options{}); !near(a, 0.0938, 0.00005) {
		t.Errorf("acceleration %v, want 0.0938", a)
	}
	e, err := estimate(n, s, Options{}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Of(values, Options{}).Interval
	width := want.Hi - want.Lo
	if i := e.Interval; !near(i.Lo, want.Lo, 0.04*width) || !near(i.Hi, want.Hi, 0.08*width) {
		t.Errorf("%+v, with five times as many resamples %+v", *i, *want)
	}
	b, _, err := distribution(n, s, e.Value, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []float64{0.5, 0.8, 0.95} {
		lo, hi := b.ends(level)
		if p, q := b.p(lo), b.p(hi); !near(p, 1-level, 0.01) || !near(q, 1-level, 0.01) {
			t.Errorf("the ends of the interval at level %v have the p-values %v and %v", level, p, q)
		}
	}
	// How small a p-value can be told is limited by the resamples, and the more so the more skewed they are.
	if p := b.p(1e6); p > 0.02 {
		t.Errorf("p of a value far away is %v", p)
	}
}

// Of a statistic over groups the resampled interval is that of means over groups.
func TestBootstrapOfGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 1))
	var values []float64
	var groups []string
	for g := range 40 {
		level := rng.ExpFloat64()
		for range 1 + g%4 {
			values, groups = append(values, level+0.2*rng.Float64()), append(groups, string(rune('0'+g)))
		}
	}
	o := Options{Groups: groups}
	e, err := estimate(len(values), weightedMean(values), o, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Of(values, o)
	width := want.Interval.Hi - want.Interval.Lo
	if i := e.Interval; !near(e.Value, want.Mean, 1e-12) || !near(i.Lo, want.Interval.Lo, 0.04*width) ||
		!near(i.Hi, want.Interval.Hi, 0.08*width) {
		t.Errorf("%v %+v, means over groups have %v %+v", e.Value, *i, want.Mean, *want.Interval)
	}
	if !strings.Contains(strings.Join(e.Warnings, ";"), "in 40 groups") {
		t.Errorf("warnings %q", e.Warnings)
	}
}

// A statistic that is not defined in some resamples says so, and one that is defined in none has no interval.
func TestBootstrapUndefined(t *testing.T) {
	n := 6
	check := func(undefined func(weight []float64) bool, want string, interval bool) {
		t.Helper()
		s := func(weight []float64) (float64, bool) {
			v, ok := weightedMean([]float64{1, 2, 3, 4, 5, 6})(weight)
			return v, ok && !undefined(weight)
		}
		e, err := estimate(n, s, Options{}, "")
		if err != nil || (e.Interval != nil) != interval || !strings.Contains(strings.Join(e.Warnings, ";"), want) {
			t.Errorf("%+v %v, want a warning with %q", e, err, want)
		}
	}
	check(func(w []float64) bool { return w[0] == 0 }, "not defined in 3", true) // (5/6)^6 is 0.335
	check(func(w []float64) bool {
		return math.Abs(w[0]-1)+math.Abs(w[1]-1)+math.Abs(w[2]-1)+math.Abs(w[3]-1)+math.Abs(w[4]-1) > 0
	}, "no interval", false)
	if _, err := estimate(n, func([]float64) (float64, bool) {
		return 0, false
	}, Options{}, "for a reason"); err == nil ||
		err.Error() != "for a reason" {
		t.Errorf("never defined: %v", err)
	}
}
