package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/evaluation"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

const metricsHelp = `
Usage: assay metrics [NAME]

Lists the names of the metrics; with a dimension (faithfulness) describes its methods: what they measure, the
formula, range, columns and models needed, calls and source; with a full name (faithfulness/claims) it adds the
words that the judge is asked with. "all" describes every metric.
With --criteria or --criterion, it is about those that they describe. Behind a name, @NAME says which of several
models is asked, @jury=A+B or @majority=A+B that several are, and @draws=5 how often: docs/models.md.

--format md writes the page docs/metrics.md, and --costs adds what was measured in a run to it.
`

// A metricRow is a metric as --format json prints it.
type metricRow struct {
	Name              string   `json:"name"`
	Doc               string   `json:"doc"`
	Formula           string   `json:"formula"`
	Source            string   `json:"source"`
	Min               float64  `json:"min"`
	Max               float64  `json:"max"`
	LowerIsBetter     bool     `json:"lower_is_better"`
	Default           bool     `json:"default"` // of its dimension
	Needs             []string `json:"needs"`
	backend.AskFields          // the abilities that it asks of each model
	Calls             string   `json:"calls"`
	Prompts           []string `json:"prompts,omitempty"`
	Aliases           []string `json:"aliases,omitempty"`  // further names of the same method
	Settings          []string `json:"settings,omitempty"` // what may stand after an @ in its name
}

func metricsCommand(ctx context.Context, s *std, args []string) error {
	f := s.flags("metrics", metricsHelp)
	format := f.String("format", "table", "table, json or md")
	folder := f.String("prompts", "", "a `FOLDER` of prompts that replace the built-in ones")
	layout := f.String("layout", string(prompts.Row), layoutHelp)
	costs := f.String("costs", "", "a JSON report, `FILE`, from which to add what each metric cost")
	var criteria evaluation.Criteria
	addCriteria(f, &criteria)
	if err := parse(f, args, 0, 1); err != nil {
		return err
	}
	if !slices.Contains([]string{"table", "json", "md"}, *format) {
		return usagef("unknown format %q: table, json or md", *format)
	}
	own, _, err := criteria.Load()
	if err != nil {
		return usageError{err}
	}
	list := own
	if own == nil {
		list = all.All()
	}
	single, named := false, all.Selector{Own: own}
	if f.NArg() == 1 && f.Arg(0) != "all" {
		if several := methods(list, f.Arg(0)); len(several) > 0 {
			list = several
		} else if list, err = named.Select(f.Args()); err != nil {
			return usageError{err}
		} else {
			single = true
		}
	}
	texts, err := evaluation.Prompts(*folder, *layout)
	if err != nil {
		return usageError{err}
	}
	switch {
	case *format == "json":
		rows := []metricRow{}
		for _, m := range list {
			rows = append(rows, row(m))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.json(map[string]any{"metrics": rows})
	case *format == "md":
		return writeMetricsPage(ctx, s.out, list, *costs)
	case single:
		return s.explain(ctx, list[0], texts)
	case f.NArg() == 0 && own == nil:
		s.overview(list)
		return ctx.Err()
	}
	for i, m := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		s.describe(m)
	}
	return nil
}

// methods are the metrics of a dimension.
func methods(list []metrics.Metric, dimension string) []metrics.Metric {
	return slices.DeleteFunc(slices.Clone(list), func(m metrics.Metric) bool {
		return !strings.HasPrefix(m.Name, dimension+"/")
	})
}

// dimensionOf is the first part of a metric's name.
func dimensionOf(m metrics.Metric) string {
	dimension, _, _ := strings.Cut(m.Name, "/")
	return dimension
}

