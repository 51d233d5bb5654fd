package stats

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Active inference estimates a mean from values that only some rows were asked for, with help of a cheap score that all
// rows have (Zrnic and Candès 2024, "Active statistical inference", arXiv:2403.03208). The cheap scores are cut into
// strata; within a stratum rows are asked in an order drawn at random, so that each had the same probability, and more
// are asked where the values have varied more so far. The mean is the inverse-probability-weighted one, which here is
// that of stratified prediction-powered inference with the strata's means for predictions (Fisch and others 2024,
// arXiv:2406.04291): the cheap scores may be on any scale and need not be right.

// Weighted is the interval of a mean of rows that were asked with unequal probabilities: Student's t.
const Weighted Method = "weighted"

// Stratify cuts rows into at most so many strata of alike values, about equal in size; rows with equal values stay
// together. Rows without a value (known is false) are one more stratum, the last. Of holds the stratum of each row.
func Stratify(values []float64, known []bool, most int) (of []int, strata int) {
	of = make([]int, len(values))
	var rows []int
	for i := range values {
		if known[i] {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(i, j int) int {
		switch {
		case values[i] < values[j]:
			return -1
		case values[i] > values[j]:
			return 1
		}
		return 0
	})
	full := float64(len(rows)) / float64(max(most, 1))
	have := 0
	for at := 0; at < len(rows); {
		end := at + sort.Search(len(rows)-at, func(k int) bool { return values[rows[at+k]] > values[rows[at]] })
		if have > 0 && float64(have)+float64(end-at)/2 >= full && strata+1 < most {
			strata++
			have = 0
		}
		for ; at < end; at++ {
			of[rows[at]] = strata
			have++
		}
	}
	if len(rows) > 0 {
		strata++
	}
	if len(rows) < len(values) {
		for i := range values {
			if !known[i] {
				of[i] = strata
			}
		}
		strata++
	}
	return of, strata
}

// RowNumber is a row's permanent random number (Ohlsson 1995): it depends on nothing but its id and a seed.
func RowNumber(seed uint64, id string) uint64 {
	b := binary.BigEndian.AppendUint64(nil, seed)
	sum := sha256.Sum256(append(b, id...))
	return binary.BigEndian.Uint64(sum[:])
}

// A Survey takes in the rows of a stratified sample one by one, in space for each stratum, and for each stratum of each
// group. The zero Survey is empty.
type Survey struct {
	strata   []stratum
	parts    map[uint64][]cell // by the hash of a group, what its rows are in each stratum
	thrown   bool              // groups share parts, as in clusters
	repeated bool              // two rows share a group
}

// A SurveyRow is a row of a survey. One that was asked may have no value all the same: then the mean is of those that
// would have one.
type SurveyRow struct {
	Stratum int // from 0 on
	Group   string
	Asked   bool
	Scored  bool    // of one that was asked: it has a value
	Value   float64 // finite
}

// A stratum is what is known of its rows.
type stratum struct {
	rows, asked int
	moments             // of the values
	least, top  float64 // of them
}

// A cell is the rows that a group has in a stratum.
type cell struct {
	rows, asked, scored int
	sum, squares        float64 // of the values
}

// Add takes in a row.
func (s *Survey) Add(r SurveyRow) {
	for len(s.strata) <= r.Stratum {
		s.strata = append(s.strata, stratum{})
	}
	h := &s.strata[r.Stratum]
	h.rows++
	if r.Asked {
		h.asked++
		if r.Scored {
			if h.n == 0 {
				h.least, h.top = r.Value, r.Value
			}
			h.least, h.top = min(h.least, r.Value), max(h.top, r.Value)
			h.add(r.Value)
		}
	}
	if r.Group != "" {
		s.addTo(r)
	}
}

func (s *Survey) addTo(r SurveyRow) {
	if s.parts == nil {
		s.parts = map[uint64][]cell{}
	}
	key := hash(r.Group)
	if s.thrown {
		key %= mostGroups
	}
	cells, there := s.parts[key]
	s.repeated = s.repeated || there
	for len(cells) <= r.Stratum {
		cells = append(cells, cell{})
	}
	c := &cells[r.Stratum]
	c.rows++
	if r.Asked {
		c.asked++
		if r.Scored {
			c.scored++
			c.sum += r.Value
			c.squares += r.Value * r.Value
		}
	}
	s.parts[key] = cells
	if len(s.parts) > mostGroups && !s.thrown {
		s.throwTogether()
	}
}

func (s *Survey) throwTogether() {
	s.thrown = true
	few := make(map[uint64][]cell, mostGroups)
	for _, key := range slices.Sorted(maps.Keys(s.parts)) {
		cells := few[key%mostGroups]
		for i, c := range s.parts[key] {
			if i == len(cells) {
				cells = append(cells, cell{})
			}
			cells[i].join(c)
		}
		few[key%mostGroups] = cells
	}
	s.parts = few
}

func (c *cell) join(other cell) {
	c.rows += other.rows
	c.asked += other.asked
	c.scored += other.scored
	c.sum += other.sum
	c.squares += other.squares
}

// Rows, Asked and Scored count the rows, those that were asked and those of them with a value.
func (s *Survey) Rows() int   { return s.count(func(h stratum) int { return h.rows }) }
func (s *Survey) Asked() int  { return s.count(func(h stratum) int { return h.asked }) }
func (s *Survey) Scored() int { return s.count(func(h stratum) int { return h.n }) }

func (s *Survey) count(of func(stratum) int) int {
	n := 0
	for _, h := range s.strata {
		n += of(h)
	}
	return n
}

// An Active is the estimate of a survey.
type Active struct {
	Rows, Asked, Scored int
	Estimate            float64 // 0 if Scored is 0: look at that first

	// Interval is that of the mean over all rows such as these, as [Summary] has it; OfRows that of the mean that these
	// rows would have if all were asked, which shrinks to nothing as they are. nil: a warning says why.
	Interval, OfRows *Interval
	Alike            *Interval // as Interval, had as many rows been asked without regard to strata, each as likely
	Warnings         []string
}

// Summary is the estimate as that of a mean.
func (a *Active) Summary() Summary {
	return Summary{N: a.Scored, Mean: a.Estimate, Interval: a.Interval, Warnings: a.Warnings}
}

// Estimate is the mean of the rows that have a value, or would if they were asked:
//
//	estimate = Σ W ā ȳ / Σ W ā               W: the stratum's share of the rows; ā: the share of its asked rows that
//	                                         have a value, whose mean is ȳ
//	variance = Σ W² (1 - n/N) s² / n         of OfRows: n of the stratum's N rows were asked
//	         + Σ W (d² + s²) / rows          of Interval, beside it: the rows are a sample, too
//
// d and s² are the stratum's mean and variance of the deviations a (y - estimate), a being 1 for a row with a value
// and 0 for one without, and s² is drawn to its mean over the strata as four more rows would draw it. With groups, what
// the deviations of a group's rows have in common is added. The number of degrees of freedom is Satterthwaite's (1946).
// See Cochran 1977, "Sampling Techniques", sections 5.4, 5A.4 and 6.11.
func (s *Survey) Estimate(o Options) Active {
	a := Active{Rows: s.Rows(), Asked: s.Asked(), Scored: s.Scored()}
	warn := func(format string, args ...any) { a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...)) }
	if a.Scored == 0 {
		warn("no values")
		return a
	}
	d := s.design()
	a.Estimate = d.mean
	switch {
	case a.Asked < 2:
		warn("one value: no interval")
	case d.least == d.top && o.Min < o.Max:
		a.Interval = d.exact(o)
		a.OfRows = a.Interval
		warn("all %d values are %v: the interval says how far others could pull the mean", a.Scored, d.least)
	case d.least == d.top:
		warn("all %d values are %v: no interval", a.Scored, d.least)
	default:
		a.OfRows = d.interval(d.ofRows(), o)
		a.Interval = d.interval(d.ofAll(s), o)
		a.Alike = d.interval(d.alike(float64(a.Asked)), o)
	}
	if s.repeated {
		warn("rows share groups, which are not independent: the interval is over the groups")
	}
	if a.Asked < few {
		warn("only %d rows asked: the interval is rough", a.Asked)
	}
	return a
}

