package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/jedib0t/go-pretty/v6/table"
)

const ppiHelp = `
Usage: assay ppi RUN --labels FILE [--metric M] [flags]
       assay ppi RUN... --rank --labels FILE [--metric M] [flags]

Estimates what people would say on average, from labels of a few of the rows and a metric's scores of all of them
(prediction-powered inference, PPI++). The metric need not be good for this to be right: its mean is corrected by
how far it is from the labels where both are known. The better it is, the narrower the interval, compared with
that of the labels alone.

  assay ppi results --labels labels.csv
  assay ppi results --human faithfulness --metric faithfulness --width 0.05
  assay ppi one two three --rank --labels labels.csv

The labelled rows must be a random choice from all rows: take the first of a shuffled list, not the ones that looked
interesting. With --rank systems are ordered by their estimates, and each pair is decided if the difference is beyond
chance (Holm's correction for all pairs). Labels of several runs in one file say which in a column run.
` + labelHelp

// ppiOptions holds the flags of assay ppi.
type ppiOptions struct {
	labels labelOptions
	metric string
	width  float64
	rank   bool
	level  float64
	format string
}

func ppiCommand(ctx context.Context, s *std, args []string) error {
	var o ppiOptions
	f := s.flags("ppi", ppiHelp)
	o.labels.add(f)
	f.StringVarP(&o.metric, "metric", "m", "", "the metric whose scores are used, where the run has several")
	f.Float64Var(&o.width, "width", 0, "say how many labels make the interval so `WIDE` (default half as wide as it is)")
	f.BoolVar(&o.rank, "rank", false, "rank several runs by their estimates")
	f.Float64Var(&o.level, "level", 0.95, "confidence of the interval")
	f.StringVar(&o.format, "format", "table", "table or json")
	if err := parse(f, args, 1, -1); err != nil {
		return err
	}
	if err := checkFormat(o.format, "table", "json"); err != nil {
		return err
	}
	switch {
	case !(o.level > 0 && o.level < 1) || o.width < 0:
		return usagef("--level lies between 0 and 1, and --width is positive")
	case o.rank && f.NArg() < 2:
		return usagef("--rank takes two runs or more")
	case !o.rank && f.NArg() > 1:
		return usageError{withHint(fmt.Errorf("one run at a time, not %d", f.NArg()), "--rank ranks several")}
	}
	var systems []*system
	for _, dir := range f.Args() {
		sys, err := o.system(ctx, s, dir)
		if err != nil {
			return err
		}
		systems = append(systems, sys)
	}
	if o.rank {
		return o.ranking(s, systems)
	}
	out := systems[0].ppi(&o)
	if o.format == "json" {
		return s.json(out)
	}
	out.print(s)
	return nil
}

// A system is a run with its labels and its estimate.
type system struct {
	run    *scores
	metric runs.Metric
	labels *labels
	stats  *stats.PPI
	plain  *stats.PPI         // with λ = 1
	scores map[string]float64 // of the metric, on the scale of the labels
	notes  []string
}

func (o *ppiOptions) system(ctx context.Context, s *std, dir string) (*system, error) {
	run, err := loadScores(ctx, dir)
	if err != nil {
		return nil, err
	}
	sys := &system{run: run}
	if sys.metric, err = run.one(o.metric); err != nil {
		return nil, err
	}
	if sys.labels, err = o.labels.load(ctx, s, run); err != nil {
		return nil, err
	}
	if n := sys.labels.unfair; n > 0 {
		s.warn("%d labels are of rows that were picked because the metric is uncertain of them: they are no fair sample, and the estimate is biased by them", n)
	}
	sys.scale()
	d := sys.data()
	sys.stats, err = stats.NewPPI(d.labels, d.scores, d.others, stats.Options{Level: o.level, Groups: d.groups})
	if err == nil {
		sys.plain, err = stats.NewPlainPPI(d.labels, d.scores, d.others, stats.Options{Level: o.level, Groups: d.groups})
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", dir, err)}
	}
	return sys, nil
}

// ppiData are the rows of a system: the labelled ones and the others.
type ppiData struct {
	labels, scores, others []float64
	groups                 []string // of the labelled rows, then of the others; nil if no row is in one
}

// scale brings the scores to the scale of the labels, as λ, which is at most 1, cannot: high is good, and where labels
// lie beyond the metric's range, that range is stretched to theirs. This changes how much the scores help, not
// whether the estimate is right.
func (sys *system) scale() {
	m := sys.metric
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, list := range sys.labels.ratings {
		lo, hi = min(lo, mean(list)), max(hi, mean(list))
	}
	stretch := (lo < m.Min || hi > m.Max) && lo < hi && m.Min < m.Max
	if m.LowerIsBetter {
		sys.notes = append(sys.notes, "lower is better: the scores are mirrored in the middle of their range")
	}
	if stretch {
		sys.notes = append(sys.notes, fmt.Sprintf("the scores, from %v to %v, are stretched to the labels' %.4g to %.4g", m.Min, m.Max, lo, hi))
	}
	sys.scores = map[string]float64{}
	for id, v := range sys.run.of[m.Name] {
		if m.LowerIsBetter {
			v = m.Min + m.Max - v
		}
		if stretch {
			v = lo + (v-m.Min)/(m.Max-m.Min)*(hi-lo)
		}
		sys.scores[id] = v
	}
}

