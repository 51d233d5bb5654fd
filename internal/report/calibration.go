package report

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
	"github.com/assay-eval/assay/metrics/all"
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
}

// Origin is that of a metric in a run of this configuration.
func (c *Config) Origin(metric string) Origin {
	return Origin{c.IdentityFields, c.Prompts, c.Criteria, c.Judges}.of(metric)
}

// of leaves out what a metric does not ask. What the user's own metrics ask is not known here: all stays.
func (o Origin) of(metric string) Origin {
	list, err := all.Select([]string{metric})
	if err != nil {
		return o
	}
	m, part := list[0], Origin{}
	part.IdentityFields = m.Asks.Of(o.Models()).Fields()
	for _, p := range o.Prompts {
		if slices.Contains(prompts.Names(m.Prompts), p.Name) {
			part.Prompts = append(part.Prompts, p)
		}
	}
	return part
}

// A GivenCalibration is one that a run was given, as its manifest holds it: the map too, so that the report needs no
// other file.
type GivenCalibration struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the file
	Calibration
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
	return fmt.Errorf("the run has no metric %q, which the calibration is for (it has: %s)", c.Metric, strings.Join(names, ", "))
}

// CheckOrigin returns an error if a run of a configuration scores the metric with other models, or asks in other words,
// than the run that the map was made from.
func (c *Calibration) CheckOrigin(run *Config) error {
	if what := c.differs(run); what != "" {
		return fmt.Errorf("the map for %s is for %s: the scores of this run mean something else", c.Metric, what)
	}
	return nil
}

// differs names what the map was made with and a run has otherwise: "another judge, small"; "" if nothing is known to
// differ.
func (c *Calibration) differs(run *Config) string {
	had, have := c.Origin.of(c.Metric), run.Origin(c.Metric)
	for _, d := range had.Models().Differences(have.Models()) {
		if d.AHas && (d.In == backend.Presence || d.In == backend.Weights) {
			return fmt.Sprintf("another %s, %s", d.Role.Title(), d.A.Name)
		}
	}
	for _, p := range have.Prompts {
		other := func(q prompts.Identity) bool { return q.Name == p.Name && q.Digest != p.Digest }
		if slices.ContainsFunc(had.Prompts, other) {
			return "another text of the prompt " + p.Name
		}
	}
	switch {
	case had.Criteria != "" && had.Criteria != have.Criteria:
		return "other criteria"
	case had.Judges != "" && had.Judges != have.Judges:
		return "another trained judge"
	}
	return ""
}

// A Calibrated is a metric's mean as a probability, beside the mean of its scores.
type Calibrated struct {
	By    *Calibration
	Stats stats.Summary
}

// calibrate has the metric's scores summarised as probabilities in place of the scores. It returns an error if the run
// has no such metric.
func (s *summarizer) calibrate(c *Calibration) error {
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

// note says what a reader of the calibrated numbers should know.
func (c *Calibration) note(run *Config) string {
	text := fmt.Sprintf("the scores are mapped to the probability that people say %s (%s, from %s)", c.Field, c.Map.Method, plural(c.N, "labelled row"))
	if what := c.differs(run); what != "" {
		text += fmt.Sprintf("; the map is for %s, and may not hold", what)
	}
	return text
}
