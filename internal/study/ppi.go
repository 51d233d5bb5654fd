package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// A System is a run with its labels and its estimate.
type System struct {
	run    *runs.Scores
	gold   *runs.Scores // whose rows the labels are of; nil: some of the run's own
	metric runs.Metric
	labels *labels.Set
	stats  *stats.PPI
	plain  *stats.PPI         // with λ = 1; nil where the labels are of rows that were not all as likely
	scores map[string]float64 // of the metric, on the scale of the labels
	known  map[string]float64 // the same of the gold run
	notes  []string
	level  float64
}

// NewSystem estimates from a run and the labels of some of its samples what people would say of all, at a confidence
// level.
func NewSystem(run *runs.Scores, m runs.Metric, l *labels.Set, level float64) (*System, error) {
	return newSystem(&System{run: run, metric: m, labels: l, level: level})
}

// NewGoldSystem estimates what people would say of a run from labels of other rows, those of a gold run: rows beside the
// evaluated ones, of one system or several, that the same metric scored by the same models. It is ARES' way to score many
// systems by one set of labels.
//
// What it assumes is that the metric errs on the run's rows as it does on the gold ones, in the mean. The gold rows need
// not be as good as the run's: so λ is 1, since with any other the labels would pull the estimate to their own mean.
func NewGoldSystem(run, gold *runs.Scores, m runs.Metric, l *labels.Set, level float64) (*System, error) {
	i := slices.IndexFunc(gold.Manifest.Config.Metrics, func(k runs.Metric) bool { return k.Name == m.Name })
	switch {
	case i < 0:
		return nil, runs.Inputf("%s has no scores of %s", gold.Dir, m.Name).WithHint("score it as the others are")
	case gold.Surveys[m.Name] != nil || len(l.Strata) > 0:
		return nil, runs.Inputf("the labelled rows of %s were not all as likely to be picked", gold.Dir).WithHint(
			"a gold set takes labels of rows that were, and scores of all of them")
	}
	origin := &runs.Calibration{Metric: m.Name, Origin: OriginOf(&gold.Manifest.Config, m.Name)}
	if what := OriginDiffers(origin, &run.Manifest.Config); what != "" {
		return nil, runs.Inputf("%s was scored with %s: its errors are not those of %s", run.Dir, what, gold.Dir).WithHint(
			"score both with the same models and prompts")
	}
	return newSystem(&System{run: run, gold: gold, metric: m, labels: l, level: level})
}

func newSystem(sys *System) (*System, error) {
	run, m, l := sys.run, sys.metric, sys.labels
	if run.Surveys[m.Name] != nil {
		return nil, runs.Inputf("%s was asked about some of the rows of %s only, not all as likely", m.Name,
			run.Dir).WithHint("name a metric that has scores of all rows with --metric")
	}
	if len(l.Strata) > 0 {
		if err := sys.weigh(); err != nil {
			return nil, err
		}
		return sys, nil
	}
	sys.scale()
	d := sys.data()
	o := stats.Options{Level: sys.level, Groups: d.groups}
	if l.Binary() {
		o.Max = 1
	} else if lo, hi := l.Span(); lo >= m.Min && hi <= m.Max {
		o.Min, o.Max = m.Min, m.Max
	}
	if sys.gold != nil && len(d.others) == 0 {
		return nil, runs.Inputf("%s has no scores of %s", run.Dir, m.Name)
	}
	var err error
	sys.plain, err = stats.NewPlainPPI(d.labels, d.scores, d.others, o)
	if sys.stats = sys.plain; err == nil && sys.gold == nil {
		sys.stats, err = stats.NewPPI(d.labels, d.scores, d.others, o)
	} else if err == nil {
		sys.stats.Imputed, _ = stats.NormalMean(d.others, stats.Options{}) // without the gold rows
	}
	if err != nil {
		return nil, runs.Inputf("%s: %w", run.Dir, err)
	}
	return sys, nil
}

