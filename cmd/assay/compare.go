package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
	"github.com/jedib0t/go-pretty/v6/table"
)

const compareHelp = `
Usage: assay compare BASELINE RUN... [flags]

Compares runs with the first of them, metric by metric, on the samples that both could score: the mean difference
(the other run's score less the baseline's) with its 95% interval, and the p-value of a randomisation test: how
often would a difference as large arise if it made no difference which run is which? p (Holm) allows for
several comparisons in one table. A p-value below 0.05 is a difference worth believing; one above it is not
a proof that there is none: the rows needed say how far the samples at hand can see.

  assay compare before after
  assay compare before after --metric faithfulness --detect 0.02
  assay compare small medium large --format md

What else differs between the runs is said first. A difference between judges is one of the scores too.
`

// A compareOptions holds the flags of assay compare.
type compareOptions struct {
	metrics []string
	detect  float64
	power   float64
	changed int
	seed    uint64
	format  string
}

func compareCommand(ctx context.Context, s *std, args []string) error {
	var o compareOptions
	f := s.flags("compare", compareHelp)
	f.StringSliceVarP(&o.metrics, "metric", "m", nil, "compare only these metrics")
	f.Float64Var(&o.detect, "detect", 0, "say how many rows it takes to see a difference of this `SIZE` (default 0.05 of the range)")
	f.Float64Var(&o.power, "power", 0.8, "the chance of seeing it")
	f.IntVar(&o.changed, "changed", 5, "list so many samples that changed most")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	f.StringVar(&o.format, "format", "table", "table, json or md")
	if err := parse(f, args, 2, -1); err != nil {
		return err
	}
	if err := checkFormat(o.format, "table", "json", "md"); err != nil {
		return err
	}
	if o.power <= 0 || o.power >= 1 || o.detect < 0 || o.changed < 0 {
		return usagef("--power lies between 0 and 1, and --detect and --changed are not negative")
	}
	c, err := o.compare(ctx, f.Args())
	if err != nil {
		return err
	}
	if o.format == "json" {
		return s.json(c)
	}
	c.print(s, &o)
	return nil
}

// A comparison is what --format json prints.
type comparison struct {
	Metrics  []difference `json:"metrics"`
	Warnings []string     `json:"warnings,omitempty"` // what else differs between the runs

	short []string // names of the runs, for tables
}

// A difference is a metric's in two runs.
type difference struct {
	Name          string         `json:"name"`
	Baseline      string         `json:"baseline"`
	Run           string         `json:"run"`
	N             int            `json:"n"`        // samples that both runs scored
	LeftOut       int            `json:"left_out"` // samples without a score in one of them or both
	BaselineMean  float64        `json:"baseline_mean"`
	Mean          float64        `json:"mean"`
	Difference    float64        `json:"difference"` // the run's less the baseline's
	Lo            *float64       `json:"lo,omitempty"`
	Hi            *float64       `json:"hi,omitempty"`
	Method        string         `json:"method,omitempty"` // of the interval
	P             float64        `json:"p"`
	PHolm         float64        `json:"p_holm"`
	Test          string         `json:"test"`        // randomisation, or t for very many rows
	T             *tTest         `json:"t,omitempty"` // Student's paired test, beside it
	Effect        float64        `json:"effect"`      // Cohen's d_z
	Better        int            `json:"better"`      // samples in which the run is better than the baseline
	Equal         int            `json:"equal"`       //
	Worse         int            `json:"worse"`       //
	LowerIsBetter bool           `json:"lower_is_better,omitempty"`
	Detect        *detectable    `json:"detect,omitempty"`
	Changed       []changed      `json:"changed,omitempty"`
	Warnings      []string       `json:"warnings,omitempty"`
	metric        runs.Metric    // for its range
	pairing       *stats.Pairing // nil if no sample has both scores
	which         int            // of the runs, from 1
}

type tTest struct {
	T  float64 `json:"t"`
	DF int     `json:"df"`
	P  float64 `json:"p"`
}

// A detectable is what it takes to see a difference.
type detectable struct {
	Power      float64  `json:"power"`
	Difference float64  `json:"difference"`         // to be seen
	Rows       int      `json:"rows"`               // that show it
	Smallest   *float64 `json:"smallest,omitempty"` // difference that the rows at hand show
}

// A changed sample is one whose score is another.
type changed struct {
	Sample     string  `json:"sample"`
	Baseline   float64 `json:"baseline"`
	Value      float64 `json:"value"`
	Difference float64 `json:"difference"`
}