// A design is a survey ready to be estimated from: strata of which fewer than two rows were asked, and not all, are
// taken together with a neighbour.
type design struct {
	mean       float64
	applicable float64 // Σ W ā
	rows       float64
	least, top float64
	portions   []portion
	of         []int // the portion of each stratum
}

// A portion is one or more strata.
type portion struct {
	stratum
	share     float64 // of the rows
	deviation float64 // d
	squares   float64 // about d, of the deviations of the rows that were asked
	variance  float64 // s²
}

func (s *Survey) design() design {
	d := design{rows: float64(s.Rows()), of: make([]int, len(s.strata)), least: math.Inf(1), top: math.Inf(-1)}
	enough := func(h stratum) bool { return h.asked >= min(2, h.rows) }
	for i, h := range s.strata {
		last := len(d.portions) - 1
		if last < 0 || enough(h) && enough(d.portions[last].stratum) {
			d.portions = append(d.portions, portion{stratum: h})
			last++
		} else {
			d.portions[last].join(h)
		}
		d.of[i] = last
	}
	if last := len(d.portions) - 1; last > 0 && !enough(d.portions[last].stratum) {
		d.portions[last-1].join(d.portions[last].stratum)
		d.portions = d.portions[:last]
		for i := range d.of {
			d.of[i] = min(d.of[i], last-1)
		}
	}
	total := 0.0
	for i := range d.portions {
		p := &d.portions[i]
		p.share = float64(p.rows) / d.rows
		if p.n > 0 {
			d.applicable += p.share * float64(p.n) / float64(p.asked)
			total += p.share * float64(p.n) / float64(p.asked) * p.mean
			d.least, d.top = min(d.least, p.least), max(d.top, p.top)
		}
	}
	d.mean = min(max(total/d.applicable, d.least), d.top)
	pooled, freedom := 0.0, 0.0
	for i := range d.portions {
		p := &d.portions[i]
		if p.asked == 0 {
			continue
		}
		n, k := float64(p.asked), float64(p.n)
		off := p.mean - d.mean
		p.deviation = k / n * off
		p.squares = max(0, p.m2+k*off*off-n*p.deviation*p.deviation)
		pooled += p.squares
		freedom += n - 1
	}
	if freedom > 0 {
		pooled /= freedom
	}
	// A stratum whose few values happen to be alike is asked about less from then on, and would stay so: without the prior
	// intervals are too short by a fifth.
	const prior = 4
	for i := range d.portions {
		p := &d.portions[i]
		p.variance = (p.squares + prior*pooled) / (max(1, float64(p.asked)) - 1 + prior)
	}
	return d
}

