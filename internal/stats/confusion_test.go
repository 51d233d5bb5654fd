package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// table lays out counts as rows.
func table(tp, fp, tn, fn int) (said, labels []bool) {
	for _, c := range []struct {
		n           int
		said, label bool
	}{{tp, true, true}, {fp, true, false}, {tn, false, false}, {fn, false, true}} {
		for range c.n {
			said, labels = append(said, c.said), append(labels, c.label)
		}
	}
	return said, labels
}

// TestConfusion has the figures that Wikipedia's article on the confusion matrix works out: of 12 pictures with 8 cats, 6
// cats and 1 dog are said to be cats.
func TestConfusion(t *testing.T) {
	said, labels := table(6, 1, 3, 2)
	c := Confused(said, labels, Options{})
	if c.TruePositives != 6 || c.FalsePositives != 1 || c.TrueNegatives != 3 || c.FalseNegatives != 2 {
		t.Errorf("%+v", c)
	}
	for what, pair := range map[string][2]float64{"precision": {c.Precision.Mean, 6.0 / 7}, "recall": {c.Recall.Mean, 6.0 / 8},
		"specificity": {c.Specificity.Mean, 3.0 / 4}} {
		if math.Abs(pair[0]-pair[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
		}
	}
	if c.Precision.N != 7 || c.Recall.N != 8 || c.Specificity.N != 4 || c.Recall.Interval == nil {
		t.Errorf("%+v", c)
	}
	// (6*3 - 1*2) / sqrt(7 * 8 * 4 * 5), 0.478 there.
	mcc, err := MCC(said, labels, Options{})
	if want := 16 / math.Sqrt(7*8*4*5); err != nil || math.Abs(mcc.Value-want) > 1e-12 || mcc.Interval == nil {
		t.Errorf("MCC %+v, %v, want %v", mcc, err, want)
	}
	if c := Confused([]bool{false}, []bool{true}, Options{}); c.Precision.N != 0 || c.Specificity.N != 0 {
		t.Errorf("shares of nothing: %+v", c)
	}
	if _, err := MCC([]bool{true, true}, []bool{true, false}, Options{}); err == nil {
		t.Error("MCC where one side does not vary")
	}
}

// TestRoganGladen has the formula on round numbers, and refuses what says nothing.
func TestRoganGladen(t *testing.T) {
	said, labels := table(80, 10, 90, 20) // TPR 0.8, TNR 0.9
	c := Confused(said, labels, Options{})
	e, err := RoganGladen(310, 1000, c, 0)
	if err != nil || math.Abs(e.Value-0.3) > 1e-12 { // 0.3 * 0.8 + 0.7 * 0.1 are said to be true
		t.Errorf("%+v, %v, want 0.3", e, err)
	}
	if e.Interval == nil || e.Interval.Lo >= 0.3 || e.Interval.Hi <= 0.3 {
		t.Errorf("%+v", e.Interval)
	}
	if e, err = RoganGladen(5, 1000, c, 0); err != nil || e.Value != 0 || e.Interval.Lo != 0 {
		t.Errorf("fewer than the errors make: %+v, %v", e, err)
	}
	said, labels = table(5, 5, 5, 5)
	if _, err = RoganGladen(5, 10, Confused(said, labels, Options{}), 0); err == nil {
		t.Error("what says nothing has an estimate")
	}
	said, labels = table(5, 0, 0, 5)
	if _, err = RoganGladen(5, 10, Confused(said, labels, Options{}), 0); err == nil {
		t.Error("without false rows it has an estimate")
	}
}

// The interval holds the true share about as often as it says.
func TestRoganGladenCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const draws = 2000
	held := 0
	for range draws {
		share, tpr, tnr := 0.2+0.6*rng.Float64(), 0.7+0.25*rng.Float64(), 0.7+0.25*rng.Float64()
		yes := func(p float64) bool { return rng.Float64() < p }
		say := func(label bool) bool {
			if label {
				return yes(tpr)
			}
			return !yes(tnr)
		}
		var c Confusion
		for range 50 {
			if say(true) {
				c.TruePositives++
			} else {
				c.FalseNegatives++
			}
			if say(false) {
				c.FalsePositives++
			} else {
				c.TrueNegatives++
			}
		}
		n := 0
		for range 400 {
			if say(yes(share)) {
				n++
			}
		}
		e, err := RoganGladen(n, 400, c, 0.95)
		if err == nil && e.Interval.Lo <= share && share <= e.Interval.Hi {
			held++
		}
	}
	if got := float64(held) / draws; got < 0.93 || got > 0.99 {
		t.Errorf("95%% intervals hold the true share in %v of %d draws", got, draws)
	}
}

// TestBradleyTerry has the strengths that Agresti (Categorical Data Analysis, 2002, section 10.6) fits to the American
// League's eastern teams of 1987, to within what the half game moves them.
func TestBradleyTerry(t *testing.T) {
	wins := [][]int{ // of the row's team over the column's: Milwaukee, Detroit, Toronto, New York, Boston, Cleveland, Baltimore
		{0, 7, 9, 7, 7, 9, 11}, {6, 0, 7, 5, 11, 9, 9}, {4, 6, 0, 7, 7, 8, 12}, {6, 8, 6, 0, 6, 7, 10},
		{6, 2, 6, 7, 0, 7, 12}, {4, 4, 5, 6, 6, 0, 6}, {2, 4, 1, 3, 1, 7, 0}}
	want := []float64{1.581, 1.436, 1.294, 1.248, 1.110, 0.684, 0}
	var rows [][]float64
	for i := range wins {
		for j, n := range wins[i] {
			for range n {
				row := make([]float64, len(wins))
				for k := range row {
					row[k] = math.NaN()
				}
				row[i], row[j] = 1, 0
				rows = append(rows, row)
			}
		}
	}
	got, err := BradleyTerry(rows, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, s := range got {
		sum += s.Value
		if d := s.Value - got[6].Value; math.Abs(d-want[i]) > 0.05 {
			t.Errorf("team %d: %v, want %v", i, d, want[i])
		}
		if s.Games != 78 || s.Interval == nil || s.Interval.Lo > s.Value || s.Interval.Hi < s.Value {
			t.Errorf("team %d: %+v", i, s)
		}
	}
	if math.Abs(sum) > 1e-9 {
		t.Errorf("the strengths add up to %v", sum)
	}
}

func TestBradleyTerryEdges(t *testing.T) {
	never := [][]float64{{1, 0, 0.5}, {1, 0, 0.5}, {0.9, 0.1, 0.1}}
	got, err := BradleyTerry(never, Options{})
	if err != nil || !(got[0].Value > got[2].Value && got[2].Value > got[1].Value) || math.IsInf(got[0].Value, 0) {
		t.Errorf("one that never loses: %+v, %v", got, err)
	}
	if got[0].Wins != 6 || got[2].Wins != 2.5 || got[1].Wins != 0.5 {
		t.Errorf("wins %+v", got)
	}
	equal, err := BradleyTerry([][]float64{{1, 1}, {0, 0}}, Options{})
	if err != nil || equal[0].Value != equal[1].Value {
		t.Errorf("equals: %+v, %v", equal, err)
	}
	nan := math.NaN()
	if _, err := BradleyTerry([][]float64{{1, 0, nan, nan}, {nan, nan, 1, 0}}, Options{}); err == nil {
		t.Error("sets that never met were compared")
	}
	if _, err := BradleyTerry(nil, Options{}); err == nil {
		t.Error("nothing was compared")
	}
}
