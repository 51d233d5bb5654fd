package slicing

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// Slices are a run's metrics in parts of its data.
type Slices struct {
	Columns []string `json:"columns"`
	Tests   int      `json:"tests"`  // comparisons that Holm's correction allows for
	List    []Slice  `json:"slices"` // by column, metric and mean, the worst first
}

// A Slice is a metric's mean over the rows with a value in a column. Mean, Lo and Hi are absent where there is none.
type Slice struct {
	Column        string   `json:"column"`
	Value         string   `json:"value"`
	Metric        string   `json:"metric"`
	N             int      `json:"n"`
	Failed        int      `json:"failed"`
	NotApplicable int      `json:"not_applicable"`
	NotAsked      int      `json:"not_asked,omitempty"`
	Mean          *float64 `json:"mean,omitempty"`
	Lo            *float64 `json:"lo,omitempty"`
	Hi            *float64 `json:"hi,omitempty"`
	Method        string   `json:"method,omitempty"`
	Rest          *Rest    `json:"rest,omitempty"` // nil: there are too few rows to compare
	Worse         bool     `json:"worse"`          // than all other rows, with p_holm below 0.05
	Warnings      []string `json:"warnings,omitempty"`

	lowerIsBetter bool
}

// A Rest compares a slice with all other rows of the run that have a score.
type Rest struct {
	Mean       float64  `json:"mean"`       // of the other rows
	Difference float64  `json:"difference"` // the slice's mean less theirs
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	P          float64  `json:"p"`
	PHolm      float64  `json:"p_holm"`
}

// significant is how small a p-value must be, after Holm's correction, for a slice to be called worse.
const significant = 0.05

// Of summarises a run by the slices of its data. Scores of a metric with a calibration are summarised as the
// probabilities that it makes of them.
func Of(ctx context.Context, run *runs.Run, d *Data, maps []*runs.Calibration) (*Slices, error) {
	s := &Slices{Columns: d.Columns, List: []Slice{}}
	var tables []*table
	index := map[string]*table{}
	for _, m := range run.Manifest.Config.Metrics {
		t := &table{Metric: m, data: d}
		for _, c := range maps {
			if c.Metric == m.Name {
				t.calibration = c
				t.Min, t.Max, t.LowerIsBetter = 0, 1, false
			}
		}
		tables, index[m.Name] = append(tables, t), t
	}
	for r, err := range run.Results(ctx) {
		if err != nil {
			return nil, err
		}
		t, known := index[r.Metric]
		if !known {
			return nil, fmt.Errorf("sample %q: the results have a metric %q that the manifest does not", r.Sample, r.Metric)
		}
		t.add(r)
	}
	o := stats.Options{Seed: run.Manifest.Config.Seed, Err: ctx.Err}
	for _, t := range tables {
		t.gather()
	}
	for column := range d.Columns {
		for _, t := range tables {
			s.List = append(s.List, t.slices(column, o)...)
		}
	}
	s.correct()
	return s, ctx.Err()
}

// A table holds the results of a metric.
type table struct {
	runs.Metric
	data        *Data
	calibration *runs.Calibration
	results     []result

	// Of the results that have a score:
	scored []int // their places
	values []float64
	groups []string // nil if no row is in one
}

type result struct {
	sample, group string
	kind          metrics.Kind // "": there is a score
	value         float64
	drawn         *metrics.Drawn
}

func (t *table) add(r metrics.Result) {
	row := result{sample: r.Sample, group: r.Group, kind: r.Kind, drawn: r.Drawn}
	if r.Score != nil {
		row.value = r.Score.Value
		if t.calibration != nil {
			row.value = t.calibration.Map.At(row.value)
		}
	}
	t.results = append(t.results, row)
}

// slices summarises the slices of a column, worst first.
func (t *table) slices(column int, o stats.Options) []Slice {
	o.Min, o.Max = t.Min, t.Max
	parts := map[string]*part{}
	var names []string // in the order in which they come
	surveyed := false
	for i := range t.results {
		r := &t.results[i]
		surveyed = surveyed || r.drawn != nil
		values := []string{None}
		if row, ok := t.data.Rows[r.sample]; ok {
			values = row.Values[column]
		}
		for _, v := range values {
			if parts[v] == nil {
				parts[v] = &part{}
				names = append(names, v)
			}
			parts[v].add(i, r)
		}
	}
	var list []Slice
	for _, v := range names {
		p := parts[v]
		s := Slice{Column: t.data.Columns[column], Value: v, Metric: t.Name, N: p.n, Failed: p.failed,
			NotApplicable: p.notApplicable, NotAsked: p.notAsked, lowerIsBetter: t.LowerIsBetter}
		sum := p.mean.Summary(o)
		if surveyed {
			a := p.survey.Estimate(o)
			sum = a.Summary()
		}
		s.Warnings = sum.Warnings
		if sum.N > 0 {
			s.Mean = &sum.Mean
		}
		if i := sum.Interval; i != nil {
			s.Lo, s.Hi, s.Method = &i.Lo, &i.Hi, string(i.Method)
		}
		if !surveyed && len(names) > 1 {
			s.Rest = t.rest(p.rows, o)
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b Slice) int {
		if a.Mean == nil || b.Mean == nil {
			return cmp.Or(cmp.Compare(min(b.N, 1), min(a.N, 1)), cmp.Compare(a.Value, b.Value))
		}
		byMean := cmp.Compare(*a.Mean, *b.Mean)
		if t.LowerIsBetter {
			byMean = -byMean
		}
		return cmp.Or(byMean, cmp.Compare(a.Value, b.Value))
	})
	return list
}