func (sys *system) data() ppiData {
	of := sys.scores
	var d ppiData
	var labelled, rest []string
	for _, id := range sys.run.samples {
		v, scored := of[id]
		list := sys.labels.ratings[id]
		switch {
		case !scored:
		case len(list) > 0:
			labelled = append(labelled, id)
			d.labels, d.scores = append(d.labels, mean(list)), append(d.scores, v)
		default:
			rest = append(rest, id)
			d.others = append(d.others, v)
		}
	}
	d.groups = sys.run.groups(append(labelled, rest...))
	return d
}

// A ppiResult is what --format json prints for one run.
type ppiResult struct {
	Run       string    `json:"run"`
	Metric    string    `json:"metric"`
	Field     string    `json:"field"`
	Estimate  float64   `json:"estimate"`
	Lo        float64   `json:"lo"`
	Hi        float64   `json:"hi"`
	Level     float64   `json:"level"`
	Lambda    float64   `json:"lambda"`
	Labeled   int       `json:"labeled"`
	Unlabeled int       `json:"unlabeled"`
	Classical bounds    `json:"classical"`        // the labels alone
	Plain     bounds    `json:"plain"`            // with λ = 1, as ARES computes it
	Imputed   float64   `json:"imputed"`          // the mean of all scores, as if they were labels
	Effective float64   `json:"effective_labels"` // how many labels alone would say as much
	Buy       *purchase `json:"labels_for,omitempty"`
	Warnings  []string  `json:"warnings,omitempty"`
}

type bounds struct {
	Estimate float64 `json:"estimate"`
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
}

// A purchase is how many labels an interval of a width takes.
type purchase struct {
	Width  float64 `json:"width"`
	Labels int     `json:"labels"` // with the scores
	Alone  int     `json:"alone"`  // without
}

func (sys *system) ppi(o *ppiOptions) ppiResult {
	p := sys.stats
	r := ppiResult{Run: sys.run.Dir, Metric: sys.metric.Name, Field: sys.labels.field, Estimate: p.Estimate, Lo: p.Interval.Lo, Hi: p.Interval.Hi,
		Level: o.level, Lambda: p.Lambda, Labeled: p.Labelled, Unlabeled: p.Scored, Classical: bounds{p.Classical, p.Alone.Lo, p.Alone.Hi},
		Plain:   bounds{sys.plain.Estimate, sys.plain.Interval.Lo, sys.plain.Interval.Hi},
		Imputed: p.Imputed, Effective: p.Effective, Warnings: slices.Concat(p.Warnings, sys.notes)}
	width := o.width
	if width == 0 {
		width = (r.Hi - r.Lo) / 2
	}
	if labels, alone, err := p.LabelsFor(width); err == nil {
		r.Buy = &purchase{width, labels, alone}
	}
	if lost := len(sys.run.samples) - p.Labelled - p.Scored; lost > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d rows have no score and are left out", lost))
	}
	return r
}

func (r *ppiResult) print(s *std) {
	t := s.table("what people would say", "estimate", fmt.Sprintf("%v%% interval", 100*r.Level), "width")
	row := func(what string, b bounds) {
		t.AppendRow(table.Row{what, number(b.Estimate), number(b.Lo) + " to " + number(b.Hi), number(b.Hi - b.Lo)})
	}
	row(fmt.Sprintf("%d labels and %s of %d rows", r.Labeled, printable(r.Metric), r.Labeled+r.Unlabeled), bounds{r.Estimate, r.Lo, r.Hi})
	row(fmt.Sprintf("%d labels alone", r.Labeled), r.Classical)
	t.AppendRow(table.Row{"the metric alone, uncorrected", number(r.Imputed), "", ""})
	render(t, 4, "table")
	notes := []string{fmt.Sprintf("λ = %s (0: the scores do not count, 1: they count in full); as short an interval as from %.0f labels alone", number(r.Lambda), r.Effective)}
	if b := r.Buy; b != nil {
		notes = append(notes, fmt.Sprintf("an interval %s wide takes about %d labels, or %d without the metric", number(b.Width), b.Labels, b.Alone))
	}
	s.bullets(append(notes, r.Warnings...))
}

// A ranked list is what --format json prints for several runs.
type ranked struct {
	Systems []ppiResult `json:"systems"` // best first
	Pairs   []decision  `json:"pairs"`
}

