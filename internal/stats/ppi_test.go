package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// By hand from the formulas, with n = 4 and N = 4. Labels 1, 0, 1, 1 have mean 3/4 and variance 3/16; scores 0.9,
// 0.2, 0.6, 0.7 have mean 0.6, and the covariance is (0.25×0.3 + 0.75×0.4 + 0 + 0.25×0.1)/4 = 0.1. The eight scores
// 0.9, 0.2, 0.6, 0.7, 0.8, 0.1, 0.4, 0.5 have mean 0.525 and variance 2.76/8 - 0.275625 = 0.069375. λ is
// 0.1 / (2 × 0.069375) = 0.720721.
func TestPPIByHand(t *testing.T) {
	labels, scores, others := []float64{1, 0, 1, 1}, []float64{0.9, 0.2, 0.6, 0.7}, []float64{0.8, 0.1, 0.4, 0.5}
	p, err := NewPPI(labels, scores, others, Options{})
	if err != nil {
		t.Fatal(err)
	}
	lambda := 0.1 / 0.13875
	estimate := lambda*0.45 + 0.75 - lambda*0.6
	// Variances: of others 0.0625, of the scores 0.065, of y - λf 3/16 - 2λ×0.1 + λ²×0.065.
	variance := lambda*lambda*0.0625/4 + (0.1875-0.2*lambda+lambda*lambda*0.065)/4
	half := 1.9599639845 * math.Sqrt(variance)
	if !near(p.Lambda, lambda, 1e-12) || !near(p.Estimate, estimate, 1e-12) ||
		!near(p.Interval.Lo, estimate-half, 1e-9) ||
		!near(p.Interval.Hi, estimate+half, 1e-9) {
		t.Errorf("%+v, want %v ± %v, λ = %v", p, estimate, half, lambda)
	}
	half = 1.9599639845 * math.Sqrt(0.1875/4)
	if p.Classical != 0.75 || !near(p.Alone.Lo, 0.75-half, 1e-9) || !near(p.Imputed, 0.525, 1e-12) {
		t.Errorf("%+v, want classically 0.75 ± %v", p, half)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "only 4 labels") {
		t.Errorf("warnings %q", p.Warnings)
	}
	// And ARES' formula: the mean of the others less the mean error of the scores.
	p, err = NewPlainPPI(labels, scores, others, Options{})
	if err != nil || !near(p.Estimate, 0.45-(0.6-0.75), 1e-12) || p.Lambda != 1 {
		t.Errorf("plain: %+v %v", p, err)
	}
}

// A world in which people say yes to a share of the rows and a metric is right with some probability.
type world struct {
	rng       *rand.Rand
	yes       float64
	right     float64 // the metric's accuracy
	perGroup  int
	labelled  int
	unlabeled int
}

func (w world) draw() (labels, scores, others []float64, groups []string) {
	row := func(tilt float64) (y, f float64) {
		if w.rng.Float64() < w.yes+tilt {
			y = 1
		}
		f = y
		if w.rng.Float64() > w.right {
			f = 1 - y
		}
		return y, 0.8*f + 0.2*w.rng.Float64()
	}
	n := 0
	tilt := 0.0
	next := func() (y, f float64) {
		if n%w.perGroup == 0 {
			tilt = 0
			if w.perGroup > 1 {
				tilt = 0.3 * float64(2*w.rng.IntN(2)-1)
			}
		}
		if w.perGroup > 1 {
			groups = append(groups, fmt.Sprint(n/w.perGroup))
		}
		n++
		return row(tilt)
	}
	for range w.labelled {
		y, f := next()
		labels, scores = append(labels, y), append(scores, f)
	}
	for range w.unlabeled {
		_, f := next()
		others = append(others, f)
	}
	return labels, scores, others, groups
}

