package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/jedib0t/go-pretty/v6/table"
)

const agreeHelp = `
Usage: assay agree RUN --human FIELD [flags]
       assay agree RUN --labels FILE [flags]

Says how far metrics agree with people, each number with its 95% interval:

  spearman, kendall, pearson   whether higher scores go with higher labels
  auc                          for true and false: how often a true row scores above a false one
  accuracy, kappa              for true and false: at a threshold
  brier, calibration error     for true and false, of scores from 0 to 1: how good they are as probabilities

With several raters the labels are their means, and beside the metrics stands how far the raters agree with each
other: what one rater's label is worth. Several metrics, and scores that the dataset brings along in its column peers
(--peer NAME), are compared on the same rows. Labels of pairs (--human preferred: 1 or 2 for the better answer)
are compared with the side that the metric prefers. --protocol wikieval takes no labels: its rows are pairs of which
one is better by the way they were made.

  assay agree results --human faithfulness
  assay agree results --human completeness --peer rl_f --peer Bert-KPrec
  assay agree results --labels labels.csv --positive 3
  assay agree results --protocol wikieval
` + labelHelp

// agreeOptions holds the flags of assay agree.
type agreeOptions struct {
	labels    labelOptions
	metrics   []string
	peers     []string
	threshold string
	pairwise  bool
	protocol  string
	seed      uint64
	format    string
}

func agreeCommand(ctx context.Context, s *std, args []string) error {
	var o agreeOptions
	f := s.flags("agree", agreeHelp)
	o.labels.add(f)
	f.StringSliceVarP(&o.metrics, "metric", "m", nil, "look only at these metrics")
	f.StringSliceVar(&o.peers, "peer", nil, "set beside them the scores `NAME` in the dataset's column peers; all: each of them")
	f.StringVar(&o.threshold, "threshold", "", "scores of at least `VALUE` mean true (default: the middle of the range)")
	f.BoolVar(&o.pairwise, "pairwise", false, "the labels say which of two answers is better: 1 or 2")
	f.StringVar(&o.protocol, "protocol", "", "wikieval: which of two rows a metric prefers, of assay testset --recipe wikieval")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything that is drawn at random")
	f.StringVar(&o.format, "format", "table", "table or json")
	if err := parse(f, args, 1, 1); err != nil {
		return err
	}
	if err := checkFormat(o.format, "table", "json"); err != nil {
		return err
	}
	run, err := loadScores(ctx, f.Arg(0))
	if err != nil {
		return err
	}
	switch o.protocol {
	case "":
	case "wikieval":
		return o.wikiEval(s, run)
	default:
		return usagef("unknown protocol %q: wikieval", o.protocol)
	}
	l, err := o.labels.load(ctx, s, run)
	if err != nil {
		return err
	}
	list, err := o.candidates(run, l)
	if err != nil {
		return err
	}
	if list = enough(s, run, l, list); len(list) == 0 {
		return usagef("no metric of %s has scores for the labelled samples", run.Dir)
	}
	if o.pairwise || l.field == "preferred" {
		return o.preferences(s, run, l, list)
	}
	a, err := o.agree(run, l, list)
	if err != nil {
		return err
	}
	if o.format == "json" {
		return s.json(a)
	}
	a.print(s)
	return nil
}

// A candidate is a metric of the run, or a peer's scores.
type candidate struct {
	name          string
	scores        map[string]float64
	min, max      float64 // equal if the range is not known
	lowerIsBetter bool
}

func (o *agreeOptions) candidates(run *scores, l *labels) ([]candidate, error) {
	list, err := run.pick(o.metrics)
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, m := range list {
		all = append(all, candidate{m.Name, run.of[m.Name], m.Min, m.Max, m.LowerIsBetter})
	}
	names := o.peers
	if slices.Equal(names, []string{"all"}) {
		names = slices.Sorted(maps.Keys(l.peers))
	}
	for _, name := range names {
		of, ok := l.peers[name]
		if !ok {
			return nil, usagef("the labelled rows have no peer %q: they have %s", name, strings.Join(slices.Sorted(maps.Keys(l.peers)), ", "))
		}
		all = append(all, candidate{name: "peers." + name, scores: of})
	}
	return all, nil
}

