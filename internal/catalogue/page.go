package catalogue

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
)

// Page writes docs/metrics.md. costs names a JSON report with what a run of the metrics cost, "" for none.
func Page(ctx context.Context, w io.Writer, list []metrics.Metric, costs string) error {
	p := &page{w: w}
	p.print("# Metrics\n\n" +
		"Made by `assay metrics --format md`. A metric's name is `dimension/method`; the dimension by itself means " +
		"the method with a\nstar. `assay metrics NAME` shows one with its prompts. Ranges end in what is best.\n" +
		"What stands after an `@` sets a method otherwise (`rouge1@recall`), and after \"also\" stand other names of " +
		"the same one. Names\nof earlier versions (`rouge1_recall`) go on working. Behind each metric that asks a model " +
		"may stand which of several it asks\n(`claims@NAME`), that a jury of them does (`@jury=a+b+c`, `@majority=a+b+c`), " +
		"how often replies are drawn (`@draws=5`), and how\nlong the judge may think before each (`@think=512`): see [models](models.md#several-models-in-one-run).\n\n## Presets\n\n" +
		"| `--preset` | metrics |\n| --- | --- |\n")
	for _, preset := range all.Presets() {
		p.print("| `%s` | %s: `%s` |\n", preset.Name, preset.Doc, strings.Join(preset.Metrics, "` `"))
	}
	for i, m := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if d := dimensionOf(m); i == 0 || d != dimensionOf(list[i-1]) {
			p.print("\n## %s\n\n| method | measures | value | range | needs | calls | source |\n"+
				"| --- | --- | --- | --- | --- | --- | --- |\n", d)
		}
		_, method, _ := strings.Cut(m.Name, "/")
		ends := fmt.Sprintf("%v to %v", m.Min, m.Max)
		if m.LowerIsBetter {
			ends = fmt.Sprintf("%v to %v", m.Max, m.Min)
		}
		calls := m.Calls
		if models := modelsOf(m); models != "-" {
			calls = models + ": " + calls
		}
		p.print("| `%s`%s%s | %s | %s | %s | %s | %s | %s |\n", method, marked(m), otherwise(m), cell(m.Doc),
			cell(m.Formula), ends, cell(needs(m)), cell(calls), cell(m.Source))
	}
	if costs != "" && p.err == nil {
		p.err = p.costs(costs)
	}
	return p.err
}

// otherwise lists a method's settings and aliases for its cell.
func otherwise(m metrics.Metric) string {
	text := ""
	for _, at := range m.Settings {
		text += " `@" + at + "`"
	}
	for _, alias := range m.Aliases {
		text += " also `" + alias + "`"
	}
	return text
}

// A page is Markdown being written; after an error nothing more is.
type page struct {
	w   io.Writer
	err error
}

func (p *page) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// cell makes text fit for a table's cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}

// costs adds a table of what each metric cost in the run of a JSON report.
func (p *page) costs(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r report.JSON
	if err := json.Unmarshal(b, &r); err != nil || len(r.Runs) == 0 {
		return fmt.Errorf("%s is no report: assay report DIR --format json writes one", file)
	}
	slices.SortFunc(r.Metrics, func(a, b report.JSONMetric) int { return strings.Compare(a.Name, b.Name) })
	judge := "no judge"
	if j, ok := r.Runs[0].Manifest.Config.Models()[backend.Judge]; ok {
		judge = j.Name
	}
	p.print("\n## What a row costs\n\nMeasured over %d rows of the examples with %s, each metric as if it were "+
		"alone: answers that metrics share are\ncomputed once in a run, and so is what prompts have in common. "+
		"Metrics that are not in the list ask nothing, or had no row.\n\n"+
		"| metric | calls | prompt tokens | generated tokens |\n| --- | ---: | ---: | ---: |\n",
		r.Runs[0].Samples, judge)
	for _, c := range r.Metrics {
		if rows := float64(c.N + c.Failed); rows > 0 && c.Calls > 0 {
			p.print("| `%s` | %.1f | %.0f | %.0f |\n", c.Name, float64(c.Calls)/rows, float64(c.PromptTokens)/rows,
				float64(c.OutputTokens)/rows)
		}
	}
	return p.err
}
