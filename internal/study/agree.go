package study

import (
	"context"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// An Agreement is what --format json prints: what is said of the first metric, with the others beside it.
type Agreement struct {
	MetricAgreement
	Raters      *RaterAgreement   `json:"raters,omitempty"`
	Metrics     []MetricAgreement `json:"metrics"` // the first one too
	Differences []AgreeDifference `json:"differences,omitempty"`
	Binary      bool              `json:"-"` // the labels are true and false
}

// A MetricAgreement is how far one metric agrees with the labels. What makes no sense for them is absent.
type MetricAgreement struct {
	Metric        string       `json:"metric"`
	Field         string       `json:"field"`
	N             int          `json:"n"`
	LeftOut       int          `json:"left_out"` // labelled samples without a score
	LowerIsBetter bool         `json:"lower_is_better,omitempty"`
	Spearman      *Estimate    `json:"spearman,omitempty"`
	Kendall       *Estimate    `json:"kendall,omitempty"`
	Pearson       *Estimate    `json:"pearson,omitempty"`
	AUC           *Estimate    `json:"auc,omitempty"`
	Majority      *float64     `json:"majority,omitempty"` // the accuracy of always giving the more frequent label
	AtThreshold   *AtThreshold `json:"at_threshold,omitempty"`
	BestThreshold *AtThreshold `json:"best_threshold,omitempty"`
	Brier         *Estimate    `json:"brier,omitempty"`
	Calibration   *Reliability `json:"calibration,omitempty"`
	Warnings      []string     `json:"warnings,omitempty"`
}

// AtThreshold is how good a threshold is.
type AtThreshold struct {
	Threshold      float64   `json:"threshold"`
	Accuracy       *Estimate `json:"accuracy"`
	Kappa          *Estimate `json:"kappa,omitempty"`
	MCC            *Estimate `json:"mcc,omitempty"`             // Matthews' correlation coefficient
	Precision      *Estimate `json:"precision,omitempty"`       // absent where no row is said to be true
	Recall         *Estimate `json:"recall,omitempty"`          // sensitivity, TPR
	Specificity    *Estimate `json:"specificity,omitempty"`     // TNR
	Said           *Share    `json:"said,omitempty"`            // of all rows with a score, those that are said to be true
	CrossValidated bool      `json:"cross_validated,omitempty"` // the accuracy is of thresholds found on other rows
}

// A Share is how many rows a metric says are true, and how many are if it errs on all rows as on the labelled ones.
type Share struct {
	Rows      int       `json:"rows"` // with a score, labelled or not
	Said      int       `json:"said"`
	Corrected *Estimate `json:"corrected,omitempty"` // Rogan and Gladen's
}

// Reliability is how well scores are calibrated as probabilities.
type Reliability struct {
	Error    float64 `json:"error"`
	Expected float64 `json:"expected"` // the error that perfectly calibrated scores would show at this n
	P        float64 `json:"p"`
	Bins     []Bin   `json:"bins"` // a reliability diagram
}

// A Bin is the rows whose scores lie in a tenth of [0, 1].
type Bin struct {
	N     int     `json:"n"`
	Score float64 `json:"score"` // the mean
	Label float64 `json:"label"` // the mean
}

func newReliability(r stats.Reliability) *Reliability {
	c := &Reliability{Error: r.Error, Expected: r.Expected, P: r.P}
	for _, b := range r.Bins {
		c.Bins = append(c.Bins, Bin{b.N, b.Score, b.Target})
	}
	return c
}

// AgreeDifference compares two metrics on the same rows.
type AgreeDifference struct {
	First      string   `json:"first"`
	Second     string   `json:"second"`
	Measure    string   `json:"measure"` // spearman or auc
	N          int      `json:"n"`
	Difference float64  `json:"difference"` // the second's less the first's
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	P          float64  `json:"p"`
	PHolm      float64  `json:"p_holm"`
}

// Agree says how far metrics agree with labels.
func Agree(ctx context.Context, run *runs.Scores, l *labels.Set, o AgreeOptions) (*Agreement, error) {
	list, err := o.candidates(run, l)
	if err != nil {
		return nil, err
	}
	draw := drawing(ctx, o.Seed)
	a := &Agreement{Binary: l.Binary()}
	for _, c := range list {
		m := match(l, run, c.scores, c.lowerIsBetter)
		r := MetricAgreement{Metric: c.name, Field: l.Field, N: len(m.ids), LeftOut: len(l.Ratings) - len(m.ids),
			LowerIsBetter: c.lowerIsBetter}
		if run.Surveys[c.name] != nil {
			r.warn("the metric was asked about some rows only, not all as likely: what follows is of those rows, unweighted")
		}
		r.correlate(m, draw)
		if a.Binary {
			r.classify(m, c, o.Threshold, draw)
		}
		a.Metrics = append(a.Metrics, r)
	}
	a.MetricAgreement = a.Metrics[0]
	a.Raters = ratersOf(l, run, draw)
	a.compare(run, l, list, draw)
	return a, ctx.Err()
}

// keep returns the estimate as it is printed, or a warning where there is none.
func (r *MetricAgreement) keep(what string, e stats.Estimate, err error) *Estimate {
	if err != nil {
		r.warn("no " + what + ": " + err.Error())
		return nil
	}
	for _, w := range e.Warnings {
		r.warn(w)
	}
	return newEstimate(e.Value, e.Interval)
}

// warn keeps a warning once: measures of the same rows have the same ones.
func (r *MetricAgreement) warn(w string) {
	if !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

func (r *MetricAgreement) correlate(m matched, o stats.Options) {
	o = in(o, m.groups)
	for _, c := range []struct {
		what string
		of   func(x, y []float64, o stats.Options) (stats.Estimate, error)
		into **Estimate
	}{{"spearman", stats.Spearman, &r.Spearman}, {"kendall", stats.Kendall, &r.Kendall},
		{"pearson", stats.Pearson, &r.Pearson}} {
		e, err := c.of(m.scores, m.labels, o)
		*c.into = r.keep(c.what, e, err)
	}
}

func (r *MetricAgreement) classify(all matched, c candidate, threshold *float64, o stats.Options) {
	m, truth := all.truths()
	if n := len(all.ids) - len(m.ids); n > 0 {
		r.warn(fmt.Sprintf("%d samples on which the raters are equally divided are left out of auc, accuracy and "+
			"what follows", n))
	}
	o = in(o, m.groups)
	e, err := stats.AUC(m.scores, truth, o)
	if r.AUC = r.keep("auc", e, err); r.AUC == nil {
		return
	}
	share := 0.0
	for _, y := range m.labels {
		share += y / float64(len(truth))
	}
	share = max(share, 1-share)
	r.Majority = &share
	sign := 1.0 // scores whose low values are good were negated
	if c.lowerIsBetter {
		sign = -1
	}
	at := sign * (c.min + c.max) / 2
	if threshold != nil {
		at = sign * *threshold
	}
	if threshold != nil || c.min < c.max {
		r.AtThreshold = r.at(m, truth, at, o)
		r.AtThreshold.Threshold = sign * at
		r.errors(m, truth, at, o)
		r.said(c, sign, at, m, truth)
	}
	best, _ := stats.BestThreshold(m.scores, truth)
	expected := stats.CrossValidatedAccuracy(m.scores, truth, o)
	r.BestThreshold = &AtThreshold{Threshold: sign * best, Accuracy: newEstimate(expected.Mean, expected.Interval),
		CrossValidated: true}
	if c.min == 0 && c.max == 1 && !c.lowerIsBetter {
		r.probability(m, o)
	}
}

func (r *MetricAgreement) at(m matched, truth []bool, threshold float64, o stats.Options) *AtThreshold {
	accuracy := stats.Accuracy(m.scores, truth, threshold, o)
	said := make([]float64, len(m.scores))
	for i, v := range m.scores {
		said[i] = boolean(v >= threshold)
	}
	kappa, err := stats.CohenKappa(said, m.labels, stats.Unweighted, o)
	return &AtThreshold{Accuracy: newEstimate(accuracy.Mean, accuracy.Interval), Kappa: r.keep("kappa", kappa, err)}
}

// errors are how often a threshold errs, of what kind.
func (r *MetricAgreement) errors(m matched, truth []bool, threshold float64, o stats.Options) {
	a, said := r.AtThreshold, m.above(threshold)
	mcc, err := stats.MCC(said, truth, o)
	a.MCC = r.keep("MCC", mcc, err)
	c := stats.Confused(said, truth, o)
	for into, share := range map[**Estimate]stats.Summary{&a.Precision: c.Precision, &a.Recall: c.Recall,
		&a.Specificity: c.Specificity} {
		if share.N > 0 {
			*into = newEstimate(share.Mean, share.Interval)
		}
	}
}

// said counts all rows that score above a threshold, labelled or not, and corrects their share by the errors on those that
// are labelled.
func (r *MetricAgreement) said(c candidate, sign, threshold float64, m matched, truth []bool) {
	s := &Share{}
	for _, v := range c.scores {
		s.Rows++
		if sign*v >= threshold {
			s.Said++
		}
	}
	r.AtThreshold.Said = s
	e, err := stats.RoganGladen(s.Said, s.Rows, stats.Count(m.above(threshold), truth), 0)
	s.Corrected = r.keep("corrected share", e, err)
}

// above reports of each row whether its score is the threshold or more.
func (m matched) above(threshold float64) []bool {
	said := make([]bool, len(m.scores))
	for i, v := range m.scores {
		said[i] = v >= threshold
	}
	return said
}

func (r *MetricAgreement) probability(m matched, o stats.Options) {
	b := stats.Brier(m.scores, m.labels, o)
	r.Brier = newEstimate(b.Mean, b.Interval)
	c, err := stats.Calibration(m.scores, m.labels, o)
	if err != nil {
		r.warn("no calibration error: " + err.Error())
		return
	}
	r.Calibration = newReliability(c)
}

// compare sets every further candidate against the first, on the rows that both scored.
func (a *Agreement) compare(run *runs.Scores, l *labels.Set, list []candidate, o stats.Options) {
	first := list[0]
	var ps []float64
	for _, c := range list[1:] {
		x, y := match(l, run, first.scores, first.lowerIsBetter), match(l, run, c.scores, c.lowerIsBetter)
		x, y = x.only(c.scores), y.only(first.scores)
		d := AgreeDifference{First: first.name, Second: c.name, Measure: "spearman", N: len(x.ids)}
		var diff stats.Difference
		var err error
		if a.Binary {
			d.Measure = "auc"
			kept, truth := x.truths()
			other, _ := y.truths()
			d.N = len(kept.ids)
			diff, err = stats.AUCDifference(kept.scores, other.scores, truth, in(o, kept.groups))
		} else {
			diff, err = stats.SpearmanDifference(x.scores, y.scores, x.labels, in(o, x.groups))
		}
		if err != nil {
			a.Metrics[0].warn(fmt.Sprintf("no difference to %s: %v", c.name, err))
			continue
		}
		d.Difference, d.P = diff.Value, diff.P
		if i := diff.Interval; i != nil {
			d.Lo, d.Hi = &i.Lo, &i.Hi
		}
		a.Differences = append(a.Differences, d)
		ps = append(ps, d.P)
	}
	a.MetricAgreement = a.Metrics[0]
	for i, p := range stats.Holm(ps) {
		a.Differences[i].PHolm = p
	}
}
