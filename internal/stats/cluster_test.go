package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// Rows that are copies of each other tell no more than one of them: the interval must be that of the originals, and
// must not shrink with the copies.
func TestCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	check := func(n, copies int) {
		t.Helper()
		var plain, grouped Mean
		for i := range n {
			v := rng.Float64()
			plain.Add(v)
			for range copies {
				grouped.AddTo(fmt.Sprint("g", i), v)
			}
		}
		want, got := plain.Summary(Options{Max: 1}), grouped.Summary(Options{Max: 1})
		if got.N != n*copies || got.Groups != n || want.Groups != 0 || !near(got.Mean, want.Mean, 1e-12) {
			t.Fatalf("%d values from %d groups with mean %v, want %d from %d with %v",
				got.N, got.Groups, got.Mean, n*copies, n, want.Mean)
		}
		a, b := want.Interval, got.Interval
		if a.Method != b.Method || !near(a.Lo, b.Lo, 1e-9) || !near(a.Hi, b.Hi, 1e-9) {
			t.Errorf("%d groups of %d copies: %+v, want %+v", n, copies, *b, *a)
		}
		if !strings.Contains(strings.Join(got.Warnings, ";"), "the interval is over the groups") {
			t.Errorf("warnings %q", got.Warnings)
		}
	}
	check(40, 3)
	check(700, 3)  // more values than are kept, fewer groups
	check(2500, 2) // analytic
}

// Groups that no two values share change nothing, not a bit of it.
func TestGroupsOfOne(t *testing.T) {
	var plain, grouped Mean
	rng := rand.New(rand.NewPCG(12, 1))
	for i := range 300 {
		v := rng.Float64()
		plain.Add(v)
		grouped.AddTo([]string{"", fmt.Sprint(i)}[i%2], v)
	}
	if a, b := plain.Summary(Options{}), grouped.Summary(Options{}); !reflect.DeepEqual(a, b) {
		t.Errorf("%+v, want %+v", b, a)
	}
}

// The resampled interval over groups holds the true mean as often as it says, and the one that takes rows for
// independent does not: else this test would show nothing.
func TestGroupCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	check := func(groups, runs int, least float64) {
		t.Helper()
		inside, naive := 0, 0
		for run := range runs {
			var m, plain Mean
			for g := range groups {
				level := rng.NormFloat64()
				for range 1 + rng.IntN(8) {
					v := level + rng.NormFloat64()
					m.AddTo(fmt.Sprint(g), v)
					plain.Add(v)
				}
				m.Add(level) // and some rows in no group
				plain.Add(level)
			}
			if i := m.Summary(Options{Seed: uint64(run)}).Interval; i.Lo <= 0 && 0 <= i.Hi {
				inside++
			}
			if i := plain.abc(0.95, plain.m2, acceleration(plain.m2, plain.m3)); i.Lo <= 0 && 0 <= i.Hi {
				naive++
			}
		}
		coverage := float64(inside) / float64(runs)
		margin := 4 * math.Sqrt(0.95*0.05/float64(runs))
		if coverage < least-margin || coverage > 0.95+margin {
			t.Errorf("%d groups: the interval holds the mean in %.3f of %d runs, want %.2f to 0.95",
				groups, coverage, runs, least)
		}
		if share := float64(naive) / float64(runs); share > 0.9 {
			t.Errorf("%d groups: the interval over rows holds the mean in %.3f of the runs: the groups do nothing",
				groups, share)
		}
	}
	check(40, runsOf(t, 200), 0.93)
	check(2100, runsOf(t, 100), 0.945)
}

// runsOf is how many runs a simulation makes: all of them, half with -short, and few under the race detector, which has
// nothing to find in sums and makes them ten times as slow. What a simulation may miss its level by goes with
// the number of its runs.
func runsOf(t *testing.T, runs int) int {
	t.Helper()
	switch {
	case raceEnabled:
		return max(runs/20, 20)
	case testing.Short():
		return runs / 2
	}
	return runs
}

