package study

import (
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// RaterAgreement is how far raters agree with each other.
type RaterAgreement struct {
	Raters int       `json:"raters"`
	N      int       `json:"n"`               // samples with two ratings or more
	Alpha  Alphas    `json:"alpha"`           // Krippendorff's
	Kappa  *Estimate `json:"kappa,omitempty"` // Cohen's, of two raters, with quadratic weights
	// the rank correlation of each rater with the mean of the others; null where there is none
	Others []*Estimate `json:"one_with_others"`
}

// Alphas are Krippendorff's alpha on three scales.
type Alphas struct {
	Nominal  *Estimate `json:"nominal,omitempty"`
	Ordinal  *Estimate `json:"ordinal,omitempty"`
	Interval *Estimate `json:"interval,omitempty"`
}

// ratersOf says how far the raters agree with each other; nil if there is one only.
func ratersOf(l *labels.Set, run *runs.Scores, draw stats.Options) *RaterAgreement {
	if l.Raters < 2 {
		return nil
	}
	r := &RaterAgreement{Raters: l.Raters}
	var units [][]float64
	var groups []string
	one, rest, of := make([][]float64, l.Raters), make([][]float64, l.Raters), make([][]string, l.Raters)
	for _, id := range run.Samples {
		list := l.Ratings[id]
		if len(list) < 2 {
			continue
		}
		r.N++
		unit := make([]float64, len(list))
		total := labels.Mean(list) * float64(len(list))
		for i, x := range list {
			unit[i] = x.Value
			one[x.Rater] = append(one[x.Rater], x.Value)
			rest[x.Rater] = append(rest[x.Rater], (total-x.Value)/float64(len(list)-1))
			of[x.Rater] = append(of[x.Rater], l.GroupOf(run, id))
		}
		units, groups = append(units, unit), append(groups, l.GroupOf(run, id))
	}
	o := in(draw, groups)
	alpha := func(scale stats.Scale) *Estimate {
		if e, err := stats.Krippendorff(units, scale, o); err == nil {
			return newEstimate(e.Value, e.Interval)
		}
		return nil
	}
	r.Alpha = Alphas{alpha(stats.Nominal), alpha(stats.Ordinal), alpha(stats.IntervalData)}
	if l.Raters == 2 {
		if e, err := stats.CohenKappa(one[0], one[1], stats.Quadratic, o); err == nil {
			r.Kappa = newEstimate(e.Value, e.Interval)
		}
	}
	for k := range one {
		var other *Estimate
		if e, err := stats.Spearman(one[k], rest[k], in(draw, of[k])); err == nil {
			other = newEstimate(e.Value, e.Interval)
		}
		r.Others = append(r.Others, other)
	}
	return r
}