// The interval has its nominal coverage, whatever the metric is worth; a good metric makes it shorter, by as much as
// the theory says, and a bad one no longer than labels alone.
func TestPPICoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 1))
	check := func(name string, w world, gainLo, gainHi float64) {
		t.Helper()
		w.rng = rng
		runs := runsOf(t, 600)
		var inside, plain, alone int
		var imputed, effective float64
		for range runs {
			labels, scores, others, groups := w.draw()
			o := Options{Groups: groups}
			p, err := NewPPI(labels, scores, others, o)
			if err != nil {
				t.Fatal(err)
			}
			hold := func(i Interval) int {
				if i.Lo <= w.yes && w.yes <= i.Hi {
					return 1
				}
				return 0
			}
			inside += hold(p.Interval)
			alone += hold(p.Alone)
			q, err := NewPlainPPI(labels, scores, others, o)
			if err != nil {
				t.Fatal(err)
			}
			plain += hold(q.Interval)
			imputed += p.Imputed / float64(runs)
			effective += p.Effective / float64(w.labelled) / float64(runs)
		}
		n := float64(runs)
		t.Logf("%s: coverage %.3f, λ = 1 %.3f, labels alone %.3f; gain %.2f; imputed %.3f for %.3f",
			name, float64(inside)/n, float64(plain)/n, float64(alone)/n, effective, imputed, w.yes)
		margin := 4 * math.Sqrt(0.95*0.05/n)
		for what, k := range map[string]int{"ppi++": inside, "ppi": plain, "labels alone": alone} {
			if c := float64(k) / n; c < 0.94-margin || c > 0.95+margin {
				t.Errorf("%s, %s: coverage %.3f of %d runs", name, what, c, runs)
			}
		}
		if effective < gainLo || effective > gainHi {
			t.Errorf("%s: labels count %.2f times, want %v to %v", name, effective, gainLo, gainHi)
		}
	}
	// The correlation of label and score decides the gain: 1 / (1 - ρ²/(1+n/N)).
	check("good metric", world{yes: 0.6, right: 0.95, perGroup: 1, labelled: 150, unlabeled: 3000}, 3.2, 5)
	check("fair metric", world{yes: 0.6, right: 0.8, perGroup: 1, labelled: 150, unlabeled: 1500}, 1.35, 1.6)
	check("useless metric", world{yes: 0.6, right: 0.5, perGroup: 1, labelled: 150, unlabeled: 1500}, 1, 1.05)
	check("in groups", world{yes: 0.6, right: 0.9, perGroup: 5, labelled: 300, unlabeled: 2000}, 1.5, 4)
}

// The labels that are said to be needed make the interval as short as was asked for.
func TestLabelsFor(t *testing.T) {
	w := world{rng: rand.New(rand.NewPCG(62, 1)), yes: 0.5, right: 0.9, perGroup: 1, labelled: 400, unlabeled: 5000}
	labels, scores, others, _ := w.draw()
	p, err := NewPPI(labels, scores, others, Options{})
	if err != nil {
		t.Fatal(err)
	}
	with, alone, err := p.LabelsFor(0.06)
	if err != nil || with >= alone {
		t.Fatalf("%d labels with scores, %d alone, %v", with, alone, err)
	}
	// Alone: (2 × 1.96 × 0.5 / 0.06)² = 1067 for a share of one half.
	if !near(float64(alone), 1067, 15) {
		t.Errorf("%d labels alone, want about 1067", alone)
	}
	w.labelled = with
	var width float64
	for range 50 {
		labels, scores, others, _ = w.draw()
		p, err := NewPPI(labels, scores, others, Options{})
		if err != nil {
			t.Fatal(err)
		}
		width += (p.Interval.Hi - p.Interval.Lo) / 50
	}
	if !near(width, 0.06, 0.006) {
		t.Errorf("with %d labels the interval is %.4f wide, want 0.06", with, width)
	}
	if with, _, err := p.LabelsFor(p.Interval.Hi - p.Interval.Lo); err != nil || !near(float64(with), 400, 25) {
		t.Errorf("for the width it has: %d labels %v, want about the 400 there are", with, err)
	}
	if _, _, err := p.LabelsFor(0); err == nil {
		t.Error("no width is no error")
	}
}

