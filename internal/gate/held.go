package gate

import (
	"errors"
	"fmt"

	"github.com/assay-eval/assay/internal/report"
)

// Hold adds limits as the user writes them: thresholds as [report.ParseThreshold] reads them, and drops as [ParseDrop]
// does.
func (g *Gate) Hold(thresholds, drops []string) error {
	var errs []error
	for _, text := range thresholds {
		t, err := report.ParseThreshold(text)
		g.Thresholds, errs = append(g.Thresholds, t), append(errs, err)
	}
	for _, text := range drops {
		d, err := ParseDrop(text)
		g.Drops, errs = append(g.Drops, d), append(errs, err)
	}
	return errors.Join(errs...)
}

// ParsePasses reads what a draw's score passes by: thresholds that are numbers alone.
func ParsePasses(list []string) ([]report.Threshold, error) {
	var passes []report.Threshold
	for _, text := range list {
		t, err := report.ParseThreshold(text)
		if err != nil {
			return nil, err
		}
		if t.Held != (report.Held{}) {
			return nil, fmt.Errorf("--pass %s takes a number alone: it is held against each draw", t.Metric)
		}
		passes = append(passes, t)
	}
	return passes, nil
}

// Missed names the limits that were crossed; nil if none was.
func Missed(verdicts []report.Verdict) error {
	var errs []error
	for _, v := range verdicts {
		if !v.Passed {
			errs = append(errs, fmt.Errorf("%s: %s: %s", v.Run, v.What(), v.Why))
		}
	}
	return errors.Join(errs...)
}