// weigh estimates from labels of rows that were picked from strata of a metric's scores, by the strata. Whatever other
// rows are labelled count to the strata that they lie in. It is that metric that helps, by its strata.
func (sys *System) weigh() error {
	by := sys.labels.Strata[0].By
	var lows []float64
	for _, s := range sys.labels.Strata {
		if s.By != by {
			return runs.Inputf("the labelled rows were picked by %s and by %s", by, s.By).WithHint(
				"keep the labels of each in a file of its own")
		}
		lows = append(lows, s.Low)
	}
	slices.Sort(lows)
	of, ok := sys.run.Of[by]
	if !ok {
		return runs.Inputf("the labelled rows were picked by %s, which %s does not have", by, sys.run.Dir)
	}
	if sys.metric.Name != by {
		return runs.Inputf("the labelled rows were picked by %s", by).WithHint("--metric %s says what they tell", by)
	}
	var s stats.Survey
	for _, id := range sys.run.Samples {
		v, scored := of[id]
		if !scored {
			continue
		}
		row := stats.SurveyRow{Group: sys.run.Group[id]}
		if h, found := slices.BinarySearch(lows, v); found {
			row.Stratum = h
		} else {
			row.Stratum = max(0, h-1)
		}
		if list := sys.labels.Ratings[id]; len(list) > 0 {
			row.Asked, row.Scored, row.Value = true, true, labels.Mean(list)
		}
		s.Add(row)
	}
	a := s.Estimate(stats.Options{Level: sys.level})
	if a.Interval == nil {
		return runs.Inputf("%s: %s", sys.run.Dir, strings.Join(a.Warnings, "; "))
	}
	p := &stats.PPI{Estimate: a.Estimate, Interval: *a.Interval, Labelled: a.Asked, Scored: a.Rows - a.Asked,
		Classical: a.Estimate, Alone: *a.Alike, Warnings: a.Warnings}
	for _, v := range of {
		p.Imputed += v / float64(len(of))
	}
	if width := a.Interval.Hi - a.Interval.Lo; width > 0 {
		alike := (a.Alike.Hi - a.Alike.Lo) / width
		p.Effective = float64(a.Asked) * alike * alike
	}
	sys.stats = p
	sys.notes = append(sys.notes, "rows were picked where labels vary: each label counts for the rows of its stratum")
	return nil
}

// ppiData are the rows of a system: the labelled ones and the others.
type ppiData struct {
	labels, scores, others []float64
	groups                 []string // of the labelled rows, then of the others; nil if no row is in one
}

// scale brings the scores to the scale of the labels, as λ, which is at most 1, cannot: high is good, and where labels
// lie beyond the metric's range, that range is stretched to theirs. This changes how much the scores help, not
// whether the estimate is right.
func (sys *System) scale() {
	m := sys.metric
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, list := range sys.labels.Ratings {
		lo, hi = min(lo, labels.Mean(list)), max(hi, labels.Mean(list))
	}
	stretch := (lo < m.Min || hi > m.Max) && lo < hi && m.Min < m.Max
	if m.LowerIsBetter {
		sys.notes = append(sys.notes, "lower is better: the scores are mirrored in the middle of their range")
	}
	if stretch {
		sys.notes = append(sys.notes,
			fmt.Sprintf("the scores, from %v to %v, are stretched to the labels' %.4g to %.4g", m.Min, m.Max, lo, hi))
	}
	scaled := func(of map[string]float64) map[string]float64 {
		scores := map[string]float64{}
		for id, v := range of {
			if m.LowerIsBetter {
				v = m.Min + m.Max - v
			}
			if stretch {
				v = lo + (v-m.Min)/(m.Max-m.Min)*(hi-lo)
			}
			scores[id] = v
		}
		return scores
	}
	sys.scores = scaled(sys.run.Of[m.Name])
	if sys.gold != nil {
		sys.known = scaled(sys.gold.Of[m.Name])
	}
}