// Rows that are copies of each other, in groups, tell as much as one of each, but for the correction of the variance of
// so many groups.
func TestPPICopies(t *testing.T) {
	w := world{rng: rand.New(rand.NewPCG(64, 1)), yes: 0.5, right: 0.9, perGroup: 1, labelled: 60, unlabeled: 200}
	labels, scores, others, _ := w.draw()
	plain, err := NewPPI(labels, scores, others, Options{})
	if err != nil {
		t.Fatal(err)
	}
	twice := func(v []float64) []float64 { return append(append([]float64{}, v...), v...) }
	var groups []string
	for k, n := range []int{60, 60, 200, 200} {
		for i := range n {
			groups = append(groups, fmt.Sprint(k/2, " ", i))
		}
	}
	double, err := NewPPI(twice(labels), twice(scores), twice(others), Options{Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	a, b := plain.Interval.Hi-plain.Interval.Lo, double.Interval.Hi-double.Interval.Lo
	if want := a * math.Sqrt(260.0/259); !near(plain.Estimate, double.Estimate, 1e-12) || !near(b, want, 1e-9) {
		t.Errorf("%v wide around %v, want %v around %v", b, double.Estimate, want, plain.Estimate)
	}
	if !strings.Contains(strings.Join(double.Warnings, ";"), "520 rows in 260 groups") {
		t.Errorf("warnings %q", double.Warnings)
	}
}

func TestPPIDegenerate(t *testing.T) {
	if _, err := NewPPI([]float64{1}, []float64{0.5}, nil, Options{}); err == nil {
		t.Error("one label is no error")
	}
	if _, err := NewPPI([]float64{1, 1, 1}, []float64{0.5, 0.4, 0.1}, []float64{1, 0}, Options{}); err == nil ||
		!strings.Contains(err.Error(), "equal") {
		t.Errorf("equal labels: %v", err)
	}
	// Of 59 labels that are all 1, a share of others of 0.05 would have shown none with the probability 0.95^59 = 0.0485:
	// the rule of three.
	ones, fs := make([]float64, 59), make([]float64, 59)
	for i := range ones {
		ones[i], fs[i] = 1, float64(i%3)/2
	}
	p, err := NewPPI(ones, fs, []float64{1, 0, 0.5}, Options{Max: 1})
	if err != nil || p.Estimate != 1 || p.Lambda != 0 || p.Interval.Method != Exact || p.Interval != p.Alone ||
		p.Interval.Hi != 1 || !near(math.Pow(p.Interval.Lo, 59), 0.05, 1e-12) {
		t.Errorf("59 labels of 1: %+v %v", p, err)
	}
	// Scores that are right on all of them leave λ = 1 the interval of the others, 1/2 ± 0 here, and that bound.
	p, err = NewPlainPPI(ones, ones, []float64{0.5, 0.5}, Options{Max: 1})
	bound := 1 - math.Pow(0.05, 1.0/59)
	if err != nil || p.Estimate != 0.5 || !near(p.Interval.Lo, 0.5-bound, 1e-12) || !near(p.Interval.Hi, 0.5+bound, 1e-12) {
		t.Errorf("scores that are right: %+v %v", p, err)
	}
	mean, i := NormalMean([]float64{1, 0, 1, 1}, Options{})
	if mean != 0.75 || !near(i.Hi, 0.75+1.9599639845*math.Sqrt(0.1875/4), 1e-9) {
		t.Errorf("a mean: %v, %+v", mean, i)
	}
	p, err = NewPPI([]float64{1, 0, 1}, []float64{0.5, 0.4, 0.1}, nil, Options{})
	if err != nil || p.Lambda != 0 || p.Estimate != p.Classical || p.Interval != p.Alone {
		t.Errorf("no further rows: %+v %v", p, err)
	}
	// Scores that go against the labels are not relied on, rather than the other way round.
	p, err = NewPPI([]float64{1, 0, 1, 0}, []float64{0.1, 0.9, 0.2, 0.8}, []float64{0.5, 0.6, 0.1}, Options{})
	if err != nil || p.Lambda != 0 || !strings.Contains(strings.Join(p.Warnings, ";"), "do not go with the labels") {
		t.Errorf("contrary scores: %+v %v", p, err)
	}
	p, err = NewPPI([]float64{1, 0, 1, 0}, []float64{0.5, 0.5, 0.5, 0.5}, []float64{0.5, 0.5}, Options{})
	if err != nil || p.Lambda != 0 {
		t.Errorf("equal scores: %+v %v", p, err)
	}
}

// The p-value and the interval say the same.
func TestPPIP(t *testing.T) {
	w := world{rng: rand.New(rand.NewPCG(63, 1)), yes: 0.5, right: 0.9, perGroup: 1, labelled: 100, unlabeled: 1000}
	p, err := NewPPI(w.once())
	if err != nil {
		t.Fatal(err)
	}
	if v := p.P(p.Interval.Lo); !near(v, 0.05, 1e-9) {
		t.Errorf("p of the interval's end is %v, want 0.05", v)
	}
	if v := p.P(p.Estimate); v != 1 {
		t.Errorf("p of the estimate is %v, want 1", v)
	}
}

func (w world) once() (labels, scores, others []float64, o Options) {
	labels, scores, others, _ = w.draw()
	return labels, scores, others, Options{}
}
