// Package catalogue says what metrics there are and what each is: for people at a terminal, as JSON, and as the page
// docs/metrics.md.
package catalogue

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// A Row is a metric as JSON has it.
type Row struct {
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

// Rows are metrics as JSON has them.
func Rows(list []metrics.Metric) []Row {
	rows := []Row{}
	for _, m := range list {
		rows = append(rows, Row{Name: m.Name, Doc: m.Doc, Formula: m.Formula, Source: m.Source, Min: m.Min, Max: m.Max,
			LowerIsBetter: m.LowerIsBetter, Default: m.Default, Needs: m.Needs.Names(), Calls: m.Calls,
			Prompts: prompts.Names(m.Prompts), AskFields: backend.Fields(m.Asks), Aliases: m.Aliases, Settings: m.Settings})
	}
	return rows
}

// Methods are the metrics of a dimension.
func Methods(list []metrics.Metric, dimension string) []metrics.Metric {
	return slices.DeleteFunc(slices.Clone(list), func(m metrics.Metric) bool {
		return !strings.HasPrefix(m.Name, dimension+"/")
	})
}

// dimensionOf is the first part of a metric's name.
func dimensionOf(m metrics.Metric) string {
	dimension, _, _ := strings.Cut(m.Name, "/")
	return dimension
}

// Overview prints the names of the methods of each dimension, and the presets.
func Overview(w io.Writer, list []metrics.Metric) {
	t := report.NewTable(w, "dimension", "methods")
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
	fmt.Fprintf(w, "\n%d methods. A metric is dimension/method; a dimension by itself means the method with a "+
		"star.\nassay metrics DIMENSION describes its methods, assay metrics NAME shows one with its prompts. "+
		"Presets:\n\n", n)
	for _, p := range all.Presets() {
		fmt.Fprintf(w, "  --preset %-12s %s\n", p.Name, p.Doc)
	}
	fmt.Fprintf(w, "\nJudges of your own are asked by profiles, each in the form that it was trained on (--judge-profile, "+
		"docs/judges.md):\n\n")
	for _, p := range all.Profiles() {
		var names []string
		for _, m := range p.Metrics() {
			names = append(names, m.Name)
		}
		fmt.Fprintf(w, "  %-21s %s\n", p.Name, strings.Join(names, ", "))
	}
}

// marked is a star for a default.
func marked(m metrics.Metric) string {
	if m.Default {
		return "*"
	}
	return ""
}

// Describe prints what there is to know of a metric but for its prompts.
func Describe(w io.Writer, m metrics.Metric) {
	fmt.Fprintf(w, "%s%s\n  %s\n", m.Name, marked(m), m.Doc)
	fmt.Fprintf(w, "  value   %s\n", m.Formula)
	if m.Aliases != nil {
		fmt.Fprintf(w, "  also    %s\n", strings.Join(m.Aliases, ", "))
	}
	if m.Settings != nil {
		fmt.Fprintf(w, "  set by  @%s\n", strings.Join(m.Settings, ", @"))
	}
	fmt.Fprintf(w, "  range   %s\n", span(m))
	fmt.Fprintf(w, "  needs   %s\n", cmp.Or(needs(m), "nothing"))
	fmt.Fprintf(w, "  models  %s\n", abilities(m))
	fmt.Fprintf(w, "  calls   %s\n", m.Calls)
	fmt.Fprintf(w, "  source  %s\n", m.Source)
}

// Explain prints what there is to know of a metric, and the prompts that it asks with, the user's among them.
func Explain(w io.Writer, m metrics.Metric, texts prompts.Set) {
	Describe(w, m)
	for _, p := range m.Prompts {
		p = texts.For(p)
		if p.Version == "" { // a judge's profile
			fmt.Fprintf(w, "\n%s\n\n", p.Name)
		} else {
			fmt.Fprintf(w, "\nprompt %s, version %s\n\n", p.Name, p.Version)
		}
		for line := range strings.Lines(p.Text) {
			fmt.Fprint(w, strings.TrimRight("  "+line, " "))
		}
	}
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
