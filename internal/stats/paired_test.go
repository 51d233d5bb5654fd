package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Student's data (1908, "The probable error of a mean"): the sleep gained by ten patients with two drugs. R's manual
// gives t = -4.0621, df = 9, p = 0.002833 and 0.70 to 2.46 hours for the paired test.
func TestSleep(t *testing.T) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	p := Pair(first, second, Options{})
	if !near(p.Difference.Mean, 1.58, 1e-12) || p.T == nil || !near(p.T.T, 4.0621, 5e-5) || p.T.Freedom != 9 ||
		!near(p.T.P, 0.002833, 5e-7) {
		t.Errorf("%+v %+v", p, p.T)
	}
	if p.Wins != 9 || p.Ties != 1 || p.Losses != 0 || !near(p.Effect, 4.0621/math.Sqrt(10), 1e-4) {
		t.Errorf("%d wins, %d ties, %d losses, effect %v", p.Wins, p.Ties, p.Losses, p.Effect)
	}
	// Nine differences, all of one sign: 2 of 2^9 patterns are as extreme.
	if !p.Exact || p.P != 2.0/512 || p.Tested != "randomisation" {
		t.Errorf("p = %v, exact %v", p.P, p.Exact)
	}
}

// Darwin's maize, in eighths of an inch (Fisher 1935, "The Design of Experiments", section 21): of the 2^15 patterns,
// Fisher counted 863 with a sum of 314 or more, which makes 1726 on both sides.
func TestMaize(t *testing.T) {
	second := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	first := make([]float64, len(second))
	p := Pair(first, second, Options{})
	if !p.Exact || p.P != 1726.0/32768 {
		t.Errorf("p = %v, want %v", p.P, 1726.0/32768)
	}
	if p.T == nil || !near(p.T.T, 2.148, 0.0005) || !near(p.T.P, 0.0497, 0.00005) {
		t.Errorf("t %+v, want Fisher's 2.148", p.T)
	}
	// Drawn at random the p-value is the same to within the drawing.
	if drawn := drawFlips(second, Options{Seed: 1}); !near(drawn, p.P, 4*math.Sqrt(p.P/flips)) {
		t.Errorf("drawn %v, counted %v", drawn, p.P)
	}
}

// Without a difference p-values below 0.05 come as often as that, also where rows come in groups, and the interval
// holds 0 as often as it says; taking such rows for independent would raise false alarms.
func TestPairLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 1))
	check := func(name string, units, size, runs int, draw func() float64) {
		t.Helper()
		var alarms, alarmsT, naive, inside int
		for run := range runs {
			var a, b []float64
			var groups []string
			for u := range units {
				shift := draw()
				for range size {
					own := 0.0
					if size > 1 {
						own = 0.5 * draw()
					}
					a, b = append(a, 0), append(b, shift+own)
					groups = append(groups, string(rune('0'+u)))
				}
			}
			p := Pair(a, b, Options{Seed: uint64(run), Groups: groups})
			if p.P < 0.05 {
				alarms++
			}
			if p.T.P < 0.05 {
				alarmsT++
			}
			if i := p.Difference.Interval; i.Lo <= 0 && 0 <= i.Hi {
				inside++
			}
			if sums, variance := differenceUnits(b, sum(b)/float64(len(b)), Options{}); tTest(sums, variance).P < 0.05 {
				naive++
			}
		}
		n := float64(runs)
		margin := 4 * math.Sqrt(0.95*0.05/n)
		t.Logf("%s: p < 0.05 in %.3f, by t in %.3f, rows for independent %.3f; coverage %.3f", name, float64(alarms)/n,
			float64(alarmsT)/n, float64(naive)/n, float64(inside)/n)
		within := func(what string, share, lo, hi float64) {
			t.Helper()
			if share < lo-margin || share > hi+margin {
				t.Errorf("%s, %s: %.3f of %d runs, want %.3f to %.3f", name, what, share, runs, lo, hi)
			}
		}
		within("randomisation", float64(alarms)/n, 0.04, 0.05)
		within("t", float64(alarmsT)/n, 0.03, 0.05)
		within("interval", float64(inside)/n, 0.93, 0.95)
		if size > 1 && float64(naive)/n < 0.1 {
			t.Errorf("%s: rows taken for independent raise %.3f false alarms: the groups do nothing",
				name, float64(naive)/n)
		}
	}
	coarse := func() float64 { return float64(rng.IntN(5)-2) / 4 }
	check("normal", 30, 1, runsOf(t, 150), rng.NormFloat64)
	check("coarse", 25, 1, runsOf(t, 150), coarse)
	check("in groups", 30, 4, runsOf(t, 100), rng.NormFloat64)
}

