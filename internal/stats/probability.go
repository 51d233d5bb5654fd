package stats

import (
	"errors"
	"math"
)

// Brier is the Brier score, the mean squared error of scores as probabilities (Brier 1950, Monthly Weather Review
// 78): 0 is perfect, and always saying one half gets 1/4. A target is 1 or 0, or the share of raters who said 1.
func Brier(scores, targets []float64, o Options) Summary {
	squares := make([]float64, len(scores))
	for i, p := range scores {
		squares[i] = (p - targets[i]) * (p - targets[i])
	}
	o.Min, o.Max = 0, 1
	return Of(squares, o)
}

// LogLoss is the mean negative log-likelihood (cross-entropy) of the targets under the scores. Scores of 0 and 1
// must not meet a target that they rule out.
func LogLoss(scores, targets []float64) float64 {
	sum := 0.0
	for i, p := range scores {
		if t := targets[i]; t > 0 {
			sum -= t * math.Log(p)
		}
		if t := targets[i]; t < 1 {
			sum -= (1 - t) * math.Log1p(-p)
		}
	}
	return sum / float64(len(scores))
}

// A Reliability says how well calibrated scores are as probabilities; its Bins are the reliability diagram.
type Reliability struct {
	Error    float64 // the expected calibration error (Naeini, Cooper and Hauskrecht 2015)
	Expected float64 // of the Error at this n, were the scores perfectly calibrated
	P        float64 // that it would then be as large: the p-value of perfect calibration
	Bins     []Bin   // those that hold rows
}

// A Bin is the rows whose scores lie in a tenth of [0, 1].
type Bin struct {
	N             int
	Score, Target float64 // their means
}

// Calibration is the expected calibration error over ten bins: in each the mean score is compared with the mean
// target. The error is biased upwards, and more so for few rows, so beside it stands what perfectly calibrated scores
// would show at this n, by a parametric bootstrap: labels drawn 1,000 times with the scores as their probabilities
// (Bröcker and Smith 2007, Weather and Forecasting 22). For targets that are 0 or 1.
func Calibration(scores, targets []float64, o Options) (Reliability, error) {
	if len(scores) == 0 {
		return Reliability{}, errors.New("no rows")
	}
	for _, p := range scores {
		if p < 0 || p > 1 {
			return Reliability{}, errors.New("a score outside [0, 1] is no probability")
		}
	}
	bins := fill(scores, targets)
	r := Reliability{Error: calibrationError(bins, len(scores))}
	for _, b := range bins {
		if b.N > 0 {
			r.Bins = append(r.Bins, b)
		}
	}
	rng := random(o.Seed)
	const draws = 1000
	as := 1
	for range draws {
		if err := o.err(); err != nil {
			return r, err
		}
		var trues [tenths]float64
		for _, p := range scores {
			if rng.Float64() < p {
				trues[tenth(p)]++
			}
		}
		for k := range bins {
			bins[k].Target = trues[k] / float64(max(bins[k].N, 1))
		}
		e := calibrationError(bins, len(scores))
		r.Expected += e / draws
		if e >= r.Error-1e-12 {
			as++
		}
	}
	r.P = float64(as) / (draws + 1)
	return r, nil
}

const tenths = 10

// tenth is the number of the tenth of [0, 1] that p lies in.
func tenth(p float64) int { return min(int(p*tenths), tenths-1) }

// fill puts rows into bins, of which some may stay empty.
func fill(scores, targets []float64) [tenths]Bin {
	var bins [tenths]Bin
	for i, p := range scores {
		b := &bins[tenth(p)]
		b.N++
		b.Score += p
		b.Target += targets[i]
	}
	for k := range bins {
		n := float64(max(bins[k].N, 1))
		bins[k].Score /= n
		bins[k].Target /= n
	}
	return bins
}

func calibrationError(bins [tenths]Bin, n int) float64 {
	e := 0.0
	for _, b := range bins {
		e += float64(b.N) / float64(n) * math.Abs(b.Score-b.Target)
	}
	return e
}
