// Package budget asks an expensive metric about some of a dataset's rows only, those that say most about its mean.
//
// A [Job] first scores every row by the metrics that are cheap. Then, in rounds, it draws rows to ask the expensive ones
// about: the cheap scores cut the rows into strata, and a stratum is drawn from in proportion to how much the expensive
// scores have varied in it so far, beside a uniform share. The rows' order within a stratum depends on their ids and
// the seed alone, so that a run that was killed draws the same rows again. At last the results are written in the
// dataset's order, and a row that was not asked says so. internal/stats estimates the mean from such results.
package budget

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// A Limit says when to stop asking. The zero Limit is to ask about all rows.
type Limit struct {
	Rows  int     // at most so many for each metric; 0: all
	Share float64 // or, if Rows is 0, so large a share of them, in (0, 1]; 0: all
	Width float64 // once the metric's interval is so narrow; 0: no sooner
}

// ParseLimit reads a count of rows ("200") or a share of them ("20%", "0.2").
func ParseLimit(text string) (Limit, error) {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return Limit{Rows: n}, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	if v, err := strconv.ParseFloat(number, 64); err == nil {
		if percent {
			v /= 100
		}
		if v > 0 && v < 1 || percent && v == 1 {
			return Limit{Share: v}, nil
		}
	}
	return Limit{}, fmt.Errorf("%q is neither a number of rows (200) nor a share of them (20%%, 0.2)", text)
}

// most is how many of so many rows may be asked about.
func (l Limit) most(rows int) int {
	switch {
	case l.Rows > 0:
		return min(l.Rows, rows)
	case l.Share > 0:
		return min(rows, max(1, int(l.Share*float64(rows)+0.5)))
	}
	return rows
}

// Check returns an error where the limit leaves too few of a dataset's rows for an interval to speak of.
func (l Limit) Check(rows int) error {
	const least = 10
	if n := l.most(rows); n < min(least, rows) {
		return fmt.Errorf("%d of %d rows are too few to say how sure the mean is: at least %d", n, rows, least)
	}
	return nil
}

// A Job is a run of which some metrics are asked about some of the rows only.
type Job struct {
	Metrics []metrics.Metric // all of the run, in order
	Asked   []runs.Asked     // those among them that are asked about some rows, each with a cheap one that is not
	Limit   Limit
	Seed    uint64
	Models  metrics.Models
	Options metrics.Options
	Samples func() iter.Seq2[*metrics.Sample, error] // the dataset, each time from its beginning
	Say     func(format string, args ...any)         // is told how it goes
}

// Run does the job, or goes on with it, and hands the results of all rows to w in order.
func (j *Job) Run(ctx context.Context, w *runs.Writer) (err error) {
	draft, err := w.Draft()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	r := &running{Job: j, draft: draft}
	for i := range j.Metrics {
		m := &j.Metrics[i]
		k := slices.IndexFunc(j.Asked, func(a runs.Asked) bool { return a.Metric == m.Name })
		if k < 0 {
			r.cheap = append(r.cheap, *m)
		} else {
			r.costly = append(r.costly, &costly{metric: m, by: j.Asked[k].Cheap, results: map[int]metrics.Result{}})
		}
	}
	if err := r.resume(); err != nil {
		return err
	}
	if err := r.scoreAll(ctx); err != nil {
		return err
	}
	if err := r.ask(ctx); err != nil {
		return err
	}
	return r.write(w)
}

// running is a job that is going on.
type running struct {
	*Job
	draft  *runs.Draft
	cheap  []metrics.Metric // asked about every row
	costly []*costly

	rows   []sample           // of the dataset
	scores []map[string]value // of a row, by the cheap metrics that the draws go by
	kept   int                // how many rows an earlier attempt scored by the cheap metrics
	added  int                // results in the draft
}

// A sample is what must be known of one.
type sample struct{ id, group string }

type value = float64

// A costly metric is asked about some rows.
type costly struct {
	metric  *metrics.Metric
	by      string                 // the cheap metric
	lacks   map[int]error          // the rows that do not fill what it needs
	frame   []int                  // the others
	draw    *draw                  // from the frame
	results map[int]metrics.Result // of the rows that were asked
}

