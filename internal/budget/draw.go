package budget

import (
	"cmp"
	"slices"

	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

// A row is what is known of a sample before a metric is asked about it.
type row struct {
	sample, group string
	cheap         float64
	known         bool // cheap is
}

// A draw is the rows that one metric is asked about, round by round. Each row has a number that depends on nothing but
// its id and the seed (a permanent random number: Ohlsson 1995); within a stratum those with the least numbers are
// asked. So two metrics of a run are asked about the same rows as far as may be, and the same run draws the same rows.
type draw struct {
	rows    []row
	limit   Limit
	options stats.Options

	stratum []int   // of each row
	order   [][]int // the rows of each stratum
	taken   []int   // how many of them were drawn
	values  []outcome
	asked   int
}

// An outcome is what came of asking about a row.
type outcome struct {
	value         float64
	asked, scored bool
}

func newDraw(rows []row, limit Limit, seed uint64, o stats.Options) *draw {
	d := &draw{rows: rows, limit: limit, options: o, values: make([]outcome, len(rows))}
	values, known := make([]float64, len(rows)), make([]bool, len(rows))
	number := make([]uint64, len(rows))
	for i, r := range rows {
		values[i], known[i] = r.cheap, r.known
		number[i] = stats.RowNumber(seed, r.sample)
	}
	var n int
	d.stratum, n = stats.Stratify(values, known, d.strata())
	d.order, d.taken = make([][]int, n), make([]int, n)
	for i, h := range d.stratum {
		d.order[h] = append(d.order[h], i)
	}
	for _, list := range d.order {
		slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(number[i], number[j]) })
	}
	return d
}

// next draws the rows of another round, in the order of the rows; nil if there is none. Every row that was drawn before
// must have its outcome.
func (d *draw) next() []int {
	total := d.total()
	s := d.survey()
	if total <= s.Asked() {
		return nil
	}
	var list []int
	for h, n := range s.Allocate(total) {
		list = append(list, d.order[h][d.taken[h]:n]...)
		d.taken[h] = n
	}
	slices.Sort(list)
	return list
}

// strata is into how many strata the rows are cut: more tell the rows apart better, and each must be asked about.
func (d *draw) strata() int {
	const most, rowsEach = 10, 8
	return max(1, min(most, d.limit.most(len(d.rows))/rowsEach))
}

// total is how many rows to have asked after the next round. The first round is of a quarter of the budget, or, where
// only a width is asked for, of four rows a stratum. Then follow quarters; or as many rows as the width is thought to
// need, at most as many as were asked so far and at least a tenth of them. That the width ends it and not the mean makes
// the interval valid (Chow and Robbins 1965).
func (d *draw) total() int {
	most := d.limit.most(len(d.rows))
	quarter := (most + 3) / 4
	if d.limit.Width == 0 {
		return min(most, d.asked+max(quarter, 2*len(d.order)))
	}
	if d.asked == 0 {
		return min(most, 4*len(d.order))
	}
	s := d.survey()
	if i := s.Estimate(d.options).Interval; i != nil && i.Hi-i.Lo <= d.limit.Width {
		return d.asked
	}
	return min(most, d.asked+max(d.asked/10, 4, min(d.asked, s.Needs(d.limit.Width, d.options)-d.asked)))
}

// take notes what came of asking about a row.
func (d *draw) take(row int, score *metrics.Score) {
	d.values[row] = outcome{asked: true, scored: score != nil}
	if score != nil {
		d.values[row].value = score.Value
	}
	d.asked++
}

// survey is what is known so far.
func (d *draw) survey() *stats.Survey {
	s := &stats.Survey{}
	for i, r := range d.rows {
		o := d.values[i]
		s.Add(stats.SurveyRow{Stratum: d.stratum[i], Group: r.group, Asked: o.asked, Scored: o.scored, Value: o.value})
	}
	return s
}
