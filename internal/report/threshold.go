package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Threshold is the worst mean that is good enough: the lowest, or the highest where lower is better.
type Threshold struct {
	Metric string // "faithfulness/claims", or "faithfulness" where a run has one metric of that dimension
	Bound  float64
}

// ParseThreshold reads "metric=bound".
func ParseThreshold(s string) (Threshold, error) {
	last := strings.LastIndexByte(s, '=') // a metric's name may have one, too: faithfulness/claims@draws=5
	name, bound := s[:max(last, 0)], s[last+1:]
	v, err := strconv.ParseFloat(bound, 64)
	if name == "" || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return Threshold{}, fmt.Errorf("%q is no threshold: write METRIC=NUMBER, as in faithfulness=0.8", s)
	}
	return Threshold{Metric: name, Bound: v}, nil
}

// A Verdict is a threshold held against a run.
type Verdict struct {
	Run    string  `json:"run"`
	Metric string  `json:"metric"` // its full name
	Bound  float64 `json:"bound"`
	Passed bool    `json:"passed"`
	Why    string  `json:"why"` // "the mean 0.612 is under 0.8"
}

// Judge holds thresholds against the report. A threshold for a metric that the run does not have is an error.
func (r *Report) Judge(thresholds []Threshold) ([]Verdict, error) {
	var verdicts []Verdict
	for _, t := range thresholds {
		m, err := r.find(t.Metric)
		if err != nil {
			return nil, err
		}
		if t.Bound < m.Min || t.Bound > m.Max {
			return nil, fmt.Errorf("the threshold %s=%v is not in the metric's range, %v to %v", t.Metric, t.Bound,
				m.Min, m.Max)
		}
		v := Verdict{Run: r.Dir, Metric: m.Name, Bound: t.Bound}
		mean := m.Stats.Mean
		switch {
		case m.N == 0:
			v.Why = "there is no score"
		case m.LowerIsBetter && mean > t.Bound:
			v.Why = fmt.Sprintf("the mean %s is over %v", number(mean), t.Bound)
		case !m.LowerIsBetter && mean < t.Bound:
			v.Why = fmt.Sprintf("the mean %s is under %v", number(mean), t.Bound)
		default:
			v.Passed = true
			v.Why = fmt.Sprintf("the mean %s is within %v", number(mean), t.Bound)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// find returns the metric of the given name or, if only one has it, of the given dimension.
func (r *Report) find(name string) (*Summary, error) {
	i, err := findMetric(r.Metrics, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Dir, err)
	}
	return &r.Metrics[i], nil
}

// findMetric is the index of the metric of the given name or, if only one has it, of the given dimension.
func findMetric(list []Summary, name string) (int, error) {
	var found []int
	var have []string
	for i, m := range list {
		if m.Name == name {
			return i, nil
		}
		have = append(have, m.Name)
		if dimension, _, _ := strings.Cut(m.Name, "/"); dimension == name {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, fmt.Errorf("the run has no metric %q: it has %s", name, strings.Join(have, ", "))
	}
	return 0, fmt.Errorf("the run has more than one metric for %s: name one of %s", name, strings.Join(have, ", "))
}
