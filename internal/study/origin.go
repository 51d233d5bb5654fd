package study

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
)

// OriginOf is that of a metric in a run of a configuration.
func OriginOf(c *runs.Config, metric string) runs.Origin {
	return originOf(runs.Origin{IdentityFields: c.IdentityFields, Prompts: c.Prompts, Criteria: c.Criteria,
		Judges: c.Judges, Reasons: c.Reasons}, metric)
}

// originOf leaves out what a metric does not ask. What the user's own metrics ask is not known here: all stays.
func originOf(o runs.Origin, metric string) runs.Origin {
	list, err := all.Select([]string{metric}, o.Models().Named()...)
	if err != nil {
		return o
	}
	m, part := list[0], runs.Origin{}
	part.IdentityFields = m.Asks.Of(o.Models()).Fields()
	if m.Asks[backend.Judge].Has(backend.CanChoose | backend.CanGenerate) { // as short forms do, some verdicts with a reason
		part.Reasons = o.Reasons
	}
	for _, p := range o.Prompts {
		if slices.Contains(prompts.Names(m.Prompts), p.Name) {
			part.Prompts = append(part.Prompts, p)
		}
	}
	return part
}

// CheckOrigin returns an error if a run of a configuration scores the metric with other models, or asks in other words,
// than the run that the map was made from.
func CheckOrigin(c *runs.Calibration, run *runs.Config) error {
	if what := OriginDiffers(c, run); what != "" {
		return fmt.Errorf("the map for %s is for %s: the scores of this run mean something else", c.Metric, what)
	}
	return nil
}

// OriginDiffers names what the map was made with and a run has otherwise: "another judge, small"; "" if nothing is
// known to differ.
func OriginDiffers(c *runs.Calibration, run *runs.Config) string {
	had, have := originOf(c.Origin, c.Metric), OriginOf(run, c.Metric)
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
	case had.Reasons != have.Reasons:
		return "another choice of the verdicts with a reason, --reasons " + string(cmp.Or(had.Reasons, metrics.DoubtfulReasons))
	}
	return ""
}