// overview prints the names of the methods of each dimension, and the presets.
func (s *std) overview(list []metrics.Metric) {
	t := s.table("dimension", "methods")
	n := len(list)
	for len(list) > 0 {
		dimension := dimensionOf(list[0])
		var names []string
		for len(list) > 0 && dimensionOf(list[0]) == dimension {
			_, method, _ := strings.Cut(list[0].Name, "/")
			names = append(names, method+marked(list[0]))
			list = list[1:]
		}
		t.AppendRow(table.Row{dimension, strings.Join(names, ", ")})
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: 72, WidthMaxEnforcer: text.WrapSoft}})
	t.Render()
	fmt.Fprintf(s.out, "\n%d methods. A metric is dimension/method; a dimension by itself means the method with a "+
		"star.\nassay metrics DIMENSION describes its methods, assay metrics NAME shows one with its prompts. "+
		"Presets:\n\n", n)
	for _, p := range all.Presets() {
		fmt.Fprintf(s.out, "  --preset %-12s %s\n", p.Name, p.Doc)
	}
	fmt.Fprintf(s.out, "\nJudges of your own are asked by profiles, each in the form that it was trained on (--judge-profile, "+
		"docs/judges.md):\n\n")
	for _, p := range all.Profiles() {
		var names []string
		for _, m := range p.Metrics() {
			names = append(names, m.Name)
		}
		fmt.Fprintf(s.out, "  %-21s %s\n", p.Name, strings.Join(names, ", "))
	}
}

// marked is a star for a default.
func marked(m metrics.Metric) string {
	if m.Default {
		return "*"
	}
	return ""
}

// describe prints what there is to know of a metric but for its prompts.
func (s *std) describe(m metrics.Metric) {
	fmt.Fprintf(s.out, "%s%s\n  %s\n", m.Name, marked(m), m.Doc)
	fmt.Fprintf(s.out, "  value   %s\n", m.Formula)
	if m.Aliases != nil {
		fmt.Fprintf(s.out, "  also    %s\n", strings.Join(m.Aliases, ", "))
	}
	if m.Settings != nil {
		fmt.Fprintf(s.out, "  set by  @%s\n", strings.Join(m.Settings, ", @"))
	}
	fmt.Fprintf(s.out, "  range   %s\n", span(m))
	fmt.Fprintf(s.out, "  needs   %s\n", cmp.Or(needs(m), "nothing"))
	fmt.Fprintf(s.out, "  models  %s\n", abilities(m))
	fmt.Fprintf(s.out, "  calls   %s\n", m.Calls)
	fmt.Fprintf(s.out, "  source  %s\n", m.Source)
}

func row(m metrics.Metric) metricRow {
	r := metricRow{Name: m.Name, Doc: m.Doc, Formula: m.Formula, Source: m.Source, Min: m.Min, Max: m.Max,
		LowerIsBetter: m.LowerIsBetter, Default: m.Default, Needs: m.Needs.Names(), Calls: m.Calls,
		Prompts: prompts.Names(m.Prompts), AskFields: backend.Fields(m.Asks), Aliases: m.Aliases, Settings: m.Settings}
	return r
}

// needs are the columns that a metric needs, and the corpus.
func needs(m metrics.Metric) string {
	if m.Searches {
		return m.Needs.String() + "; documents (--corpus)"
	}
	return m.Needs.String()
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
	for _, role := range backend.Roles() {
		if m.Asks[role] != 0 {
			list = append(list, role.Label())
		}
	}
	return cmp.Or(strings.Join(list, ", "), "-")
}

// abilities says what a metric asks of models.
func abilities(m metrics.Metric) string {
	var list []string
	for _, role := range backend.Roles() {
		if ops := m.Asks[role]; ops != 0 {
			list = append(list, fmt.Sprintf("%s that can %v", role.WithArticle(), ops))
		}
	}
	return cmp.Or(strings.Join(list, ", "), "none")
}

func (s *std) explain(ctx context.Context, m metrics.Metric, texts prompts.Set) error {
	s.describe(m)
	for _, p := range m.Prompts {
		p = texts.For(p)
		if p.Version == "" { // a judge's profile
			fmt.Fprintf(s.out, "\n%s\n\n", p.Name)
		} else {
			fmt.Fprintf(s.out, "\nprompt %s, version %s\n\n", p.Name, p.Version)
		}
		for line := range strings.Lines(p.Text) {
			fmt.Fprint(s.out, strings.TrimRight("  "+line, " "))
		}
	}
	return ctx.Err()
}

// writeMetricsPage writes docs/metrics.md. costs names a JSON report with what a run of the metrics cost, ""
// for none.
func writeMetricsPage(ctx context.Context, w io.Writer, list []metrics.Metric, costs string) error {
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
