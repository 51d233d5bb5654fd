package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// Options say how a report is written.
type Options struct {
	Format   string    // one of [Formats]
	Color    bool      // the table is for a terminal that shows colours
	Verdicts []Verdict // from [Report.Judge], of all the runs
}

// Formats lists the formats that Write knows: a table for people, json and csv for programs, md for
// pages, junit for CI systems, html for browsers.
func Formats() []string { return []string{"table", "json", "csv", "md", "junit", "html"} }

// CheckFormat returns an error for a format that Write does not know.
func CheckFormat(format string) error {
	if slices.Contains(Formats(), format) {
		return nil
	}
	return fmt.Errorf("unknown format %q: it is one of %s", format, strings.Join(Formats(), ", "))
}

// Write renders the reports of one or more runs.
func Write(w io.Writer, reports []*Report, o Options) error {
	if err := CheckFormat(o.Format); err != nil {
		return err
	}
	switch o.Format {
	case "json":
		return writeJSON(w, reports, o.Verdicts)
	case "csv":
		return writeCSV(w, reports)
	case "md":
		return writeMarkdown(w, reports, o.Verdicts)
	case "junit":
		return writeJUnit(w, reports, o.Verdicts)
	case "html":
		return writeHTML(w, reports, o.Verdicts)
	}
	return writeTable(w, reports, o)
}

// number writes a value as tables show it.
func number(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// mean and interval are empty where there is none.
func (s *Summary) mean() string {
	if s.N == 0 {
		return ""
	}
	return number(s.Stats.Mean)
}

func (s *Summary) interval() string {
	if s.Stats.Interval == nil {
		return ""
	}
	return number(s.Stats.Interval.Lo) + " to " + number(s.Stats.Interval.Hi)
}

// A JSON is the report that programs read. Its names stay as they are.
type JSON struct {
	Metrics    []JSONMetric `json:"metrics"` // of all the runs, one after the other
	Thresholds []Verdict    `json:"thresholds,omitempty"`
	Runs       []JSONRun    `json:"runs"`
}

// A JSONMetric is a metric's summary in one run. Mean, Lo and Hi are absent where there is none.
type JSONMetric struct {
	Run           string               `json:"run"`
	Name          string               `json:"name"`
	N             int                  `json:"n"`
	Failed        int                  `json:"failed"`
	NotApplicable int                  `json:"not_applicable"`
	Mean          *float64             `json:"mean,omitempty"`
	Lo            *float64             `json:"lo,omitempty"`
	Hi            *float64             `json:"hi,omitempty"`
	Level         float64              `json:"level,omitempty"`  // of the interval
	Method        string               `json:"method,omitempty"` // of the interval: bca, abc or exact
	Min           float64              `json:"min"`              // the metric's range
	Max           float64              `json:"max"`
	LowerIsBetter bool                 `json:"lower_is_better,omitempty"`
	Groups        int                  `json:"groups,omitempty"`      // that the scores are from, where some share one
	Failures      map[metrics.Kind]int `json:"failures,omitempty"`    // by kind
	Calibration   string               `json:"calibration,omitempty"` // what the scores were mapped to
	Warnings      []string             `json:"warnings,omitempty"`
	Calls         int                  `json:"calls"`         // answers of models used, over all samples
	PromptTokens  int                  `json:"prompt_tokens"` // that the judge read for them
	OutputTokens  int                  `json:"output_tokens"` // that it wrote
}

// A JSONRun says which run the numbers are from.
type JSONRun struct {
	Dir      string   `json:"dir"`
	Finished bool     `json:"finished"`
	Samples  int      `json:"samples"` // that have results
	Manifest Manifest `json:"manifest"`
}

func writeJSON(w io.Writer, reports []*Report, verdicts []Verdict) error {
	out := JSON{Metrics: []JSONMetric{}, Thresholds: verdicts, Runs: []JSONRun{}}
	for _, r := range reports {
		for i := range r.Metrics {
			out.Metrics = append(out.Metrics, r.Metrics[i].json(r.Dir, r.Manifest.Config.Judge))
		}
		out.Runs = append(out.Runs, JSONRun{r.Dir, r.Manifest.Finished != nil, r.Samples, r.Manifest})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func (s *Summary) json(run string, judge *Model) JSONMetric {
	m := JSONMetric{
		Run: run, Name: s.Name, N: s.N, Failed: s.Failed, NotApplicable: s.NotApplicable,
		Min: s.Min, Max: s.Max, LowerIsBetter: s.LowerIsBetter, Groups: s.Stats.Groups, Failures: s.Kinds, Warnings: s.Stats.Warnings,
		Calls: s.Calls, PromptTokens: s.Cost.PromptTokens, OutputTokens: s.Cost.OutputTokens,
	}
	if s.N > 0 {
		m.Mean = &s.Stats.Mean
	}
	if i := s.Stats.Interval; i != nil {
		m.Lo, m.Hi, m.Level, m.Method = &i.Lo, &i.Hi, i.Level, string(i.Method)
	}
	if s.Calibration != nil {
		m.Calibration = s.Calibration.note(judge)
	}
	return m
}

func writeCSV(w io.Writer, reports []*Report) error {
	c := csv.NewWriter(w)
	c.Write([]string{"run", "name", "n", "failed", "not_applicable", "mean", "lo", "hi", "level", "method"}) // errors stick: see Error below
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, r := range reports {
		for _, s := range r.Metrics {
			var mean, lo, hi, level, method string
			if s.N > 0 {
				mean = exact(s.Stats.Mean)
			}
			if i := s.Stats.Interval; i != nil {
				lo, hi, level, method = exact(i.Lo), exact(i.Hi), exact(i.Level), string(i.Method)
			}
			c.Write([]string{r.Dir, s.Name, strconv.Itoa(s.N), strconv.Itoa(s.Failed), strconv.Itoa(s.NotApplicable), mean, lo, hi, level, method})
		}
	}
	c.Flush()
	return c.Error()
}
