package main

import (
	"os"

	"github.com/assay-eval/assay/internal/meter"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/metrics"
	"golang.org/x/term"
)

// newMeter shows how far work is, of total units of which an earlier attempt had kept.
func newMeter(s *std, unit string, total, kept int) *meter.Meter {
	return meter.New(s.meterOf(unit, total, kept))
}

// meterOf are the options of a meter, on the terminal if there is one.
func (s *std) meterOf(unit string, total, kept int) meter.Options {
	o := meter.Options{Unit: unit, Total: total, Kept: kept, Say: func(line string) { s.note("%s", line) }}
	if s.errTerm {
		o.Out, o.Through = s.err, s.through
		const usual = 80
		if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
			o.Width = width
		} else {
			o.Width = usual
		}
	}
	return o
}

// scoringMeter shows how far the scoring of rows by metrics is, and what each model did for it.
func scoringMeter(s *std, rows, kept int, ms []metrics.Metric, st *stack.Stack) *meter.Meter {
	o := s.meterOf("rows", rows, kept)
	for _, m := range ms {
		o.Parts = append(o.Parts, m.Name)
	}
	o.Models = func() []meter.Model {
		var list []meter.Model
		for _, w := range st.Work() {
			m := meter.Model{Name: w.Role.Label() + " " + w.Name, Cached: w.Cached, Computed: w.Computed, Failed: w.Failed,
				PromptTokens: w.PromptTokens, OutputTokens: w.OutputTokens}
			for _, metric := range ms {
				if metric.Asks[w.Role] != 0 {
					m.Parts = append(m.Parts, metric.Name)
				}
			}
			list = append(list, m)
		}
		return list
	}
	return meter.New(o)
}

// noted tells a meter of a result.
func noted(m *meter.Meter) func(metrics.Result) {
	return func(r metrics.Result) {
		m.Done(r.Metric, r.Score == nil && r.Kind != metrics.NotApplicable && r.Kind != metrics.NotAsked)
	}
}