func (o *compareOptions) compare(ctx context.Context, dirs []string) (*comparison, error) {
	c := &comparison{Metrics: []difference{}, short: shortNames(dirs)}
	base, err := loadScores(ctx, dirs[0])
	if err != nil {
		return nil, err
	}
	if _, err := base.pick(o.metrics); err != nil {
		return nil, err
	}
	for i, dir := range dirs[1:] {
		other, err := loadScores(ctx, dir)
		if err != nil {
			return nil, err
		}
		c.Warnings = append(c.Warnings, configChanges(base.Run, other.Run)...)
		if err := o.addRun(c, base, other, i+1); err != nil {
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
	return c, nil
}

// addRun compares one run with the baseline.
func (o *compareOptions) addRun(c *comparison, base, other *scores, which int) error {
	list, err := base.pick(o.metrics)
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
			return fmt.Errorf("%s has another range in %s (%v to %v) than in %s (%v to %v): the runs are of different versions",
				m.Name, other.Dir, theirs.Min, theirs.Max, base.Dir, m.Min, m.Max)
		}
		d := o.difference(base, other, m)
		if d.N == 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s: no sample has a score in both runs", other.Dir, m.Name))
			continue
		}
		found = true
		d.which = which
		c.Metrics = append(c.Metrics, d)
	}
	if !found {
		return usageError{withHint(fmt.Errorf("%s and %s have no metric with scores for the same samples", base.Dir, other.Dir),
			"runs are compared sample by sample, by the ids of the dataset: assay report shows what each has")}
	}
	return nil
}

// difference compares a metric on the samples that both runs scored.
func (o *compareOptions) difference(base, other *scores, m runs.Metric) difference {
	d := difference{Name: m.Name, Baseline: base.Dir, Run: other.Dir, LowerIsBetter: m.LowerIsBetter, metric: m}
	var ids []string
	var a, b []float64
	for _, id := range base.samples {
		before, ok := base.of[m.Name][id]
		after, too := other.of[m.Name][id]
		if !ok || !too {
			d.LeftOut++
			continue
		}
		ids, a, b = append(ids, id), append(a, before), append(b, after)
	}
	seen := map[string]bool{}
	for _, id := range base.samples {
		seen[id] = true
	}
	for _, id := range other.samples {
		if !seen[id] {
			d.LeftOut++
		}
	}
	if d.N = len(ids); d.N == 0 {
		return d
	}
	for i := range a {
		d.BaselineMean += a[i] / float64(d.N)
		d.Mean += b[i] / float64(d.N)
	}
	groups := base.groups(ids)
	if groups == nil {
		groups = other.groups(ids) // the baseline may be of a version that did not record them
	}
	p := stats.Pair(a, b, stats.Options{Seed: o.seed, Min: m.Min, Max: m.Max, Groups: groups})
	d.take(&p)
	o.plan(&d)
	d.Changed = mostChanged(ids, a, b, o.changed)
	if all := d.N + d.LeftOut; d.LeftOut*20 > all {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d of %d samples lack a score in one of the runs: the difference says nothing of those", d.LeftOut, all))
	}
	return d
}

func (d *difference) take(p *stats.Pairing) {
	d.pairing = p
	d.Difference, d.Warnings = p.Difference.Mean, p.Difference.Warnings
	if i := p.Difference.Interval; i != nil {
		d.Lo, d.Hi, d.Method = &i.Lo, &i.Hi, string(i.Method)
	}
	d.P, d.Test, d.Effect = p.P, p.Tested, p.Effect
	if p.T != nil {
		d.T = &tTest{p.T.T, p.T.Freedom, p.T.P}
	}
	d.Better, d.Equal, d.Worse = p.Wins, p.Ties, p.Losses
	if d.LowerIsBetter {
		d.Better, d.Worse = p.Losses, p.Wins
	}
}

// plan says how many rows it takes.
func (o *compareOptions) plan(d *difference) {
	const level = 0.95
	size := o.detect
	if size == 0 {
		size = 0.05 * (d.metric.Max - d.metric.Min)
	}
	rows, err := stats.RowsNeeded(size, d.pairing.Spread, level, o.power)
	if err != nil {
		return // the differences do not vary: there is nothing to plan with
	}
	d.Detect = &detectable{Power: o.power, Difference: size, Rows: rows}
	if least, err := stats.Detectable(d.N, d.pairing.Spread, level, o.power); err == nil {
		d.Detect.Smallest = &least
	}
}

// mostChanged lists the samples whose scores differ most, the first of equal ones first.
func mostChanged(ids []string, a, b []float64, most int) []changed {
	var list []changed
	for i, id := range ids {
		if a[i] != b[i] {
			list = append(list, changed{id, a[i], b[i], b[i] - a[i]})
		}
	}
	slices.SortStableFunc(list, func(x, y changed) int { return cmp.Compare(math.Abs(y.Difference), math.Abs(x.Difference)) })
	return list[:min(most, len(list))]
}

