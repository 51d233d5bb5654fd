package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-eval/assay/metrics"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

const metricsHelp = `
Usage: assay metrics [NAME]

Lists the metrics, or explains one: what it measures, where it comes from, what it needs and the words it
asks with. A bare dimension (faithfulness) means its default method (faithfulness/claims).
`

// A metricRow is a metric as --format json prints it.
type metricRow struct {
	Name          string   `json:"name"`
	Doc           string   `json:"doc"`
	Source        string   `json:"source"`
	Min           float64  `json:"min"`
	Max           float64  `json:"max"`
	LowerIsBetter bool     `json:"lower_is_better"`
	Needs         []string `json:"needs"`
	Judge         string   `json:"judge,omitempty"` // the abilities it asks of the judge
	Embedder      string   `json:"embedder,omitempty"`
	Prompts       []string `json:"prompts,omitempty"`
}

func metricsCommand(s *std, args []string) error {
	f := s.flags("metrics", metricsHelp)
	format := f.String("format", "table", "table or json")
	prompts := f.String("prompts", "", "a `FOLDER` of prompts that replace the built-in ones")
	if err := parse(f, args, 0, 1); err != nil {
		return err
	}
	if *format != "table" && *format != "json" {
		return usagef("unknown format %q: table or json", *format)
	}
	list := metrics.All()
	if f.NArg() == 1 {
		var err error
		if list, err = metrics.Select(f.Args()); err != nil {
			return usageError{err}
		}
	}
	texts, err := loadPrompts(*prompts)
	if err != nil {
		return usageError{err}
	}
	switch {
	case *format == "json":
		rows := []metricRow{}
		for _, m := range list {
			rows = append(rows, row(m))
		}
		return s.json(map[string]any{"metrics": rows})
	case f.NArg() == 1:
		return s.explain(list[0], texts)
	}
	t := s.table("metric", "measures", "range", "needs", "models")
	for _, m := range list {
		t.AppendRow(table.Row{m.Name, m.Doc, span(m), m.Needs.String(), modelsOf(m)})
	}
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 2, WidthMax: 44, WidthMaxEnforcer: text.WrapSoft},
		{Number: 4, WidthMax: 18, WidthMaxEnforcer: text.WrapSoft},
	})
	t.Render()
	fmt.Fprintf(s.out, "\nassay metrics NAME explains one. Presets:\n")
	presets := metrics.Presets()
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		fmt.Fprintf(s.out, "  --preset %-14s %s\n", name, strings.Join(presets[name], ", "))
	}
	return nil
}

func row(m metrics.Metric) metricRow {
	r := metricRow{Name: m.Name, Doc: m.Doc, Source: m.Source, Min: m.Min, Max: m.Max,
		LowerIsBetter: m.LowerIsBetter, Needs: m.Needs.Names(), Prompts: m.Prompts}
	if m.JudgeOps != 0 {
		r.Judge = m.JudgeOps.String()
	}
	if m.EmbedOps != 0 {
		r.Embedder = m.EmbedOps.String()
	}
	return r
}

// span is a metric's range with the better end named: "0 to 1 (best)".
func span(m metrics.Metric) string {
	if m.LowerIsBetter {
		return fmt.Sprintf("%v (best) to %v", m.Min, m.Max)
	}
	return fmt.Sprintf("%v to %v (best)", m.Min, m.Max)
}

// modelsOf says which models a metric needs.
func modelsOf(m metrics.Metric) string {
	var list []string
	if m.JudgeOps != 0 {
		list = append(list, "judge")
	}
	if m.EmbedOps != 0 {
		list = append(list, "embeddings")
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

func (s *std) explain(m metrics.Metric, texts metrics.Prompts) error {
	fmt.Fprintf(s.out, "%s\n  %s\n\n", m.Name, m.Doc)
	fmt.Fprintf(s.out, "  range   %s\n", span(m))
	fmt.Fprintf(s.out, "  needs   %s\n", m.Needs)
	fmt.Fprintf(s.out, "  models  %s\n", modelsOf(m))
	fmt.Fprintf(s.out, "  source  %s\n", m.Source)
	for _, name := range m.Prompts {
		p, ok := texts.Lookup(name)
		if !ok {
			return fmt.Errorf("%s names a prompt %q that there is not", m.Name, name)
		}
		fmt.Fprintf(s.out, "\nprompt %s, version %s\n\n", p.Name, p.Version)
		for line := range strings.Lines(p.Text) {
			fmt.Fprint(s.out, strings.TrimRight("  "+line, " "))
		}
	}
	return nil
}
