package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// hanley are the ratings of 109 CT images, 58 normal and 51 abnormal (Hanley and McNeil 1982, "The meaning and use of
// the area under a ROC curve", Radiology 143, table I).
func hanley() (scores []float64, labels []bool) {
	for k, counts := range [][]int{{33, 6, 6, 11, 2}, {3, 2, 2, 11, 33}} {
		for rating, n := range counts {
			for range n {
				scores, labels = append(scores, float64(rating+1)), append(labels, k == 1)
			}
		}
	}
	return scores, labels
}

func plainAUC(scores []float64, labels []bool) float64 {
	wins, pairs := 0.0, 0.0
	for i, v := range scores {
		for j, w := range scores {
			if labels[i] && !labels[j] {
				pairs++
				wins += (sign(v-w) + 1) / 2
			}
		}
	}
	return wins / pairs
}

// Hanley and McNeil give the area 0.893 by Wilcoxon's statistic, with the standard error 0.032 by their own
// formula, to which DeLong's is close.
func TestAUCPublished(t *testing.T) {
	scores, labels := hanley()
	e, err := AUC(scores, labels, Options{})
	if err != nil || !near(e.Value, 0.893, 0.0005) || e.Interval.Method != DeLong {
		t.Fatalf("%+v %v", e, err)
	}
	variance, least := placements(scores, labels)
	if se := math.Sqrt(variance); !near(se, 0.032, 0.002) || least != 51 {
		t.Errorf("standard error %v, rarer label %d times", se, least)
	}
	if i := e.Interval; !(i.Lo > 0.80 && i.Lo < 0.84 && i.Hi > 0.93 && i.Hi < 0.96) {
		t.Errorf("%+v, want about 0.82 to 0.94", *i)
	}
	// gonum draws the curve of the same data; the area beneath it is the same.
	order := sorted(scores)
	y, classes := make([]float64, len(order)), make([]bool, len(order))
	for k, i := range order {
		y[k], classes[k] = scores[i], labels[i]
	}
	tpr, fpr, _ := stat.ROC(nil, y, classes, nil)
	if area := integrate.Trapezoidal(fpr, tpr); !near(area, e.Value, 1e-12) {
		t.Errorf("gonum has %v, we %v", area, e.Value)
	}
}

// DeLong's variance by its definition: the placements of each row, counted.
func TestDeLongDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	for range 50 {
		n := 6 + rng.IntN(20)
		scores, labels := make([]float64, n), make([]bool, n)
		for i := range scores {
			scores[i], labels[i] = float64(rng.IntN(6)), i < 2 || i > 3 && rng.IntN(2) == 0
		}
		var own [2][]float64
		for i, v := range scores {
			k, share, others := 0, 0.0, 0.0
			if labels[i] {
				k = 1
			}
			for j, w := range scores {
				if labels[j] != labels[i] {
					others++
					share += (sign(v-w) + 1) / 2
				}
			}
			own[k] = append(own[k], share/others)
		}
		want := stat.Variance(own[0], nil)/float64(len(own[0])) + stat.Variance(own[1], nil)/float64(len(own[1]))
		if got, _ := placements(scores, labels); !near(got, want, 1e-12) {
			t.Fatalf("%v %v: %v, want %v", scores, labels, got, want)
		}
	}
}

// Of normal scores a distance d apart the area is Φ(d/√2). The interval must hold it, with rows in groups too.
func TestAUCCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	check := func(name string, d float64, runs, n int, grouped bool, least float64) {
		t.Helper()
		truth := distuv.UnitNormal.CDF(d / math.Sqrt2)
		inside := 0
		for run := range runs {
			var scores []float64
			var labels []bool
			var groups []string
			for i := range n {
				label := i%3 == 0
				v := rng.NormFloat64()
				if label {
					v += d
				}
				copies := 1
				if grouped {
					copies = 2
				}
				for range copies {
					scores, labels = append(scores, v), append(labels, label)
					groups = append(groups, string(rune('a'+i)))
				}
			}
			o := Options{Seed: uint64(run)}
			if grouped {
				o.Groups = groups
			}
			e, err := AUC(scores, labels, o)
			if err != nil {
				t.Fatal(err)
			}
			if e.Interval.Lo <= truth && truth <= e.Interval.Hi {
				inside++
			}
		}
		coverage, margin := float64(inside)/float64(runs), 4*math.Sqrt(0.95*0.05/float64(runs))
		t.Logf("%s: %.3f", name, coverage)
		if coverage < least-margin || coverage > 0.965+margin {
			t.Errorf("%s: the interval holds %.3f in %.3f of %d runs, want %.2f to 0.965",
				name, truth, coverage, runs, least)
		}
	}
	check("0.76", 1, runsOf(t, 2000), 60, false, 0.94)
	check("0.92", 2, runsOf(t, 2000), 60, false, 0.93)
	check("in groups", 1, runsOf(t, 200), 60, true, 0.93)
}

