package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/assay-eval/assay/internal/report"
	"github.com/assay-eval/assay/internal/runs"
)

type runIn struct {
	Data    string            `json:"data" jsonschema:"the dataset, a file: JSONL, JSON, CSV, TSV, Parquet, Excel or traces"`
	Sheet   string            `json:"sheet,omitempty" jsonschema:"of a workbook of Excel; without, the first that is not hidden"`
	Output  string            `json:"output" jsonschema:"the run folder to write"`
	Metrics []string          `json:"metrics,omitempty" jsonschema:"names from the tool metrics; without metrics and preset the metrics of the RAGAS paper"`
	Preset  string            `json:"preset,omitempty" jsonschema:"a named list of metrics, in place of metrics"`
	Map     map[string]string `json:"map,omitempty" jsonschema:"column by field, where a column has a name of its own: question, answer, contexts, reference_answers"`
	Where   []string          `json:"where,omitempty" jsonschema:"conditions that rows fulfil, such as lang=de"`
	Limit   int               `json:"limit,omitempty" jsonschema:"score the first rows only, so many"`
	Sample  int               `json:"sample,omitempty" jsonschema:"score so many rows drawn at random, always the same"`
}

// A runOut is a run's summary.
type runOut struct {
	Run     string   `json:"run" jsonschema:"the run folder, for the other tools"`
	Rows    int      `json:"rows"`
	Metrics []mean   `json:"metrics"`
	Notes   []string `json:"notes,omitempty" jsonschema:"what a reader of the numbers should know"`
}

// A mean is a metric's, with what is missing from it.
type mean struct {
	Name          string   `json:"name"`
	N             int      `json:"n" jsonschema:"rows with a score"`
	Failed        int      `json:"failed" jsonschema:"rows without one because something went wrong"`
	NotApplicable int      `json:"not_applicable" jsonschema:"rows that the metric says nothing about"`
	Mean          *float64 `json:"mean,omitempty"`
	Lo            *float64 `json:"lo,omitempty" jsonschema:"lower end of the mean's 95% interval"`
	Hi            *float64 `json:"hi,omitempty" jsonschema:"upper end"`
	LowerIsBetter bool     `json:"lower_is_better,omitempty"`
	Warnings      []string `json:"warnings,omitempty"`
}

// run scores a dataset. One run goes on at a time: others wait.
func (s *server) run(ctx context.Context, in runIn) (out runOut, err error) {
	data, err := s.path("data", in.Data)
	if err != nil {
		return out, err
	}
	if info, err := os.Stat(data); err != nil || !info.Mode().IsRegular() || data == "-" { // which would be standard input
		return out, fmt.Errorf("there is no file %s in the folder of the server", data)
	}
	dir, err := s.path("output", in.Output)
	if err != nil {
		return out, err
	}
	flags := []string{"--data=" + data, "--output=" + dir}
	for _, name := range in.Metrics {
		flags = append(flags, "--metrics="+name)
	}
	for field, column := range in.Map {
		flags = append(flags, "--map="+field+"="+column)
	}
	for _, condition := range in.Where {
		flags = append(flags, "--where="+condition)
	}
	if in.Sheet != "" {
		flags = append(flags, "--sheet="+in.Sheet)
	}
	if in.Preset != "" {
		flags = append(flags, "--preset="+in.Preset)
	}
	if in.Limit != 0 {
		flags = append(flags, fmt.Sprint("--limit=", in.Limit))
	}
	if in.Sample != 0 {
		flags = append(flags, fmt.Sprint("--sample=", in.Sample))
	}
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	if err := s.options.Run(ctx, flags); err != nil {
		return out, err
	}
	return s.summary(ctx, dir)
}

func (s *server) summary(ctx context.Context, dir string) (out runOut, err error) {
	r, err := report.Load(ctx, dir, report.View{Cases: 1})
	if err != nil {
		return out, err
	}
	out = runOut{Run: dir, Rows: r.Samples, Notes: r.Manifest.Notes}
	for _, m := range r.Metrics {
		row := mean{Name: m.Name, N: m.N, Failed: m.Failed, NotApplicable: m.NotApplicable, LowerIsBetter: m.LowerIsBetter,
			Warnings: m.Stats.Warnings}
		if m.N > 0 {
			row.Mean = &m.Stats.Mean
		}
		if i := m.Stats.Interval; i != nil {
			row.Lo, row.Hi = &i.Lo, &i.Hi
		}
		out.Metrics = append(out.Metrics, row)
	}
	return out, nil
}

// open opens a run folder.
func (s *server) open(given string) (*runs.Run, error) {
	dir, err := s.path("run", given)
	if err != nil {
		return nil, err
	}
	run, err := runs.Open(dir)
	if err != nil {
		return nil, errors.Join(err, errors.New("the tool runs lists those that are there"))
	}
	return run, nil
}