// join takes in the rows of a neighbour (Chan, Golub and LeVeque 1983, for the moments).
func (p *portion) join(h stratum) {
	p.rows += h.rows
	p.asked += h.asked
	if h.n == 0 {
		return
	}
	if p.n == 0 {
		p.moments, p.least, p.top = h.moments, h.least, h.top
		return
	}
	a, b := float64(p.n), float64(h.n)
	delta := h.mean - p.mean
	p.m2 += h.m2 + delta*delta*a*b/(a+b)
	p.mean += delta * b / (a + b)
	p.n += h.n
	p.least, p.top = min(p.least, h.least), max(p.top, h.top)
}

// A spread is the variance of an estimate with its number of degrees of freedom.
type spread struct{ variance, freedom float64 }

// ofRows is that of the estimate of the mean of these rows.
func (d *design) ofRows() spread {
	var v, parts float64
	for _, p := range d.portions {
		if p.asked == 0 || p.asked == p.rows {
			continue
		}
		n := float64(p.asked)
		part := p.share * p.share * (1 - n/float64(p.rows)) * p.variance / n
		v += part
		parts += part * part / max(1, n-1)
	}
	return d.scaled(v, parts)
}

// ofAll is that of the estimate of the mean of all rows such as these.
func (d *design) ofAll(s *Survey) spread {
	rows := d.ofRows()
	v, parts := 0.0, 0.0
	for _, p := range d.portions {
		v += p.share * (p.deviation*p.deviation + p.variance) / d.rows
	}
	parts += v * v / max(1, d.rows-1)
	sample := d.scaled(v+d.common(s), parts)
	total := spread{variance: rows.variance + max(0, sample.variance)}
	if rows.freedom > 0 {
		total.freedom += rows.variance * rows.variance / rows.freedom
	}
	if sample.freedom > 0 {
		total.freedom += sample.variance * sample.variance / sample.freedom
	}
	if total.freedom > 0 {
		total.freedom = total.variance * total.variance / total.freedom
	}
	return total
}

