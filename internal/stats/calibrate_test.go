package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Pooling by hand: 1, 0 is out of order and becomes 0.5, 0.5; so is 1, 0, 0 after it.
func TestIsotonic(t *testing.T) {
	check := func(scores, targets []float64, falling bool, want []float64) {
		t.Helper()
		m := Isotonic(scores, targets, falling)
		for i, v := range scores {
			if got := m.between(v); !near(got, want[i], 1e-12) {
				t.Errorf("%v %v: at %v %v, want %v", scores, targets, v, got, want[i])
			}
		}
	}
	check([]float64{1, 2, 3, 4}, []float64{0, 1, 0, 1}, false, []float64{0, 0.5, 0.5, 1})
	check([]float64{4, 3, 2, 1}, []float64{1, 0, 1, 0}, false, []float64{1, 0.5, 0.5, 0})
	check([]float64{1, 2, 3}, []float64{1, 0, 0}, false, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3})
	check([]float64{1, 2, 3}, []float64{1, 0, 0}, true, []float64{1, 0, 0})
	check([]float64{1, 1, 2, 2}, []float64{0, 1, 1, 1}, false, []float64{0.5, 0.5, 1, 1})
	// Between known scores it is linear, beyond them level, and never certain: of four rows at most 5/6.
	m := Isotonic([]float64{1, 2, 3, 4}, []float64{0, 0, 1, 1}, false)
	if got := m.At(2.5); got != 0.5 {
		t.Errorf("half-way %v, want 0.5", got)
	}
	if lo, hi := m.At(-9), m.At(99); !near(lo, 1.0/6, 1e-12) || !near(hi, 5.0/6, 1e-12) {
		t.Errorf("beyond: %v and %v, want 1/6 and 5/6", lo, hi)
	}
}

// No monotone function is nearer to the targets: none of many random ones.
func TestIsotonicIsNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	for range 50 {
		n := 3 + rng.IntN(8)
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(rng.IntN(6)), rng.Float64()
		}
		m := Isotonic(x, y, false)
		error := func(at func(float64) float64) float64 {
			e := 0.0
			for i := range x {
				e += (at(x[i]) - y[i]) * (at(x[i]) - y[i])
			}
			return e
		}
		best := error(m.between)
		for range 300 {
			steps := make([]float64, 6)
			for i := range steps {
				steps[i] = rng.Float64()
			}
			slices.Sort(steps)
			if e := error(func(v float64) float64 { return steps[int(v)] }); e < best-1e-9 {
				t.Fatalf("%v %v: %v is nearer (%v) than %v %v (%v)", x, y, steps, e, m.X, m.Y, best)
			}
		}
		if !slices.IsSorted(m.Y) || m.Check() != nil {
			t.Fatalf("%+v: %v", m, m.Check())
		}
	}
}

// Labels that come from a logistic curve give the curve back.
func TestPlatt(t *testing.T) {
	rng := rand.New(rand.NewPCG(72, 1))
	check := func(slope, offset float64) {
		t.Helper()
		x, y := make([]float64, 20000), make([]float64, 20000)
		for i := range x {
			x[i] = 4*rng.Float64() - 2
			if rng.Float64() < Logistic(slope*x[i]+offset) {
				y[i] = 1
			}
		}
		m := Platt(x, y, slope < 0)
		if !near(m.Slope, slope, 0.12) || !near(m.Offset, offset, 0.1) {
			t.Errorf("%+v, want %v and %v", m, slope, offset)
		}
		// Where the loss is least, the mean prediction is the mean of what was fitted to, and nothing beside is better.
		if a, b := Platt(x, y, slope > 0), m; a.Slope != 0 || b.Slope == 0 {
			t.Errorf("against the told direction: %+v", a)
		}
	}
	check(1.5, -0.5)
	check(-2, 1)
	// Separable labels do not send the slope to infinity.
	m := Platt([]float64{1, 2, 3, 4}, []float64{0, 0, 1, 1}, false)
	if p := m.At(4); p < 0.6 || p > 5.0/6 || m.Slope > 10 {
		t.Errorf("separable: %+v, %v at 4", m, p)
	}
	if m := Platt([]float64{3, 3, 3}, []float64{1, 0, 1}, false); m.Method != "constant" || !near(m.At(7), 0.6, 1e-12) {
		t.Errorf("equal scores: %+v", m)
	}
}

// The right way is chosen for each kind of scores, what is predicted was not fitted to, and it holds on fresh rows.
func TestCalibrate(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 1))
	draw := func(n int, truth func(v float64) float64) (x, y []float64) {
		for range n {
			v := rng.Float64()
			t := 0.0
			if rng.Float64() < truth(v) {
				t = 1
			}
			x, y = append(x, v), append(y, t)
		}
		return x, y
	}
	check := func(want string, falling bool, truth func(v float64) float64) {
		t.Helper()
		x, y := draw(600, truth)
		f, err := Calibrate(x, y, falling, Options{Max: 1})
		if err != nil || f.Map.Method != want {
			t.Fatalf("%+v %v, want %s", f, err, want)
		}
		fresh, said := draw(4000, truth)
		p := make([]float64, len(fresh))
		for i, v := range fresh {
			p[i] = f.At(v)
		}
		r, err := Calibration(p, said, Options{})
		if err != nil || r.Error > 0.06 {
			t.Errorf("%s: calibration error %v %v on fresh rows", want, r.Error, err)
		}
		if promised, had := f.Losses[want], LogLoss(p, said); !near(promised, had, 0.05) {
			t.Errorf("%s: log loss %v on fresh rows, %v was promised", want, had, promised)
		}
	}
	check("identity", false, func(v float64) float64 { return v })
	check("platt", false, func(v float64) float64 { return Logistic(8*v - 6) })
	check("platt", true, func(v float64) float64 { return Logistic(3 - 8*v) })
	check("isotonic", false, func(v float64) float64 {
		if v < 0.6 {
			return 0.3
		}
		return 0.95
	})
	check("constant", false, func(float64) float64 { return 0.7 })
}

