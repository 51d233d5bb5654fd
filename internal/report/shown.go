package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/assay-eval/assay/internal/stats"
)

// What every format shows of a run.

// Options say how a report is written.
type Options struct {
	Format   string    // one of [Formats]
	Color    bool      // the table is for a terminal that shows colours
	Verdicts []Verdict // from [Report.Judge], of all the runs
	Rows     []Row     // that junit and github list, the worst first
	Summary  io.Writer // where github's tables go; nil: before its commands
}

// ranged reports whether a range must be shown, because not all are from 0 to 1.
func (r *Report) ranged() bool {
	for _, m := range r.Metrics {
		if m.Min != 0 || m.Max != 1 {
			return true
		}
	}
	return false
}

// asked reports whether some metric was asked about some rows only.
func (r *Report) asked() bool {
	return slices.ContainsFunc(r.Metrics, func(s Summary) bool { return s.Active != nil })
}

// title says in one line what was run: the data and the models.
func (r *Report) title() string {
	c := r.Manifest.Config
	s := fmt.Sprintf("%s: %s", filepath.Base(c.Dataset.Path), plural(c.Rows(), "row"))
	if c.Part != nil {
		s += " of " + c.Part.String()
	}
	models := c.Models()
	for _, role := range models.Roles() {
		s += ", " + role.Label() + " " + models[role].Name
	}
	return s
}

// mean and interval are empty where there is none.
func (s *Summary) mean() string     { return meanOf(s.Stats) }
func (s *Summary) interval() string { return intervalOf(s.Stats) }

// calibrated is the same of the probabilities beside the scores.
func (s *Summary) calibrated() (mean, interval string) {
	if s.Calibrated == nil {
		return "", ""
	}
	return meanOf(s.Calibrated.Stats), intervalOf(s.Calibrated.Stats)
}

func meanOf(s stats.Summary) string {
	if s.N == 0 {
		return ""
	}
	return number(s.Mean)
}

func intervalOf(s stats.Summary) string {
	if s.Interval == nil {
		return ""
	}
	return number(s.Interval.Lo) + " to " + number(s.Interval.Hi)
}

// calibrated reports whether some metric has probabilities beside its scores.
func (r *Report) calibrated() bool {
	return slices.ContainsFunc(r.Metrics, func(s Summary) bool { return s.Calibrated != nil })
}
