package stats

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// RowsNeeded is the sample size with which a paired comparison finds a mean difference of the given size, at the given
// level (0.95 for p < 0.05), with the given power: the probability of finding it if it is there. The deviation is
// that of the differences: [Pairing.Spread].
func RowsNeeded(difference, deviation, level, power float64) (int, error) {
	if !(math.Abs(difference) > 0) || !(level > 0 && level < 1) || !(power > 0 && power < 1) {
		return 0, errors.New("no number of rows: the difference must not be 0, and level and power lie between 0 and 1")
	}
	effect := math.Abs(difference) / deviation
	if deviation <= 0 || math.IsInf(effect, 0) {
		return 0, errors.New("no number of rows: the differences do not vary")
	}
	z := distuv.UnitNormal.Quantile((1 + level) / 2)
	quick := (z + distuv.UnitNormal.Quantile(power)) / effect
	// the second term is for Student's wider tails (Guenther 1981, The American Statistician 35)
	n := quick*quick + z*z/2
	if n > 500 {
		return int(math.Ceil(min(n, 1<<53))), nil
	}
	rows := max(2, int(n)-5)
	for ; Power(effect, rows, level) < power; rows++ {
	}
	return rows, nil
}

// Power is that of Student's paired t-test on n rows for an effect size: a mean difference of so many standard
// deviations (Cohen 1988, chapter 2). Exact for normal differences.
func Power(effect float64, n int, level float64) float64 {
	nu := float64(n - 1)
	t := distuv.StudentsT{Sigma: 1, Nu: nu}.Quantile((1 + level) / 2)
	shifted := distuv.NoncentralT{Nu: nu, Mu: math.Abs(effect) * math.Sqrt(float64(n))}
	return 1 - shifted.CDF(t) + shifted.CDF(-t)
}

// Detectable is the minimum detectable effect: the smallest mean difference that n rows find with the given power, to
// three digits.
func Detectable(n int, deviation, level, power float64) (float64, error) {
	if n < 2 || deviation <= 0 {
		return 0, errors.New("it cannot be told: too few rows, or differences that do not vary")
	}
	lo, hi := 0.0, 1e3*deviation
	for hi-lo > 5e-4*hi {
		middle := (lo + hi) / 2
		if rows, err := RowsNeeded(middle, deviation, level, power); err != nil || rows > n {
			lo = middle
		} else {
			hi = middle
		}
	}
	return hi, nil
}
