package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/study/labels"
)

// A System is a run with its labels and its estimate.
type System struct {
	run    *runs.Scores
	metric runs.Metric
	labels *labels.Set
	stats  *stats.PPI
	plain  *stats.PPI         // with λ = 1; nil where the labels are of rows that were not all as likely
	scores map[string]float64 // of the metric, on the scale of the labels
	notes  []string
	level  float64
}

// NewSystem estimates from a run and the labels of some of its samples what people would say of all, at a confidence
// level.
func NewSystem(run *runs.Scores, m runs.Metric, l *labels.Set, level float64) (*System, error) {
	if run.Surveys[m.Name] != nil {
		return nil, runs.Inputf("%s was asked about some of the rows of %s only, not all as likely", m.Name,
			run.Dir).WithHint("name a metric that has scores of all rows with --metric")
	}
	sys := &System{run: run, metric: m, labels: l, level: level}
	if len(l.Strata) > 0 {
		if err := sys.weigh(); err != nil {
			return nil, err
		}
		return sys, nil
	}
	sys.scale()
	d := sys.data()
	o := stats.Options{Level: level, Groups: d.groups}
	var err error
	sys.stats, err = stats.NewPPI(d.labels, d.scores, d.others, o)
	if err == nil {
		sys.plain, err = stats.NewPlainPPI(d.labels, d.scores, d.others, o)
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
	sys.scores = map[string]float64{}
	for id, v := range sys.run.Of[m.Name] {
		if m.LowerIsBetter {
			v = m.Min + m.Max - v
		}
		if stretch {
			v = lo + (v-m.Min)/(m.Max-m.Min)*(hi-lo)
		}
		sys.scores[id] = v
	}
}

func (sys *System) data() ppiData {
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

// A PPI is what --format json prints for one run.
type PPI struct {
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
	if width == 0 {
		width = (r.Hi - r.Lo) / 2
	}
	if labels, alone, err := p.LabelsFor(width); err == nil {
		r.Buy = &Purchase{width, labels, alone}
	}
	if lost := len(sys.run.Samples) - p.Labelled - p.Scored; lost > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d rows have no score and are left out", lost))
	}
	return r
}

// A Ranking is what --format json prints for several runs.
type Ranking struct {
	Systems []PPI      `json:"systems"` // best first
	Pairs   []Decision `json:"pairs"`
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

// Rank orders systems by their estimates, best first, and decides each pair. Width is as in [System.PPI].
func Rank(ctx context.Context, systems []*System, width float64) (*Ranking, error) {
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
	return out, nil
}

// decide compares two systems: row by row where they have the same samples with the same ones labelled, as then what
// is hard for both does not count; as two independent estimates otherwise.
func decide(a, b *System) Decision {
	d := Decision{First: a.run.Dir, Second: b.run.Dir}
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