func (sys *System) data() ppiData {
	if sys.gold != nil {
		return sys.goldData()
	}
	of := sys.scores
	var d ppiData
	var labelled, rest []string
	for _, id := range sys.run.Samples {
		v, scored := of[id]
		list := sys.labels.Ratings[id]
		switch {
		case !scored:
		case len(list) > 0:
			labelled = append(labelled, id)
			d.labels, d.scores = append(d.labels, labels.Mean(list)), append(d.scores, v)
		default:
			rest = append(rest, id)
			d.others = append(d.others, v)
		}
	}
	d.groups = sys.run.Groups(append(labelled, rest...))
	return d
}

// goldData are the labelled rows of the gold run, and all of the run's own as the others.
func (sys *System) goldData() ppiData {
	var d ppiData
	var groups []string
	grouped := false
	add := func(run *runs.Scores, id string) {
		group := run.Group[id]
		grouped = grouped || group != ""
		groups = append(groups, group)
	}
	for _, id := range sys.gold.Samples {
		if v, scored := sys.known[id]; scored && len(sys.labels.Ratings[id]) > 0 {
			d.labels, d.scores = append(d.labels, labels.Mean(sys.labels.Ratings[id])), append(d.scores, v)
			add(sys.gold, id)
		}
	}
	for _, id := range sys.run.Samples {
		if v, scored := sys.scores[id]; scored {
			d.others = append(d.others, v)
			add(sys.run, id)
		}
	}
	if grouped {
		d.groups = groups
	}
	return d
}

// A PPI is what --format json prints for one run.
type PPI struct {
	Run       string    `json:"run"`
	Gold      string    `json:"gold,omitempty"` // the run whose rows the labels are of, where they are not its own
	Metric    string    `json:"metric"`
	Field     string    `json:"field"`
	Estimate  float64   `json:"estimate"`
	Lo        float64   `json:"lo"`
	Hi        float64   `json:"hi"`
	Level     float64   `json:"level"`
	Lambda    float64   `json:"lambda"`
	Labeled   int       `json:"labeled"`
	Unlabeled int       `json:"unlabeled"`
	Classical Bounds    `json:"classical"`        // the labels alone
	Plain     *Bounds   `json:"plain,omitempty"`  // with λ = 1, as ARES computes it; absent where rows have weights
	Imputed   float64   `json:"imputed"`          // the mean of all scores, as if they were labels
	Effective float64   `json:"effective_labels"` // how many labels alone would say as much
	Buy       *Purchase `json:"labels_for,omitempty"`
	Warnings  []string  `json:"warnings,omitempty"`
}

// Bounds are an estimate with its interval.
type Bounds struct {
	Estimate float64 `json:"estimate"`
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
}

// A Purchase is how many labels an interval of a width takes.
type Purchase struct {
	Width  float64 `json:"width"`
	Labels int     `json:"labels"` // with the scores
	Alone  int     `json:"alone"`  // without
}

// PPI is the estimate, with how many labels make its interval so wide; 0: half as wide as it is.
func (sys *System) PPI(width float64) PPI {
	p := sys.stats
	r := PPI{Run: sys.run.Dir, Metric: sys.metric.Name, Field: sys.labels.Field, Estimate: p.Estimate,
		Lo: p.Interval.Lo, Hi: p.Interval.Hi,
		Level: sys.level, Lambda: p.Lambda, Labeled: p.Labelled, Unlabeled: p.Scored,
		Classical: Bounds{p.Classical, p.Alone.Lo, p.Alone.Hi},
		Imputed:   p.Imputed, Effective: p.Effective, Warnings: slices.Concat(p.Warnings, sys.notes)}
	if sys.plain == nil {
		return r
	}
	r.Plain = &Bounds{sys.plain.Estimate, sys.plain.Interval.Lo, sys.plain.Interval.Hi}
	if lost := sys.lost(); lost > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d rows have no score and are left out", lost))
	}
	if sys.gold != nil {
		r.Gold = sys.gold.Dir
		r.Warnings = append(r.Warnings, fmt.Sprintf("the labels are of the rows of %s: the estimate is right if %s errs "+
			"on the rows of %s as it does on those, in the mean", r.Gold, r.Metric, r.Run))
		return r
	}
	if width == 0 {
		width = (r.Hi - r.Lo) / 2
	}
	if labels, alone, err := p.LabelsFor(width); err == nil {
		r.Buy = &Purchase{width, labels, alone}
	}
	return r
}

