package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// A Report is what can be said of a run from its results.
type Report struct {
	Dir      string // the run folder, as it was given
	Part     string // which of its rows these are, where they are not all; what says so is a note
	Manifest runs.Manifest
	Samples  int       // that have results
	Metrics  []Summary // in the manifest's order
	Worst    []Case    // the samples with the lowest scores, worst first, at most [View.Cases]
	Failures []Case    // the first samples with a failure, in input order, at most 100

	Slices *slicing.Slices            // nil: by no column
	Texts  map[string]*metrics.Sample // of Worst and Failures, for a page; those that are not known are missing
	scored int                        // samples with a score
}

// Shown are the samples that a page of the report shows.
func (r *Report) Shown() map[string]bool {
	shown := map[string]bool{}
	for _, c := range slices.Concat(r.Worst, r.Failures) {
		shown[c.Sample] = true
	}
	return shown
}

// A Summary is a metric's mean over the samples that it could score, and the count of the others.
type Summary struct {
	runs.Metric
	N             int   // scores
	Failed        int   // samples without a score because something went wrong
	NotApplicable int   // samples that the metric says nothing about
	NotAsked      int   // samples that were not drawn, where the metric was asked about some only
	Bins          []int // how many scores lie in each tenth of the range
	Stats         stats.Summary
	Active        *stats.Active        // beside Stats, which is of it, where the metric was asked about some rows only
	Kinds         map[metrics.Kind]int // the failures by kind
	Calls         int                  // answers of models used, over all samples
	Cost          metrics.Cost         // of them
	Spread        float64              // the mean of the scores' own [metrics.Score.Spread], over
	Spreads       int                  // so many samples that have one
	Calibration   *runs.Calibration    // nil if the scores are as the metric gave them
	Calibrated    *Calibrated          // beside the scores; nil if the run was given no calibration of this metric
	Drawn         *Draws               // nil if each sample was scored once
	Pooled        *Pooled              // nil if the scores are no ratios of counts, or some rows only were asked about
}

// A Case is a sample with all its results.
type Case struct {
	Sample  string
	Results []metrics.Result
	rank    float64 // the lowest score, as a share of its metric's range; 1 is best
}

const (
	bins         = 10
	mostWorst    = 200 // where a view does not say
	mostFailures = 100
	mostStrata   = 1000 // into which rows are cut to be drawn from
)

// A View says how a run's scores are read.
type View struct {
	Calibrations []*runs.Calibration // the scores of their metrics are read as the probabilities that they make of them
	Passes       []Threshold         // from which on a draw passes; of other metrics, from the middle of the range on
	Cases        int                 // how many of the worst samples are kept, in memory; 0: 200
}

// PageCases are how many samples a page shows: it opens at once with so many.
const PageCases = 10_000

// Load reads a run folder and summarises it.
func Load(ctx context.Context, dir string, v View) (*Report, error) {
	run, err := runs.Open(dir)
	if err != nil {
		return nil, err
	}
	r, err := Summarize(ctx, &run.Manifest, run.Results(ctx), v)
	if err != nil {
		return nil, err
	}
	r.Dir = dir
	return r, nil
}

