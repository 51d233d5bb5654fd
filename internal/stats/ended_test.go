package stats

import (
	"context"
	"errors"
	"testing"
)

// What draws many times gives up once Options.Err returns an error: after one more draw, not after thousands.
func TestResamplingEnds(t *testing.T) {
	const n = 400
	x, y, truth := make([]float64, n), make([]float64, n), make([]bool, n)
	for i := range x {
		x[i], y[i], truth[i] = float64(i%17)/17, float64((i*7)%19)/19, i%3 == 0
	}
	check := func(name string, fails bool, do func(o Options) error) {
		t.Helper()
		asked := 0
		err := do(Options{Err: func() error {
			if asked++; asked > 3 {
				return context.Canceled
			}
			return nil
		}})
		if asked < 4 || asked > 12 {
			t.Errorf("%s: asked %d times", name, asked)
		}
		if fails != errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("spearman", true, func(o Options) error { _, err := Spearman(x, y, o); return err })
	check("kendall", true, func(o Options) error { _, err := Kendall(x, y, o); return err })
	check("kappa", true, func(o Options) error { _, err := CohenKappa(x, x, Quadratic, o); return err })
	check("alpha", true, func(o Options) error {
		units := make([][]float64, n)
		for i := range units {
			units[i] = []float64{x[i], y[i]}
		}
		_, err := Krippendorff(units, Ordinal, o)
		return err
	})
	check("difference", true, func(o Options) error { _, err := SpearmanDifference(x, y, y, o); return err })
	check("calibration error", true, func(o Options) error {
		targets := make([]float64, n)
		_, err := Calibration(x, targets, o)
		return err
	})
	check("maps", true, func(o Options) error {
		_, err := Calibrate(x, truths(truth), false, o)
		return err
	})
	check("mean", false, func(o Options) error { Of(x, o); return nil })
	check("flips", false, func(o Options) error { Pair(x, y, o); return nil })
	check("threshold", false, func(o Options) error { CrossValidatedAccuracy(x, truth, o); return nil })
}

func truths(list []bool) []float64 {
	values := make([]float64, len(list))
	for i, v := range list {
		if v {
			values[i] = 1
		}
	}
	return values
}
