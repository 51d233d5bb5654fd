package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// What the commands that compare scores have in common: a run's scores by sample, and how numbers are written.

// scores are a run's, by metric and sample. Where a metric has none for a sample, the sample is not there.
type scores struct {
	*runs.Run
	samples []string          // in the run's order
	group   map[string]string // of the samples that are in one
	of      map[string]map[string]float64
}

// loadScores reads a run folder. Unlike a report, it takes memory for each score.
func loadScores(ctx context.Context, dir string) (*scores, error) {
	run, err := runs.Open(dir)
	if err != nil {
		return nil, err
	}
	s := &scores{Run: run, group: map[string]string{}, of: map[string]map[string]float64{}}
	for _, m := range run.Manifest.Config.Metrics {
		s.of[m.Name] = map[string]float64{}
	}
	for r, err := range run.Results(ctx) {
		if err != nil {
			return nil, err
		}
		if n := len(s.samples); n == 0 || s.samples[n-1] != r.Sample {
			s.samples = append(s.samples, r.Sample)
		}
		if r.Group != "" {
			s.group[r.Sample] = r.Group
		}
		of, known := s.of[r.Metric]
		if !known {
			return nil, fmt.Errorf("%s: sample %q: the results have a metric %q that run.json does not", dir, r.Sample, r.Metric)
		}
		if r.Score != nil {
			of[r.Sample] = r.Score.Value
		}
	}
	if len(s.samples) == 0 {
		return nil, fmt.Errorf("%s holds no results", dir)
	}
	return s, nil
}

// pick finds metrics of the run by their names or dimensions; all of them if none is named.
func (s *scores) pick(names []string) ([]runs.Metric, error) {
	all := s.Manifest.Config.Metrics
	if len(names) == 0 {
		return all, nil
	}
	var list []runs.Metric
	for _, name := range names {
		var found []runs.Metric
		for _, m := range all {
			if dimension, _, _ := strings.Cut(m.Name, "/"); m.Name == name || dimension == name {
				found = append(found, m)
			}
		}
		if len(found) == 0 {
			return nil, usagef("%s has no metric %q: it has %s", s.Dir, name, strings.Join(s.Manifest.Names(), ", "))
		}
		list = append(list, found...)
	}
	return list, nil
}

// one finds the metric that is named, or the only one.
func (s *scores) one(name string) (runs.Metric, error) {
	var names []string
	if name != "" {
		names = []string{name}
	}
	list, err := s.pick(names)
	if err != nil {
		return runs.Metric{}, err
	}
	if len(list) > 1 {
		return runs.Metric{}, usagef("%s has several metrics: choose with --metric %s", s.Dir, joined(list))
	}
	return list[0], nil
}

func joined(list []runs.Metric) string {
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	return strings.Join(names, " or ")
}

// groups lists the groups of samples, nil if none of them is in one.
func (s *scores) groups(samples []string) []string {
	if len(s.group) == 0 {
		return nil
	}
	groups := make([]string, len(samples))
	for i, id := range samples {
		groups[i] = s.group[id]
	}
	return groups
}

// An estimate is a number with its interval, as --format json prints it. Lo and Hi are absent where there is none.
type estimate struct {
	Value  float64  `json:"value"`
	Lo     *float64 `json:"lo,omitempty"`
	Hi     *float64 `json:"hi,omitempty"`
	Method string   `json:"method,omitempty"` // of the interval
}

func newEstimate(value float64, i *stats.Interval) *estimate {
	e := &estimate{Value: value}
	if i != nil {
		e.Lo, e.Hi, e.Method = &i.Lo, &i.Hi, string(i.Method)
	}
	return e
}

// String writes the number and its interval: "0.634 (0.521 to 0.729)".
func (e *estimate) String() string {
	switch {
	case e == nil:
		return ""
	case e.Lo == nil:
		return number(e.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", number(e.Value), number(*e.Lo), number(*e.Hi))
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// signed writes a difference. One that rounds to 0 has no sign to show.
func signed(v float64) string {
	if -0.0005 < v && v < 0.0005 {
		return "0.000"
	}
	return fmt.Sprintf("%+.3f", v)
}

// pValue writes a p-value with as many digits as tell something.
func pValue(p float64) string {
	switch {
	case p < 0.0001:
		return "<0.0001"
	case p < 0.01:
		return strconv.FormatFloat(p, 'f', 4, 64)
	}
	return number(p)
}

// checkFormat refuses a format that is none of the list.
func checkFormat(format string, list ...string) error {
	if slices.Contains(list, format) {
		return nil
	}
	return usagef("unknown format %q: %s", format, strings.Join(list, ", "))
}

// render has columns from the second on stand to the right, as numbers do, and renders the table in a format.
func render(t table.Writer, columns int, format string) {
	var list []table.ColumnConfig
	for i := 2; i <= columns; i++ {
		list = append(list, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(list)
	if format == "md" {
		t.RenderMarkdown()
		return
	}
	t.Render()
}

// bullets prints what a reader should know below a table.
func (s *std) bullets(lines []string) {
	for i, line := range lines {
		if i == 0 {
			fmt.Fprintln(s.out)
		}
		fmt.Fprintf(s.out, "- %s\n", printable(line))
	}
}

// shortNames are the folders' base names, or their paths where those are not different.
func shortNames(dirs []string) []string {
	short := make([]string, len(dirs))
	for i, dir := range dirs {
		short[i] = filepath.Base(filepath.Clean(dir))
	}
	if different := slices.Compact(slices.Sorted(slices.Values(short))); len(different) < len(dirs) {
		return dirs
	}
	return short
}
