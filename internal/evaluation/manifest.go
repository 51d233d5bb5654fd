package evaluation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stack"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Manifest says what the results depend on, once the models are open. It refuses calibrations that are for other
// models, prompts or metrics of a name.
func (e *Evaluation) Manifest() (runs.Manifest, error) {
	o := &e.options
	m := runs.Manifest{Tool: o.Tool, Started: runs.Now(), Calibrations: e.maps}
	if e.Data != nil {
		m.Notes = slices.Clip(e.Data.Summary().Notes)
	}
	if o.Stack.Remote && o.Stack.Address != "" {
		m.Notes = append(m.Notes, "the models were asked at "+strings.Join(stack.Hosts(o.Stack.Address), ", ")+
			", which may be another machine (--allow-remote)")
	}
	m.Config = runs.Config{
		Dataset:        e.dataset(),
		IdentityFields: e.Models.Identities().Fields(),

		Examples: e.examples.SHA256,
		Criteria: e.criteria,
		Judges:   e.judged,
		Seed:     o.Seed,
		Budget:   e.budget,
		Corpus:   e.corpus,
		Part:     e.part,
	}
	if e.reasons != metrics.DoubtfulReasons {
		m.Config.Reasons = e.reasons
	}
	var learned []string
	for _, p := range metrics.Preparations(e.Metrics) {
		known := e.Models.Known(p)
		learned = append(learned, known.Digest())
		m.Notes = append(m.Notes, known.Notes()...)
	}
	m.Config.Frequencies = strings.Join(learned, ",")
	for _, metric := range e.Metrics {
		m.Config.Metrics = append(m.Config.Metrics, runs.Metric{
			Name: metric.Name, Doc: metric.Doc, Source: metric.Source,
			Min: metric.Min, Max: metric.Max, LowerIsBetter: metric.LowerIsBetter, Draws: metric.Draws,
		})
	}
	for _, prompt := range metrics.PromptsOf(e.Metrics) {
		asked := e.prompts.For(prompt)
		m.Config.Prompts = append(m.Config.Prompts, asked.Identity())
		if asked.Layout == prompts.Row {
			m.Config.Layout = prompts.Row
		}
	}
	for _, c := range e.maps {
		if err := study.CheckOrigin(&c.Calibration, &m.Config); err != nil {
			return m, &runs.InputError{Err: fmt.Errorf("--calibration %s: %w", c.Path, err),
				Hint: "make another map, from labelled rows that were scored as these will be: assay calibrate"}
		}
	}
	return m, nil
}

// dataset says which rows are scored; nothing, where they come from elsewhere.
func (e *Evaluation) dataset() runs.Dataset {
	if e.Data == nil {
		return runs.Dataset{}
	}
	o, sum := &e.options, e.Data.Summary()
	return runs.Dataset{Path: o.Data, SHA256: sum.SHA256, Rows: sum.Rows, BadRows: sum.Bad, Limit: o.Rows.Limit,
		Where: o.Rows.Where, Sample: o.Rows.Sample, Sheet: o.Rows.Sheet, Map: o.Rows.Map, Qrels: sum.Qrels, Complete: o.Rows.Complete,
		Turns: o.Rows.Turns}
}
