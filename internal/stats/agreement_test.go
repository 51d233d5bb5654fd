package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// krippendorff is the example of Krippendorff 2011, "Computing Krippendorff's alpha-reliability": four observers,
// twelve units, some ratings missing (0 here).
func krippendorff() [][]float64 {
	observers := [][]float64{
		{1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0},
		{1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3},
		{0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0},
		{1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0},
	}
	units := make([][]float64, 12)
	for _, ratings := range observers {
		for u, v := range ratings {
			if v > 0 {
				units[u] = append(units[u], v)
			}
		}
	}
	return units
}

func TestKrippendorffPublished(t *testing.T) {
	check := func(scale Scale, want float64) {
		t.Helper()
		e, err := Krippendorff(krippendorff(), scale, Options{})
		if err != nil || !near(e.Value, want, 0.0005) || e.N != 11 {
			t.Errorf("alpha %+v %v, want %v of 11 units", e, err, want)
		}
		if e.Interval == nil || e.Interval.Lo >= e.Value || e.Interval.Hi <= e.Value {
			t.Errorf("interval %+v around %v", e.Interval, e.Value)
		}
	}
	check(Nominal, 0.743)
	check(Ordinal, 0.815)
	check(IntervalData, 0.849)
}

// plainAlpha is the definition by pairs: 1 less the mean difference within units over that of all pairs.
func plainAlpha(units [][]float64, scale Scale) float64 {
	var flat []float64
	for _, u := range units {
		flat = append(flat, u...)
	}
	n := float64(len(flat))
	difference := func(a, b float64) float64 {
		switch {
		case a == b:
			return 0
		case scale == Nominal:
			return 1
		case scale == IntervalData:
			return (a - b) * (a - b)
		}
		lo, hi := min(a, b), max(a, b)
		between := 0.0
		for _, v := range flat {
			switch {
			case v == lo || v == hi:
				between += 0.5
			case v > lo && v < hi:
				between++
			}
		}
		return between * between
	}
	seen, expected := 0.0, 0.0
	for _, u := range units {
		for i, a := range u {
			for j, b := range u {
				if i != j {
					seen += difference(a, b) / float64(len(u)-1)
				}
			}
		}
	}
	for _, a := range flat {
		for _, b := range flat {
			expected += difference(a, b)
		}
	}
	return 1 - (seen/n)/(expected/(n*(n-1)))
}

func TestKrippendorffDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	for range 200 {
		var units, copies [][]float64
		var w []float64
		for range 2 + rng.IntN(8) {
			u := make([]float64, 2+rng.IntN(3))
			for i := range u {
				u[i] = float64(1 + rng.IntN(4))
			}
			units = append(units, u)
			w = append(w, float64(rng.IntN(3)))
			for range int(w[len(w)-1]) {
				copies = append(copies, u)
			}
		}
		for _, scale := range []Scale{Nominal, Ordinal, IntervalData} {
			got, ok := alpha(units, scale)(w)
			want := plainAlpha(copies, scale)
			if ok == math.IsNaN(want) || ok && !near(got, want, 1e-12) {
				t.Fatalf("scale %v of %v, each %v times: %v %v, want %v", scale, units, w, got, ok, want)
			}
		}
	}
}

