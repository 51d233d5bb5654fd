package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
)

// A Comparison is what --format json prints.
type Comparison struct {
	Metrics   []Difference `json:"metrics"`
	Strengths []Strengths  `json:"strengths,omitempty"` // of three runs or more
	Warnings  []string     `json:"warnings,omitempty"`  // what else differs between the runs
	Dirs      []string     `json:"-"`                   // the baseline's folder and the others'
}

// A Difference is a metric's in two runs.
type Difference struct {
	Name          string      `json:"name"`
	Baseline      string      `json:"baseline"`
	Run           string      `json:"run"`
	N             int         `json:"n"`        // samples that both runs scored
	LeftOut       int         `json:"left_out"` // samples without a score in one of them or both
	BaselineMean  float64     `json:"baseline_mean"`
	Mean          float64     `json:"mean"`
	Difference    float64     `json:"difference"` // the run's less the baseline's
	Lo            *float64    `json:"lo,omitempty"`
	Hi            *float64    `json:"hi,omitempty"`
	Method        string      `json:"method,omitempty"` // of the interval
	P             float64     `json:"p"`
	PHolm         float64     `json:"p_holm"`
	Test          string      `json:"test"`        // randomisation, t for very many rows, z where some were not asked
	T             *TTest      `json:"t,omitempty"` // Student's paired test, beside it
	Effect        float64     `json:"effect"`      // Cohen's d_z
	Better        int         `json:"better"`      // samples in which the run is better than the baseline
	Equal         int         `json:"equal"`       //
	Worse         int         `json:"worse"`       //
	LowerIsBetter bool        `json:"lower_is_better,omitempty"`
	Detect        *Detectable `json:"detect,omitempty"`
	Changed       []Changed   `json:"changed,omitempty"`
	Warnings      []string    `json:"warnings,omitempty"`
}

// A TTest is Student's paired test.
type TTest struct {
	T  float64 `json:"t"`
	DF int     `json:"df"`
	P  float64 `json:"p"`
}

// A Detectable is the minimum detectable effect at this n, and how many rows detect a given one.
type Detectable struct {
	Power      float64  `json:"power"`
	Difference float64  `json:"difference"`         // to be seen
	Rows       int      `json:"rows"`               // that show it
	Smallest   *float64 `json:"smallest,omitempty"` // difference that the rows at hand show
}

// A Changed sample is one whose score is another.
type Changed struct {
	Sample     string  `json:"sample"`
	Baseline   float64 `json:"baseline"`
	Value      float64 `json:"value"`
	Difference float64 `json:"difference"`
}

// CompareOptions say what is compared. Power lies between 0 and 1.
type CompareOptions struct {
	Metrics []string // names or dimensions; nil: all of the baseline
	Detect  float64  // the difference whose rows are counted; 0: a twentieth of the range
	Power   float64  // the chance of seeing it
	Changed int      // how many samples that changed most are listed
	Seed    uint64
}

// Compare compares runs with a baseline, metric by metric, on the samples that both could score.
func Compare(ctx context.Context, base *runs.Scores, others []*runs.Scores, o CompareOptions) (*Comparison, error) {
	c := &Comparison{Metrics: []Difference{}, Dirs: []string{base.Dir}}
	for _, other := range others {
		c.Dirs = append(c.Dirs, other.Dir)
		c.Warnings = append(c.Warnings, configChanges(base.Run, other.Run)...)
		if err := o.addRun(ctx, c, base, other); err != nil {
			return nil, err
		}
	}
	var p []float64
	for _, d := range c.Metrics {
		p = append(p, d.P)
	}
	for i, v := range stats.Holm(p) {
		c.Metrics[i].PHolm = v
	}
	if len(others) > 1 {
		if err := o.strengths(ctx, c, append([]*runs.Scores{base}, others...)); err != nil {
			return nil, err
		}
	}
	return c, ctx.Err()
}

// addRun compares one run with the baseline.
func (o *CompareOptions) addRun(ctx context.Context, c *Comparison, base, other *runs.Scores) error {
	list, err := base.Pick(o.Metrics)
	if err != nil {
		return err
	}
	found := false
	for _, m := range list {
		theirs, err := other.Manifest.Find(m.Name)
		if err != nil {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s has no %s", other.Dir, m.Name))
			continue
		}
		if theirs.Min != m.Min || theirs.Max != m.Max {
			return fmt.Errorf("%s has another range in %s (%v to %v) than in %s (%v to %v): the runs are of "+
				"different versions",
				m.Name, other.Dir, theirs.Min, theirs.Max, base.Dir, m.Min, m.Max)
		}
		d := o.difference(ctx, base, other, m)
		if d.N == 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s: no sample has a score in both runs", other.Dir,
				m.Name))
			continue
		}
		found = true
		c.Metrics = append(c.Metrics, d)
	}
	if !found {
		return runs.Inputf("%s and %s have no metric with scores for the same samples", base.Dir, other.Dir).WithHint(
			"runs are compared sample by sample, by the ids of the dataset: assay report shows what each has")
	}
	return nil
}