// alike is that of the mean of so many rows drawn without regard to strata.
func (d *design) alike(asked float64) spread {
	v := 0.0
	for _, p := range d.portions {
		v += p.share * (p.deviation*p.deviation + p.variance) / asked
	}
	return d.scaled(v, v*v/max(1, asked-1))
}

// scaled is for the ratio's denominator. Parts are the sum of the squares of what v is made of, each over its degrees
// of freedom.
func (d *design) scaled(v, parts float64) spread {
	s := spread{variance: v / (d.applicable * d.applicable)}
	if parts > 0 {
		s.freedom = v * v / parts
	}
	return s
}

// common is what the deviations of rows in one group have in common, summed over the groups: the squares of the sums
// of what each row contributes to the estimate's deviation, less the sums of the squares.
func (d *design) common(s *Survey) float64 {
	if !s.repeated {
		return 0
	}
	total := 0.0
	for _, key := range slices.Sorted(maps.Keys(s.parts)) {
		sum, squares := 0.0, 0.0
		for i, c := range s.parts[key] {
			if c.rows == 0 {
				continue
			}
			p := d.portions[d.of[i]]
			if p.asked == 0 {
				continue
			}
			weight := float64(p.rows) / float64(p.asked)
			n, k := float64(c.asked), float64(c.scored)
			h := c.sum - k*d.mean                              // Σ of the deviations
			hh := c.squares - 2*d.mean*c.sum + k*d.mean*d.mean // Σ of their squares
			rest, restSquares := h-n*p.deviation, hh-2*p.deviation*h+n*p.deviation*p.deviation
			sum += float64(c.rows)*p.deviation + weight*rest
			squares += float64(c.rows)*p.deviation*p.deviation + 2*p.deviation*weight*rest + weight*weight*restSquares
		}
		total += sum*sum - squares
	}
	return total / (d.rows * d.rows)
}

func (d *design) interval(s spread, o Options) *Interval {
	quantile := distuv.UnitNormal.Quantile((1 + o.level()) / 2)
	if s.freedom > 0 {
		quantile = distuv.StudentsT{Sigma: 1, Nu: s.freedom}.Quantile((1 + o.level()) / 2)
	}
	half := quantile * math.Sqrt(s.variance)
	i := &Interval{Lo: d.mean - half, Hi: d.mean + half, Level: o.level(), Method: Weighted}
	if o.Min < o.Max {
		i.Lo, i.Hi = min(max(i.Lo, o.Min), d.mean), max(min(i.Hi, o.Max), d.mean)
	}
	return i
}

// exact is the interval where all values are equal: as with [Exact], for as many rows as the least probability of being
// asked makes of all.
func (d *design) exact(o Options) *Interval {
	n := math.Inf(1)
	for _, p := range d.portions {
		n = min(n, float64(p.asked)/p.share)
	}
	m := Mean{least: d.least}
	o.Level = o.level()
	return m.exact(o, int(max(1, n)))
}

