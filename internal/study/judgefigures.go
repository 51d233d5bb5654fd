package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics/all"
)

// JudgeFigures are what is measured of a trained judge.
type JudgeFigures struct {
	On      string            `json:"on"` // "rows not fitted to" or "other data"
	Judge   MetricAgreement   `json:"judge"`
	LogLoss *float64          `json:"log_loss,omitempty"` // of labels that are true and false
	Alone   []MetricAgreement `json:"alone"`              // each feature by itself, on the rows that have it
	Better  []AgreeDifference `json:"differences"`        // the judge less the feature that agrees most by itself
}

// figures measures predictions, and each feature by itself, the one that agrees most first.
func (r *JudgeRows) figures(name string, predicted []float64, o stats.Options) (JudgeFigures, error) {
	var f JudgeFigures
	every := r.matched(func(judgeRow) bool { return true }, func(i int) float64 { return predicted[i] })
	if len(every.ids) < 3 {
		return f, runs.Inputf("%d rows are too few to say anything", len(every.ids))
	}
	field := r.label.Field
	f.Judge = r.measure(candidate{name: name, min: r.label.Min, max: r.label.Max}, every, field, o)
	if r.binary {
		loss := stats.LogLoss(clamped(predicted), every.labels)
		f.LogLoss = &loss
	}
	for k, feature := range r.features {
		m := r.column(k)
		if len(m.ids) < 3 {
			continue
		}
		of, err := all.Select([]string{feature}, r.asked.Named()...)
		if err != nil {
			return f, err
		}
		c := candidate{name: feature, min: of[0].Min, max: of[0].Max, lowerIsBetter: of[0].LowerIsBetter}
		a := r.measureQuickly(c, m, field, o)
		f.Alone = append(f.Alone, a)
	}
	slices.SortStableFunc(f.Alone, func(a, b MetricAgreement) int {
		// those that most rows lack come last
		few := func(m MetricAgreement) int { return int(boolean(2*m.N < len(every.ids))) }
		return cmp.Or(cmp.Compare(few(a), few(b)), cmp.Compare(b.strength(), a.strength()))
	})
	if len(f.Alone) > 0 {
		best := slices.Index(r.features, f.Alone[0].Metric)
		mine := r.matched(func(row judgeRow) bool { return !math.IsNaN(row.values[best]) },
			func(i int) float64 { return predicted[i] })
		f.compare(mine, r.column(best), r.binary, o)
	}
	if o.Err != nil {
		return f, o.Err()
	}
	return f, nil
}

func clamped(predicted []float64) []float64 {
	list := slices.Clone(predicted)
	for i, p := range list {
		list[i] = min(max(p, 1e-9), 1-1e-9)
	}
	return list
}

// matched pairs the labels of those rows that are wanted with a score for each.
func (r *JudgeRows) matched(wanted func(judgeRow) bool, score func(i int) float64) matched {
	var m matched
	grouped := r.grouped()
	for i, row := range r.rows {
		if !wanted(row) {
			continue
		}
		m.ids, m.scores, m.labels = append(m.ids, row.id), append(m.scores, score(i)), append(m.labels, row.label)
		if grouped {
			m.groups = append(m.groups, row.group)
		}
	}
	return m
}

// column is the scores of one feature, on the rows that have it.
func (r *JudgeRows) column(k int) matched {
	return r.matched(func(row judgeRow) bool { return !math.IsNaN(row.values[k]) },
		func(i int) float64 { return r.rows[i].values[k] })
}

// grouped reports whether any two rows are of one group.
func (r *JudgeRows) grouped() bool {
	seen := map[string]bool{}
	for _, row := range r.rows {
		if row.group != "" && seen[row.group] {
			return true
		}
		seen[row.group] = true
	}
	return false
}

func (r *JudgeRows) measure(c candidate, m matched, field string, o stats.Options) MetricAgreement {
	a := MetricAgreement{Metric: c.name, Field: field, N: len(m.ids)}
	a.correlate(m, o)
	if r.binary {
		a.classify(m, c, nil, o)
	}
	return a
}

// measureQuickly leaves out what a feature by itself is not asked for.
func (r *JudgeRows) measureQuickly(c candidate, m matched, field string, o stats.Options) MetricAgreement {
	a := MetricAgreement{Metric: c.name, Field: field, N: len(m.ids), LowerIsBetter: c.lowerIsBetter}
	o = in(o, m.groups)
	if r.binary {
		kept, truth := m.truths()
		e, err := stats.AUC(kept.scores, truth, in(o, kept.groups))
		a.AUC = a.keep("auc", e, err)
		return a
	}
	e, err := stats.Spearman(m.scores, m.labels, o)
	a.Spearman = a.keep("spearman", e, err)
	return a
}

// strength is how far a metric agrees, in either direction.
func (a *MetricAgreement) strength() float64 {
	switch {
	case a.AUC != nil:
		return math.Abs(2*a.AUC.Value - 1)
	case a.Spearman != nil:
		return math.Abs(a.Spearman.Value)
	}
	return 0
}

// compare sets the judge against the feature that agrees most by itself, both on the rows that have that feature, which
// is turned so that high scores go with high labels.
func (f *JudgeFigures) compare(mine, other matched, binary bool, o stats.Options) {
	if a := f.Alone[0]; a.AUC != nil && a.AUC.Value < 0.5 || a.AUC == nil && a.Spearman != nil && a.Spearman.Value < 0 {
		for i := range other.scores {
			other.scores[i] *= -1
		}
	}
	d := AgreeDifference{First: f.Alone[0].Metric, Second: f.Judge.Metric, Measure: "spearman", N: len(mine.ids)}
	var diff stats.Difference
	var err error
	if binary {
		d.Measure = "auc"
		kept, truth := mine.truths()
		first, _ := other.truths()
		d.N = len(kept.ids)
		diff, err = stats.AUCDifference(first.scores, kept.scores, truth, in(o, kept.groups))
	} else {
		diff, err = stats.SpearmanDifference(other.scores, mine.scores, mine.labels, in(o, mine.groups))
	}
	if err != nil {
		f.Judge.warn(fmt.Sprintf("no difference to %s: %v", d.First, err))
		return
	}
	d.Difference, d.P, d.PHolm = diff.Value, diff.P, diff.P
	if i := diff.Interval; i != nil {
		d.Lo, d.Hi = &i.Lo, &i.Hi
	}
	f.Better = append(f.Better, d)
}
