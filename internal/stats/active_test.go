package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// A survey of one stratum is a simple random sample without replacement: its mean, with Student's t on n - 1 degrees of
// freedom and the finite population correction (Cochran 1977, sections 2.4 to 2.8). Asked of all rows it is the usual
// t-interval of a mean.
func TestSurveyOfOneStratum(t *testing.T) {
	values := []float64{3, 5, 4, 9, 4}
	const mean, s2 = 5, 5.5
	check := func(rows int, wantRows, want float64) {
		t.Helper()
		var s Survey
		for i := range rows {
			r := SurveyRow{Asked: i < len(values), Scored: i < len(values)}
			if r.Asked {
				r.Value = values[i]
			}
			s.Add(r)
		}
		a := s.Estimate(Options{})
		if a.Estimate != mean || a.Rows != rows || a.Asked != 5 || a.Scored != 5 {
			t.Fatalf("%+v", a)
		}
		quantile := distuv.StudentsT{Sigma: 1, Nu: 4}.Quantile(0.975)
		if got := a.OfRows.Hi - mean; !near(got, quantile*math.Sqrt(wantRows), 1e-9) {
			t.Errorf("of %d rows: %v to the side, want %v", rows, got, quantile*math.Sqrt(wantRows))
		}
		if rows == 5 && !near(a.Interval.Hi-mean, quantile*math.Sqrt(want), 1e-9) || a.Interval.Hi-mean < quantile*0.6*math.Sqrt(want) {
			t.Errorf("of all such rows: %v to the side, want about %v", a.Interval.Hi-mean, quantile*math.Sqrt(want))
		}
	}
	check(5, 0, s2/5)
	check(20, (1-5.0/20)*s2/5, s2/5)
}

// By hand: strata of 10 and 30 rows, asked about 2 (values 0 and 1) and 3 (values 1, 1 and 0, whose deviations from 2/3
// have the squares 2/3). The estimate is 1/4 × 1/2 + 3/4 × 2/3 = 0.625. Sums of squares about the strata's means are
// 1/2 and 2/3, pooled (1/2 + 2/3) / 3 = 7/18; drawn to it by four rows, the variances are (1/2 + 14/9) / 5 = 37/90 and
// (2/3 + 14/9) / 6 = 10/27.
func TestSurveyByHand(t *testing.T) {
	var s Survey
	add := func(stratum, rows int, values ...float64) {
		for i := range rows {
			r := SurveyRow{Stratum: stratum}
			if i < len(values) {
				r.Asked, r.Scored, r.Value = true, true, values[i]
			}
			s.Add(r)
		}
	}
	add(0, 10, 0, 1)
	add(1, 30, 1, 1, 0)
	a := s.Estimate(Options{})
	first := 1.0 / 16 * (1 - 2.0/10) * (37.0 / 90) / 2
	second := 9.0 / 16 * (1 - 3.0/30) * (10.0 / 27) / 3
	freedom := (first + second) * (first + second) / (first*first/1 + second*second/2)
	half := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) * math.Sqrt(first+second)
	if !near(a.Estimate, 0.625, 1e-12) || !near(a.OfRows.Hi-a.Estimate, half, 1e-9) {
		t.Errorf("%+v, want 0.625 ± %v", a, half)
	}
	between := (1.0/4*(0.125*0.125+37.0/90) + 3.0/4*(math.Pow(2.0/3-0.625, 2)+10.0/27)) / 40
	v := first + second + between
	freedom = v * v / ((first*first + second*second/2) + between*between/39)
	half = distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) * math.Sqrt(v)
	if got := a.Interval.Hi - a.Estimate; !near(got, half, 1e-9) {
		t.Errorf("of all such rows %v to the side, want %v", got, half)
	}
	if a := s.Estimate(Options{Max: 1}); a.Interval.Lo < 0 || a.Interval.Hi > 1 {
		t.Errorf("the interval leaves the range: %+v", a.Interval)
	}
}

// Rows that were asked and have no value do not count, as nowhere: the mean is of those that have one.
func TestSurveyWithFailures(t *testing.T) {
	var s Survey
	for i := range 60 {
		s.Add(SurveyRow{Stratum: i % 3, Asked: true, Scored: i%2 == 0, Value: float64(i%4) + float64(i%3)})
	}
	sum, n := 0.0, 0.0
	for i := 0; i < 60; i += 2 {
		sum, n = sum+float64(i%4)+float64(i%3), n+1
	}
	if a := s.Estimate(Options{}); !near(a.Estimate, sum/n, 1e-12) || a.Scored != 30 || a.OfRows.Hi != a.OfRows.Lo {
		t.Errorf("%+v, want %v", a, sum/n)
	}
}

func TestSurveyOfFew(t *testing.T) {
	check := func(s *Survey, o Options, want string, interval bool) {
		t.Helper()
		a := s.Estimate(o)
		if !strings.Contains(strings.Join(a.Warnings, "; "), want) || (a.Interval != nil) != interval {
			t.Errorf("%+v, want a warning with %q", a, want)
		}
	}
	var s Survey
	check(&s, Options{}, "no values", false)
	s.Add(SurveyRow{Stratum: 2, Asked: true})
	check(&s, Options{}, "no values", false)
	s.Add(SurveyRow{Stratum: 1, Asked: true, Scored: true, Value: 1})
	for range 30 {
		s.Add(SurveyRow{Stratum: 0})
	}
	s.Add(SurveyRow{Stratum: 0, Asked: true, Scored: true, Value: 1})
	check(&s, Options{}, "all 2 values are 1: no interval", false)
	check(&s, Options{Max: 1}, "how far others could pull", true)
	if i := s.Estimate(Options{Max: 1}).Interval; i.Hi != 1 || i.Lo > 0.3 {
		t.Errorf("two of 33 rows are no evidence: %+v", i)
	}
	s.Add(SurveyRow{Stratum: 0, Asked: true, Scored: true, Value: 0.5})
	check(&s, Options{Max: 1}, "only 4 rows asked", true)
}

