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

// calibrationNote says what a reader of the calibrated numbers should know.
func calibrationNote(c *runs.Calibration, run *runs.Config) string {
	text := fmt.Sprintf("the scores are mapped to the probability that people say %s (%s, from %s)", c.Field,
		c.Map.Method, plural(c.N, "labelled row"))
	if what := study.OriginDiffers(c, run); what != "" {
		text += fmt.Sprintf("; the map is for %s, and may not hold", what)
	}
	return text
}
