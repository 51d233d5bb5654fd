package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
)

func value(t *testing.T, e Estimate, err error) float64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return e.Value
}

// Examples of the SciPy reference, for spearmanr and kendalltau (tau-b), both with ties.
func TestCorrelationsPublished(t *testing.T) {
	e, err := Spearman([]float64{1, 2, 3, 4, 5}, []float64{5, 6, 7, 8, 7}, Options{})
	if v := value(t, e, err); !near(v, 0.8207826816681233, 1e-15) {
		t.Errorf("spearman %v", v)
	}
	e, err = Kendall([]float64{12, 2, 1, 12, 2}, []float64{1, 4, 7, 1, 0}, Options{})
	if v := value(t, e, err); !near(v, -0.47140452079103173, 1e-15) {
		t.Errorf("kendall %v", v)
	}
	// Anscombe 1973, "Graphs in statistical analysis", The American Statistician 27: the first of the four sets.
	x := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	y := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	e, err = Pearson(x, y, Options{})
	if v := value(t, e, err); !near(v, 0.81642051634484, 1e-13) {
		t.Errorf("pearson %v", v)
	}
	// Fisher's transformation, by hand: atanh(0.5) ± 1.959964/sqrt(100) is 0.353310 to 0.745303.
	if i := fisher(0.5, 103, 1, 0.95); !near(i.Lo, math.Tanh(0.3533098), 1e-6) ||
		!near(i.Hi, math.Tanh(0.7453025), 1e-6) {
		t.Errorf("fisher %+v", *i)
	}
	if i := fisher(1, 103, 1, 0.95); i != nil {
		t.Errorf("a perfect correlation has the interval %+v", *i)
	}
}

// What counts rows with weights must say the same of rows that are there so many times, by the definitions.
func TestWeightedStatistics(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for range 200 {
		n := 2 + rng.IntN(12)
		x, y, w := make([]float64, n), make([]float64, n), make([]float64, n)
		var xs, ys []float64
		for i := range n {
			x[i], y[i], w[i] = float64(rng.IntN(5)), float64(rng.IntN(4)), float64(rng.IntN(3))
			for range int(w[i]) {
				xs, ys = append(xs, x[i]), append(ys, y[i])
			}
		}
		check := func(name string, of func(x, y []float64) statistic, definition func(x, y []float64) float64) {
			t.Helper()
			got, ok := of(x, y)(w)
			want := definition(xs, ys)
			if ok != !math.IsNaN(want) || ok && !near(got, want, 1e-12) {
				t.Fatalf("%s of %v, %v, each %v times: %v %v, want %v", name, x, y, w, got, ok, want)
			}
		}
		check("pearson", pearson, plainPearson)
		check("spearman", spearman, func(x, y []float64) float64 { return plainPearson(plainRanks(x), plainRanks(y)) })
		check("kendall", kendall, plainKendall)
		check("auc", func(x, y []float64) statistic { return auc(x, positive(y)) },
			func(x, y []float64) float64 { return plainAUC(x, positive(y)) })
		for _, weights := range []Weights{Unweighted, Quadratic} {
			check("kappa", func(x, y []float64) statistic { return kappa(x, y, weights) },
				func(x, y []float64) float64 { return plainKappa(x, y, weights) })
		}
	}
}

func positive(y []float64) []bool {
	b := make([]bool, len(y))
	for i, v := range y {
		b[i] = v > 1
	}
	return b
}

func plainPearson(x, y []float64) float64 {
	if len(x) == 0 || allEqual(x) || allEqual(y) {
		return math.NaN()
	}
	return stat.Correlation(x, y, nil)
}

func allEqual(v []float64) bool {
	for _, x := range v {
		if x != v[0] {
			return false
		}
	}
	return true
}

func plainRanks(v []float64) []float64 {
	r := make([]float64, len(v))
	for i := range v {
		for j := range v {
			switch {
			case v[j] < v[i]:
				r[i]++
			case v[j] == v[i]:
				r[i] += 0.5
			}
		}
		r[i] += 0.5
	}
	return r
}

func plainKendall(x, y []float64) float64 {
	var balance, freeX, freeY float64
	for i := range x {
		for j := range i {
			a, b := sign(x[i]-x[j]), sign(y[i]-y[j])
			balance += a * b
			freeX += a * a
			freeY += b * b
		}
	}
	if freeX*freeY == 0 {
		return math.NaN()
	}
	return balance / math.Sqrt(freeX*freeY)
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// Where nothing is tied gonum's tau-a is the same.
func TestKendallAgainstGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	x, y := make([]float64, 60), make([]float64, 60)
	for i := range x {
		x[i], y[i] = rng.Float64(), rng.Float64()
	}
	e, err := Kendall(x, y, Options{})
	if v := value(t, e, err); !near(v, stat.Kendall(x, y, nil), 1e-12) {
		t.Errorf("kendall %v, gonum %v", v, stat.Kendall(x, y, nil))
	}
}

