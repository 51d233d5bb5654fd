package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Student's data again (see TestSleep), taken for two samples. R's manual, whose t.test is Welch's, gives t = -1.8608,
// df = 17.776, p = 0.07939 and -3.3654832 to 0.2054832.
func TestContrast(t *testing.T) {
	values := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2, 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	in := make([]bool, len(values))
	for i := range 10 {
		in[i] = true
	}
	c, ok := ContrastOf(values, in, Options{})
	if !ok || !near(c.P, 0.07939, 5e-6) || !near(c.Interval.Lo, -3.3654832, 5e-8) || !near(c.Interval.Hi, 0.2054832, 5e-8) ||
		!near(c.Inside, 0.75, 1e-12) || !near(c.Outside, 2.33, 1e-12) || c.Interval.Method != Welch {
		t.Errorf("%+v %+v", c, c.Interval)
	}
	if _, ok := ContrastOf(values[:14], in[:14], Options{}); ok {
		t.Error("four rows are compared with ten")
	}
	// Ten times the same row is one row: as groups of ten, what is known is what it was.
	var many []float64
	var inside []bool
	var groups []string
	for i, v := range values {
		for range 10 {
			many, inside, groups = append(many, v), append(inside, in[i]), append(groups, fmt.Sprint("g", i))
		}
	}
	g, ok := ContrastOf(many, inside, Options{Groups: groups})
	if !ok || !near(g.P, c.P, 1e-12) || !near(g.Interval.Lo, c.Interval.Lo, 1e-9) {
		t.Errorf("in groups %+v, want %+v", g, c)
	}
}

// Where nothing varies on either side, the p-value is that of the randomisation: 1 of the choices of 5 of 10.
func TestContrastOfConstants(t *testing.T) {
	values := []float64{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}
	in := []bool{true, true, true, true, true, false, false, false, false, false}
	c, ok := ContrastOf(values, in, Options{Max: 1})
	if !ok || c.Difference != -1 || !near(c.P, 1.0/252, 1e-12) || c.Interval != nil {
		t.Errorf("%+v", c)
	}
	if c, ok := ContrastOf(make([]float64, 10), in, Options{}); !ok || c.P != 1 {
		t.Errorf("no difference: %+v", c)
	}
}

// Without a difference, p-values below 0.05 come about as often as that: for slices of unequal size and spread, and
// where groups lie on one side or across both.
func TestContrastLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(52, 1))
	check := func(name string, groups, size int, across bool) {
		t.Helper()
		const runs = 3000
		alarms := 0
		for range runs {
			var values []float64
			var in []bool
			var names []string
			for g := range groups {
				shift := rng.NormFloat64()
				for k := range size {
					inside := g%4 == 0
					if across {
						inside = k%2 == 0
					}
					v := shift + rng.NormFloat64()
					if inside {
						v += rng.NormFloat64()
					}
					values, in, names = append(values, v), append(in, inside), append(names, fmt.Sprint(g))
				}
			}
			if c, ok := ContrastOf(values, in, Options{Groups: names}); ok && c.P < 0.05 {
				alarms++
			}
		}
		if share := float64(alarms) / runs; math.Abs(share-0.05) > 0.02 {
			t.Errorf("%s: %.3f of p-values are below 0.05", name, share)
		}
	}
	check("rows", 60, 1, false)
	check("groups on one side", 60, 3, false)
	check("groups across", 40, 4, true)
}