// A row's prediction must not depend on its own label.
func TestPredictionsAreOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(74, 1))
	x, y := make([]float64, 60), make([]float64, 60)
	for i := range x {
		x[i], y[i] = rng.Float64(), float64(rng.IntN(2))
	}
	part := folds(len(x), foldCount, Options{})
	for _, way := range fitters(false, Options{Max: 1}) {
		before := predictions(x, y, part, way.fit, Options{})
		for _, i := range []int{0, 17, 59} {
			y[i] = 1 - y[i]
			if after := predictions(x, y, part, way.fit, Options{}); after[i] != before[i] {
				t.Errorf("%s: the prediction of row %d was fitted to its label", way.name, i)
			}
			y[i] = 1 - y[i]
		}
	}
}

func TestCalibrateDegenerate(t *testing.T) {
	check := func(n int, groups []string, target func(i int) float64) {
		t.Helper()
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(i)/100, target(i)
		}
		if f, err := Calibrate(x, y, false, Options{Groups: groups}); err == nil {
			t.Errorf("%d rows: %+v, want an error", n, f)
		}
	}
	check(10, nil, func(i int) float64 { return float64(i % 2) })
	check(50, nil, func(int) float64 { return 1 })
	check(50, slices.Repeat([]string{"a"}, 50), func(i int) float64 { return float64(i % 2) })
}

func TestMapCheck(t *testing.T) {
	bad := func(m Map) {
		t.Helper()
		if m.Check() == nil {
			t.Errorf("%+v is a map", m)
		}
	}
	bad(Map{})
	bad(Map{Method: "isotonic"})
	bad(Map{Method: "isotonic", X: []float64{1, 1}, Y: []float64{0, 1}})
	bad(Map{Method: "isotonic", X: []float64{2, 1}, Y: []float64{0, 1}})
	bad(Map{Method: "isotonic", X: []float64{1}, Y: []float64{0, 1}})
	bad(Map{Method: "platt", Floor: 0.5})
	bad(Map{Method: "platt", Slope: math.Inf(1)})
}

// By hand: (0.2² + 0.4² + 0.5² + 0)/4; and two bins of two rows, off by 0.3 and 0.25.
func TestProbabilities(t *testing.T) {
	scores, targets := []float64{0.8, 0.4, 0.5, 1}, []float64{1, 0, 1, 1}
	if s := Brier(scores, targets, Options{}); !near(s.Mean, (0.04+0.16+0.25)/4, 1e-12) {
		t.Errorf("brier %v", s.Mean)
	}
	if l := LogLoss([]float64{0.8, 0.4}, []float64{1, 0}); !near(l, -(math.Log(0.8)+math.Log(0.6))/2, 1e-12) {
		t.Errorf("log loss %v", l)
	}
	r, err := Calibration([]float64{0.15, 0.19, 0.75, 0.75}, []float64{0, 0, 1, 1}, Options{})
	if err != nil || !near(r.Error, 0.5*0.17+0.5*0.25, 1e-12) || len(r.Bins) != 2 || r.Bins[1] != (Bin{2, 0.75, 1}) {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := Calibration([]float64{1.2}, []float64{1}, Options{}); err == nil {
		t.Error("1.2 is no probability")
	}
}

// Perfectly calibrated scores are seldom called otherwise, although their error is never 0; bad ones always are.
func TestCalibrationLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(75, 1))
	runs := runsOf(t, 200)
	alarms, errors, found := 0, 0.0, 0
	for run := range runs {
		x, y, off := make([]float64, 150), make([]float64, 150), make([]float64, 150)
		for i := range x {
			x[i] = rng.Float64()
			if rng.Float64() < x[i] {
				y[i] = 1
			}
			off[i] = x[i] * x[i]
		}
		good, err := Calibration(x, y, Options{Seed: uint64(run)})
		if err != nil {
			t.Fatal(err)
		}
		bad, err := Calibration(off, y, Options{Seed: uint64(run)})
		if err != nil {
			t.Fatal(err)
		}
		errors += good.Error / float64(runs)
		if good.P < 0.05 {
			alarms++
		}
		if bad.P < 0.05 {
			found++
		}
	}
	if share := float64(alarms) / float64(runs); share > 0.05+4*math.Sqrt(0.05*0.95/float64(runs)) {
		t.Errorf("calibrated scores have p < 0.05 in %.3f of the runs", share)
	}
	if errors < 0.05 {
		t.Errorf("the error of calibrated scores is %.3f: this test shows nothing", errors)
	}
	if share := float64(found) / float64(runs); share < 0.95 {
		t.Errorf("squared scores have p < 0.05 in %.3f of the runs only", share)
	}
}