// Allocate says how many rows of each stratum to have asked once so many are asked of all: in proportion to the
// stratum's rows and standard deviation so far (Neyman 1934), three tenths of them in proportion to its rows alone; never
// fewer than two or than were asked already, and never more than there are.
func (s *Survey) Allocate(total int) []int {
	const uniform = 0.3
	spreads, sum := s.spreads(), 0.0
	for i, h := range s.strata {
		sum += spreads[i] * float64(h.rows)
	}
	rows := float64(s.Rows())
	want := make([]float64, len(s.strata))
	for i, h := range s.strata {
		want[i] = float64(h.rows) / rows
		if sum > 0 {
			want[i] = uniform*want[i] + (1-uniform)*spreads[i]*float64(h.rows)/sum
		}
	}
	least, most := make([]int, len(want)), make([]int, len(want))
	for i, h := range s.strata {
		least[i], most[i] = max(h.asked, min(2, h.rows)), h.rows
	}
	return share(total, want, least, most)
}

// spreads are the standard deviations of the strata, as far as they are known.
func (s *Survey) spreads() []float64 {
	list := make([]float64, len(s.strata))
	if s.Scored() == 0 {
		return list
	}
	d := s.design()
	for i := range list {
		list[i] = math.Sqrt(d.portions[d.of[i]].variance)
	}
	return list
}

// share divides a total in proportion to what is wanted, each part between its least and its most. The parts add up to
// the total as far as these allow.
func share(total int, want []float64, least, most []int) []int {
	fixed := make([]bool, len(want))
	parts := make([]float64, len(want))
	for {
		left, weight := float64(total), 0.0
		for i := range want {
			if fixed[i] {
				left -= parts[i]
			} else {
				weight += want[i]
			}
		}
		low, high := 0.0, 0.0 // how much the bounds would add and take away
		for i := range want {
			if !fixed[i] {
				parts[i] = 0
				if weight > 0 {
					parts[i] = max(0, left) * want[i] / weight
				}
				low += max(0, float64(least[i])-parts[i])
				high += max(0, parts[i]-float64(most[i]))
			}
		}
		if low+high == 0 {
			break
		}
		for i := range want { // those that are bound on the side that matters more are settled
			switch {
			case fixed[i]:
			case low >= high && parts[i] < float64(least[i]):
				parts[i], fixed[i] = float64(least[i]), true
			case low < high && parts[i] > float64(most[i]):
				parts[i], fixed[i] = float64(most[i]), true
			}
		}
	}
	list, have := make([]int, len(want)), 0
	order := make([]int, len(want))
	for i, p := range parts {
		list[i], order[i] = int(p), i
		have += list[i]
	}
	slices.SortStableFunc(order, func(i, j int) int { // by the largest remainder
		switch x, y := parts[i]-math.Floor(parts[i]), parts[j]-math.Floor(parts[j]); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for have < total {
		given := false
		for _, i := range order {
			if have < total && list[i] < most[i] {
				list[i]++
				have++
				given = true
			}
		}
		if !given {
			break
		}
	}
	return list
}

// Needs says how many rows to ask in all for an interval as narrow as width, as far as is known now: all of them where
// that is not enough.
func (s *Survey) Needs(width float64, o Options) int {
	most := s.Rows()
	d := s.design()
	half := width / 2 / distuv.UnitNormal.Quantile((1+o.level())/2)
	now := d.ofAll(s).variance - d.ofRows().variance // which asking more does not change
	enough := func(total int) bool {
		v := 0.0
		for i, n := range s.Allocate(total) {
			rows := float64(s.strata[i].rows)
			if n > 0 {
				share := rows / d.rows
				v += share * share * (1 - float64(n)/rows) * d.portions[d.of[i]].variance / float64(n)
			}
		}
		return now+v/(d.applicable*d.applicable) <= half*half
	}
	asked := s.Asked()
	return asked + sort.Search(most-asked, func(k int) bool { return enough(asked + k) })
}