func TestPairDegenerate(t *testing.T) {
	same := []float64{0.2, 0.4, 0.9}
	p := Pair(same, same, Options{Max: 1})
	if p.P != 1 || p.T != nil || p.Effect != 0 || p.Ties != 3 || p.Difference.Mean != 0 {
		t.Errorf("equal scores: %+v", p)
	}
	if p = Pair([]float64{0}, []float64{1}, Options{Max: 1}); p.P != 1 || p.Difference.Interval != nil {
		t.Errorf("one row: %+v", p)
	}
	// Always the same difference: no spread, but eight heads in a row.
	p = Pair(make([]float64, 8), slices.Repeat([]float64{0.5}, 8), Options{Max: 1})
	if p.P != 2.0/256 || p.T != nil || p.Difference.Interval == nil ||
		p.Difference.Interval.Lo > 0 && p.Difference.Interval.Hi < 0.5 {
		t.Errorf("one difference: %+v", p)
	}
	// However large a difference is, its p-value is that of one pattern among those drawn.
	clear := make([]float64, 40)
	for i := range clear {
		clear[i] = 1 + float64(i)/100
	}
	if p = Pair(make([]float64, 40), clear, Options{}); p.Exact || p.P != 1.0/(flips+1) {
		t.Errorf("forty differences of one sign: p = %v", p.P)
	}
	big := make([]float64, flipMost+5)
	up := make([]float64, len(big))
	for i := range up {
		up[i] = float64(i%7) - 2.9
	}
	if p = Pair(big, up, Options{}); p.Tested != "t" || p.P != p.T.P {
		t.Errorf("many rows: %+v", p)
	}
}

func TestHolm(t *testing.T) {
	check := func(p, want []float64) {
		t.Helper()
		got := Holm(p)
		for i := range want {
			if !near(got[i], want[i], 1e-12) {
				t.Errorf("%v: %v, want %v", p, got, want)
				return
			}
		}
	}
	check([]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02})
	check([]float64{0.5, 0.6}, []float64{1, 1})
	check([]float64{0.02, 0.02, 0.02}, []float64{0.06, 0.06, 0.06})
	check(nil, nil)
}

// Cohen 1988 and G*Power 3 (Faul and others 2007): for d = 0.2, 0.5 and 0.8, two-sided at 0.05 with power 0.8, a paired
// test takes 199, 34 and 15 pairs.
func TestRowsNeeded(t *testing.T) {
	check := func(difference, deviation, power float64, want int) {
		t.Helper()
		if n, err := RowsNeeded(difference, deviation, 0.95, power); err != nil || n != want {
			t.Errorf("%v of %v with power %v: %d rows %v, want %d", difference, deviation, power, n, err, want)
		}
	}
	check(0.2, 1, 0.8, 199)
	check(0.5, 1, 0.8, 34)
	check(0.8, 1, 0.8, 15)
	check(-0.05, 0.1, 0.8, 34)
	check(0.5, 1, 0.95, 54)
	if p := Power(0.5, 34, 0.95); !near(p, 0.8078, 0.0002) {
		t.Errorf("power of 34 pairs %v, G*Power has 0.8078", p)
	}
	for _, bad := range [][3]float64{{0, 1, 0.8}, {0.1, 0, 0.8}, {0.1, 1, 1}} {
		if n, err := RowsNeeded(bad[0], bad[1], 0.95, bad[2]); err == nil {
			t.Errorf("%v: %d rows, want an error", bad, n)
		}
	}
	// The quick formula for many rows continues the exact one.
	n, err := RowsNeeded(0.1, 1, 0.95, 0.8)
	if err != nil || Power(0.1, n, 0.95) < 0.8 || Power(0.1, n-2, 0.95) >= 0.8 {
		t.Errorf("%d rows have power %v", n, Power(0.1, n, 0.95))
	}
	least, err := Detectable(34, 1, 0.95, 0.8)
	if err != nil || !near(least, 0.495, 0.006) {
		t.Errorf("34 rows show %v %v, want a little under 0.5", least, err)
	}
}

// The power that is promised is had.
func TestPowerSimulated(t *testing.T) {
	rng := rand.New(rand.NewPCG(52, 1))
	runs := runsOf(t, 600)
	found := 0
	zero := make([]float64, 34)
	for range runs {
		d := make([]float64, len(zero))
		for i := range d {
			d[i] = 0.5 + rng.NormFloat64()
		}
		sums, variance := differenceUnits(d, sum(d)/float64(len(d)), Options{})
		if tTest(sums, variance).P < 0.05 {
			found++
		}
	}
	if share := float64(found) / float64(runs); !near(share, 0.808, 4*math.Sqrt(0.16/float64(runs))) {
		t.Errorf("found in %.3f of %d runs, want 0.808", share, runs)
	}
}