// A part is what is summed of a slice.
type part struct {
	n, failed, notApplicable, notAsked int
	mean                               stats.Mean
	survey                             stats.Survey // where the metric was asked about some rows only
	rows                               []int        // with a score
}

func (p *part) add(i int, r *result) {
	switch r.kind {
	case "":
		p.n++
		p.mean.AddTo(r.group, r.value)
		p.rows = append(p.rows, i)
	case metrics.NotApplicable:
		p.notApplicable++
	case metrics.NotAsked:
		p.notAsked++
	default:
		p.failed++
	}
	if r.drawn != nil {
		p.survey.Add(stats.SurveyRow{Stratum: r.drawn.Stratum, Group: r.group, Asked: r.kind != metrics.NotAsked,
			Scored: r.kind == "", Value: r.value})
	}
}

// gather lists the scores, which each slice is held against.
func (t *table) gather() {
	grouped := false
	for i := range t.results {
		if r := &t.results[i]; r.kind == "" {
			t.scored, t.values, t.groups = append(t.scored, i), append(t.values, r.value), append(t.groups, r.group)
			grouped = grouped || r.group != ""
		}
	}
	if !grouped {
		t.groups = nil
	}
}

// rest compares rows, which all have a score, with all others that have one.
func (t *table) rest(rows []int, o stats.Options) *Rest {
	in := make([]bool, len(t.scored))
	next := 0
	for k, i := range t.scored {
		if next < len(rows) && rows[next] == i {
			in[k] = true
			next++
		}
	}
	o.Groups = t.groups
	c, ok := stats.ContrastOf(t.values, in, o)
	if !ok {
		return nil
	}
	rest := &Rest{Mean: c.Outside, Difference: c.Difference, P: c.P, PHolm: c.P}
	if c.Interval != nil {
		rest.Lo, rest.Hi = &c.Interval.Lo, &c.Interval.Hi
	}
	return rest
}

// correct applies Holm's correction over all comparisons, and says which slices are worse. Of a column of two values
// the slices are each other's rest: that is one comparison.
func (s *Slices) correct() {
	var p []float64
	var of [][]*Slice
	first := map[string]int{} // of the first slice of a column and metric, its comparison
	sizes := map[string]int{}
	for i := range s.List {
		sizes[s.List[i].Column+"\x00"+s.List[i].Metric]++
	}
	for i := range s.List {
		slice := &s.List[i]
		if slice.Rest == nil {
			continue
		}
		key := slice.Column + "\x00" + slice.Metric
		if k, seen := first[key]; seen && sizes[key] == 2 && math.Abs(p[k]-slice.Rest.P) <= 1e-9*p[k] {
			of[k] = append(of[k], slice)
			continue
		}
		first[key] = len(p)
		p, of = append(p, slice.Rest.P), append(of, []*Slice{slice})
	}
	s.Tests = len(p)
	for k, v := range stats.Holm(p) {
		for _, slice := range of[k] {
			slice.Rest.PHolm = v
			slice.Worse = v < significant && slice.Rest.Difference != 0 && slice.Rest.Difference < 0 != slice.lowerIsBetter
		}
	}
}

// Worst are the slices that are worse than all other rows, the surest first.
func (s *Slices) Worst() []Slice {
	list := slices.DeleteFunc(slices.Clone(s.List), func(slice Slice) bool { return !slice.Worse })
	slices.SortStableFunc(list, func(a, b Slice) int { return cmp.Compare(a.Rest.PHolm, b.Rest.PHolm) })
	return list
}

// Find are the slices of a metric by a column; none if the run was not sliced by it.
func (s *Slices) Find(column, metric string) []Slice {
	return slices.DeleteFunc(slices.Clone(s.List), func(slice Slice) bool {
		return slice.Column != column || slice.Metric != metric
	})
}
