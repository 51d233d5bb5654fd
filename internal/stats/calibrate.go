package stats

import (
	"errors"
	"math"
	"slices"
)

// A Map is a calibration map from scores to probabilities. Its fields are what is stored of it.
type Map struct {
	Method string    `json:"method"`      // platt, isotonic, identity or constant
	Slope  float64   `json:"slope"`       // platt: the probability is logistic(slope × score + offset)
	Offset float64   `json:"offset"`      // platt
	X      []float64 `json:"x,omitempty"` // isotonic: scores, ascending
	Y      []float64 `json:"y,omitempty"` // isotonic: their probabilities; between them it is linear, beyond them level
	Floor  float64   `json:"floor"`       // no probability is lower, and none higher than 1 less this
}

// At is the probability for a score.
func (m *Map) At(score float64) float64 {
	p := score
	switch m.Method {
	case "platt", "constant":
		p = Logistic(m.Slope*score + m.Offset)
	case "isotonic":
		p = m.between(score)
	}
	return min(max(p, m.Floor), 1-m.Floor)
}

func (m *Map) between(v float64) float64 {
	i, found := slices.BinarySearch(m.X, v)
	switch {
	case found:
		return m.Y[i]
	case i == 0:
		return m.Y[0]
	case i == len(m.X):
		return m.Y[i-1]
	}
	share := (v - m.X[i-1]) / (m.X[i] - m.X[i-1])
	return m.Y[i-1] + share*(m.Y[i]-m.Y[i-1])
}

// Check returns an error if a map, perhaps read from a file, is none.
func (m *Map) Check() error {
	if !(m.Floor >= 0 && m.Floor < 0.5) || math.IsInf(m.Slope, 0) || math.IsInf(m.Offset, 0) {
		return errors.New("its floor, slope or offset is out of range")
	}
	switch m.Method {
	case "platt", "constant", "identity":
		return nil
	case "isotonic":
		if len(m.X) == 0 || len(m.X) != len(m.Y) || !slices.IsSorted(m.X) ||
			len(slices.Compact(slices.Clone(m.X))) != len(m.X) {
			return errors.New("its x must ascend, with a y for each")
		}
		return nil
	}
	return errors.New("its method is none of platt, isotonic, identity, constant")
}

// floorFor keeps n rows from showing certainty: Laplace's rule of succession.
func floorFor(n int) float64 { return 1 / float64(n+2) }

// Isotonic is isotonic regression, the least-squares fit among functions that do not fall with the score, or do not
// rise if falling is told: neighbours that are out of order are pooled until none is (pool adjacent violators: Ayer
// and others 1955; Zadrozny and Elkan 2002). Equal scores get one probability. gonum has no such fit.
func Isotonic(scores, targets []float64, falling bool) *Map {
	type block struct{ from, to, sum, n float64 }
	var blocks []block
	order := sorted(scores)
	if falling {
		slices.Reverse(order)
	}
	mean := func(b block) float64 { return b.sum / b.n }
	for at := 0; at < len(order); {
		v := scores[order[at]]
		b := block{from: v, to: v}
		for ; at < len(order) && scores[order[at]] == v; at++ {
			b.sum += targets[order[at]]
			b.n++
		}
		blocks = append(blocks, b)
		for k := len(blocks) - 1; k > 0 && mean(blocks[k-1]) >= mean(blocks[k]); k-- {
			last := blocks[k]
			blocks = blocks[:k]
			blocks[k-1].to = last.to
			blocks[k-1].sum += last.sum
			blocks[k-1].n += last.n
		}
	}
	m := &Map{Method: "isotonic", Floor: floorFor(len(scores))}
	for _, b := range blocks {
		m.X, m.Y = append(m.X, b.from), append(m.Y, mean(b))
		if b.to != b.from {
			m.X, m.Y = append(m.X, b.to), append(m.Y, mean(b))
		}
	}
	if falling {
		slices.Reverse(m.X)
		slices.Reverse(m.Y)
	}
	return m
}

// Platt is Platt scaling: a logistic curve fitted to smoothed targets, which are shrunk the more the fewer rows there
// are (Platt 1999; the method is that of Lin, Lin and Weng 2007, Machine Learning 68). A curve against the direction
// that is told is none: it is level then.
func Platt(scores, targets []float64, falling bool) *Map {
	n, up := float64(len(targets)), sum(targets)
	high, low := (up+1)/(up+2), 1/(n-up+2)
	drawn := make([]float64, len(targets)) // smoothed
	for i, t := range targets {
		drawn[i] = t*high + (1-t)*low
	}
	var m moments
	for _, v := range scores {
		m.add(v)
	}
	level := &Map{Method: "constant", Offset: logit((up + 1) / (n + 2)), Floor: floorFor(len(scores))}
	deviation := math.Sqrt(m.m2 / n)
	if !(deviation > 0) {
		return level
	}
	x := make([]float64, len(scores)) // standardised
	for i, v := range scores {
		x[i] = (v - m.mean) / deviation
	}
	a, b := newton(x, drawn)
	if falling != (a < 0) {
		level.Method = "platt"
		return level
	}
	return &Map{Method: "platt", Slope: a / deviation, Offset: b - a*m.mean/deviation, Floor: level.Floor}
}