// resume reads what an earlier attempt left: the results of the cheap metrics, row by row, and after those of the last
// row what came of asking. The latter are taken up once the draws are repeated.
func (r *running) resume() error {
	n := 0
	for res, err := range r.draft.Results() {
		if err != nil {
			return err
		}
		n++
		if slices.ContainsFunc(r.cheap, func(m metrics.Metric) bool { return m.Name == res.Metric }) {
			r.note(res)
		}
	}
	r.kept = len(r.scores)
	if n > 0 && n < r.kept*len(r.cheap) { // the last row's results are not whole
		r.kept--
		r.scores = r.scores[:r.kept]
		n = r.kept * len(r.cheap)
	}
	r.added = n
	return r.draft.Keep(n)
}

// note takes in the result of a cheap metric. Those of a row come together.
func (r *running) note(res metrics.Result) {
	if res.Metric == r.cheap[0].Name {
		r.scores = append(r.scores, nil)
	}
	if res.Score == nil || !slices.ContainsFunc(r.Asked, func(a runs.Asked) bool { return a.Cheap == res.Metric }) {
		return
	}
	last := len(r.scores) - 1
	if r.scores[last] == nil {
		r.scores[last] = map[string]value{}
	}
	r.scores[last][res.Metric] = res.Score.Value
}