// configChanges says in what two runs differ beside their answers.
func configChanges(base, other *runs.Run) []string {
	a, b := base.Manifest.Config, other.Manifest.Config
	var list []string
	add := func(format string, args ...any) {
		list = append(list, other.Dir+": "+fmt.Sprintf(format, args...))
	}
	if a.Dataset.SHA256 != b.Dataset.SHA256 {
		add("another dataset than %s: %s, not %s; samples are matched by their ids", base.Dir, b.Dataset.Path, a.Dataset.Path)
	}
	for _, d := range a.Models().Differences(b.Models()) {
		switch d.In {
		case backend.Presence:
			add("only one of the runs has %s", d.Role.WithArticle())
		case backend.Weights:
			add("another %s: %s, not %s; the difference is also one of the models that score", d.Role.Title(), d.B.Name, d.A.Name)
		case backend.Engine:
			add("the %s on another engine: %s, not %s", d.Role.Title(), d.B.Engine, d.A.Engine)
		case backend.ContextSize:
			add("the %s with another context size: %d, not %d", d.Role.Title(), d.B.Context, d.A.Context)
		}
	}
	for _, p := range a.Prompts {
		i := slices.IndexFunc(b.Prompts, func(q metrics.PromptIdentity) bool { return q.Name == p.Name })
		if i >= 0 && b.Prompts[i].Digest != p.Digest {
			add("another text of the prompt %s: version %s, not %s", p.Name, b.Prompts[i].Version, p.Version)
		}
	}
	if a.Criteria != b.Criteria {
		add("other criteria of your own")
	}
	if a.Judges != b.Judges {
		add("another trained judge")
	}
	if a.Frequencies != b.Frequencies {
		add("other frequencies of tokens in the references, by which some metrics weigh")
	}
	if a.Dataset.Qrels != b.Dataset.Qrels || a.Dataset.Complete != b.Dataset.Complete {
		add("other relevance judgements, or another use of them")
	}
	if a.Seed != b.Seed {
		add("another seed: %d, not %d", b.Seed, a.Seed)
	}
	for _, r := range []*runs.Run{base, other} {
		if r.Manifest.Finished == nil {
			list = append(list, r.Dir+": unfinished")
		}
	}
	return list
}

func (c *comparison) print(s *std, o *compareOptions) {
	for _, w := range c.Warnings {
		s.warn("%s", printable(w))
	}
	several := len(c.short) > 2
	header := []any{"metric"}
	if several {
		header = append(header, "run")
	}
	header = append(header, "baseline", "mean", "difference", "95% interval", "p", "p (Holm)", "better", "equal", "worse", "n")
	t := s.table(header...)
	for _, d := range c.Metrics {
		row := table.Row{printable(d.Name)}
		if several {
			row = append(row, printable(c.short[d.which]))
		}
		t.AppendRow(append(row, number(d.BaselineMean), number(d.Mean), signed(d.Difference), d.interval(),
			pValue(d.P), pValue(d.PHolm), d.Better, d.Equal, d.Worse, d.N))
	}
	render(t, len(header), o.format)
	var notes []string
	for _, d := range c.Metrics {
		name := d.Name
		if several {
			name += ", " + c.short[d.which]
		}
		notes = append(notes, d.notes(name)...)
	}
	s.bullets(notes)
	for _, d := range c.Metrics {
		d.printChanged(s, c.short[d.which], several)
	}
}

func (d *difference) interval() string {
	if d.Lo == nil {
		return ""
	}
	return signed(*d.Lo) + " to " + signed(*d.Hi)
}

func (d *difference) notes(name string) []string {
	var list []string
	if d.LowerIsBetter {
		list = append(list, name+": lower is better")
	}
	for _, w := range d.Warnings {
		list = append(list, name+": "+w)
	}
	if k := d.Detect; k != nil {
		line := fmt.Sprintf("%s: a difference of %v takes %d rows to be seen with a chance of %.0f%%", name, k.Difference, k.Rows, 100*k.Power)
		if k.Smallest != nil {
			line += fmt.Sprintf("; these %d show one of %.2g or more", d.N, *k.Smallest)
		}
		list = append(list, line)
	}
	return list
}

func (d *difference) printChanged(s *std, run string, several bool) {
	if len(d.Changed) == 0 {
		return
	}
	of := d.Name
	if several {
		of += ", " + run
	}
	fmt.Fprintf(s.out, "\nChanged most, %s:\n", printable(of))
	for _, c := range d.Changed {
		fmt.Fprintf(s.out, "  %s  %s to %s  %s\n", signed(c.Difference), number(c.Baseline), number(c.Value), printable(c.Sample))
	}
}
