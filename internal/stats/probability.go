package stats

import (
	"errors"
	"math"
)

// Brier is the mean squared error of scores as probabilities (Brier 1950, Monthly Weather Review 78): 0 is perfect, and
// always saying one half gets 1/4. A target is 1 or 0, or the share of raters who said 1.
func Brier(scores, targets []float64, o Options) Summary {
	squares := make([]float64, len(scores))
	for i, p := range scores {
		squares[i] = (p - targets[i]) * (p - targets[i])
	}
	o.Min, o.Max = 0, 1
	return Of(squares, o)
}

// LogLoss is the mean of minus the log of the probability that the scores gave to the targets. Scores of 0 and 1
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

// A Reliability says how well scores hold what they promise as probabilities.
type Reliability struct {
	Error    float64 // the expected calibration error (Naeini, Cooper and Hauskrecht 2015)
	Expected float64 // of the Error, were the scores perfectly calibrated
	P        float64 // that it would then be as large
	Bins     []Bin   // those that hold rows
}

// A Bin is the rows whose scores lie in a tenth of [0, 1].
type Bin struct {
	N             int
	Score, Target float64 // their means
}

// Calibration bins scores into tenths and compares in each the mean score with the mean target. The error is never 0
// by chance, and larger for few rows, so beside it stands what perfectly calibrated scores would show: labels
// drawn 1,000 times with the scores as their probabilities (Bröcker and Smith 2007, Weather and Forecasting
// 22). For targets that are 0 or 1.
func Calibration(scores, targets []float64, o Options) (Reliability, error) {
	if len(scores) == 0 {
		return Reliability{}, errors.New("no rows")
	}
	for _, p := range scores {
		if p < 0 || p > 1 {
			return Reliability{}, errors.New("a score outside [0, 1] is no probability")
		}
	}
	r := Reliability{Bins: fill(scores, targets)}
	r.Error = calibrationError(r.Bins, len(scores))
	rng := random(o.Seed)
	drawn := make([]float64, len(scores))
	const draws = 1000
	as := 1
	for range draws {
		for i, p := range scores {
			drawn[i] = 0
			if rng.Float64() < p {
				drawn[i] = 1
			}
		}
		e := calibrationError(fill(scores, drawn), len(scores))
		r.Expected += e / draws
		if e >= r.Error-1e-12 {
			as++
		}
	}
	r.P = float64(as) / (draws + 1)
	return r, nil
}

func fill(scores, targets []float64) []Bin {
	const tenths = 10
	var bins [tenths]Bin
	for i, p := range scores {
		b := &bins[min(int(p*tenths), tenths-1)]
		b.N++
		b.Score += p
		b.Target += targets[i]
	}
	var full []Bin
	for _, b := range bins {
		if b.N > 0 {
			full = append(full, Bin{b.N, b.Score / float64(b.N), b.Target / float64(b.N)})
		}
	}
	return full
}

func calibrationError(bins []Bin, n int) float64 {
	e := 0.0
	for _, b := range bins {
		e += float64(b.N) / float64(n) * math.Abs(b.Score-b.Target)
	}
	return e
}