// newton minimises the log loss of logistic(a x + b), which is convex.
func newton(x, targets []float64) (a, b float64) {
	loss := func(a, b float64) float64 {
		l := 0.0
		for i, v := range x {
			z := a*v + b
			l += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - targets[i]*z
		}
		return l
	}
	now := loss(a, b)
	for range 100 {
		var ga, gb, aa, ab, bb float64
		for i, v := range x {
			p := Logistic(a*v + b)
			d, w := p-targets[i], p*(1-p)
			ga, gb = ga+d*v, gb+d
			aa, ab, bb = aa+w*v*v, ab+w*v, bb+w
		}
		aa, bb = aa+1e-9, bb+1e-9
		det := aa*bb - ab*ab
		da, db := -(bb*ga-ab*gb)/det, -(aa*gb-ab*ga)/det
		step := 1.0
		next := loss(a+da, b+db)
		for next > now && step > 1e-6 {
			step /= 2
			next = loss(a+step*da, b+step*db)
		}
		if next >= now {
			return a, b
		}
		a, b = a+step*da, b+step*db
		if now-next < 1e-12*float64(len(x)) {
			return a, b
		}
		now = next
	}
	return a, b
}

// A Fit is a map that was chosen by k-fold cross-validation.
type Fit struct {
	Map
	Losses      map[string]float64 // the cross-validated log loss of each method
	Predictions []float64          // the chosen method's for each row, out of fold
}

// Calibrate fits maps from scores to targets in [0, 1] in each of the ways there are, and chooses the one with the
// lowest log loss on held-out rows, by ten-fold cross-validation. Falling says that high scores are bad. Scores whose
// Options.Min and Max are 0 and 1 may also be left as they are. If a constant does best, the scores tell nothing.
func Calibrate(scores, targets []float64, falling bool, o Options) (*Fit, error) {
	switch up := sum(targets); {
	case len(scores) < 2*foldCount:
		return nil, errors.New("too few labelled rows to fit and to test on: 20 are the least, and 100 advisable")
	case up < 1 || float64(len(targets))-up < 1:
		return nil, errors.New(oneClass)
	case len(unitsOf(len(scores), o.Groups)) < 2:
		return nil, errors.New("all rows are in one group: there are no others to test on")
	}
	ways := fitters(falling, o)
	part := folds(len(scores), foldCount, o)
	f := &Fit{Losses: map[string]float64{}}
	best := math.Inf(1)
	for _, way := range ways {
		p := predictions(scores, targets, part, way.fit, o)
		if err := o.err(); err != nil {
			return nil, err
		}
		loss := LogLoss(p, targets)
		f.Losses[way.name] = loss
		if loss < best {
			best, f.Predictions = loss, p
			f.Map = *way.fit(scores, targets)
		}
	}
	return f, nil
}

type fitter struct {
	name string
	fit  func(scores, targets []float64) *Map
}

// fitters lists the ways to fit, the simplest first, which wins where two do as well.
func fitters(falling bool, o Options) []fitter {
	ways := []fitter{{"constant", func(scores, targets []float64) *Map {
		n := float64(len(targets))
		return &Map{Method: "constant", Offset: logit((sum(targets) + 1) / (n + 2)), Floor: floorFor(len(targets))}
	}}}
	if o.Min == 0 && o.Max == 1 && !falling {
		ways = append(ways, fitter{"identity", func(scores, _ []float64) *Map {
			return &Map{Method: "identity", Floor: floorFor(len(scores))}
		}})
	}
	return append(ways,
		fitter{"platt", func(s, t []float64) *Map { return Platt(s, t, falling) }},
		fitter{"isotonic", func(s, t []float64) *Map { return Isotonic(s, t, falling) }})
}

// predictions are out of fold: each row is predicted from a map fitted to the other folds.
func predictions(scores, targets []float64, part []int, fit func(s, t []float64) *Map, o Options) []float64 {
	p := make([]float64, len(scores))
	for k := range foldCount {
		if o.err() != nil {
			return p
		}
		var s, t []float64
		for i := range scores {
			if part[i] != k {
				s, t = append(s, scores[i]), append(t, targets[i])
			}
		}
		m := fit(s, t)
		for i, v := range scores {
			if part[i] == k {
				p[i] = m.At(v)
			}
		}
	}
	return p
}
