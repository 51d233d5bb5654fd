package judge

import (
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics/all"
	"gonum.org/v1/gonum/mat"
)

// Logistic regression with a quadratic penalty (le Cessie and van Houwelingen 1992, Applied Statistics 41). Labels may
// be shares: then it is fractional regression (Papke and Wooldridge 1996, Journal of Applied Econometrics
// 11). Columns are standardised, so that one penalty holds for all. Each column that lacks rows has a second
// one, which says where.

// A design is a table made ready for regression.
type design struct {
	features []all.JudgeFeature
	columns  int // two for each feature: its value and its absence
	x        [][]float64
	labels   []float64
	weights  []float64 // what each row counts
	signs    []int     // as in [Table]

	// Where sources are told apart, what is penalised of a feature's weight is its distance from the mean of all, each
	// with its sign: an endless penalty leaves the plain mean of the features, which is hard to beat on data of another
	// kind (Dawes 1979, The robust beauty of improper linear models). Features that are taken out do not count.
	towardsMean bool
	out         []bool
}

func newDesign(t *Table) *design {
	d := &design{features: t.features(), labels: t.Labels, weights: t.weights(), signs: t.Signs,
		towardsMean: t.Sources != nil && t.Signs != nil, out: make([]bool, len(t.Features))}
	d.columns = 2 * len(d.features)
	for _, row := range t.Rows {
		x := make([]float64, d.columns)
		for k, v := range row {
			f := &d.features[k]
			switch {
			case math.IsNaN(v):
				x[len(row)+k] = 1
			case f.Deviation > 0:
				x[k] = (v - f.Mean) / f.Deviation
			}
		}
		d.x = append(d.x, x)
	}
	return d
}

// fit minimises the penalised log loss from start and returns the weights with the offset as the last, which is free. A
// feature whose weight would have the wrong sign is taken out, and the rest is fitted again: an active set, from which
// nothing returns.
func (d *design) fit(penalty float64, start []float64) []float64 {
	w := d.descend(penalty, start)
	for {
		wrong := 0
		for k, sign := range d.signs {
			if float64(sign)*w[k] < 0 {
				if wrong == 0 {
					d = d.copied()
				}
				for i := range d.x {
					d.x[i][k] = 0
				}
				w[k], d.out[k] = 0, true
				wrong++
			}
		}
		if wrong == 0 {
			return w
		}
		w = d.descend(penalty, w)
	}
}

// copied is the design with columns of its own.
func (d *design) copied() *design {
	own := *d
	own.x, own.out = make([][]float64, len(d.x)), slices.Clone(d.out)
	for i, x := range d.x {
		own.x[i] = slices.Clone(x)
	}
	return &own
}

// descend minimises the summed log loss plus half the penalty times the sum of the squared weights, by Newton's method.
func (d *design) descend(penalty float64, start []float64) []float64 {
	w := append([]float64(nil), start...)
	now := d.objective(w, penalty)
	for range 50 {
		step, ok := d.newton(w, penalty)
		if !ok {
			return w
		}
		next := make([]float64, len(w))
		share, then := 1.0, math.Inf(1)
		for ; share > 1e-6; share /= 2 {
			for i := range w {
				next[i] = w[i] - share*step[i]
			}
			if then = d.objective(next, penalty); then <= now {
				break
			}
		}
		if !(then <= now) {
			return w
		}
		w = next
		if now-then < 1e-9*float64(len(d.x)) {
			return w
		}
		now = then
	}
	return w
}

// start is where nothing counts.
func (d *design) start() []float64 {
	w := make([]float64, d.columns+1)
	w[d.columns] = prior(d.labels)
	return w
}

func (d *design) odds(w, x []float64) float64 {
	z := w[d.columns]
	for i, v := range x {
		z += w[i] * v
	}
	return z
}

func (d *design) objective(w []float64, penalty float64) float64 {
	sum := 0.0
	for i, x := range d.x {
		z := d.odds(w, x)
		sum += d.weights[i] * (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - d.labels[i]*z)
	}
	mean, _ := d.meanWeight(w)
	for a := range d.columns {
		v := d.excess(w, a, mean)
		sum += penalty * v * v / 2
	}
	return sum
}

// meanWeight is the mean of the features' weights, each with its sign, and how many they are; 0 where weights are not
// drawn towards it.
func (d *design) meanWeight(w []float64) (mean float64, n int) {
	if !d.towardsMean {
		return 0, 0
	}
	for k, out := range d.out {
		if !out {
			mean += float64(d.signs[k]) * w[k]
			n++
		}
	}
	return mean / float64(max(n, 1)), n
}

// excess is what of the weight of a column is penalised.
func (d *design) excess(w []float64, a int, mean float64) float64 {
	if d.towardsMean && a < len(d.out) && !d.out[a] {
		return w[a] - float64(d.signs[a])*mean
	}
	return w[a]
}

// newton is the step from w; false if it cannot be computed.
func (d *design) newton(w []float64, penalty float64) ([]float64, bool) {
	n := d.columns + 1
	hessian, slope := make([]float64, n*n), make([]float64, n)
	row := make([]float64, n)
	row[d.columns] = 1
	for i, x := range d.x {
		copy(row, x)
		p := stats.Logistic(d.odds(w, x))
		curve, lean := d.weights[i]*p*(1-p), d.weights[i]*(p-d.labels[i])
		for a, v := range row {
			if v == 0 {
				continue
			}
			slope[a] += lean * v
			into := hessian[a*n : a*n+n]
			for b := a; b < n; b++ {
				into[b] += curve * v * row[b]
			}
		}
	}
	mean, alike := d.meanWeight(w)
	for a := range d.columns {
		slope[a] += penalty * d.excess(w, a, mean)
		hessian[a*n+a] += penalty
		for b := a; b < len(d.out) && alike > 0; b++ {
			if !d.out[a] && !d.out[b] {
				hessian[a*n+b] -= penalty * float64(d.signs[a]*d.signs[b]) / float64(alike)
			}
		}
	}
	hessian[n*n-1] += 1e-9
	var c mat.Cholesky
	if !c.Factorize(mat.NewSymDense(n, hessian)) {
		return nil, false
	}
	var step mat.VecDense
	if err := c.SolveVecTo(&step, mat.NewVecDense(n, slope)); err != nil {
		return nil, false
	}
	return step.RawVector().Data, true
}

// model writes the weights into a judge.
func (d *design) model(w []float64) *all.TrainedJudge {
	j := &all.TrainedJudge{Format: all.JudgeFormat, Label: all.JudgeLabel{Max: 1}, Offset: w[d.columns]}
	for k, f := range d.features {
		f.Weight, f.Without = w[k], w[len(d.features)+k]
		if f.Deviation == 0 {
			f.Deviation, f.Weight = 1, 0
		}
		j.Features = append(j.Features, f)
	}
	return j
}
