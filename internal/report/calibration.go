package report

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/assay-eval/assay/internal/stats"
)

// A Calibration is a map from a metric's scores to the probability that people would say yes, with where it comes
// from. It is what assay calibrate writes.
type Calibration struct {
	Metric string    `json:"metric"`
	Field  string    `json:"field"` // of the labels
	N      int       `json:"n"`     // labelled rows that it was fitted to
	Judge  *Model    `json:"judge,omitempty"`
	Map    stats.Map `json:"map"`
}

// LoadCalibration reads a map from a file.
func LoadCalibration(path string) (*Calibration, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c Calibration
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("%s is no calibration: %v", path, err)
	}
	if err := c.Map.Check(); err != nil {
		return nil, fmt.Errorf("%s is no calibration: %v", path, err)
	}
	return &c, nil
}

// Calibrate has the metric's scores summarised as probabilities. It returns an error if the run has no such metric.
func (s *summarizer) calibrate(c *Calibration) error {
	i, ok := s.index[c.Metric]
	if !ok {
		return fmt.Errorf("the run has no metric %q, which the calibration is for", c.Metric)
	}
	s.metrics[i].Calibration = c
	return nil
}

// note says what a reader of the calibrated numbers should know.
func (c *Calibration) note(judge *Model) string {
	text := fmt.Sprintf("the scores are mapped to the probability that people say %s (%s, from %s)", c.Field, c.Map.Method, plural(c.N, "labelled row"))
	if c.Judge != nil && (judge == nil || judge.Digest != c.Judge.Digest) {
		text += fmt.Sprintf("; the map is for another judge, %s, and may not hold", c.Judge.Name)
	}
	return text
}