// enough leaves out the candidates of which nothing can be said.
func enough(s *std, run *scores, l *labels, list []candidate) []candidate {
	const least = 3
	return slices.DeleteFunc(list, func(c candidate) bool {
		n := len(l.match(run, c.scores, false).ids)
		if n < least {
			s.warn("%s: %d samples have both a score and a label: it is left out", c.name, n)
		}
		return n < least
	})
}

// An agreement is what --format json prints: what is said of the first metric, with the others beside it.
type agreement struct {
	metricAgreement
	Raters      *raterAgreement   `json:"raters,omitempty"`
	Metrics     []metricAgreement `json:"metrics"` // the first one too
	Differences []agreeDifference `json:"differences,omitempty"`
	binary      bool
}

// A metricAgreement is how far one metric agrees with the labels. What makes no sense for them is absent.
type metricAgreement struct {
	Metric        string        `json:"metric"`
	Field         string        `json:"field"`
	N             int           `json:"n"`
	LeftOut       int           `json:"left_out"` // labelled samples without a score
	LowerIsBetter bool          `json:"lower_is_better,omitempty"`
	Spearman      *estimate     `json:"spearman,omitempty"`
	Kendall       *estimate     `json:"kendall,omitempty"`
	Pearson       *estimate     `json:"pearson,omitempty"`
	AUC           *estimate     `json:"auc,omitempty"`
	Majority      *float64      `json:"majority,omitempty"` // the accuracy of always giving the more frequent label
	AtThreshold   *atThreshold  `json:"at_threshold,omitempty"`
	BestThreshold *atThreshold  `json:"best_threshold,omitempty"`
	Brier         *estimate     `json:"brier,omitempty"`
	Calibration   *calibrations `json:"calibration,omitempty"`
	Warnings      []string      `json:"warnings,omitempty"`
}

// atThreshold is how good a threshold is.
type atThreshold struct {
	Threshold      float64   `json:"threshold"`
	Accuracy       *estimate `json:"accuracy"`
	Kappa          *estimate `json:"kappa,omitempty"`
	CrossValidated bool      `json:"cross_validated,omitempty"` // the accuracy is of thresholds found on other rows
}

// calibrations is how well scores hold what they promise as probabilities.
type calibrations struct {
	Error    float64 `json:"error"`
	Expected float64 `json:"expected"` // of perfectly calibrated scores
	P        float64 `json:"p"`
	Bins     []bin   `json:"bins"` // a reliability diagram
}

// A bin is the rows whose scores lie in a tenth of [0, 1].
type bin struct {
	N     int     `json:"n"`
	Score float64 `json:"score"` // the mean
	Label float64 `json:"label"` // the mean
}

func newCalibrations(r stats.Reliability) *calibrations {
	c := &calibrations{Error: r.Error, Expected: r.Expected, P: r.P}
	for _, b := range r.Bins {
		c.Bins = append(c.Bins, bin{b.N, b.Score, b.Target})
	}
	return c
}

// agreeDifference compares two metrics on the same rows.
type agreeDifference struct {
	First      string   `json:"first"`
	Second     string   `json:"second"`
	Measure    string   `json:"measure"` // spearman or auc
	N          int      `json:"n"`
	Difference float64  `json:"difference"` // the second's less the first's
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	P          float64  `json:"p"`
	PHolm      float64  `json:"p_holm"`
}

// raterAgreement is how far raters agree with each other.
type raterAgreement struct {
	Raters int         `json:"raters"`
	N      int         `json:"n"`               // samples with two ratings or more
	Alpha  alphas      `json:"alpha"`           // Krippendorff's
	Kappa  *estimate   `json:"kappa,omitempty"` // Cohen's, of two raters, with quadratic weights
	Others []*estimate `json:"one_with_others"` // the rank correlation of each rater with the mean of the others; null where there is none
}

type alphas struct {
	Nominal  *estimate `json:"nominal,omitempty"`
	Ordinal  *estimate `json:"ordinal,omitempty"`
	Interval *estimate `json:"interval,omitempty"`
}