// lost counts the run's rows without a score.
func (sys *System) lost() int { return len(sys.run.Samples) - len(sys.scores) }

// A Ranking is what --format json prints for several runs.
type Ranking struct {
	Systems []PPI      `json:"systems"` // best first
	Pairs   []Decision `json:"pairs"`
	Tau     *Tau       `json:"tau,omitempty"` // where it is known how good the systems are
}

// A Tau is how far rankings of systems agree with the true one: Kendall's tau-b.
type Tau struct {
	N         int      `json:"n"`                 // systems
	Estimates *float64 `json:"estimates"`         // by the estimates; null where they are all equal
	Metric    *float64 `json:"metric"`            // by the metric's own means
	Covered   int      `json:"covered"`           // systems whose interval holds the true mean
	Missing   []string `json:"missing,omitempty"` // systems of which the true mean is not known
}

// A Decision says whether one system is better than another.
type Decision struct {
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

// Rank orders systems by their estimates, best first, and decides each pair. Width is as in [System.PPI]. Truth is how
// good they are, by the name of the run folder or its path, nil if that is not known.
func Rank(ctx context.Context, systems []*System, width float64, truth map[string]float64) (*Ranking, error) {
	for _, sys := range systems[1:] {
		if first := systems[0].metric; sys.metric.Name != first.Name {
			return nil, runs.Inputf("%s has %s and %s has %s: a ranking is by one metric", systems[0].run.Dir,
				first.Name, sys.run.Dir, sys.metric.Name)
		}
	}
	systems = slices.Clone(systems)
	slices.SortStableFunc(systems, func(a, b *System) int { return cmp.Compare(b.stats.Estimate, a.stats.Estimate) })
	out := &Ranking{Pairs: []Decision{}}
	var ps []float64
	for i, a := range systems {
		out.Systems = append(out.Systems, a.PPI(width))
		for _, b := range systems[i+1:] {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			d := decide(a, b)
			out.Pairs = append(out.Pairs, d)
			ps = append(ps, d.P)
		}
	}
	for i, p := range stats.Holm(ps) {
		d := &out.Pairs[i]
		d.PHolm = p
		if p < 1-systems[0].level {
			d.Better = d.First
			if d.Difference > 0 {
				d.Better = d.Second
			}
		}
	}
	if truth != nil {
		out.Tau = tau(out.Systems, truth)
	}
	return out, nil
}

// tau compares the ranking with the true one.
func tau(systems []PPI, truth map[string]float64) *Tau {
	t := &Tau{}
	var is, estimates, means []float64
	for _, sys := range systems {
		v, known := truth[sys.Run]
		if !known {
			v, known = truth[filepath.Base(filepath.Clean(sys.Run))]
		}
		if !known {
			t.Missing = append(t.Missing, sys.Run)
			continue
		}
		t.N++
		if sys.Lo <= v && v <= sys.Hi {
			t.Covered++
		}
		is, estimates, means = append(is, v), append(estimates, sys.Estimate), append(means, sys.Imputed)
	}
	of := func(values []float64) *float64 {
		e, err := stats.Kendall(is, values, stats.Options{})
		if err != nil {
			return nil
		}
		return &e.Value
	}
	t.Estimates, t.Metric = of(estimates), of(means)
	return t
}

// decide compares two systems: row by row where they have the same samples with the same ones labelled, as then what
// is hard for both does not count; as two independent estimates otherwise.
func decide(a, b *System) Decision {
	d := Decision{First: a.run.Dir, Second: b.run.Dir}
	if a.gold != nil && a.gold == b.gold {
		d.byScores(a, b)
		return d
	}
	if data, ok := paired(a, b); ok {
		p, err := stats.NewPPI(data.labels, data.scores, data.others,
			stats.Options{Level: a.level, Groups: data.groups})
		if err == nil {
			d.Paired, d.Difference, d.Lo, d.Hi, d.P = true, p.Estimate, p.Interval.Lo, p.Interval.Hi, p.P(0)
			return d
		}
	}
	d.Difference = b.stats.Estimate - a.stats.Estimate
	half := math.Hypot(a.stats.Interval.Hi-a.stats.Interval.Lo, b.stats.Interval.Hi-b.stats.Interval.Lo) / 2
	d.Lo, d.Hi = d.Difference-half, d.Difference+half
	d.P = stats.NormalP(d.Difference, half, a.level)
	return d
}

// byScores decides between systems with the same gold labels. What the scores are corrected by is the same for both, and
// cancels out: what is left is the difference of their mean scores, row by row where both have the same rows.
func (d *Decision) byScores(a, b *System) {
	var both, first, second []float64
	var groups []string
	for _, id := range a.run.Samples {
		if v, ok := a.scores[id]; ok {
			first = append(first, v)
			if w, too := b.scores[id]; too {
				both, groups = append(both, w-v), append(groups, a.run.Group[id])
			}
		}
	}
	for _, id := range b.run.Samples {
		if w, ok := b.scores[id]; ok {
			second = append(second, w)
		}
	}
	var i stats.Interval
	if d.Paired = len(both) == len(first) && len(both) == len(second); d.Paired {
		d.Difference, i = stats.NormalMean(both, stats.Options{Level: a.level, Groups: groups})
		d.Lo, d.Hi = i.Lo, i.Hi
	} else {
		x, of := stats.NormalMean(first, stats.Options{Level: a.level, Groups: a.run.Groups(scored(a))})
		y, other := stats.NormalMean(second, stats.Options{Level: a.level, Groups: b.run.Groups(scored(b))})
		half := math.Hypot(of.Hi-of.Lo, other.Hi-other.Lo) / 2
		d.Difference = y - x
		d.Lo, d.Hi = d.Difference-half, d.Difference+half
	}
	d.P = stats.NormalP(d.Difference, (d.Hi-d.Lo)/2, a.level)
}

// scored are the samples of a system that have a score.
func scored(sys *System) []string {
	var ids []string
	for _, id := range sys.run.Samples {
		if _, ok := sys.scores[id]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// paired are the differences of two systems on the samples that both scored; false if other samples are labelled in one
// than in the other.
func paired(a, b *System) (ppiData, bool) {
	x, y := a.scores, b.scores
	var d ppiData
	if a.plain == nil || b.plain == nil {
		return d, false
	}
	var labelled, rest []string
	for _, id := range a.run.Samples {
		v, ok := x[id]
		w, too := y[id]
		first, second := a.labels.Ratings[id], b.labels.Ratings[id]
		switch {
		case (len(first) > 0) != (len(second) > 0):
			return d, false
		case !ok || !too:
		case len(first) > 0:
			labelled = append(labelled, id)
			d.labels, d.scores = append(d.labels, labels.Mean(second)-labels.Mean(first)), append(d.scores, w-v)
		default:
			rest = append(rest, id)
			d.others = append(d.others, w-v)
		}
	}
	d.groups = a.run.Groups(append(labelled, rest...))
	return d, len(d.labels) == a.stats.Labelled && len(d.labels) == b.stats.Labelled
}