// scoreAll scores every row by the cheap metrics.
func (r *running) scoreAll(ctx context.Context) error {
	for _, c := range r.costly {
		c.lacks = map[int]error{}
	}
	rest := func(yield func(*metrics.Sample, error) bool) {
		for s, err := range r.Samples() {
			if err == nil {
				i := len(r.rows)
				r.rows = append(r.rows, sample{s.ID, s.Group})
				for _, c := range r.costly {
					if err := c.metric.Lacks(s); err != nil {
						c.lacks[i] = err
					} else {
						c.frame = append(c.frame, i)
					}
				}
				if i < r.kept {
					continue
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}
	last := r.cheap[len(r.cheap)-1].Name
	return metrics.Run(ctx, rest, r.cheap, r.Models, r.Options, func(res metrics.Result) error {
		r.note(res)
		r.added++
		return r.draft.Add(res, res.Metric != last)
	})
}

// ask asks the costly metrics, round by round, about the rows that are drawn for each.
func (r *running) ask(ctx context.Context) error {
	left := map[string]map[int]metrics.Result{} // what an earlier attempt was told, by metric and row
	if err := r.told(left); err != nil {
		return err
	}
	for _, c := range r.costly {
		rows := make([]row, len(c.frame))
		for k, i := range c.frame {
			v, known := r.scores[i][c.by]
			rows[k] = row{sample: r.rows[i].id, group: r.rows[i].group, cheap: v, known: known}
		}
		c.draw = newDraw(rows, r.Limit, r.Seed, stats.Options{Min: c.metric.Min, Max: c.metric.Max})
	}
	for round := 1; ; round++ {
		wanted := map[int][]bool{} // by row, which of the metrics
		for k, c := range r.costly {
			for _, at := range c.draw.next() {
				i := c.frame[at]
				if wanted[i] == nil {
					wanted[i] = make([]bool, len(r.costly))
				}
				wanted[i][k] = true
			}
		}
		if len(wanted) == 0 {
			return nil
		}
		if err := r.round(ctx, wanted, left); err != nil {
			return err
		}
		for _, c := range r.costly {
			for at, i := range c.frame {
				if res, asked := c.results[i]; asked && !c.draw.values[at].asked {
					c.draw.take(at, res.Score)
				}
			}
			r.Say("%s", c.progress(round))
		}
	}
}

// progress says how far asking about a metric is.
func (c *costly) progress(round int) string {
	a := c.draw.survey().Estimate(c.draw.options)
	text := fmt.Sprintf("%s: asked about %d of %d rows after round %d", c.metric.Name, a.Asked, a.Rows, round)
	if i := a.Interval; i != nil {
		text += fmt.Sprintf(", mean %.3f (%.3f to %.3f)", a.Estimate, i.Lo, i.Hi)
	}
	return text
}

// told reads what came of asking before.
func (r *running) told(into map[string]map[int]metrics.Result) error {
	place := map[string]int{}
	for i, s := range r.rows {
		place[s.id] = i
	}
	n := 0
	for res, err := range r.draft.Results() {
		if err != nil {
			return err
		}
		if n++; n <= len(r.rows)*len(r.cheap) {
			continue
		}
		if into[res.Metric] == nil {
			into[res.Metric] = map[int]metrics.Result{}
		}
		into[res.Metric][place[res.Sample]] = res
	}
	return nil
}

// round asks about the rows that are wanted, but for what is left of an earlier attempt.
func (r *running) round(ctx context.Context, wanted map[int][]bool, left map[string]map[int]metrics.Result) error {
	var order []int
	for i, of := range wanted {
		open := false
		for k, c := range r.costly {
			if res, told := left[c.metric.Name][i]; told && of[k] {
				c.results[i] = res
				of[k] = false
			}
			open = open || of[k]
		}
		if open {
			order = append(order, i)
		}
	}
	slices.Sort(order)
	samples := func(yield func(*metrics.Sample, error) bool) {
		at, next := 0, 0
		for s, err := range r.Samples() {
			if next == len(order) {
				return
			}
			if err == nil {
				if at++; at-1 != order[next] {
					continue
				}
				next++
			}
			if !yield(s, err) {
				return
			}
		}
	}
	var ms []metrics.Metric
	for k, c := range r.costly {
		m := *c.metric
		score, ids := m.Score, map[string]bool{}
		for i, of := range wanted {
			if of[k] {
				ids[r.rows[i].id] = true
			}
		}
		m.Score = func(ctx context.Context, models metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			if !ids[s.ID] {
				return metrics.Score{}, errNotWanted
			}
			return score(ctx, models, s)
		}
		ms = append(ms, m)
	}
	done := 0
	return metrics.Run(ctx, samples, ms, r.Models, r.Options, func(res metrics.Result) error {
		i, k := order[done/len(ms)], done%len(ms)
		done++
		if !wanted[i][k] {
			return nil
		}
		r.costly[k].results[i] = res
		return r.draft.Add(res, false)
	})
}

// errNotWanted stands for the score of a row that another metric is asked about. It reaches nobody.
var errNotWanted = errors.New("not wanted")

// write hands on the results of every row.
func (r *running) write(w *runs.Writer) error {
	places := make([]map[int]int, len(r.costly)) // of a row in the frame
	for k, c := range r.costly {
		places[k] = make(map[int]int, len(c.frame))
		for at, i := range c.frame {
			places[k][i] = at
		}
	}
	var of []metrics.Result // the row's, by the cheap metrics
	i := 0
	for res, err := range r.draft.Results() {
		if err != nil {
			return err
		}
		if i == len(r.rows) {
			break
		}
		if of = append(of, res); len(of) < len(r.cheap) {
			continue
		}
		if i >= w.Kept() {
			for m := range r.Metrics {
				name := r.Metrics[m].Name
				k := slices.IndexFunc(r.costly, func(c *costly) bool { return c.metric.Name == name })
				next := metrics.Result{}
				if k >= 0 {
					next = r.costly[k].result(r.rows[i], i, places[k])
				} else {
					next, of = of[0], of[1:]
				}
				if err := w.Write(next); err != nil {
					return err
				}
			}
		}
		of = nil
		i++
	}
	if i < len(r.rows) {
		return fmt.Errorf("the draft holds %d rows of %d", i, len(r.rows))
	}
	return nil
}

// result is the metric's result of row i, as it is written.
func (c *costly) result(s sample, i int, place map[int]int) metrics.Result {
	res := metrics.Result{Sample: s.id, Group: s.group, Metric: c.metric.Name}
	if err := c.lacks[i]; err != nil {
		res.Error, res.Kind = err.Error(), metrics.NotApplicable
		return res
	}
	if asked, ok := c.results[i]; ok {
		res = asked
	} else {
		res.Error, res.Kind = "the row was not drawn", metrics.NotAsked
	}
	h := c.draw.stratum[place[i]]
	res.Drawn = &metrics.Drawn{Stratum: h,
		Probability: float64(c.draw.taken[h]) / float64(len(c.draw.order[h]))}
	return res
}