// Rows of equal values stay together, strata follow the values, those without one are the last, and no stratum is much
// larger than its share unless one value is.
func TestStratify(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n, most := 1+rng.IntN(200), 1+rng.IntN(12)
		values, known := make([]float64, n), make([]bool, n)
		for i := range values {
			values[i], known[i] = math.Round(10*rng.ExpFloat64())/10, rng.IntN(10) > 0
		}
		of, strata := Stratify(values, known, most)
		size, missing := make([]int, strata), false
		for i := range of {
			size[of[i]]++
			missing = missing || !known[i]
			for k := range of {
				switch {
				case known[i] && known[k] && values[i] < values[k] && of[i] > of[k],
					known[i] && known[k] && values[i] == values[k] && of[i] != of[k],
					known[i] != known[k] && of[i] == of[k]:
					t.Fatalf("%v %v in %v of %d", values, known, of, strata)
				}
			}
		}
		if strata > most+1 || !missing && strata > most {
			t.Fatalf("%d strata, at most %d were wanted", strata, most)
		}
		for h, n := range size {
			if n == 0 {
				t.Fatalf("stratum %d is empty: %v of %v", h, of, values)
			}
		}
	}
	if of, n := Stratify([]float64{1, 2, 3, 4, 5, 6}, []bool{true, true, true, true, true, true}, 3); n != 3 || of[1] != 0 ||
		of[2] != 1 || of[4] != 2 {
		t.Errorf("%v in %d", of, n)
	}
}

// What is allocated adds up to the total wherever the bounds allow, takes nothing back, and goes where values vary.
func TestAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		var s Survey
		n, strata := 20+rng.IntN(300), 1+rng.IntN(8)
		asked, rows := make([]int, strata), make([]int, strata)
		for range n {
			h := rng.IntN(strata)
			r := SurveyRow{Stratum: h, Asked: rng.IntN(3) == 0, Scored: rng.IntN(5) > 0, Value: rng.Float64() * float64(h)}
			s.Add(r)
			rows[h]++
			if r.Asked {
				asked[h]++
			}
		}
		total := s.Asked() + rng.IntN(n-s.Asked()+1)
		least, sum := 0, 0
		for h, got := range s.Allocate(total) {
			if got < asked[h] || got > rows[h] {
				t.Fatalf("stratum %d of %v rows and %v asked is given %d", h, rows, asked, got)
			}
			least += max(asked[h], min(2, rows[h]))
			sum += got
		}
		if sum != max(total, least) {
			t.Fatalf("%d are allocated, not %d: %v rows, %v asked", sum, total, rows, asked)
		}
	}
	var s Survey
	for i := range 200 {
		r := SurveyRow{Stratum: i % 2, Asked: i < 40, Scored: i < 40}
		if i%2 == 1 {
			r.Value = float64(i / 2 % 2)
		}
		s.Add(r)
	}
	if got := s.Allocate(80); got[1] < 2*got[0] {
		t.Errorf("%v: the stratum without disagreement is given as much as the other", got)
	}
	if n := s.Needs(0.2, Options{}); n <= 40 || n >= 200 {
		t.Errorf("an interval 0.2 wide is said to need %d rows", n)
	}
	if n := s.Needs(0.01, Options{}); n != 200 {
		t.Errorf("an interval 0.01 wide, which cannot be had, is said to need %d rows", n)
	}
}

// With a known truth, intervals hold it as often as they say, for rows in groups that are alike too, and those that
// take no notice of the groups do not. 1,000 draws: the share lies within 0.03 of 0.95 but for 1 in 10,000.
func TestSurveyCoverage(t *testing.T) {
	cover := func(perGroup int, told bool) float64 {
		rng := rand.New(rand.NewPCG(7, uint64(perGroup)))
		const draws, rows = 1000, 300
		held := 0
		for range draws {
			var s Survey
			shift, group := 0.0, ""
			for i := range rows {
				if i%perGroup == 0 {
					shift, group = rng.NormFloat64()*0.4, string(rune('a'+i/perGroup))
				}
				f := rng.Float64()
				y := f + shift + 0.3*rng.NormFloat64()*(0.2+f)
				if !told {
					group = ""
				}
				h := int(4 * f)
				asked := rng.Float64() < 0.15+0.1*float64(h)
				s.Add(SurveyRow{Stratum: h, Group: group, Asked: asked, Scored: asked, Value: y})
			}
			if i := s.Estimate(Options{}).Interval; i.Lo <= 0.5 && 0.5 <= i.Hi {
				held++
			}
		}
		return float64(held) / draws
	}
	for _, perGroup := range []int{1, 5} {
		if c := cover(perGroup, true); c < 0.92 || c > 0.98 {
			t.Errorf("groups of %d: the interval holds the truth in %.3f of the draws", perGroup, c)
		}
	}
	if c := cover(5, false); c > 0.9 {
		t.Errorf("groups of 5 that are not told of: the interval holds the truth in %.3f of the draws: the test is weak", c)
	}
}