// Summarize reads results, which come with those of a sample together, in space that does not grow with their
// number. A result that contradicts the manifest or itself is an error: a report on damaged results
// would be wrong without looking it.
func Summarize(ctx context.Context, m *runs.Manifest, results iter.Seq2[metrics.Result, error],
	v View) (*Report, error) {
	s := newSummarizer(m)
	s.worst.most = cmp.Or(v.Cases, mostWorst)
	if err := s.given(); err != nil {
		return nil, err
	}
	for _, c := range v.Calibrations {
		if err := s.calibrate(c); err != nil {
			return nil, err
		}
	}
	if err := s.pass(v.Passes); err != nil {
		return nil, err
	}
	for res, err := range results {
		if err == nil {
			err = s.add(res)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.report(ctx), ctx.Err()
}

type summarizer struct {
	manifest *runs.Manifest
	index    map[string]int // of a metric's name
	metrics  []Summary
	means    []stats.Mean
	mapped   []stats.Mean // of the metrics that have probabilities beside the scores
	pools    []pool
	drawn    []*drawing // nil for the metrics that are drawn once
	surveys  []survey   // of the metrics that were asked about some rows only
	samples  int
	open     Case // the sample whose results are being read
	worst    ranking
	failures []Case
}

func newSummarizer(m *runs.Manifest) *summarizer {
	s := &summarizer{manifest: m, index: map[string]int{}}
	for i, metric := range m.Config.Metrics {
		s.index[metric.Name] = i
		s.metrics = append(s.metrics, Summary{Metric: metric, Bins: make([]int, bins), Kinds: map[metrics.Kind]int{}})
	}
	s.means, s.mapped = make([]stats.Mean, len(s.metrics)), make([]stats.Mean, len(s.metrics))
	s.surveys, s.pools = make([]survey, len(s.metrics)), make([]pool, len(s.metrics))
	return s
}

// A survey is what becomes of the rows of a metric that was asked about some of them only.
type survey struct{ scores, mapped stats.Survey }

func (s *summarizer) add(r metrics.Result) error {
	i, known := s.index[r.Metric]
	if !known {
		return fmt.Errorf("sample %q: the results have a metric %q that the manifest does not", r.Sample, r.Metric)
	}
	m := &s.metrics[i]
	if err := check(r, m.Metric); err != nil {
		return fmt.Errorf("sample %q: %s: %v", r.Sample, r.Metric, err)
	}
	m.Calls += len(r.Calls)
	if r.Cost != nil {
		m.Cost.PromptTokens += r.Cost.PromptTokens
		m.Cost.OutputTokens += r.Cost.OutputTokens
	}
	if r.Drawn != nil {
		s.survey(i, r)
	}
	switch {
	case r.Score != nil:
		m.N++
		v, draws, scale := r.Score.Value, r.Score.Draws, m.Metric
		if m.Calibration != nil {
			v, scale = m.Calibration.Map.At(v), runs.Metric{Max: 1}
			draws = slices.Clone(draws)
			for i := range draws {
				draws[i] = m.Calibration.Map.At(draws[i])
			}
		}
		if s.drawn[i] != nil {
			s.drawn[i].add(r.Group, draws)
		}
		if d := r.Score.Spread; d != nil {
			m.Spreads++
			m.Spread += (*d - m.Spread) / float64(m.Spreads)
		}
		m.Bins[min(int(scale.Share(v)*bins), bins-1)]++
		s.means[i].AddTo(r.Group, v)
		s.pools[i].add(r)
		if m.Calibrated != nil {
			s.mapped[i].AddTo(r.Group, m.Calibrated.By.Map.At(v))
		}
	case r.Kind == metrics.NotApplicable:
		m.NotApplicable++
	case r.Kind == metrics.NotAsked:
		m.NotAsked++
	default:
		m.Failed++
		m.Kinds[r.Kind]++
	}
	if r.Sample != s.open.Sample {
		s.close()
		s.open = Case{Sample: r.Sample}
	}
	for _, other := range s.open.Results {
		if other.Metric == r.Metric {
			return fmt.Errorf("sample %q: two results for %s", r.Sample, r.Metric)
		}
	}
	s.open.Results = append(s.open.Results, r)
	return nil
}

// survey takes in a row that might have been asked about.
func (s *summarizer) survey(i int, r metrics.Result) {
	m := &s.metrics[i]
	row := stats.SurveyRow{Stratum: r.Drawn.Stratum, Group: r.Group, Asked: r.Kind != metrics.NotAsked}
	if r.Score != nil {
		row.Scored, row.Value = true, r.Score.Value
	}
	mapped := row
	if row.Scored && m.Calibration != nil {
		row.Value = m.Calibration.Map.At(r.Score.Value)
	}
	s.surveys[i].scores.Add(row)
	if m.Calibrated != nil {
		if mapped.Scored {
			mapped.Value = m.Calibrated.By.Map.At(r.Score.Value)
		}
		s.surveys[i].mapped.Add(mapped)
	}
}

func check(r metrics.Result, m runs.Metric) error {
	if d := r.Drawn; d != nil && !(d.Stratum >= 0 && d.Stratum <= mostStrata && d.Probability >= 0 && d.Probability <= 1) {
		return fmt.Errorf("the row cannot have been drawn from stratum %d with the probability %v", d.Stratum,
			d.Probability)
	}
	switch {
	case r.Kind == metrics.NotAsked && r.Drawn == nil:
		return errors.New("it was not asked, but does not say with what probability it might have been")
	case r.Score == nil && r.Error == "":
		return errors.New("neither a score nor an error")
	case r.Score != nil && r.Error != "":
		return errors.New("both a score and an error")
	case r.Score == nil && r.Kind == "":
		return errors.New("an error without a kind")
	case r.Score == nil:
		return nil
	}
	if r.Score.Ratio != nil {
		if err := r.Score.Ratio.Check(r.Score.Value); err != nil {
			return err
		}
	}
	slack := 1e-6 * (m.Max - m.Min) // for rounding
	if d := r.Score.Spread; d != nil && !(*d >= 0 && *d <= m.Max-m.Min) {
		return fmt.Errorf("the standard deviation %v cannot be of scores from %v to %v", *d, m.Min, m.Max)
	}
	if n := len(r.Score.Draws); n > m.Draws {
		return fmt.Errorf("scores of %d draws, of which the manifest says %d", n, m.Draws)
	}
	for _, v := range r.Score.Draws {
		if !(v >= m.Min-slack && v <= m.Max+slack) {
			return fmt.Errorf("the score %v of a draw is not in the metric's range, %v to %v", v, m.Min, m.Max)
		}
	}
	if v := r.Score.Value; !(v >= m.Min-slack && v <= m.Max+slack) {
		return fmt.Errorf("the score %v is not in the metric's range, %v to %v", v, m.Min, m.Max)
	}
	return nil
}

// close files the open sample among the worst and the failed.
func (s *summarizer) close() {
	c := s.open
	if len(c.Results) == 0 {
		return
	}
	s.samples++
	c.rank = math.Inf(1)
	failed := false
	for _, r := range c.Results {
		if r.Score == nil {
			failed = failed || r.Kind != metrics.NotApplicable && r.Kind != metrics.NotAsked
			continue
		}
		m := s.metrics[s.index[r.Metric]]
		share := m.Share(r.Score.Value)
		if m.LowerIsBetter {
			share = 1 - share
		}
		c.rank = min(c.rank, share)
	}
	if !math.IsInf(c.rank, 1) {
		s.worst.add(c)
	}
	if failed && len(s.failures) < mostFailures {
		s.failures = append(s.failures, c)
	}
}

func (s *summarizer) report(ctx context.Context) *Report {
	s.close()
	o := stats.Options{Seed: s.manifest.Config.Seed, Err: ctx.Err}
	for i := range s.metrics {
		m := &s.metrics[i]
		if m.Calibration != nil {
			m.Min, m.Max, m.LowerIsBetter = 0, 1, false
		}
		if s.drawn[i] != nil {
			m.Drawn = s.drawn[i].draws(o)
		}
		o.Min, o.Max = m.Min, m.Max
		m.Stats = s.means[i].Summary(o)
		drawn := s.surveys[i].scores.Rows() > 0
		if drawn {
			a := s.surveys[i].scores.Estimate(o)
			m.Active, m.Stats = &a, a.Summary()
		} else {
			m.Pooled = s.pools[i].pooled(o)
		}
		if m.Calibrated != nil {
			o.Min, o.Max = 0, 1
			m.Calibrated.Stats = s.mapped[i].Summary(o)
			if drawn {
				mapped := s.surveys[i].mapped.Estimate(o)
				m.Calibrated.Stats = mapped.Summary()
			}
		}
	}
	return &Report{
		Manifest: *s.manifest,
		Samples:  s.samples,
		Metrics:  s.metrics,
		Worst:    s.worst.list(),
		scored:   s.worst.seen,
		Failures: s.failures,
	}
}

// calibrate has the metric's scores summarised as probabilities in place of the scores. It returns an error if the run
// has no such metric.
func (s *summarizer) calibrate(c *runs.Calibration) error {
	if err := c.CheckMetrics(s.manifest.Names()); err != nil {
		return err
	}
	i := s.index[c.Metric]
	s.metrics[i].Calibration, s.metrics[i].Calibrated = c, nil
	return nil
}

// pass sets from which score on a draw passes.
func (s *summarizer) pass(thresholds []Threshold) error {
	at := make(map[int]float64)
	for _, t := range thresholds {
		i, err := findMetric(s.metrics, t.Metric)
		if err != nil {
			return err
		}
		at[i] = t.Bound
	}
	s.drawn = make([]*drawing, len(s.metrics))
	for i := range s.metrics {
		scale := s.metrics[i].Metric
		if s.metrics[i].Calibration != nil {
			scale.Min, scale.Max, scale.LowerIsBetter = 0, 1, false
		}
		bound, given := at[i]
		switch {
		case given && scale.Draws < 2:
			return fmt.Errorf("%s is drawn once, so that nothing passes or not: @draws=5 behind its name, or assay run "+
				"--repeat 5, draws it several times", scale.Name)
		case given && (bound < scale.Min || bound > scale.Max):
			return fmt.Errorf("the threshold %s=%v is not in the metric's range, %v to %v", scale.Name, bound, scale.Min,
				scale.Max)
		case !given:
			bound = (scale.Min + scale.Max) / 2
		}
		s.drawn[i] = newDrawing(&scale, bound)
	}
	return nil
}

// given has the probabilities summarised, beside the scores, that the run's own calibrations make of them.
func (s *summarizer) given() error {
	for k := range s.manifest.Calibrations {
		c := &s.manifest.Calibrations[k].Calibration
		err := c.CheckMetrics(s.manifest.Names())
		if err == nil {
			err = c.Map.Check()
		}
		if err != nil {
			return fmt.Errorf("the calibration in the manifest: %v", err)
		}
		s.metrics[s.index[c.Metric]].Calibrated = &Calibrated{By: c}
	}
	return nil
}

// A ranking keeps the worst cases. It holds up to twice as many as it keeps, so that the work for
// each one added is small.
type ranking struct {
	cases []Case
	most  int
	seen  int
}

func (r *ranking) add(c Case) {
	r.seen++
	r.cases = append(r.cases, c)
	if len(r.cases) == 2*r.most {
		r.cases = slices.Clone(r.list())
	}
}

// list returns the cases kept, worst first, equal ones in input order.
func (r *ranking) list() []Case {
	slices.SortStableFunc(r.cases, func(a, b Case) int {
		switch {
		case a.rank < b.rank:
			return -1
		case a.rank > b.rank:
			return 1
		}
		return 0
	})
	return r.cases[:min(len(r.cases), r.most)]
}

// askedNote says about how many rows a metric was asked, how they were chosen and what the mean of all would be.
func (s *Summary) askedNote(b *runs.Budget) string {
	a := s.Active
	text := fmt.Sprintf("asked about %d of %d rows", a.Asked, a.Rows)
	if cheap := s.cheap(b); cheap != "" {
		text += ", drawn by " + cheap
	}
	if i := a.OfRows; i != nil {
		text += fmt.Sprintf("; the mean that all of these rows would have lies from %s to %s", number(i.Lo), number(i.Hi))
	}
	if i := a.Interval; i != nil && b != nil && b.Width > 0 && i.Hi-i.Lo > b.Width {
		text += fmt.Sprintf("; the interval is not as narrow as %v, which was asked for", b.Width)
		if a.Asked == a.Rows {
			text += ": that takes more rows"
		}
	}
	return text
}

// cheap names the metric by which rows were drawn; "" if the manifest does not say.
func (s *Summary) cheap(b *runs.Budget) string {
	if b == nil {
		return ""
	}
	i := slices.IndexFunc(b.Metrics, func(m runs.Asked) bool { return m.Metric == s.Name })
	if i < 0 {
		return ""
	}
	return b.Metrics[i].Cheap
}

// kinds lists the failures by kind: "bad_reply 2, too_long 1".
func (s *Summary) kinds() string {
	text := ""
	for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %d", kind, s.Kinds[kind])
	}
	return text
}
