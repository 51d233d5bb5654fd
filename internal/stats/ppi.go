package stats

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Prediction-powered inference estimates the mean of labels that few rows have from scores that all rows have: the
// mean score, corrected by how far scores and labels are apart where both are known (the rectifier). It is valid
// however bad the scores are; good ones reduce its variance.

// Normal is the interval of a mean of many rows by the normal distribution.
const Normal Method = "normal"

// A PPI is a prediction-powered estimate of the mean label.
type PPI struct {
	Estimate  float64
	Interval  Interval
	Lambda    float64 // how far the scores are relied on: 0, not at all; 1, as in the first paper
	Labelled  int     // rows with label and score
	Scored    int     // further rows, with a score only
	Classical float64 // the mean of the labels alone
	Alone     Interval
	Imputed   float64 // the mean of all scores, which has their bias
	Effective float64 // the effective sample size: how many labels alone would give as short an interval
	Warnings  []string

	model ppiModel
}

// ppiModel is what the width of an interval depends on, to plan with.
type ppiModel struct {
	label, score, both float64 // variance of the labels and of the scores, and their covariance; per row
	scored             int
	z                  float64
}

// NewPPI estimates the mean label by PPI++ (Angelopoulos, Duchi and Zrnic 2023, arXiv:2311.01453, section 6.1):
//
//	estimate = λ mean(f') + mean(y - λ f)
//	variance = λ² Var(f')/N + Var(y - λ f)/n
//	λ        = Cov(y, f) / ((1 + n/N) Var(f, f')), kept in [0, 1]
//
// for n rows with label y and score f and N others with score f'. Variances are population variances, as there. The
// groups in o are those of the labelled rows and then of the others; rows of one group are then taken together. Labels
// that are all equal show no variance, and so none that scores could explain: then λ is 0 and the interval the [Exact]
// one, for which o must say what labels could be.
func NewPPI(labels, scores, others []float64, o Options) (*PPI, error) {
	return newPPI(labels, scores, others, -1, o)
}

// NewPlainPPI is the estimate with λ = 1 (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, Science 382), which
// ARES uses. It is also right where the labelled rows are no sample of the others, as long as scores are as far from
// labels in both. Where they are as far from them in all labelled rows, the exact interval of that is added.
func NewPlainPPI(labels, scores, others []float64, o Options) (*PPI, error) {
	return newPPI(labels, scores, others, 1, o)
}

func newPPI(labels, scores, others []float64, lambda float64, o Options) (*PPI, error) {
	n := len(labels)
	if n < 2 {
		return nil, fmt.Errorf("%d rows with label and score: two are the least, and fifty advisable", n)
	}
	p := &PPI{Labelled: n, Scored: len(others)}
	p.model = newPPIModel(labels, scores, others, o.level())
	p.Lambda = p.model.lambda(n)
	if lambda >= 0 {
		p.Lambda = lambda
	}
	if len(others) == 0 {
		p.Lambda = 0
		p.warn("every row has a label: the scores add nothing")
	}
	part := newParts(labels, scores, others, o)
	var deviation, alone float64
	p.Estimate, deviation = part.estimate(p.Lambda)
	p.Classical, alone = part.estimate(0)
	p.Imputed = (sum(scores) + sum(others)) / float64(n+len(others))
	p.Interval = normalInterval(p.Estimate, deviation, o.level())
	p.Alone = normalInterval(p.Classical, alone, o.level())
	if deviation > 0 {
		p.Effective = float64(n) * alone * alone / (deviation * deviation)
	}
	if n < 50 {
		p.warn("only %d labels: the interval is rough below 50", n)
	}
	if err := p.bound(part, o); err != nil {
		return nil, err
	}
	if p.Lambda == 0 && p.model.label > 0 && len(others) > 0 && lambda < 0 {
		p.warn("the scores do not go with the labels: the estimate is that of the labels alone")
	}
	if part.units > 0 {
		p.warn("%d rows in %d groups, which are not independent: the interval is over the groups",
			n+len(others), part.units)
	}
	return p, nil
}

// bound puts the exact interval where labels, or their distances from the scores, are all equal.
func (p *PPI) bound(rows parts, o Options) error {
	n := len(rows.labels)
	units := n
	if rows.groups != nil {
		units = len(unitsOf(n, o.Groups[:n]))
	}
	equal := func(value func(i int) float64) bool {
		for i := range n {
			if value(i) != value(0) {
				return false
			}
		}
		return true
	}
	if equal(func(i int) float64 { return rows.labels[i] }) {
		if o.Min == o.Max {
			return fmt.Errorf("all %d labels are equal, and what else they could be is not known: label more rows", n)
		}
		p.Alone = exactly(rows.labels[0], units, o)
		if p.Lambda == 0 {
			p.Interval = p.Alone
		}
		p.warn("all %d labels are %v: the interval says how far others could pull the mean", n, rows.labels[0])
	}
	apart := func(i int) float64 { return rows.labels[i] - rows.scores[i] }
	if p.Lambda == 1 && o.Min < o.Max && equal(apart) {
		o.Min, o.Max = o.Min-o.Max, o.Max-o.Min
		more := exactly(apart(0), units, o)
		p.Interval.Lo += more.Lo - apart(0)
		p.Interval.Hi += more.Hi - apart(0)
		p.warn("scores are as far from the labels in all %d rows: the interval says how far others could be", n)
	}
	return nil
}

