package study

import (
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics/all"
)

// SourceFigures are what a judge is worth on each source of its labels, there fitted to the other sources only: how far
// it holds where it was not trained.
type SourceFigures struct {
	Sources []SourceFigure `json:"sources"`

	// Means over the sources. Differences have an interval by the normal approximation, from those of the sources.
	Judge    float64            `json:"judge"`
	Mean     float64            `json:"mean"`  // of the plain mean of the standardised features
	Alone    map[string]float64 `json:"alone"` // of each feature by itself
	LessMean AgreeDifference    `json:"less_mean"`
	LessBest AgreeDifference    `json:"less_best"` // less the feature with the highest mean
}

// A SourceFigure is what a judge that was fitted to other sources is worth on one.
type SourceFigure struct {
	Dataset  string             `json:"dataset"`
	N        int                `json:"n"`
	Measure  string             `json:"measure"` // "auc" where labels are true and false, else "spearman"
	Judge    *Estimate          `json:"judge"`
	Mean     float64            `json:"mean"`
	Alone    map[string]float64 `json:"alone"`
	LessMean AgreeDifference    `json:"less_mean"`
	LessBest AgreeDifference    `json:"less_best"` // less the feature that agrees most here, which was picked on these rows
}

// bySource measures held-out predictions on each source.
func (r *JudgeRows) bySource(name string, predicted []float64, o stats.Options) (*SourceFigures, error) {
	signs, err := r.signs()
	if err != nil {
		return nil, err
	}
	columns := r.columns(signs)
	f := &SourceFigures{Alone: map[string]float64{}}
	for i, set := range r.sets {
		one, err := r.onSource(i, name, predicted, columns, o)
		if err != nil {
			return nil, runs.Inputf("%s: %v", set.Dataset, err)
		}
		f.Sources = append(f.Sources, *one)
	}
	n := float64(len(f.Sources))
	for _, s := range f.Sources {
		f.Judge += s.Judge.Value / n
		f.Mean += s.Mean / n
		for feature, v := range s.Alone {
			f.Alone[feature] += v / n
		}
	}
	best := r.features[0]
	for _, feature := range r.features {
		if f.Alone[feature] > f.Alone[best] {
			best = feature
		}
	}
	var lessBest []AgreeDifference
	for i := range r.sets {
		d, err := r.against(i, best, name, columns[slices.Index(r.features, best)], predicted, o)
		if err != nil {
			return nil, runs.Inputf("%s: %v", r.sets[i].Dataset, err)
		}
		lessBest = append(lessBest, d)
	}
	f.LessBest = meanDifference(lessBest)
	var lessMean []AgreeDifference
	for _, s := range f.Sources {
		lessMean = append(lessMean, s.LessMean)
	}
	f.LessMean = meanDifference(lessMean)
	return f, nil
}

// signs are, for each feature, 1 where its high values are good and -1 where its low ones are.
func (r *JudgeRows) signs() ([]int, error) {
	signs := make([]int, len(r.features))
	for k, feature := range r.features {
		of, err := all.Select([]string{feature})
		if err != nil {
			return nil, err
		}
		signs[k] = 1
		if of[0].LowerIsBetter {
			signs[k] = -1
		}
	}
	return signs, nil
}

// columns are the features' values, standardised, so that high ones are good, and with the mean, 0, where one is
// missing; the last is the mean of the others.
func (r *JudgeRows) columns(signs []int) [][]float64 {
	columns := make([][]float64, len(r.features)+1)
	for k := range columns {
		columns[k] = make([]float64, len(r.rows))
	}
	for k, sign := range signs {
		n, sum, squares := 0.0, 0.0, 0.0
		for _, row := range r.rows {
			if v := row.values[k]; !math.IsNaN(v) {
				n, sum, squares = n+1, sum+v, squares+v*v
			}
		}
		mean := sum / max(n, 1)
		deviation := math.Sqrt(max(squares/max(n, 1)-mean*mean, 1e-12))
		for i, row := range r.rows {
			if v := row.values[k]; !math.IsNaN(v) {
				columns[k][i] = float64(sign) * (v - mean) / deviation
			}
			columns[len(signs)][i] += columns[k][i] / float64(len(signs))
		}
	}
	return columns
}

