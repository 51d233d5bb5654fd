package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/report"
)

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
