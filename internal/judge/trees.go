package judge

import (
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics/all"
)

// Gradient boosting of shallow trees with the log loss (Friedman 2001, Annals of Statistics 29), by second-order steps
// and with a way of their own for missing values as in XGBoost (Chen and Guestrin 2016). Values are put into
// bins first: a tree asks for one of few thresholds.

const (
	mostBins  = 32  // different thresholds of a feature, and one more bin for what is missing
	rate      = 0.1 // of what each tree says that counts
	leafRidge = 1.0 // holds back leaves with few rows
)

// bins are the values of a table as numbers of bins.
type bins struct {
	features []all.JudgeFeature
	bounds   [][]float64 // of each feature, ascending: bin b holds values from bounds[b-1] on, below bounds[b]
	of       [][]uint8   // by feature, then row; the bin after the last is of missing values
}

func newBins(t *Table) *bins {
	b := &bins{features: t.features()}
	for k := range t.Features {
		var values []float64
		for _, row := range t.Rows {
			if !math.IsNaN(row[k]) {
				values = append(values, row[k])
			}
		}
		slices.Sort(values)
		var bounds []float64
		for i := 1; i < mostBins; i++ {
			at := i * len(values) / mostBins
			if len(values) == 0 || at == 0 || values[at] == values[0] {
				continue
			}
			low, _ := slices.BinarySearch(values, values[at])
			v := values[low-1] + (values[low]-values[low-1])/2 // half-way to the value before
			if len(bounds) == 0 || v > bounds[len(bounds)-1] {
				bounds = append(bounds, v)
			}
		}
		column := make([]uint8, len(t.Rows))
		for i, row := range t.Rows {
			column[i] = uint8(len(bounds) + 1)
			if v := row[k]; !math.IsNaN(v) {
				column[i] = uint8(len(bounds) - above(bounds, v))
			}
		}
		b.bounds, b.of = append(b.bounds, bounds), append(b.of, column)
	}
	return b
}

// above is the number of bounds that are higher than v.
func above(bounds []float64, v float64) int {
	at, found := slices.BinarySearch(bounds, v)
	if found {
		at++
	}
	return len(bounds) - at
}

// A boosting is a model of trees that is growing.
type boosting struct {
	*bins
	labels []float64
	odds   []float64 // of each row, so far
	depth  int
	least  int // rows in a leaf
	offset float64
	trees  []all.JudgeTree
}

func newBoosting(t *Table, depth int) *boosting {
	g := &boosting{bins: newBins(t), labels: t.Labels, depth: depth, least: max(5, len(t.Rows)/50),
		offset: prior(t.Labels)}
	g.odds = make([]float64, len(t.Rows))
	for i := range g.odds {
		g.odds[i] = g.offset
	}
	return g
}

// A sum is that of the first and second derivatives of rows' losses.
type sum struct {
	slope, curve float64
	n            int
}

func (s sum) plus(t sum) sum { return sum{s.slope + t.slope, s.curve + t.curve, s.n + t.n} }
func (s sum) less(t sum) sum { return sum{s.slope - t.slope, s.curve - t.curve, s.n - t.n} }

// worth is by how much a leaf lowers the loss, twice, and value what it says.
func (s sum) worth() float64 { return s.slope * s.slope / (s.curve + leafRidge) }
func (s sum) value() float64 { return -rate * s.slope / (s.curve + leafRidge) }

// grow adds a tree; false if there is none that helps.
func (g *boosting) grow() bool {
	steps := make([]sum, len(g.odds))
	rows := make([]int, len(g.odds))
	total := sum{}
	for i, z := range g.odds {
		p := stats.Logistic(z)
		steps[i] = sum{p - g.labels[i], p * (1 - p), 1}
		total = total.plus(steps[i])
		rows[i] = i
	}
	tree := all.JudgeTree{{Value: total.value()}}
	g.split(&tree, 0, rows, steps, total, g.depth)
	if len(tree) == 1 {
		return false
	}
	g.trees = append(g.trees, tree)
	return true
}

// split splits a leaf of a tree as often as it helps, and moves its rows' odds.
func (g *boosting) split(tree *all.JudgeTree, at int, rows []int, steps []sum, total sum, depth int) {
	c := cut{}
	if depth > 0 {
		c = g.best(rows, steps, total)
	}
	if c.gain <= 1e-9 {
		for _, i := range rows {
			g.odds[i] += (*tree)[at].Value
		}
		return
	}
	var left, right []int
	for _, i := range rows {
		if c.takes(g.of[c.feature][i], len(g.bounds[c.feature])+1) {
			left = append(left, i)
		} else {
			right = append(right, i)
		}
	}
	here := &(*tree)[at]
	here.Feature, here.Below, here.Left, here.Right = c.feature, g.bounds[c.feature][c.bin], len(*tree), len(*tree)+1
	if here.Absent = all.AbsentRight; c.absentLeft {
		here.Absent = all.AbsentLeft
	}
	into := here.Left
	*tree = append(*tree, all.JudgeNode{Value: c.left.value()},
		all.JudgeNode{Value: total.less(c.left).value()})
	g.split(tree, into, left, steps, c.left, depth-1)
	g.split(tree, into+1, right, steps, total.less(c.left), depth-1)
}

// A cut puts the rows of a feature's bins up to one to the left.
type cut struct {
	gain         float64
	feature, bin int
	absentLeft   bool
	left         sum
}

func (c *cut) takes(bin uint8, absent int) bool {
	if int(bin) == absent {
		return c.absentLeft
	}
	return int(bin) <= c.bin
}

// best is the cut that lowers the loss most; its gain is 0 if none does.
func (g *boosting) best(rows []int, steps []sum, total sum) cut {
	var best cut
	for k, bounds := range g.bounds {
		var in [mostBins + 2]sum
		column := g.of[k]
		for _, i := range rows {
			b := &in[column[i]]
			b.slope += steps[i].slope
			b.curve += steps[i].curve
			b.n++
		}
		absent := in[len(bounds)+1]
		left := sum{}
		for b := range bounds {
			left = left.plus(in[b])
			for _, c := range []cut{{feature: k, bin: b, left: left},
				{feature: k, bin: b, left: left.plus(absent), absentLeft: true}} {
				right := total.less(c.left)
				if c.left.n < g.least || right.n < g.least {
					continue
				}
				if c.gain = c.left.worth() + right.worth() - total.worth(); c.gain > best.gain {
					best = c
				}
				if absent.n == 0 {
					break
				}
			}
		}
	}
	return best
}

// model is the judge with the first trees.
func (g *boosting) model(trees int) *all.TrainedJudge {
	j := &all.TrainedJudge{Format: all.JudgeFormat, Label: all.JudgeLabel{Max: 1}, Offset: g.offset,
		Features: slices.Clone(g.features)}
	for k := range j.Features {
		if j.Features[k].Deviation == 0 {
			j.Features[k].Deviation = 1
		}
	}
	for _, t := range g.trees[:min(trees, len(g.trees))] {
		j.Trees = append(j.Trees, slices.Clone(t))
	}
	return j
}