// Of bivariate normal pairs the true correlations are known: rho, 6/π asin(rho/2) and 2/π asin(rho) (Kendall and
// Gibbons 1990, chapter 9). The intervals must hold them as often as they say.
func TestCorrelationCoverage(t *testing.T) {
	const rho = 0.6
	runs := runsOf(t, 200)
	rng := rand.New(rand.NewPCG(23, 1))
	inside := map[string]int{}
	for run := range 3 * runs {
		n, of := 60, ""
		if run >= runs {
			n, of = 12, " of few rows"
		}
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			x[i], y[i] = a, rho*a+math.Sqrt(1-rho*rho)*b
		}
		o := Options{Seed: uint64(run)}
		check := func(name string, e Estimate, err error, truth float64) {
			name += of
			if err != nil {
				t.Fatal(err)
			}
			if e.Interval.Lo <= truth && truth <= e.Interval.Hi {
				inside[name]++
			}
		}
		e, err := Pearson(x, y, o)
		check("pearson", e, err, rho)
		e, err = Spearman(x, y, o)
		check("spearman", e, err, 6/math.Pi*math.Asin(rho/2))
		if run < runs && run%2 == 0 {
			e, err = Kendall(x, y, o)
			check("kendall", e, err, 2/math.Pi*math.Asin(rho))
		}
	}
	for name, k := range inside {
		runs := runs
		switch {
		case name == "kendall":
			runs /= 2
		case strings.Contains(name, "few"):
			runs *= 2
		}
		coverage, margin := float64(k)/float64(runs), 4*math.Sqrt(0.95*0.05/float64(runs))
		t.Logf("%s: %.3f", name, coverage)
		if coverage < 0.935-margin || coverage > 0.95+margin {
			t.Errorf("the interval of %s holds the truth in %.3f of %d runs, want 0.935 to 0.95", name, coverage, runs)
		}
	}
}

func TestCorrelationsDegenerate(t *testing.T) {
	if _, err := Spearman([]float64{1, 2, 3}, []float64{1, 1, 1}, Options{}); err == nil ||
		!strings.Contains(err.Error(), "equal") {
		t.Errorf("equal values: %v", err)
	}
	if _, err := Kendall(nil, nil, Options{}); err == nil {
		t.Error("no rows are no error")
	}
	e, err := Spearman([]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}, Options{})
	if err != nil || e.Value != 1 || e.Interval != nil ||
		!strings.Contains(strings.Join(e.Warnings, ";"), "no interval") {
		t.Errorf("a perfect correlation: %+v %v", e, err)
	}
}

// Two scores of the same rows: the interval of their difference holds the truth, here 0, and p-values below 0.05 are as
// rare as they should be. Interval and p-value never contradict each other.
func TestDifferenceLevel(t *testing.T) {
	const n = 60
	runs := runsOf(t, 200)
	rng := rand.New(rand.NewPCG(24, 1))
	alarms := map[string]int{}
	for run := range runs {
		truth := make([]float64, n)
		a, b := make([]float64, n), make([]float64, n)
		for i := range truth {
			truth[i] = rng.NormFloat64()
			shared := rng.NormFloat64()
			a[i], b[i] = truth[i]+shared+rng.NormFloat64(), truth[i]+shared+rng.NormFloat64()
		}
		check := func(name string, d Difference, err error) {
			if err != nil {
				t.Fatal(err)
			}
			alarm := d.P < 0.05
			if outside := d.Interval.Lo > 0 || d.Interval.Hi < 0; outside != alarm && math.Abs(d.P-0.05) > 0.01 {
				t.Fatalf("%s: p = %v and the interval %+v", name, d.P, *d.Interval)
			}
			if alarm {
				alarms[name]++
			}
		}
		d, err := SpearmanDifference(a, b, truth, Options{Seed: uint64(run)})
		check("spearman", d, err)
		labels := make([]bool, n)
		for i, v := range truth {
			labels[i] = v > 0.3
		}
		d, err = AUCDifference(a, b, labels, Options{Seed: uint64(run)})
		check("auc", d, err)
	}
	for _, name := range []string{"spearman", "auc"} {
		level, margin := float64(alarms[name])/float64(runs), 4*math.Sqrt(0.95*0.05/float64(runs))
		t.Logf("%s: %.3f", name, level)
		if level > 0.06+margin || level < 0.03-margin {
			t.Errorf("%s: %.3f of %d runs have p < 0.05, want about 0.05", name, level, runs)
		}
	}
	// And a difference that is there is found.
	truth, a, b := make([]float64, 200), make([]float64, 200), make([]float64, 200)
	for i := range truth {
		truth[i] = rng.NormFloat64()
		a[i], b[i] = truth[i]+3*rng.NormFloat64(), truth[i]+rng.NormFloat64()
	}
	if d, err := SpearmanDifference(a, b, truth, Options{}); err != nil || d.P > 0.01 || d.Interval.Lo <= 0 {
		t.Errorf("a difference from about 0.3 to 0.7: %+v %v", d, err)
	}
}