func (o *agreeOptions) agree(run *scores, l *labels, list []candidate) (*agreement, error) {
	threshold, err := parseThreshold(o.threshold)
	if err != nil {
		return nil, err
	}
	a := &agreement{binary: l.binary()}
	for _, c := range list {
		m := l.match(run, c.scores, c.lowerIsBetter)
		r := metricAgreement{Metric: c.name, Field: l.field, N: len(m.ids), LeftOut: len(l.ratings) - len(m.ids), LowerIsBetter: c.lowerIsBetter}
		r.correlate(m, o.seed)
		if a.binary {
			r.classify(m, c, threshold, o.seed)
		}
		a.Metrics = append(a.Metrics, r)
	}
	a.metricAgreement = a.Metrics[0]
	a.Raters = l.agreement(run, o.seed)
	a.compare(run, l, list, o.seed)
	return a, nil
}

func parseThreshold(text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	v, _, err := parsePositive(text)
	if err != nil {
		return nil, usagef("--threshold %q: it takes a number", text)
	}
	return &v, nil
}

// keep returns the estimate for print, or a warning where there is none.
func (r *metricAgreement) keep(what string, e stats.Estimate, err error) *estimate {
	if err != nil {
		r.warn("no " + what + ": " + err.Error())
		return nil
	}
	for _, w := range e.Warnings {
		r.warn(w)
	}
	return newEstimate(e.Value, e.Interval)
}