func (p *PPI) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// LabelsFor plans: how many labels would make the interval as short as the given width, the other rows staying as many
// as they are, and how many labels alone would. It takes rows for independent.
func (p *PPI) LabelsFor(width float64) (withScores, alone int, err error) {
	if !(width > 0) {
		return 0, 0, errors.New("the width of an interval is positive")
	}
	half := width / 2 / p.model.z
	need := func(variance func(n int) float64) int {
		lo, hi := 0, 2
		for variance(hi) > half*half {
			lo, hi = hi, 2*hi
			if hi > 1<<40 {
				break
			}
		}
		for hi-lo > 1 {
			if middle := (lo + hi) / 2; variance(middle) > half*half {
				lo = middle
			} else {
				hi = middle
			}
		}
		return hi
	}
	return need(p.model.variance), need(func(n int) float64 { return p.model.label / float64(n) }), nil
}

func newPPIModel(labels, scores, others []float64, level float64) ppiModel {
	var y, all moments
	for _, v := range labels {
		y.add(v)
	}
	for _, v := range scores {
		all.add(v)
	}
	f := all.mean
	for _, v := range others {
		all.add(v)
	}
	m := ppiModel{scored: len(others), z: distuv.UnitNormal.Quantile((1 + level) / 2)}
	m.label, m.score = y.m2/float64(y.n), all.m2/float64(all.n)
	for i := range labels {
		m.both += (labels[i] - y.mean) * (scores[i] - f) / float64(y.n)
	}
	return m
}

// lambda is the power-tuning parameter that is best with n labels.
func (m ppiModel) lambda(n int) float64 {
	if m.score <= 0 || m.scored == 0 {
		return 0
	}
	return min(max(m.both/((1+float64(n)/float64(m.scored))*m.score), 0), 1)
}

// variance is that of the estimate with n labels.
func (m ppiModel) variance(n int) float64 {
	l := m.lambda(n)
	v := (m.label - 2*l*m.both + l*l*m.score) / float64(n)
	if m.scored > 0 {
		v += l * l * m.score / float64(m.scored)
	}
	return v
}

// parts are the rows of a PPI, ready to be estimated from with any λ.
type parts struct {
	labels, scores, others []float64
	groups                 [][]int // nil if rows are independent
	units                  int     // groups; 0 if rows are independent
}

func newParts(labels, scores, others []float64, o Options) parts {
	p := parts{labels: labels, scores: scores, others: others}
	n := len(labels) + len(others)
	if units := unitsOf(n, o.Groups); len(units) < n {
		p.groups, p.units = units, len(units)
	}
	return p
}

// estimate returns the estimate and its standard error, which adds up what each row, or each group (cluster-robust),
// contributes to the estimate's deviation.
func (p parts) estimate(lambda float64) (value, deviation float64) {
	n, m := float64(len(p.labels)), float64(len(p.others))
	rest := make([]float64, 0, len(p.labels)+len(p.others))
	for i, y := range p.labels {
		rest = append(rest, y-lambda*p.scores[i])
	}
	first := sum(rest) / n
	for i := range rest {
		rest[i] = (rest[i] - first) / n
	}
	value = first
	if lambda != 0 && m > 0 {
		mean := sum(p.others) / m
		value += lambda * mean
		for _, f := range p.others {
			rest = append(rest, lambda*(f-mean)/m)
		}
	}
	if p.groups == nil {
		squares := 0.0
		for _, v := range rest {
			squares += v * v
		}
		return value, math.Sqrt(squares)
	}
	squares, used := 0.0, 0.0
	for _, rows := range p.groups {
		part, any := 0.0, false
		for _, i := range rows {
			if i < len(rest) {
				part += rest[i]
				any = true
			}
		}
		squares += part * part
		if any {
			used++
		}
	}
	if used > 1 {
		squares *= used / (used - 1)
	}
	return value, math.Sqrt(squares)
}

func normalInterval(v, deviation, level float64) Interval {
	half := distuv.UnitNormal.Quantile((1+level)/2) * deviation
	return Interval{Lo: v - half, Hi: v + half, Level: level, Method: Normal}
}

// P is the two-sided p-value of the hypothesis that the mean label is v.
func (p *PPI) P(v float64) float64 {
	return NormalP(p.Estimate-v, (p.Interval.Hi-p.Interval.Lo)/2, p.Interval.Level)
}

// NormalMean is the mean of values with its normal interval; values of one group are taken together.
func NormalMean(values []float64, o Options) (float64, Interval) {
	mean, deviation := newParts(values, make([]float64, len(values)), nil, o).estimate(0)
	return mean, normalInterval(mean, deviation, o.level())
}

func sum(values []float64) float64 {
	s := 0.0
	for _, v := range values {
		s += v
	}
	return s
}

// NormalP is the two-sided p-value of the hypothesis that a value is 0 whose normal interval, at a level, reaches so
// far to either side.
func NormalP(v, half, level float64) float64 {
	if half == 0 {
		return 1
	}
	return 2 * distuv.UnitNormal.CDF(-math.Abs(v)/half*distuv.UnitNormal.Quantile((1+level)/2))
}
