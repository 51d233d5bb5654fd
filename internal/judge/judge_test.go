package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics/all"
)

// The example of Wikipedia's article on logistic regression: hours of study and exams passed, with the weights 1.5046
// for an hour and -4.0777.
func TestLogisticRegression(t *testing.T) {
	hours := []float64{0.5, 0.75, 1, 1.25, 1.5, 1.75, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 4, 4.25, 4.5, 4.75, 5,
		5.5}
	passed := []float64{0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1}
	table := &Table{Features: []string{"x/hours"}, Labels: passed}
	for _, h := range hours {
		table.Rows = append(table.Rows, []float64{h})
	}
	d := newDesign(table)
	j := d.model(d.fit(1e-9, d.start()))
	f := j.Features[0]
	hour := f.Weight / f.Deviation
	if offset := j.Offset - hour*f.Mean; math.Abs(hour-1.5046) > 1e-4 || math.Abs(offset+4.0777) > 1e-4 {
		t.Errorf("an hour weighs %.4f and the offset is %.4f, want 1.5046 and -4.0777", hour, offset)
	}
}

// At the optimum the slope of the penalised loss is 0, with shares for labels and missing values, too.
func TestPenalty(t *testing.T) {
	table := drawn(1, 300, func(rng *rand.Rand,
		x []float64) float64 {
		return stats.Logistic(x[0] - x[1] + rng.NormFloat64())
	})
	for i := range table.Rows {
		if i%3 == 0 {
			table.Rows[i][1] = math.NaN()
		}
	}
	d := newDesign(table)
	last := math.Inf(1)
	for _, penalty := range []float64{0.1, 10, 1000} {
		w := d.fit(penalty, d.start())
		size := 0.0
		for k := range d.columns {
			slope := penalty * w[k]
			for i, x := range d.x {
				slope += (stats.Logistic(d.odds(w, x)) - d.labels[i]) * x[k]
			}
			if math.Abs(slope) > 1e-3 {
				t.Errorf("penalty %v, column %d: the slope is %v", penalty, k, slope)
			}
			size += w[k] * w[k]
		}
		if size >= last {
			t.Errorf("penalty %v holds the weights back less than a weaker one: %v, %v", penalty, size, last)
		}
		last = size
	}
}

// drawn is a table of four standard normal columns with the labels that a function gives.
func drawn(seed uint64, n int, label func(rng *rand.Rand, x []float64) float64) *Table {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := &Table{Features: []string{"x/a", "x/b", "x/c", "x/d"}}
	for range n {
		x := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		t.Rows, t.Labels = append(t.Rows, x), append(t.Labels, label(rng, x))
	}
	return t
}

func coin(rng *rand.Rand, p float64) float64 {
	if rng.Float64() < p {
		return 1
	}
	return 0
}