// onSource measures on the rows of one source.
func (r *JudgeRows) onSource(set int, name string, predicted []float64, columns [][]float64,
	o stats.Options) (*SourceFigure, error) {
	f := &SourceFigure{Dataset: r.sets[set].Dataset, Alone: map[string]float64{}}
	own := r.ofSource(set, predicted)
	f.N = len(own.ids)
	f.Measure = own.measure()
	e, err := own.agreement(in(o, own.groups))
	if err != nil {
		return nil, err
	}
	f.Judge = newEstimate(e.Value, e.Interval)
	best := ""
	for k, feature := range r.features {
		m := r.ofSource(set, columns[k])
		e, err := m.agreement(in(o, m.groups))
		if err != nil {
			e.Value = own.chance() // it says the same of all rows
		}
		if f.Alone[feature] = e.Value; best == "" || e.Value > f.Alone[best] {
			best = feature
		}
	}
	m := r.ofSource(set, columns[len(r.features)])
	if e, err = m.agreement(in(o, m.groups)); err != nil {
		return nil, err
	}
	f.Mean = e.Value
	if f.LessMean, err = r.against(set, "mean of the features", name, columns[len(r.features)], predicted, o); err != nil {
		return nil, err
	}
	f.LessBest, err = r.against(set, best, name, columns[slices.Index(r.features, best)], predicted, o)
	return f, err
}

// against is the judge's agreement less that of another score, on the rows of one source.
func (r *JudgeRows) against(set int, other, name string, scores, predicted []float64,
	o stats.Options) (AgreeDifference, error) {
	mine, theirs := r.ofSource(set, predicted), r.ofSource(set, scores)
	o = in(o, mine.groups)
	d := AgreeDifference{First: other, Second: name, Measure: mine.measure(), N: len(mine.ids)}
	var diff stats.Difference
	var err error
	if d.Measure == "auc" {
		diff, err = stats.AUCDifference(theirs.scores, mine.scores, mine.truth(), o)
	} else {
		diff, err = stats.SpearmanDifference(theirs.scores, mine.scores, mine.labels, o)
	}
	if err != nil {
		return d, err
	}
	d.Difference, d.P, d.PHolm = diff.Value, diff.P, diff.P
	if i := diff.Interval; i != nil {
		d.Lo, d.Hi = &i.Lo, &i.Hi
	}
	return d, nil
}

// ofSource pairs the labels of one source's rows with a score for each row of all.
func (r *JudgeRows) ofSource(set int, scores []float64) matched {
	m := r.matched(func(row judgeRow) bool { return row.set == set }, func(i int) float64 { return scores[i] })
	low, high := slices.Min(m.labels), slices.Max(m.labels)
	for i, v := range m.labels {
		if high > low {
			m.labels[i] = (v - low) / (high - low)
		}
	}
	return m
}

// measure is "auc" where the labels are true and false only.
func (m matched) measure() string {
	if slices.ContainsFunc(m.labels, func(v float64) bool { return v != 0 && v != 1 }) {
		return "spearman"
	}
	return "auc"
}

// chance is what the measure is of a score that says nothing.
func (m matched) chance() float64 {
	if m.measure() == "auc" {
		return 0.5
	}
	return 0
}

func (m matched) truth() []bool {
	list := make([]bool, len(m.labels))
	for i, v := range m.labels {
		list[i] = v == 1
	}
	return list
}

func (m matched) agreement(o stats.Options) (stats.Estimate, error) {
	if m.measure() == "auc" {
		return stats.AUC(m.scores, m.truth(), o)
	}
	return stats.Spearman(m.scores, m.labels, o)
}

const z95 = 1.959964 // of the normal distribution, 95% lie within so many deviations

// meanDifference is the mean of differences on independent sources, with its interval and p by the normal
// approximation; a source without an interval makes the mean have none.
func meanDifference(list []AgreeDifference) AgreeDifference {
	d := AgreeDifference{First: list[0].First, Second: list[0].Second, Measure: "mean", P: 1, PHolm: 1}
	n, variance, whole := float64(len(list)), 0.0, true
	for _, one := range list {
		d.Difference += one.Difference / n
		d.N += one.N
		if one.Lo == nil {
			whole = false
			continue
		}
		deviation := (*one.Hi - *one.Lo) / 2 / z95
		variance += deviation * deviation / (n * n)
	}
	if whole && variance > 0 {
		half := z95 * math.Sqrt(variance)
		lo, hi := d.Difference-half, d.Difference+half
		d.Lo, d.Hi = &lo, &hi
		d.P = math.Erfc(math.Abs(d.Difference) / math.Sqrt(2*variance))
		d.PHolm = d.P
	}
	return d
}
