package report

import (
	"fmt"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study"
)

// A Calibrated is a metric's mean as a probability, beside the mean of its scores.
type Calibrated struct {
	By    *runs.Calibration
	Stats stats.Summary
}

// calibrate has the metric's scores summarised as probabilities in place of the scores. It returns an error if the run
// has no such metric.
func (s *summarizer) calibrate(c *runs.Calibration) error {
	if err := c.CheckMetrics(s.manifest.Names()); err != nil {
		return err
	}
	i := s.index[c.Metric]
	s.metrics[i].Calibration, s.metrics[i].Calibrated = c, nil
	return nil
}

// given has the probabilities summarised, beside the scores, that the run's own calibrations make of them.
func (s *summarizer) given() error {
	for k := range s.manifest.Calibrations {
		c := &s.manifest.Calibrations[k].Calibration
		err := c.CheckMetrics(s.manifest.Names())
		if err == nil {
			err = c.Map.Check()
		}
		if err != nil {
			return fmt.Errorf("the calibration in the manifest: %v", err)
		}
		s.metrics[s.index[c.Metric]].Calibrated = &Calibrated{By: c}
	}
	return nil
}

// calibrationNote says what a reader of the calibrated numbers should know.
func calibrationNote(c *runs.Calibration, run *runs.Config) string {
	text := fmt.Sprintf("the scores are mapped to the probability that people say %s (%s, from %s)", c.Field, c.Map.Method, plural(c.N, "labelled row"))
	if what := study.OriginDiffers(c, run); what != "" {
		text += fmt.Sprintf("; the map is for %s, and may not hold", what)
	}
	return text
}
