// Package judge trains judges: small models that predict people's labels from the values of metrics, by nested
// cross-validation.
//
// [Train] does it in steps:
//
//  1. The rows are dealt into k folds, those of a group into one fold, so that no question is learned from and tested
//     on.
//  2. For each fold a judge is fitted to the other rows. Its hyperparameters (linear or trees, the strength of the
//     regularisation, how many trees) are chosen on those rows alone, by an inner cross-validation.
//  3. The figures are computed from the held-out predictions: nothing in that judge has seen those rows.
//  4. The judge that is kept is fitted to all rows in the same way.
//
// The model itself is a [all.TrainedJudge], so that what is trained and what scores cannot differ.
package judge

import (
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics/all"
)

// A Table is labelled rows with the values of metrics.
type Table struct {
	Features []string    // names of metrics
	Rows     [][]float64 // the values of each row, NaN where the metric does not apply
	Labels   []float64   // in [0, 1]: 0 is the lowest label
	Groups   []string    // "": the row is in none; nil: no row is in one
	Sources  []int       // which data the row is of, counted from 0; nil where that plays no part
	Signs    []int       // 1 where a feature may only raise the label, -1 where only lower it; nil: all may do both
}

// only is the table of some of the rows.
func (t *Table) only(rows []int) *Table {
	part := &Table{Features: t.Features, Signs: t.Signs}
	for _, i := range rows {
		part.Rows, part.Labels = append(part.Rows, t.Rows[i]), append(part.Labels, t.Labels[i])
		if t.Groups != nil {
			part.Groups = append(part.Groups, t.Groups[i])
		}
		if t.Sources != nil {
			part.Sources = append(part.Sources, t.Sources[i])
		}
	}
	return part
}

// weights are what the rows count in fitting: where sources are told apart, each source as much as any other, and all
// together as many as there are rows.
func (t *Table) weights() []float64 {
	list, size := make([]float64, len(t.Rows)), map[int]int{}
	for _, s := range t.Sources {
		size[s]++
	}
	for i := range list {
		list[i] = 1
		if t.Sources != nil {
			list[i] = float64(len(t.Rows)) / float64(len(size)*size[t.Sources[i]])
		}
	}
	return list
}

// bySource returns the rows of each source.
func (t *Table) bySource() [][]int {
	list := make([][]int, 1+slices.Max(t.Sources))
	for i, s := range t.Sources {
		list[s] = append(list[s], i)
	}
	return slices.DeleteFunc(list, func(rows []int) bool { return len(rows) == 0 })
}

// deal deals the rows into parts and returns the rows of each. Where sources are told apart, each is a part.
func (t *Table) deal(parts int, seed uint64) [][]int {
	if t.Sources != nil {
		return t.bySource()
	}
	list := make([][]int, parts)
	for i, part := range stats.Folds(len(t.Rows), parts, stats.Options{Seed: seed, Groups: t.Groups}) {
		list[part] = append(list[part], i)
	}
	for len(list) > 0 && len(list[len(list)-1]) == 0 {
		list = list[:len(list)-1]
	}
	return list
}

// without lists the n rows but those of a part.
func without(n int, part []int) []int {
	left := make([]bool, n)
	for _, i := range part {
		left[i] = true
	}
	var rest []int
	for i, out := range left {
		if !out {
			rest = append(rest, i)
		}
	}
	return rest
}

// features describes the columns: what stands in the judge's file of them, without weights. A column that does not vary
// has the deviation 0.
func (t *Table) features() []all.JudgeFeature {
	list := make([]all.JudgeFeature, len(t.Features))
	for k := range list {
		f := &list[k]
		f.Metric = t.Features[k]
		n, sum := 0.0, 0.0
		for _, row := range t.Rows {
			v := row[k]
			if math.IsNaN(v) {
				f.Missing++
				continue
			}
			if n == 0 {
				f.Least, f.Most = v, v
			}
			f.Least, f.Most = min(f.Least, v), max(f.Most, v)
			n++
			sum += v
		}
		f.Optional = f.Missing > 0
		if n == 0 {
			continue
		}
		f.Mean = sum / n
		square := 0.0
		for _, row := range t.Rows {
			if v := row[k]; !math.IsNaN(v) {
				square += (v - f.Mean) * (v - f.Mean)
			}
		}
		if f.Most > f.Least {
			f.Deviation = math.Sqrt(square / n)
		}
	}
	return list
}

// loss is the mean log loss of log odds. Labels between 0 and 1 are shares.
func loss(odds, labels []float64) float64 {
	sum := 0.0
	for i, z := range odds {
		sum += rowLoss(z, labels[i])
	}
	return sum / float64(len(odds))
}

func rowLoss(odds, label float64) float64 {
	return max(odds, 0) + math.Log1p(math.Exp(-math.Abs(odds))) - label*odds
}

// clearly reports whether other has a lower log loss than odds by more than the standard error of the difference,
// in which the rows of a group count as one.
func (t *Table) clearly(other, odds []float64) bool {
	var gains []float64
	place := map[string]int{}
	for i, label := range t.Labels {
		gain := rowLoss(odds[i], label) - rowLoss(other[i], label)
		if t.Groups == nil || t.Groups[i] == "" {
			gains = append(gains, gain)
			continue
		}
		k, seen := place[t.Groups[i]]
		if !seen {
			k = len(gains)
			place[t.Groups[i]], gains = k, append(gains, 0)
		}
		gains[k] += gain
	}
	total, squares := 0.0, 0.0
	for _, g := range gains {
		total, squares = total+g, squares+g*g
	}
	return total > math.Sqrt(squares)
}

// prior is the log odds of the labels' mean with add-one smoothing, so that few rows show no certainty.
func prior(labels []float64) float64 {
	up, n := 1.0, 2.0
	for _, y := range labels {
		up, n = up+y, n+1
	}
	return math.Log(up / (n - up))
}