// difference compares a metric on the samples that both runs scored.
func (o *CompareOptions) difference(ctx context.Context, base, other *runs.Scores, m runs.Metric) Difference {
	d := Difference{Name: m.Name, Baseline: base.Dir, Run: other.Dir, LowerIsBetter: m.LowerIsBetter}
	var ids []string
	var a, b []float64
	for _, id := range base.Samples {
		before, ok := base.Of[m.Name][id]
		after, too := other.Of[m.Name][id]
		if !ok || !too {
			d.LeftOut++
			continue
		}
		ids, a, b = append(ids, id), append(a, before), append(b, after)
	}
	seen := map[string]bool{}
	for _, id := range base.Samples {
		seen[id] = true
	}
	for _, id := range other.Samples {
		if !seen[id] {
			d.LeftOut++
		}
	}
	if d.N = len(ids); d.N == 0 {
		return d
	}
	if base.Surveys[m.Name] != nil || other.Surveys[m.Name] != nil {
		d.drawn(base, other, m)
		return d
	}
	for i := range a {
		d.BaselineMean += a[i] / float64(d.N)
		d.Mean += b[i] / float64(d.N)
	}
	groups := base.Groups(ids)
	if groups == nil {
		groups = other.Groups(ids) // the baseline may be of a version that did not record them
	}
	p := stats.Pair(a, b, stats.Options{Seed: o.Seed, Err: ctx.Err, Min: m.Min, Max: m.Max, Groups: groups})
	d.take(&p)
	d.Detect = o.plan(m, d.N, &p)
	d.Changed = mostChanged(ids, a, b, o.Changed)
	if all := d.N + d.LeftOut; d.LeftOut*20 > all {
		d.Warnings = append(d.Warnings,
			fmt.Sprintf("%d of %d samples lack a score in one of the runs: the difference says nothing of those",
				d.LeftOut, all))
	}
	return d
}

// drawn compares the means of runs of which one at least asked about some rows only. The rows that both asked about are
// no fair sample, so the two estimates are taken for independent: of the same rows they are not, which makes the
// interval too wide rather than too narrow.
func (d *Difference) drawn(base, other *runs.Scores, m runs.Metric) {
	o := stats.Options{Min: m.Min, Max: m.Max}
	before, after := surveyOf(base, m.Name).Estimate(o), surveyOf(other, m.Name).Estimate(o)
	d.BaselineMean, d.Mean, d.Test = before.Estimate, after.Estimate, "z"
	d.Difference = after.Estimate - before.Estimate
	d.P = 1
	d.Warnings = append(d.Warnings, fmt.Sprintf("asked about %d of %d rows in the baseline, %d of %d in the run: their means "+
		"are compared as of independent rows", before.Asked, before.Rows, after.Asked, after.Rows))
	if before.Interval == nil || after.Interval == nil {
		d.Warnings = append(d.Warnings, "no interval: too little was asked, or it does not vary")
		return
	}
	half := math.Hypot(before.Interval.Hi-before.Interval.Lo, after.Interval.Hi-after.Interval.Lo) / 2
	lo, hi := d.Difference-half, d.Difference+half
	d.Lo, d.Hi, d.Method = &lo, &hi, string(stats.Weighted)
	d.P = stats.NormalP(d.Difference, half, before.Interval.Level)
}

// surveyOf is the survey that a run's scores are of: of all rows with a score, if the metric was asked about all.
func surveyOf(run *runs.Scores, metric string) *stats.Survey {
	if s := run.Surveys[metric]; s != nil {
		return s
	}
	s := &stats.Survey{}
	for _, id := range run.Samples {
		if v, ok := run.Of[metric][id]; ok {
			s.Add(stats.SurveyRow{Group: run.Group[id], Asked: true, Scored: true, Value: v})
		}
	}
	return s
}

func (d *Difference) take(p *stats.Pairing) {
	d.Difference, d.Warnings = p.Difference.Mean, p.Difference.Warnings
	if i := p.Difference.Interval; i != nil {
		d.Lo, d.Hi, d.Method = &i.Lo, &i.Hi, string(i.Method)
	}
	d.P, d.Test, d.Effect = p.P, p.Tested, p.Effect
	if p.T != nil {
		d.T = &TTest{p.T.T, p.T.Freedom, p.T.P}
	}
	d.Better, d.Equal, d.Worse = p.Wins, p.Ties, p.Losses
	if d.LowerIsBetter {
		d.Better, d.Worse = p.Losses, p.Wins
	}
}

// plan says how many rows it takes; nil where the differences do not vary, so that there is nothing to plan with.
func (o *CompareOptions) plan(m runs.Metric, n int, p *stats.Pairing) *Detectable {
	const level = 0.95
	size := o.Detect
	if size == 0 {
		size = 0.05 * (m.Max - m.Min)
	}
	rows, err := stats.RowsNeeded(size, p.Spread, level, o.Power)
	if err != nil {
		return nil
	}
	d := &Detectable{Power: o.Power, Difference: size, Rows: rows}
	if least, err := stats.Detectable(n, p.Spread, level, o.Power); err == nil {
		d.Smallest = &least
	}
	return d
}

// mostChanged lists the samples whose scores differ most, the first of equal ones first.
func mostChanged(ids []string, a, b []float64, most int) []Changed {
	var list []Changed
	for i, id := range ids {
		if a[i] != b[i] {
			list = append(list, Changed{id, a[i], b[i], b[i] - a[i]})
		}
	}
	slices.SortStableFunc(list, func(x, y Changed) int {
		return cmp.Compare(math.Abs(y.Difference), math.Abs(x.Difference))
	})
	return list[:min(most, len(list))]
}
