package report

import (
	"fmt"
	"math"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
)

// Draws are what several draws of each row ([metrics.Score.Draws]) say of a metric's repeatability. A draw passes if its
// score is as good as a threshold.
type Draws struct {
	Of        int     // draws of a row
	Threshold float64 // of the scores
	Short     int     // rows with a score that some draw did not give: they are left out

	Flips  stats.Summary // the share of rows of which some draws pass and some do not
	Passes []Pass        // by K: 1, 2, 4, ... and Of

	All, Any stats.Summary // pass^k and pass@k with k = Of: the rows of which all draws pass, and one at least
}

// A Pass says how often k draws of a row pass: all of them (pass^k) and one at least (pass@k). See [stats.PassAll].
type Pass struct {
	K   int     `json:"k"`
	All float64 `json:"all"`
	Any float64 `json:"any"`
}

// A drawing takes in rows. Rows, not draws, are what intervals count: the draws of a row are not independent of each
// other.
type drawing struct {
	of               int
	threshold        float64
	lower            bool // is better
	short            int
	flips, all, some stats.Mean
	passes           []Pass // the sums
}

// newDrawing returns a drawing of a metric, nil if it is drawn once.
func newDrawing(m *runs.Metric, threshold float64) *drawing {
	if m.Draws < 2 {
		return nil
	}
	d := &drawing{of: m.Draws, threshold: threshold, lower: m.LowerIsBetter}
	for k := 1; k < m.Draws; k *= 2 {
		d.passes = append(d.passes, Pass{K: k})
	}
	d.passes = append(d.passes, Pass{K: m.Draws})
	return d
}

// add takes in the scores of a row's draws.
func (d *drawing) add(group string, scores []float64) {
	if len(scores) != d.of {
		d.short++
		return
	}
	passed := 0
	for _, v := range scores {
		if v == d.threshold || v < d.threshold == d.lower {
			passed++
		}
	}
	share := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	d.flips.AddTo(group, share(passed > 0 && passed < d.of))
	d.all.AddTo(group, share(passed == d.of))
	d.some.AddTo(group, share(passed > 0))
	for i := range d.passes {
		p := &d.passes[i]
		p.All += stats.PassAll(d.of, passed, p.K)
		p.Any += stats.PassAny(d.of, passed, p.K)
	}
}

// draws summarises the rows.
func (d *drawing) draws(o stats.Options) *Draws {
	o.Min, o.Max = 0, 1
	s := &Draws{Of: d.of, Threshold: d.threshold, Short: d.short,
		Flips: d.flips.Summary(o), All: d.all.Summary(o), Any: d.some.Summary(o)}
	for _, p := range d.passes {
		if n := float64(d.flips.N()); n > 0 {
			s.Passes = append(s.Passes, Pass{p.K, p.All / n, p.Any / n})
		}
	}
	return s
}

// note says it in a sentence.
func (d *Draws) note() string {
	rows := d.Flips.N
	if rows == 0 {
		return fmt.Sprintf("no row has a score of each of %d draws", d.Of)
	}
	count := func(s stats.Summary) int { return int(math.Round(s.Mean * float64(rows))) }
	share := func(s stats.Summary) string { return number(s.Mean) + when(s.Interval != nil, ", "+intervalOf(s)) }
	text := fmt.Sprintf("with a threshold of %v, %d of %s flip between their %d draws (%s); all draws pass in %d "+
		"(pass^%[4]d %[7]s), one at least in %d (pass@%[4]d %[9]s)", d.Threshold, count(d.Flips), plural(rows, "row"), d.Of,
		share(d.Flips), count(d.All), share(d.All), count(d.Any), share(d.Any))
	if d.Short > 0 {
		text += fmt.Sprintf("; %s without a score of each draw %s left out", plural(d.Short, "row"), were(d.Short))
	}
	return text
}

// JSONDraws are [Draws] for programs. Flips, All and Any are shares of N rows, with their intervals.
type JSONDraws struct {
	Of        int        `json:"of"`        // draws of a row
	Threshold float64    `json:"threshold"` // as good as which a draw passes
	N         int        `json:"n"`         // rows that each draw gave a score
	Short     int        `json:"short"`     // rows with a score that lack that of a draw
	Flips     *JSONShare `json:"flips,omitempty"`
	All       *JSONShare `json:"all,omitempty"`    // pass^k, k being the draws of a row
	Any       *JSONShare `json:"any,omitempty"`    // pass@k
	Passes    []Pass     `json:"passes,omitempty"` // by k
}

// A JSONShare is a share of rows.
type JSONShare struct {
	Value float64  `json:"value"`
	Lo    *float64 `json:"lo,omitempty"`
	Hi    *float64 `json:"hi,omitempty"`
}

func (d *Draws) json() *JSONDraws {
	if d == nil {
		return nil
	}
	share := func(s stats.Summary) *JSONShare {
		if s.N == 0 {
			return nil
		}
		of := &JSONShare{Value: s.Mean}
		if i := s.Interval; i != nil {
			of.Lo, of.Hi = &i.Lo, &i.Hi
		}
		return of
	}
	return &JSONDraws{d.Of, d.Threshold, d.Flips.N, d.Short, share(d.Flips), share(d.All), share(d.Any), d.Passes}
}