// warn keeps a warning once: measures of the same rows have the same ones.
func (r *metricAgreement) warn(w string) {
	if !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

func (r *metricAgreement) correlate(m matched, seed uint64) {
	o := stats.Options{Seed: seed, Groups: m.groups}
	for _, c := range []struct {
		what string
		of   func(x, y []float64, o stats.Options) (stats.Estimate, error)
		into **estimate
	}{{"spearman", stats.Spearman, &r.Spearman}, {"kendall", stats.Kendall, &r.Kendall}, {"pearson", stats.Pearson, &r.Pearson}} {
		e, err := c.of(m.scores, m.labels, o)
		*c.into = r.keep(c.what, e, err)
	}
}

// truths are the labels as true and false: what most raters said. Samples on which they are divided are left out.
func (m matched) truths() (kept matched, truth []bool) {
	for i, y := range m.labels {
		if y == 0.5 {
			continue
		}
		kept.ids, kept.scores, kept.labels = append(kept.ids, m.ids[i]), append(kept.scores, m.scores[i]), append(kept.labels, number01(y > 0.5))
		if m.groups != nil {
			kept.groups = append(kept.groups, m.groups[i])
		}
		truth = append(truth, y > 0.5)
	}
	return kept, truth
}

func (r *metricAgreement) classify(all matched, c candidate, threshold *float64, seed uint64) {
	m, truth := all.truths()
	if n := len(all.ids) - len(m.ids); n > 0 {
		r.warn(fmt.Sprintf("%d samples on which the raters are equally divided are left out of auc, accuracy and what follows", n))
	}
	o := stats.Options{Seed: seed, Groups: m.groups}
	e, err := stats.AUC(m.scores, truth, o)
	if r.AUC = r.keep("auc", e, err); r.AUC == nil {
		return
	}
	share := 0.0
	for _, y := range m.labels {
		share += y / float64(len(truth))
	}
	share = max(share, 1-share)
	r.Majority = &share
	sign := 1.0 // scores whose low values are good were negated
	if c.lowerIsBetter {
		sign = -1
	}
	at := sign * (c.min + c.max) / 2
	if threshold != nil {
		at = sign * *threshold
	}
	if threshold != nil || c.min < c.max {
		r.AtThreshold = r.at(m, truth, at, o)
		r.AtThreshold.Threshold = sign * at
	}
	best, _ := stats.BestThreshold(m.scores, truth)
	expected := stats.CrossValidatedAccuracy(m.scores, truth, o)
	r.BestThreshold = &atThreshold{Threshold: sign * best, Accuracy: newEstimate(expected.Mean, expected.Interval), CrossValidated: true}
	if c.min == 0 && c.max == 1 && !c.lowerIsBetter {
		r.probability(m, o)
	}
}

func (r *metricAgreement) at(m matched, truth []bool, threshold float64, o stats.Options) *atThreshold {
	accuracy := stats.Accuracy(m.scores, truth, threshold, o)
	said := make([]float64, len(m.scores))
	for i, v := range m.scores {
		said[i] = number01(v >= threshold)
	}
	kappa, err := stats.CohenKappa(said, m.labels, stats.Unweighted, o)
	return &atThreshold{Accuracy: newEstimate(accuracy.Mean, accuracy.Interval), Kappa: r.keep("kappa", kappa, err)}
}

func (r *metricAgreement) probability(m matched, o stats.Options) {
	b := stats.Brier(m.scores, m.labels, o)
	r.Brier = newEstimate(b.Mean, b.Interval)
	c, err := stats.Calibration(m.scores, m.labels, o)
	if err != nil {
		r.warn("no calibration error: " + err.Error())
		return
	}
	r.Calibration = newCalibrations(c)
}

// compare sets every further candidate against the first, on the rows that both scored.
func (a *agreement) compare(run *scores, l *labels, list []candidate, seed uint64) {
	first := list[0]
	var ps []float64
	for _, c := range list[1:] {
		x, y := l.match(run, first.scores, first.lowerIsBetter), l.match(run, c.scores, c.lowerIsBetter)
		x, y = x.only(c.scores), y.only(first.scores)
		d := agreeDifference{First: first.name, Second: c.name, Measure: "spearman", N: len(x.ids)}
		var diff stats.Difference
		var err error
		if a.binary {
			d.Measure = "auc"
			kept, truth := x.truths()
			other, _ := y.truths()
			d.N = len(kept.ids)
			diff, err = stats.AUCDifference(kept.scores, other.scores, truth, stats.Options{Seed: seed, Groups: kept.groups})
		} else {
			diff, err = stats.SpearmanDifference(x.scores, y.scores, x.labels, stats.Options{Seed: seed, Groups: x.groups})
		}
		if err != nil {
			a.Metrics[0].warn(fmt.Sprintf("no difference to %s: %v", c.name, err))
			continue
		}
		d.Difference, d.P = diff.Value, diff.P
		if i := diff.Interval; i != nil {
			d.Lo, d.Hi = &i.Lo, &i.Hi
		}
		a.Differences = append(a.Differences, d)
		ps = append(ps, d.P)
	}
	a.metricAgreement = a.Metrics[0]
	for i, p := range stats.Holm(ps) {
		a.Differences[i].PHolm = p
	}
}

// only keeps the samples that have another score, too.
func (m matched) only(other map[string]float64) matched {
	var kept matched
	for i, id := range m.ids {
		if _, ok := other[id]; !ok {
			continue
		}
		kept.ids, kept.scores, kept.labels = append(kept.ids, id), append(kept.scores, m.scores[i]), append(kept.labels, m.labels[i])
		if m.groups != nil {
			kept.groups = append(kept.groups, m.groups[i])
		}
	}
	return kept
}

// agreement says how far the raters agree with each other; nil if there is one only.
func (l *labels) agreement(run *scores, seed uint64) *raterAgreement {
	if l.raters < 2 {
		return nil
	}
	r := &raterAgreement{Raters: l.raters}
	var units [][]float64
	var groups []string
	one, rest, of := make([][]float64, l.raters), make([][]float64, l.raters), make([][]string, l.raters)
	for _, id := range run.samples {
		list := l.ratings[id]
		if len(list) < 2 {
			continue
		}
		r.N++
		unit := make([]float64, len(list))
		total := mean(list) * float64(len(list))
		for i, x := range list {
			unit[i] = x.value
			one[x.rater] = append(one[x.rater], x.value)
			rest[x.rater] = append(rest[x.rater], (total-x.value)/float64(len(list)-1))
			of[x.rater] = append(of[x.rater], l.groupOf(run, id))
		}
		units, groups = append(units, unit), append(groups, l.groupOf(run, id))
	}
	o := stats.Options{Seed: seed, Groups: groups}
	alpha := func(scale stats.Scale) *estimate {
		if e, err := stats.Krippendorff(units, scale, o); err == nil {
			return newEstimate(e.Value, e.Interval)
		}
		return nil
	}
	r.Alpha = alphas{alpha(stats.Nominal), alpha(stats.Ordinal), alpha(stats.IntervalData)}
	if l.raters == 2 {
		if e, err := stats.CohenKappa(one[0], one[1], stats.Quadratic, o); err == nil {
			r.Kappa = newEstimate(e.Value, e.Interval)
		}
	}
	for k := range one {
		var other *estimate
		if e, err := stats.Spearman(one[k], rest[k], stats.Options{Seed: seed, Groups: of[k]}); err == nil {
			other = newEstimate(e.Value, e.Interval)
		}
		r.Others = append(r.Others, other)
	}
	return r
}

func (a *agreement) print(s *std) {
	t := s.table("metric", "n", "spearman", "kendall", "pearson")
	for _, m := range a.Metrics {
		t.AppendRow(table.Row{printable(m.Metric), m.N, m.Spearman, m.Kendall, m.Pearson})
	}
	render(t, 5, "table")
	if a.binary {
		a.printBinary(s)
	}
	var notes []string
	if r := a.Raters; r != nil {
		notes = append(notes, r.line())
	}
	for _, d := range a.Differences {
		notes = append(notes, d.line())
	}
	for _, m := range a.Metrics {
		notes = append(notes, m.lines()...)
	}
	s.bullets(notes)
}

func (a *agreement) printBinary(s *std) {
	fmt.Fprintln(s.out)
	t := s.table("metric", "auc", "threshold", "accuracy", "kappa")
	for _, m := range a.Metrics {
		row := table.Row{printable(m.Metric), m.AUC, "", "", ""}
		if k := m.AtThreshold; k != nil {
			row[2], row[3], row[4] = number(k.Threshold), k.Accuracy, k.Kappa
		}
		t.AppendRow(row)
	}
	render(t, 5, "table")
}

// lines are what there is to say of a metric below the tables.
func (m *metricAgreement) lines() []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, m.Metric+": "+fmt.Sprintf(format, args...)) }
	if k := m.BestThreshold; k != nil {
		say("the best threshold here, %s, can be expected to have the accuracy %s on other rows; always giving the more frequent label has %s",
			number(k.Threshold), k.Accuracy, number(*m.Majority))
	}
	if m.Brier != nil {
		say("brier %s as probabilities", m.Brier)
	}
	if c := m.Calibration; c != nil {
		say("calibration error %s; scores that were true probabilities would show %s (p %s)", number(c.Error), number(c.Expected), pValue(c.P))
	}
	if m.LowerIsBetter {
		say("lower is better, so it was negated")
	}
	if m.LeftOut > 0 {
		say("%d labelled samples have no score", m.LeftOut)
	}
	for _, w := range m.Warnings {
		say("%s", w)
	}
	return list
}

func (r *raterAgreement) line() string {
	line := fmt.Sprintf("%d raters on %d samples: Krippendorff's alpha %s ordinal, %s interval, %s nominal", r.Raters, r.N,
		r.Alpha.Ordinal, r.Alpha.Interval, r.Alpha.Nominal)
	if r.Kappa != nil {
		line += fmt.Sprintf("; Cohen's kappa, quadratic weights, %s", r.Kappa)
	}
	var others []string
	for _, e := range r.Others {
		if e != nil {
			others = append(others, number(e.Value))
		}
	}
	if len(others) > 0 {
		line += "; spearman of each rater with the mean of the others " + strings.Join(others, ", ")
	}
	return line
}

func (d agreeDifference) line() string {
	interval := ""
	if d.Lo != nil {
		interval = fmt.Sprintf(" (%s to %s)", signed(*d.Lo), signed(*d.Hi))
	}
	return fmt.Sprintf("%s less %s, %s on the same %d rows: %s%s, p %s, %s with Holm's correction",
		d.Second, d.First, d.Measure, d.N, signed(d.Difference), interval, pValue(d.P), pValue(d.PHolm))
}
