package report

import (
	"encoding/json"
	"io"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/metrics"
)

// A JSON is the report that programs read. Its names stay as they are.
type JSON struct {
	Metrics    []JSONMetric `json:"metrics"`          // of all the runs, one after the other
	Slices     []JSONSlice  `json:"slices,omitempty"` // where --by asked for them
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
	NotAsked      int                  `json:"not_asked,omitempty"`
	Asked         *JSONAsked           `json:"asked,omitempty"` // where the metric was asked about some rows only
	Mean          *float64             `json:"mean,omitempty"`
	Lo            *float64             `json:"lo,omitempty"`
	Hi            *float64             `json:"hi,omitempty"`
	Level         float64              `json:"level,omitempty"`  // of the interval
	Method        string               `json:"method,omitempty"` // of the interval: bca, abc, exact or weighted
	Spread        *float64             `json:"spread,omitempty"` // mean standard deviation behind a score
	Draws         *JSONDraws           `json:"draws,omitempty"`  // of each sample, where there are several
	Pooled        *JSONPooled          `json:"pooled,omitempty"` // where the scores are ratios of counts
	Min           float64              `json:"min"`              // the metric's range
	Max           float64              `json:"max"`
	LowerIsBetter bool                 `json:"lower_is_better,omitempty"`
	Groups        int                  `json:"groups,omitempty"`      // that the scores are from, where some share one
	Failures      map[metrics.Kind]int `json:"failures,omitempty"`    // by kind
	Calibration   string               `json:"calibration,omitempty"` // what the scores were mapped to
	// beside the scores, where the run was given a map
	Calibrated   *JSONCalibrated `json:"calibrated,omitempty"`
	Warnings     []string        `json:"warnings,omitempty"`
	Calls        int             `json:"calls"`         // answers of models used, over all samples
	PromptTokens int             `json:"prompt_tokens"` // that the judge read for them
	OutputTokens int             `json:"output_tokens"` // that it wrote
}

// A JSONAsked is about how many rows a metric was asked, and what is said of these rows alone.
type JSONAsked struct {
	Rows  int      `json:"rows"`  // that might have been
	Asked int      `json:"asked"` // of them
	Cheap string   `json:"cheap,omitempty"`
	Lo    *float64 `json:"lo,omitempty"` // of the mean that these rows would have if all were asked
	Hi    *float64 `json:"hi,omitempty"`
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

// A JSONSlice is a metric's summary in a part of one run.
type JSONSlice struct {
	Run string `json:"run"`
	slicing.Slice
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
		if r.Slices != nil {
			for _, s := range r.Slices.List {
				out.Slices = append(out.Slices, JSONSlice{r.Dir, s})
			}
		}
		out.Runs = append(out.Runs, JSONRun{r.Dir, r.Manifest.Finished != nil, r.Samples, r.Manifest})
	}
	return encode(w, out)
}

func (s *Summary) json(run string, config *runs.Config) JSONMetric {
	m := JSONMetric{
		Run: run, Name: s.Name, N: s.N, Failed: s.Failed, NotApplicable: s.NotApplicable,
		Min: s.Min, Max: s.Max, LowerIsBetter: s.LowerIsBetter, Groups: s.Stats.Groups, Failures: s.Kinds,
		Warnings: s.Stats.Warnings, Draws: s.Drawn.json(), Pooled: s.Pooled.json(),
		Calls: s.Calls, PromptTokens: s.Cost.PromptTokens, OutputTokens: s.Cost.OutputTokens,
	}
	if s.N > 0 {
		m.Mean = &s.Stats.Mean
	}
	if a := s.Active; a != nil {
		m.NotAsked, m.Asked = s.NotAsked, &JSONAsked{Rows: a.Rows, Asked: a.Asked, Cheap: s.cheap(config.Budget)}
		if i := a.OfRows; i != nil {
			m.Asked.Lo, m.Asked.Hi = &i.Lo, &i.Hi
		}
	}
	if s.Spreads > 0 {
		m.Spread = &s.Spread
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
			m.Calibrated.Lo, m.Calibrated.Hi, m.Calibrated.Level, m.Calibrated.Method = &i.Lo, &i.Hi, i.Level,
				string(i.Method)
		}
	}
	return m
}

// writeStudyJSON writes the result as it is.
func writeStudyJSON(w io.Writer, d *document) error { return encode(w, d.value) }

// encode writes JSON as programs read it.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