// A decision says whether one system is better than another.
type decision struct {
	First      string  `json:"first"`
	Second     string  `json:"second"`
	Paired     bool    `json:"paired"`     // on rows that both have
	Difference float64 `json:"difference"` // the second's less the first's
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	P          float64 `json:"p"`
	PHolm      float64 `json:"p_holm"`
	Better     string  `json:"better,omitempty"` // absent where chance may be all there is to it
}

func (o *ppiOptions) ranking(s *std, systems []*system) error {
	for _, sys := range systems[1:] {
		if first := systems[0].metric; sys.metric.Name != first.Name {
			return usagef("%s has %s and %s has %s: a ranking is by one metric", systems[0].run.Dir, first.Name, sys.run.Dir, sys.metric.Name)
		}
	}
	slices.SortStableFunc(systems, func(a, b *system) int { return cmp.Compare(b.stats.Estimate, a.stats.Estimate) })
	out := ranked{Pairs: []decision{}}
	var ps []float64
	for i, a := range systems {
		out.Systems = append(out.Systems, a.ppi(o))
		for _, b := range systems[i+1:] {
			d, err := o.decide(a, b)
			if err != nil {
				return err
			}
			out.Pairs = append(out.Pairs, d)
			ps = append(ps, d.P)
		}
	}
	for i, p := range stats.Holm(ps) {
		d := &out.Pairs[i]
		d.PHolm = p
		if p < 1-o.level {
			d.Better = d.First
			if d.Difference > 0 {
				d.Better = d.Second
			}
		}
	}
	if o.format == "json" {
		return s.json(out)
	}
	out.print(s)
	return nil
}

// decide compares two systems: row by row where they have the same samples with the same ones labelled, as then what
// is hard for both does not count; as two independent estimates otherwise.
func (o *ppiOptions) decide(a, b *system) (decision, error) {
	d := decision{First: a.run.Dir, Second: b.run.Dir}
	if data, ok := paired(a, b); ok {
		p, err := stats.NewPPI(data.labels, data.scores, data.others, stats.Options{Level: o.level, Groups: data.groups})
		if err == nil {
			d.Paired, d.Difference, d.Lo, d.Hi, d.P = true, p.Estimate, p.Interval.Lo, p.Interval.Hi, p.P(0)
			return d, nil
		}
	}
	d.Difference = b.stats.Estimate - a.stats.Estimate
	half := math.Hypot(a.stats.Interval.Hi-a.stats.Interval.Lo, b.stats.Interval.Hi-b.stats.Interval.Lo) / 2
	d.Lo, d.Hi = d.Difference-half, d.Difference+half
	d.P = stats.NormalP(d.Difference, half, o.level)
	return d, nil
}

// paired are the differences of two systems on the samples that both scored; false if other samples are labelled in one
// than in the other.
func paired(a, b *system) (ppiData, bool) {
	x, y := a.scores, b.scores
	var d ppiData
	var labelled, rest []string
	for _, id := range a.run.samples {
		v, ok := x[id]
		w, too := y[id]
		first, second := a.labels.ratings[id], b.labels.ratings[id]
		switch {
		case (len(first) > 0) != (len(second) > 0):
			return d, false
		case !ok || !too:
		case len(first) > 0:
			labelled = append(labelled, id)
			d.labels, d.scores = append(d.labels, mean(second)-mean(first)), append(d.scores, w-v)
		default:
			rest = append(rest, id)
			d.others = append(d.others, w-v)
		}
	}
	d.groups = a.run.groups(append(labelled, rest...))
	return d, len(d.labels) == a.stats.Labelled && len(d.labels) == b.stats.Labelled
}

func (r *ranked) print(s *std) {
	var dirs []string
	for _, sys := range r.Systems {
		dirs = append(dirs, sys.Run)
	}
	short := shortNames(dirs)
	name := func(dir string) string { return printable(short[slices.Index(dirs, dir)]) }
	t := s.table("system", "estimate", "interval", "λ", "labels", "rows", "labels alone")
	for i, sys := range r.Systems {
		t.AppendRow(table.Row{printable(short[i]), number(sys.Estimate), number(sys.Lo) + " to " + number(sys.Hi), number(sys.Lambda),
			sys.Labeled, sys.Labeled + sys.Unlabeled, number(sys.Classical.Lo) + " to " + number(sys.Classical.Hi)})
	}
	render(t, 7, "table")
	var notes []string
	for _, d := range r.Pairs {
		verdict := "undecided"
		if d.Better != "" {
			verdict = name(d.Better) + " is better"
		}
		notes = append(notes, fmt.Sprintf("%s less %s: %s (%s to %s), p %s, %s with Holm's correction: %s", name(d.Second), name(d.First),
			signed(d.Difference), signed(d.Lo), signed(d.Hi), pValue(d.P), pValue(d.PHolm), verdict))
	}
	for i, sys := range r.Systems {
		for _, w := range sys.Warnings {
			notes = append(notes, short[i]+": "+w)
		}
	}
	s.bullets(notes)
}
