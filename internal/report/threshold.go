package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Threshold is the worst mean that is good enough: the lowest, or the highest where lower is better.
type Threshold struct {
	Metric string // "faithfulness/claims", or "faithfulness" where a run has one metric of that dimension
	Bound  float64
	Held
}

// Held says what of a metric is held against a bound.
type Held struct {
	Worst bool   // the worse end of the interval, in place of the mean: the lower, or the upper where lower is better
	By    string // in each slice by this column; "": over all rows
}

// ParseThreshold reads "metric=bound", with what [ParseHeld] reads behind it.
func ParseThreshold(s string) (Threshold, error) {
	last := strings.LastIndexByte(s, '=') // a metric's name may have one, too: faithfulness/claims@draws=5
	name := s[:max(last, 0)]
	v, held, err := ParseHeld(s[last+1:])
	if name == "" || err != nil {
		return Threshold{}, fmt.Errorf("%q is no threshold: write METRIC=NUMBER, as in faithfulness=0.8; "+
			"faithfulness=0.8:lower is for the interval's lower end, and faithfulness=0.8:lower:lang for that in each "+
			"slice by the column lang", s)
	}
	return Threshold{name, v, held}, nil
}

// ParseHeld reads a bound and what is held against it: "0.8", "0.8:lower", "0.8:lang", "0.8:mean:lang", "0.8:lower:lang".
func ParseHeld(s string) (bound float64, h Held, err error) {
	number, rest, given := strings.Cut(s, ":")
	bound, err = strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(bound) || math.IsInf(bound, 0) || given && rest == "" {
		return 0, h, fmt.Errorf("%q is no number, nor one with :lower or :COLUMN behind it", s)
	}
	switch word, column, more := strings.Cut(rest, ":"); {
	case word == "lower" || word == "mean":
		if h.Worst, h.By = word == "lower", column; more && column == "" {
			return 0, h, fmt.Errorf("%q ends where a column is to be named", s)
		}
	default:
		h.By = rest
	}
	return bound, h, nil
}

// A Verdict is a threshold, or a limit to a drop, held against a run or a slice of it.
type Verdict struct {
	Run      string  `json:"run"`
	Metric   string  `json:"metric"`                 // its full name
	Column   string  `json:"slice_column,omitempty"` // the verdict is on the rows with this column's
	Value    string  `json:"slice_value,omitempty"`  // value, not on all
	Bound    float64 `json:"bound"`
	Passed   bool    `json:"passed"`
	Baseline string  `json:"baseline,omitempty"` // the run that this one is compared with: Bound is how much worse it may be
	Skipped  bool    `json:"skipped,omitempty"`  // a slice of too few rows to hold anything against: it passes
	Why      string  `json:"why"`                // "the mean 0.612 is under 0.8"
}

// What names what the verdict is on: "faithfulness/claims", or "faithfulness/claims, lang=de".
func (v Verdict) What() string { return v.Metric + when(v.Column != "", ", "+v.Column+"="+v.Value) }

// Word is ok, FAIL or skip.
func (v Verdict) Word() string {
	switch {
	case v.Skipped:
		return "skip"
	case v.Passed:
		return "ok"
	}
	return "FAIL"
}

// FewestRows is how many scores a slice must have for a verdict.
const FewestRows = 5

// Judge holds thresholds against the report. A threshold for a metric that the run does not have is an error.
func (r *Report) Judge(thresholds []Threshold) ([]Verdict, error) {
	var verdicts []Verdict
	for _, t := range thresholds {
		m, err := r.Find(t.Metric)
		if err != nil {
			return nil, err
		}
		if t.Bound < m.Min || t.Bound > m.Max {
			return nil, fmt.Errorf("the threshold %s=%v is not in the metric's range, %v to %v", t.Metric, t.Bound,
				m.Min, m.Max)
		}
		if t.By != "" {
			list, err := r.judgeSlices(t, m)
			if err != nil {
				return nil, err
			}
			verdicts = append(verdicts, list...)
			continue
		}
		v := Verdict{Run: r.Dir, Metric: m.Name, Bound: t.Bound}
		f := figure{n: m.N, mean: m.Stats.Mean, warnings: m.Stats.Warnings}
		if i := m.Stats.Interval; i != nil {
			f.lo, f.hi = &i.Lo, &i.Hi
		}
		v.Passed, v.Why = t.holds(f, m.LowerIsBetter)
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// judgeSlices holds a threshold against each slice by a column.
func (r *Report) judgeSlices(t Threshold, m *Summary) ([]Verdict, error) {
	if r.Slices == nil || !slices.Contains(r.Slices.Columns, t.By) {
		return nil, fmt.Errorf("%s was not sliced by %q", r.Dir, t.By)
	}
	var verdicts []Verdict
	for _, s := range r.Slices.Find(t.By, m.Name) {
		v := Verdict{Run: r.Dir, Metric: m.Name, Column: s.Column, Value: s.Value, Bound: t.Bound}
		if s.N < FewestRows {
			v.Passed, v.Skipped, v.Why = true, true, fmt.Sprintf("%s, too few to hold to %v", plural(s.N, "score"), t.Bound)
		} else {
			v.Passed, v.Why = t.holds(figure{s.N, *s.Mean, s.Lo, s.Hi, s.Warnings}, m.LowerIsBetter)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// A figure is a mean with its interval, whose ends are nil where there is none.
type figure struct {
	n        int
	mean     float64
	lo, hi   *float64
	warnings []string
}

// holds reports whether a figure is good enough, and why.
func (t *Threshold) holds(f figure, lowerIsBetter bool) (bool, string) {
	end, which := f.lo, "lower"
	if lowerIsBetter {
		end, which = f.hi, "upper"
	}
	what, v := "the mean", f.mean
	switch {
	case f.n == 0:
		return false, "there is no score"
	case t.Worst && end == nil:
		return false, fmt.Sprintf("there is no interval to hold to %v (%s)", t.Bound, strings.Join(f.warnings, "; "))
	case t.Worst:
		what, v = fmt.Sprintf("the interval's %s end", which), *end
	}
	mean := when(t.Worst, fmt.Sprintf("; the mean is %s", number(f.mean)))
	switch {
	case lowerIsBetter && v > t.Bound:
		return false, fmt.Sprintf("%s %s is over %v%s", what, number(v), t.Bound, mean)
	case !lowerIsBetter && v < t.Bound:
		return false, fmt.Sprintf("%s %s is under %v%s", what, number(v), t.Bound, mean)
	}
	return true, fmt.Sprintf("%s %s is within %v%s", what, number(v), t.Bound, mean)
}

// Find returns the metric of the given name or, if only one has it, of the given dimension.
func (r *Report) Find(name string) (*Summary, error) {
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