func train(t *testing.T, table *Table, o Options) *Outcome {
	t.Helper()
	out, err := Train(t.Context(), table, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func area(t *testing.T, scores, labels []float64) float64 {
	t.Helper()
	var truth []bool
	for _, y := range labels {
		truth = append(truth, y == 1)
	}
	e, err := stats.AUC(scores, truth, stats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Value
}

// What a linear judge can learn is learned as well as can be: nearly as good as the log odds that drew the labels.
func TestTrainLearns(t *testing.T) {
	odds := func(x []float64) float64 { return 1.5*x[0] - x[1] + 0.5 }
	table := drawn(2, 400, func(rng *rand.Rand, x []float64) float64 { return coin(rng, stats.Logistic(odds(x))) })
	var truth []float64
	for _, x := range table.Rows {
		truth = append(truth, odds(x))
	}
	out := train(t, table, Options{})
	best, got := area(t, truth, table.Labels), area(t, out.Predictions, table.Labels)
	if got < best-0.015 || got > best+0.01 {
		t.Errorf("auc %.3f on rows not fitted to, and %.3f is possible", got, best)
	}
	if a, b, c := out.Judge.Features[0], out.Judge.Features[1], out.Judge.Features[2]; a.Importance < b.Importance ||
		b.Importance < 3*c.Importance {
		t.Errorf("importances %.3f %.3f %.3f, of weights 1.5, -1 and 0", a.Importance, b.Importance, c.Importance)
	}
}

// Trees learn what no sum can: whether two signs agree.
func TestTrainTakesTrees(t *testing.T) {
	table := drawn(3, 400, func(rng *rand.Rand, x []float64) float64 {
		p := 0.1
		if (x[0] > 0) == (x[1] > 0) {
			p = 0.9
		}
		return coin(rng, p)
	})
	out := train(t, table, Options{Folds: 5})
	if a := area(t, out.Predictions, table.Labels); out.Method == "linear" || a < 0.8 {
		t.Errorf("%s reaches %.3f", out.Method, a)
	}
	linear := train(t, table, Options{Methods: []string{"linear"}, Folds: 5})
	if a := area(t, linear.Predictions, table.Labels); a > 0.65 || linear.Method != "linear" {
		t.Errorf("%s reaches %.3f", linear.Method, a)
	}
}

// Labels that are only noise: nothing is found, though what is found is searched for among many recipes. The area is
// below one half rather, as a judge without a clue predicts the mean of the other parts' labels, which is high where
// its own part's is low; that no figure flatters is what counts.
func TestTrainFindsNothingInNoise(t *testing.T) {
	sum := 0.0
	const times = 4
	for seed := range uint64(times) {
		table := drawn(10+seed, 200, func(rng *rand.Rand, _ []float64) float64 { return coin(rng, 0.5) })
		sum += area(t, train(t, table, Options{Seed: seed, Folds: 5}).Predictions, table.Labels)
	}
	if a := sum / times; a < 0.3 || a > 0.54 {
		t.Errorf("mean auc %.3f on noise", a)
	}
}

// Rows of a group that are alike in feature and label: dealt one by one, a judge would know them again.
func TestTrainKeepsGroupsTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	table := &Table{Features: []string{"x/fingerprint"}}
	for g := range 30 {
		finger, label := rng.Float64(), coin(rng, 0.5)
		for range 10 {
			table.Rows = append(table.Rows, []float64{finger + rng.NormFloat64()*1e-4})
			table.Labels = append(table.Labels, label)
			table.Groups = append(table.Groups, fmt.Sprint("question ", g))
		}
	}
	out := train(t, table, Options{Methods: []string{"trees"}})
	together := area(t, out.Predictions, table.Labels)
	for i := range table.Rows {
		if i%10 != 0 && out.Parts[i] != out.Parts[i-1] {
			t.Fatalf("row %d is in another part than its group", i)
		}
	}
	table.Groups = nil
	apart := area(t, train(t, table, Options{Methods: []string{"trees"}}).Predictions, table.Labels)
	if together > 0.6 || apart < 0.7 {
		t.Errorf("auc %.3f with groups kept together, %.3f without", together, apart)
	}
}

// What grew in training is what the judge's file says, for values between those seen and for missing ones, too; and a
// prediction is the sum of its explanation.
func TestModelIsWhatGrew(t *testing.T) {
	table := drawn(5, 400, func(rng *rand.Rand, x []float64) float64 {
		p := stats.Logistic(2 * x[0] * x[1])
		if math.Mod(math.Abs(x[2])*100, 1) < 0.3 {
			x[0] = math.NaN() // missing, and telling
			p = 0.05
		}
		return coin(rng, p)
	})
	for depth := 1; depth <= mostDepth; depth++ {
		g := newBoosting(table, depth)
		for len(g.trees) < 40 && g.grow() {
		}
		j := g.model(len(g.trees))
		for i, row := range table.Rows {
			if z := j.LogOdds(row); math.Abs(z-g.odds[i]) > 1e-9 {
				t.Fatalf("depth %d, row %d: %v in the file, %v in training", depth, i, z, g.odds[i])
			}
		}
	}
	out := train(t, table, Options{Methods: []string{"both"}, Folds: 4})
	for i, row := range table.Rows {
		base, parts := out.Judge.Explain(row)
		for _, v := range parts {
			base += v
		}
		if z := out.Judge.LogOdds(row); math.Abs(z-base) > 1e-9 {
			t.Fatalf("row %d: %v, explained as %v", i, z, base)
		}
	}
	if len(out.Judge.Trees) == 0 || !slices.ContainsFunc(out.Judge.Features,
		func(f all.JudgeFeature) bool { return f.Weight != 0 }) {
		t.Errorf("%d trees and no weights: it should be both", len(out.Judge.Trees))
	}
}

// Loss falls with every tree on the rows that it is fitted to.
func TestBoostingLowersTheLoss(t *testing.T) {
	table := drawn(6, 200, func(rng *rand.Rand, x []float64) float64 { return coin(rng, stats.Logistic(x[0]+x[1]*x[2])) })
	g := newBoosting(table, 2)
	last := loss(g.odds, table.Labels)
	for n := range 30 {
		if !g.grow() {
			break
		}
		now := loss(g.odds, table.Labels)
		if now >= last {
			t.Fatalf("tree %d: the loss goes from %v to %v", n, last, now)
		}
		last = now
	}
}

func TestTrainTwiceIsTheSame(t *testing.T) {
	table := drawn(7, 200, func(rng *rand.Rand, x []float64) float64 { return stats.Logistic(x[0] + rng.NormFloat64()) })
	first, err := json.Marshal(train(t, table, Options{Seed: 3, Folds: 4}))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(train(t, table, Options{Seed: 3, Folds: 4})); err != nil ||
		string(first) != string(second) {
		t.Errorf("two trainings differ, %v", err)
	}
	other, err := json.Marshal(train(t, table, Options{Seed: 4, Folds: 4}))
	if err != nil || string(first) == string(other) {
		t.Errorf("the seed changes nothing, %v", err)
	}
}

func TestTrainRefuses(t *testing.T) {
	check := func(what string, table *Table) {
		t.Helper()
		if _, err := Train(t.Context(), table, Options{}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	even := func(rng *rand.Rand, _ []float64) float64 { return coin(rng, 0.5) }
	check("few rows", drawn(1, 30, even))
	check("one label", drawn(1, 100, func(*rand.Rand, []float64) float64 { return 1 }))
	grouped := drawn(1, 100, even)
	grouped.Groups = slices.Repeat([]string{"a", "b"}, 50)
	check("two groups", grouped)
	level := drawn(1, 100, even)
	for i := range level.Rows {
		level.Rows[i] = []float64{1, 2, math.NaN(), 3}
	}
	check("nothing varies", level)
}

// Columns that tell nothing are left out and named.
func TestTrainDrops(t *testing.T) {
	table := drawn(8, 100, func(rng *rand.Rand, x []float64) float64 { return coin(rng, stats.Logistic(x[0])) })
	for i := range table.Rows {
		table.Rows[i][1] = 7
		if i > 4 {
			table.Rows[i][2] = math.NaN()
		}
	}
	out := train(t, table, Options{Folds: 4})
	if want := []string{"x/b", "x/c"}; !slices.Equal(out.Dropped, want) || len(out.Judge.Features) != 2 {
		t.Errorf("dropped %v, kept %d", out.Dropped, len(out.Judge.Features))
	}
}

// TestClearly checks the rule by which a simpler judge is kept: a gain has to be more than its standard error, and what
// one group gains is one gain, however many rows it has.
func TestClearly(t *testing.T) {
	table := &Table{Labels: []float64{1, 0, 1, 0, 1, 0, 1, 0}}
	odds := func(sizes ...float64) (list []float64) {
		for i, size := range sizes {
			list = append(list, size*(2*table.Labels[i]-1)) // towards the label
		}
		return list
	}
	flat, good := odds(1, 1, 1, 1, 1, 1, 1, 1), odds(2, 2, 2, 2, 2, 2, 2, 2)
	mixed := odds(2, 0.3, 2, 0.3, 2, 0.3, 2, 0.3)
	for _, tt := range []struct {
		name        string
		other, odds []float64
		groups      []string
		want        bool
	}{
		{"the same", flat, flat, nil, false},
		{"better on all rows", good, flat, nil, true},
		{"worse on all rows", flat, good, nil, false},
		{"better on half of the rows, worse on half", mixed, flat, nil, false},
		{"better on one group", good, flat, []string{"a", "a", "a", "a", "a", "a", "a", "a"}, false},
		{"better on two groups", good, flat, []string{"a", "a", "a", "a", "b", "b", "b", "b"}, true},
		{"better on rows without a group", good, flat, []string{"", "", "", "", "", "", "", ""}, true},
	} {
		table.Groups = tt.groups
		if got := table.clearly(tt.other, tt.odds); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// A feature that may only raise the label has no weight where its own would be negative, and the others are then what
// they would be without it; at the optimum no weight of the right sign could be better.
func TestSigns(t *testing.T) {
	table := drawn(3, 400, func(rng *rand.Rand, x []float64) float64 {
		return stats.Logistic(2*x[0] - x[1] + rng.NormFloat64())
	})
	free := newDesign(table)
	if w := free.fit(1, free.start()); w[0] <= 0 || w[1] >= 0 {
		t.Fatalf("the free weights are %v: the test needs one above and one below 0", w)
	}
	table.Signs = make([]int, len(table.Features))
	for k := range table.Signs {
		table.Signs[k] = 1
	}
	d := newDesign(table)
	w := d.fit(1, d.start())
	for k := range table.Features {
		slope := w[k]
		for i, x := range d.x {
			slope += (stats.Logistic(d.odds(w, x)) - d.labels[i]) * x[k]
		}
		if w[k] < 0 || w[k] > 0 && math.Abs(slope) > 1e-3 || w[k] == 0 && slope < 0 {
			t.Errorf("column %d: the weight is %v and the slope there %v", k, w[k], slope)
		}
	}
	if w[0] <= 0 || w[1] != 0 {
		t.Errorf("the weights are %v", w)
	}
}

// Where sources are told apart, each is predicted by what was fitted without it, and a small one counts as much as a
// large one.
func TestSources(t *testing.T) {
	table := &Table{Features: []string{"x/a"}}
	add := func(source, n int, label func(x float64) float64) {
		rng := rand.New(rand.NewPCG(uint64(source), 1))
		for range n {
			x := rng.Float64()
			table.Rows = append(table.Rows, []float64{x})
			table.Labels = append(table.Labels, label(x))
			table.Sources = append(table.Sources, source)
		}
	}
	up := func(x float64) float64 { return math.Round(x) }
	down := func(x float64) float64 { return 1 - math.Round(x) }
	add(0, 1000, up)
	add(1, 60, down)
	add(2, 60, down)
	add(3, 60, down)
	out, err := Train(t.Context(), table, Options{Methods: []string{"linear"}})
	if err != nil {
		t.Fatal(err)
	}
	if w := out.Judge.Features[0].Weight; w >= 0 {
		t.Errorf("the weight is %v, though three sources of four say that it is negative", w)
	}
	for i, part := range out.Parts {
		if part != table.Sources[i] {
			t.Fatalf("row %d of source %d was predicted with part %d", i, table.Sources[i], part)
		}
	}
	means, n := [2]float64{}, [2]float64{} // of what is predicted for source 0: low values, high ones
	for i, x := range table.Rows[:1000] {
		half := int(math.Round(x[0]))
		means[half] += out.Predictions[i]
		n[half]++
	}
	if means[1]/n[1] >= means[0]/n[0] {
		t.Errorf("a source that is left out is predicted as it says itself: %v of %v rows", means, n)
	}
}
