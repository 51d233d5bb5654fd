package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// Options say how a report is written.
type Options struct {
	Format   string    // one of [Formats]
	Color    bool      // the table is for a terminal that shows colours
	Verdicts []Verdict // from [Report.Judge], of all the runs
}

// mean and interval are empty where there is none.
func (s *Summary) mean() string     { return meanOf(s.Stats) }
func (s *Summary) interval() string { return intervalOf(s.Stats) }

// calibrated is the same of the probabilities beside the scores.
func (s *Summary) calibrated() (mean, interval string) {
	if s.Calibrated == nil {
		return "", ""
	}
	return meanOf(s.Calibrated.Stats), intervalOf(s.Calibrated.Stats)
}

func meanOf(s stats.Summary) string {
	if s.N == 0 {
		return ""
	}
	return number(s.Mean)
}

func intervalOf(s stats.Summary) string {
	if s.Interval == nil {
		return ""
	}
	return number(s.Interval.Lo) + " to " + number(s.Interval.Hi)
}

// calibrated reports whether some metric has probabilities beside its scores.
func (r *Report) calibrated() bool {
	return slices.ContainsFunc(r.Metrics, func(s Summary) bool { return s.Calibrated != nil })
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
	Calibrated    *JSONCalibrated      `json:"calibrated,omitempty"`  // beside the scores, where the run was given a map
	Warnings      []string             `json:"warnings,omitempty"`
	Calls         int                  `json:"calls"`         // answers of models used, over all samples
	PromptTokens  int                  `json:"prompt_tokens"` // that the judge read for them
	OutputTokens  int                  `json:"output_tokens"` // that it wrote
}

// A JSONCalibrated is the mean of the probabilities that a map makes of a metric's scores.
type JSONCalibrated struct {
	Mean   *float64 `json:"mean,omitempty"`
	Lo     *float64 `json:"lo,omitempty"`
	Hi     *float64 `json:"hi,omitempty"`
	Level  float64  `json:"level,omitempty"`
	Method string   `json:"method,omitempty"`
	By     string   `json:"by"` // what the scores were mapped to
}

// A JSONRun says which run the numbers are from.
type JSONRun struct {
	Dir      string        `json:"dir"`
	Finished bool          `json:"finished"`
	Samples  int           `json:"samples"` // that have results
	Manifest runs.Manifest `json:"manifest"`
}

func writeJSON(w io.Writer, reports []*Report, o Options) error {
	out := JSON{Metrics: []JSONMetric{}, Thresholds: o.Verdicts, Runs: []JSONRun{}}
	for _, r := range reports {
		for i := range r.Metrics {
			out.Metrics = append(out.Metrics, r.Metrics[i].json(r.Dir, &r.Manifest.Config))
		}
		out.Runs = append(out.Runs, JSONRun{r.Dir, r.Manifest.Finished != nil, r.Samples, r.Manifest})
	}
	return encode(w, out)
}

func (s *Summary) json(run string, config *runs.Config) JSONMetric {
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
		m.Calibration = calibrationNote(s.Calibration, config)
	}
	if c := s.Calibrated; c != nil {
		m.Calibrated = &JSONCalibrated{By: calibrationNote(c.By, config)}
		if s.N > 0 {
			m.Calibrated.Mean = &c.Stats.Mean
		}
		if i := c.Stats.Interval; i != nil {
			m.Calibrated.Lo, m.Calibrated.Hi, m.Calibrated.Level, m.Calibrated.Method = &i.Lo, &i.Hi, i.Level, string(i.Method)
		}
	}
	return m
}

func writeCSV(w io.Writer, reports []*Report, _ Options) error {
	c := csv.NewWriter(w)
	header := []string{"run", "name", "n", "failed", "not_applicable", "mean", "lo", "hi", "level", "method"}
	calibrated := slices.ContainsFunc(reports, (*Report).calibrated)
	if calibrated {
		header = append(header, "calibrated", "calibrated_lo", "calibrated_hi")
	}
	c.Write(header) // errors stick: see Error below
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	numbers := func(s stats.Summary) (mean, lo, hi string) {
		if s.N > 0 {
			mean = exact(s.Mean)
		}
		if i := s.Interval; i != nil {
			lo, hi = exact(i.Lo), exact(i.Hi)
		}
		return mean, lo, hi
	}
	for _, r := range reports {
		for _, s := range r.Metrics {
			mean, lo, hi := numbers(s.Stats)
			row := []string{r.Dir, s.Name, strconv.Itoa(s.N), strconv.Itoa(s.Failed), strconv.Itoa(s.NotApplicable), mean, lo, hi, "", ""}
			if i := s.Stats.Interval; i != nil {
				row[8], row[9] = exact(i.Level), string(i.Method)
			}
			if calibrated {
				mean, lo, hi = "", "", ""
				if s.Calibrated != nil {
					mean, lo, hi = numbers(s.Calibrated.Stats)
				}
				row = append(row, mean, lo, hi)
			}
			c.Write(row)
		}
	}
	c.Flush()
	return c.Error()
}
