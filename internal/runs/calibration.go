package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A Calibration is a map from a metric's scores to the probability that people would say yes, with where it comes
// from. It is what assay calibrate writes.
type Calibration struct {
	Metric string `json:"metric"`
	Field  string `json:"field"` // of the labels
	N      int    `json:"n"`     // labelled rows that it was fitted to
	Origin
	Map stats.Map `json:"map"`
}

// An Origin is what the scores of a metric depend on beside the rows. With another one they mean something else.
type Origin struct {
	backend.IdentityFields
	Prompts  []prompts.Identity `json:"prompts,omitempty"`
	Criteria string             `json:"criteria,omitempty"` // as in a Config; of the user's own metrics only
	Judges   string             `json:"judges,omitempty"`   // likewise
	Reasons  metrics.Reasons    `json:"reasons,omitempty"`  // as in a Config, of metrics that heed it
}

// A GivenCalibration is one that a run was given, as its manifest holds it: the map too, so that the report needs no
// other file.
type GivenCalibration struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the file
	Calibration
}

// LoadCalibrations reads maps that assay calibrate wrote, at most one for a metric. Its error is an [InputError].
func LoadCalibrations(files []string) ([]GivenCalibration, error) {
	var list []GivenCalibration
	for _, path := range files {
		c, err := LoadCalibration(path)
		if err != nil {
			return nil, Inputf("--calibration: %w", err).WithHint("assay calibrate RUN --human FIELD -o MAP.json writes one")
		}
		if slices.ContainsFunc(list, func(other GivenCalibration) bool { return other.Metric == c.Metric }) {
			return nil, Inputf("--calibration %s: a map for %s is there already", path, c.Metric)
		}
		list = append(list, *c)
	}
	return list, nil
}

// LoadCalibration reads a map from a file.
func LoadCalibration(path string) (*GivenCalibration, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	c := GivenCalibration{Path: path, SHA256: hex.EncodeToString(sum[:])}
	if err := json.Unmarshal(b, &c.Calibration); err != nil {
		return nil, fmt.Errorf("%s is no calibration: %v", path, err)
	}
	if err := c.Map.Check(); err != nil {
		return nil, fmt.Errorf("%s is no calibration: %v", path, err)
	}
	return &c, nil
}

// CheckMetrics returns an error if a run of metrics with these names lacks the one that the calibration is for.
func (c *Calibration) CheckMetrics(names []string) error {
	if slices.Contains(names, c.Metric) {
		return nil
	}
	return fmt.Errorf("the run has no metric %q, which the calibration is for (it has: %s)", c.Metric,
		strings.Join(names, ", "))
}