func TestAUCDegenerate(t *testing.T) {
	e, err := AUC([]float64{1, 2, 3, 4, 5, 6}, []bool{false, false, false, true, true, true}, Options{})
	if err != nil || e.Value != 1 || e.Interval == nil || e.Interval.Hi != 1 ||
		!near(e.Interval.Lo, math.Cbrt(0.05), 1e-12) {
		t.Errorf("separated: %+v %v", e, err)
	}
	if _, err := AUC([]float64{1, 2}, []bool{true, true}, Options{}); err == nil ||
		!strings.Contains(err.Error(), "alike") {
		t.Errorf("one label: %v", err)
	}
	e, err = AUC([]float64{1, 1, 1, 1}, []bool{true, false, true, false}, Options{})
	if err != nil || e.Value != 0.5 {
		t.Errorf("equal scores: %+v %v", e, err)
	}
}

func TestThresholds(t *testing.T) {
	check := func(scores []float64, labels []bool, threshold, accuracy float64) {
		t.Helper()
		at, share := BestThreshold(scores, labels)
		if at != threshold || share != accuracy {
			t.Errorf("%v %v: %v at %v, want %v at %v", scores, labels, share, at, accuracy, threshold)
		}
		if s := Accuracy(scores, labels, at, Options{}); !near(s.Mean, share, 1e-12) {
			t.Errorf("%v %v: the accuracy at %v is %v, not %v", scores, labels, at, s.Mean, share)
		}
	}
	check([]float64{0.1, 0.4, 0.6, 0.9}, []bool{false, false, true, true}, 0.5, 1)
	check([]float64{0.1, 0.4, 0.4, 0.9}, []bool{false, false, true, true}, 0.25, 0.75)
	check([]float64{0.1, 0.2}, []bool{true, true}, 0.1, 1)
	check([]float64{0.1, 0.2}, []bool{false, false}, math.Nextafter(0.2, 1), 1)
	check([]float64{3, 3, 3}, []bool{true, false, false}, math.Nextafter(3, 4), 2.0/3)
}

// Scores that tell nothing look better than they are at the best threshold, and cross-validation must not be fooled.
func TestCrossValidationIsHonest(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	var flattered, honest float64
	runs := runsOf(t, 300)
	for run := range runs {
		scores, labels := make([]float64, 40), make([]bool, 40)
		for i := range scores {
			scores[i], labels[i] = rng.Float64(), rng.IntN(2) == 0
		}
		_, best := BestThreshold(scores, labels)
		flattered += best / float64(runs)
		honest += CrossValidatedAccuracy(scores, labels, Options{Seed: uint64(run)}).Mean / float64(runs)
	}
	if margin := 4 * math.Sqrt(0.25/40/float64(runs)); flattered < 0.58 || honest > 0.5+margin {
		t.Errorf("of scores that tell nothing the best threshold has %.3f, cross-validated %.3f: want over 0.58 and "+
			"about 0.5", flattered, honest)
	}
}

// Rows of a group are never on both sides.
func TestFolds(t *testing.T) {
	groups := []string{"a", "b", "a", "", "", "c", "c", "b", "d", "d", "d", ""}
	part := folds(len(groups), 4, Options{Groups: groups, Seed: 5})
	for i, g := range groups {
		for j, h := range groups {
			if g == h && g != "" && part[i] != part[j] {
				t.Errorf("group %s is in parts %d and %d", g, part[i], part[j])
			}
		}
	}
	if used := slices.Compact(slices.Sorted(slices.Values(part))); !slices.Equal(used, []int{0, 1, 2, 3}) {
		t.Errorf("parts %v", used)
	}
}