// The moments over units, of which single values are kept as moments only, by their definition.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	var m Mean
	var units []unit
	for g := range 30 {
		v := rng.ExpFloat64() + 2
		m.Add(v)
		u := unit{v, 1}
		units = append(units, u)
		u = unit{}
		for range 1 + g%3 {
			v := rng.ExpFloat64()
			m.AddTo(fmt.Sprint(g), v)
			u.sum += v
			u.n++
		}
		units = append(units, u)
	}
	var want2, want3 float64
	for _, u := range units {
		part := u.sum - float64(u.n)*m.mean
		want2 += part * part
		want3 += part * part * part
	}
	if m2, m3 := m.clusters.spread(m.mean); !near(m2, want2, 1e-9) || !near(m3, want3, 1e-9) {
		t.Errorf("%v and %v, want %v and %v", m2, m3, want2, want3)
	}
	if k := m.clusters.count(); k != len(units) {
		t.Errorf("%d units, want %d", k, len(units))
	}
}

func TestGroupsDegenerate(t *testing.T) {
	check := func(groups []string, values []float64, want string) *Interval {
		t.Helper()
		s := Of(values, Options{Max: 1, Groups: groups})
		if !strings.Contains(strings.Join(s.Warnings, ";"), want) {
			t.Errorf("%v in %v: warnings %q, want %q", values, groups, s.Warnings, want)
		}
		return s.Interval
	}
	if i := check([]string{"a", "a", "a"}, []float64{0, 1, 0}, "one group: no interval"); i != nil {
		t.Errorf("one group has the interval %+v", *i)
	}
	if i := check([]string{"a", "a", "b", "b"}, []float64{0, 1, 1, 0}, "all groups have one mean"); i != nil {
		t.Errorf("equal groups have the interval %+v", *i)
	}
	// Two groups of ones, of which the second was seen in four rows: two independent things, (1-p)^2 = 0.05.
	i := check([]string{"a", "b", "b", "b", "b"}, []float64{1, 1, 1, 1, 1}, "only 2 groups")
	if i == nil || !near(i.Lo, math.Sqrt(0.05), 1e-12) || i.Hi != 1 {
		t.Errorf("two groups of ones: %+v", i)
	}
}

// A million groups take no more space than the most that is kept, and the interval stays right.
func TestManyGroups(t *testing.T) {
	var m Mean
	const n = 300_000
	for i := range n {
		v := float64(i%5) / 4
		m.AddTo(fmt.Sprint("question ", i), v)
		m.AddTo(fmt.Sprint("question ", i), v)
	}
	if k := len(m.clusters.parts); k > mostGroups || !m.clusters.thrown {
		t.Fatalf("%d parts are kept, want at most %d", k, mostGroups)
	}
	half := 1.959964 * math.Sqrt(0.125/n)
	s := m.Summary(Options{})
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "more than 65536 groups") {
		t.Errorf("warnings %q", s.Warnings)
	}
	if i := s.Interval; !near(i.Lo, 0.5-half, 0.03*half) || !near(i.Hi, 0.5+half, 0.03*half) {
		t.Errorf("%+v, want 0.5 ± %v", *i, half)
	}
}

func FuzzGroups(f *testing.F) {
	f.Add([]byte{0, 255, 3, 3, 9, 9}, []byte{1, 1, 0, 2, 2, 3}, uint64(1))
	f.Add([]byte{9, 9, 200}, []byte{1, 1, 1}, uint64(0))
	f.Add([]byte{0, 255, 255, 0}, []byte{1, 1, 2, 2}, uint64(0))
	f.Fuzz(func(t *testing.T, b, g []byte, seed uint64) {
		n := min(len(b), len(g), 30)
		values, groups := make([]float64, n), make([]string, n)
		for i := range values {
			values[i] = float64(b[i]) / 255
			if g[i] > 0 {
				groups[i] = fmt.Sprint(g[i] % 8)
			}
		}
		o := Options{Seed: seed, Max: 1, Groups: groups}
		s := Of(values, o)
		if s.N != n || s.Groups > n || s.Interval == nil && len(s.Warnings) == 0 {
			t.Fatalf("%v in %q: %+v", values, groups, s)
		}
		if i := s.Interval; i != nil && !(0 <= i.Lo && i.Lo <= i.Hi && i.Hi <= 1) {
			t.Fatalf("%v in %q: mean %v, interval %+v", values, groups, s.Mean, *i)
		}
		p := Pair(make([]float64, n), values, o)
		if !(p.P > 0 && p.P <= 1) || p.Spread != p.Spread || p.T != nil && !(p.T.P >= 0 && p.T.P <= 1) {
			t.Fatalf("%v in %q: %+v %+v", values, groups, p, p.T)
		}
	})
}