// By hand: 35 of 50 agree; by chance 0.5 × 0.6 + 0.5 × 0.4 of them would: (0.7 - 0.5) / (1 - 0.5).
func TestKappa(t *testing.T) {
	var a, b []float64
	add := func(n int, x, y float64) {
		for range n {
			a, b = append(a, x), append(b, y)
		}
	}
	add(20, 1, 1)
	add(5, 1, 0)
	add(10, 0, 1)
	add(15, 0, 0)
	e, err := CohenKappa(a, b, Unweighted, Options{})
	if err != nil || !near(e.Value, 0.4, 1e-12) {
		t.Errorf("%+v %v, want 0.4", e, err)
	}
	// Cohen 1960 gives its standard error, here sqrt(0.7 × 0.3 / (50 × 0.5²)) = 0.1296; the bootstrap agrees.
	if i := e.Interval; !near(i.Hi-i.Lo, 2*1.96*0.1296, 0.06) {
		t.Errorf("interval %+v", *i)
	}
	// Of two values the weights make no difference.
	if v, ok := kappa(a, b, Quadratic)(ones(len(a))); !ok || !near(v, 0.4, 1e-12) {
		t.Errorf("weighted: %v", v)
	}
	if _, err := CohenKappa([]float64{1, 1}, []float64{1, 1}, Unweighted, Options{}); err == nil ||
		!strings.Contains(err.Error(), "not defined") {
		t.Errorf("one value only: %v", err)
	}
}

func plainKappa(x, y []float64, w Weights) float64 {
	cost := func(a, b float64) float64 {
		if w == Quadratic {
			return (a - b) * (a - b)
		}
		return math.Abs(sign(a - b))
	}
	n := float64(len(x))
	seen, chance := 0.0, 0.0
	for i := range x {
		seen += cost(x[i], y[i]) / n
		for j := range y {
			chance += cost(x[i], y[j]) / (n * n)
		}
	}
	if chance == 0 {
		return math.NaN()
	}
	return 1 - seen/chance
}

func TestKrippendorffDegenerate(t *testing.T) {
	if _, err := Krippendorff([][]float64{{1}, {2}}, Ordinal, Options{}); err == nil {
		t.Error("single ratings are no error")
	}
	if _, err := Krippendorff([][]float64{{3, 3}, {3, 3}}, Ordinal, Options{}); err == nil ||
		!strings.Contains(err.Error(), "equal") {
		t.Errorf("equal ratings: %v", err)
	}
	units := slices.Repeat([][]float64{{1, 1}, {2, 2}}, 15)
	e, err := Krippendorff(units, Nominal, Options{})
	if err != nil || e.Value != 1 || e.Interval != nil || len(e.Warnings) == 0 {
		t.Errorf("perfect agreement: %+v %v", e, err)
	}
}

// Two raters who each err on a share e of the units, half of which are true, agree with kappa = alpha = (1-2e)². The
// intervals must hold it as often as they say, and over groups where units are copies of each other.
func TestAgreementCoverage(t *testing.T) {
	const e, units = 0.15, 80
	truth := (1 - 2*e) * (1 - 2*e)
	runs := runsOf(t, 120)
	rng := rand.New(rand.NewPCG(42, 1))
	inside := map[string]int{}
	for run := range runs {
		var a, b []float64
		var pairs [][]float64
		var groups []string
		for u := range units {
			class := rng.IntN(2)
			rate := func() float64 {
				if rng.Float64() < e {
					return float64(1 - class)
				}
				return float64(class)
			}
			x, y := rate(), rate()
			for range 2 {
				a, b, pairs, groups = append(a, x), append(b, y), append(pairs, []float64{x, y}),
					append(groups, string(rune('0'+u)))
			}
		}
		o := Options{Seed: uint64(run), Groups: groups}
		check := func(name string, e Estimate, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Interval.Lo <= truth && truth <= e.Interval.Hi {
				inside[name]++
			}
		}
		k, err := CohenKappa(a, b, Unweighted, o)
		check("kappa", k, err)
		k, err = Krippendorff(pairs, Nominal, o)
		check("alpha", k, err)
	}
	margin := 4 * math.Sqrt(0.95*0.05/float64(runs))
	for _, name := range []string{"kappa", "alpha"} {
		coverage := float64(inside[name]) / float64(runs)
		t.Logf("%s: %.3f", name, coverage)
		if coverage < 0.93-margin || coverage > 0.955+margin {
			t.Errorf("the interval of %s holds the truth in %.3f of %d runs, want 0.93 to 0.955", name, coverage, runs)
		}
	}
}
