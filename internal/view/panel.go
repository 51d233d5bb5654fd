package view

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/exhibit"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/internal/view/index"
)

// What stands above the list: one of four panels. Their charts are SVG out of the templates, with links for what filters, so
// that keys, screen readers and a page without its script have them too.
type (
	panel struct {
		Note       string
		Chance     string
		Histograms []histogram
		Slices     *slicesPanel
		Scatter    *scatter
		Labels     *labelsPanel
	}
	histogram struct {
		Metric, Dimension, Method, Mean, Count, URL, Min, Max string
		On                                                    bool
		Bars                                                  []bar
	}
	bar struct {
		X, Y, Height, Label, URL string
		N                        int
		On                       bool
	}
	scatter struct {
		X, Y   runs.Metric
		Rivals []link // the metrics that it can be
		Cells  []cell
		Lines  []string // what it says
		Flips  *link
	}
	cell struct {
		X, Y, Shade, Label, URL string
		On                      bool
	}
)

// panels are the names of those that a run has.
func (v *Viewer) panels(x *index.Index) []said {
	list := []said{{"", "scores"}, {"slices", "slices"}}
	if len(x.Metrics()) > 1 {
		list = append(list, said{"scatter", "score against score"})
	}
	if v.book != nil {
		list = append(list, said{"labels", "labels"})
	}
	return list
}

// panel is the one that the address names.
func (v *Viewer) panel(ctx context.Context, s *shown, x *index.Index) (err error) {
	s.Above = &panel{}
	if len(x.Metrics()) == 0 {
		return nil
	}
	switch s.address.Panel {
	case "slices":
		s.Above.Slices, err = v.slicesPanel(ctx, &s.address, x)
	case "scatter":
		s.Above.Scatter, err = scatterOf(ctx, s.address, x)
	case "labels":
		s.Above.Labels = v.labelsPanel(ctx, &s.address, x)
	default:
		err = v.histograms(ctx, s, x)
	}
	return err
}

// histograms are those of what is listed.
func (v *Viewer) histograms(ctx context.Context, s *shown, x *index.Index) error {
	a, state := s.address, x.Now()
	if !a.Flipped {
		a.Against = nil
	}
	of := state.Counts
	if !a.All() {
		t, err := x.Tally(ctx, a.Filter, nil)
		if err != nil {
			return err
		}
		of, s.Above.Note = t.Counts, passed(t)
	}
	if a.other >= 0 {
		text, err := chance(ctx, x, v.indexes[a.other], x.Metrics()[a.By].Name)
		if err != nil {
			text = "Whether the difference is real cannot be told: " + err.Error()
		}
		s.Above.Chance = text
	}
	for i, m := range x.Metrics() {
		s.Above.Histograms = append(s.Above.Histograms, s.address.histogram(i, m, &of[i], state.Counts[i]))
	}
	return nil
}

// passed says how many rows were counted.
func passed(t *index.Tally) string {
	switch {
	case t.More:
		return fmt.Sprintf("more than %s rows pass the filter; the charts are of the first", thousands(index.MostCounted))
	case t.Rows == 1:
		return "1 row passes the filter"
	}
	return thousands(t.Rows) + " rows pass the filter"
}

// histogram is that of a metric: its bars are links that filter.
func (a address) histogram(i int, m runs.Metric, of *index.Counts, all index.Counts) histogram {
	c := histogram{Metric: m.Name, On: i == a.By, URL: a.anew(func(a *address) { a.By = i }),
		Min: short(m.Min), Max: short(m.Max), Mean: "–"}
	c.Dimension, c.Method, _ = strings.Cut(m.Name, "/")
	if mean, ok := of.Mean(); ok {
		c.Mean = exhibit.Number(mean)
	}
	c.Count = "n " + thousands(of.N)
	if all.Failed > 0 {
		c.Count += fmt.Sprintf(", %s failed", thousands(all.Failed))
	}
	most := max(1, slices.Max(of.Bins[:]))
	for b, n := range of.Bins {
		height := 34 * float64(n) / float64(most)
		if n > 0 {
			height = max(height, 2) // one row among a million must still be seen
		}
		on := a.binned(i, b)
		c.Bars = append(c.Bars, bar{X: strconv.Itoa(8 * b), Y: fmt.Sprintf("%.1f", 34-height), Height: fmt.Sprintf("%.1f", height), N: n,
			On: on, Label: fmt.Sprintf("%s %s: %s", m.Name, within(m, b), rows(n)),
			URL: a.anew(func(a *address) {
				if a.By = i; on {
					a.unbin(i)
				} else {
					a.bin(i, b)
				}
			})})
	}
	return c
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// signed is a number with a minus sign that is as wide as a plus.
func signed(v float64) string { return strings.Replace(exhibit.Number(v), "-", "−", 1) }

// within is the part of a metric's range that a bar is of.
func within(m runs.Metric, bin int) string {
	step := (m.Max - m.Min) / index.Bins
	return fmt.Sprintf("from %s to %s", short(m.Min+float64(bin)*step), short(m.Min+float64(bin+1)*step))
}

func rows(n int) string {
	if n == 1 {
		return "1 row"
	}
	return thousands(n) + " rows"
}

// mostRanked are the rows whose correlation is computed while someone waits: its interval is drawn again and again.
const mostRanked = 1000

// scatterOf holds one metric against another: how many rows lie where, in a grid whose cells are links that filter.
func scatterOf(ctx context.Context, a address, x *index.Index) (*scatter, error) {
	list := x.Metrics()
	by, rival := a.By, a.rival
	if len(list) < 2 {
		return nil, nil
	}
	if rival < 0 {
		rival = (by + 1) % len(list)
	}
	s := &scatter{X: list[by], Y: list[rival]}
	for i, m := range list {
		if i != by {
			s.Rivals = append(s.Rivals, link{m.Name, a.anew(func(a *address) { a.Versus = fmt.Sprintf("m%d", i) }), i == rival})
		}
	}
	if !a.Flipped {
		a.Against = nil
	}
	var grid [index.Bins][index.Bins]int
	var xs, ys []float64
	n, flips, most := 0, 0, 1
	t, err := x.Tally(ctx, a.Filter, func(scores []sql.NullFloat64) {
		if !scores[by].Valid || !scores[rival].Valid {
			return
		}
		v, w := scores[by].Float64, scores[rival].Float64
		if n++; n <= mostRanked {
			xs, ys = append(xs, v), append(ys, w)
		}
		if index.Flips(s.X, v, s.Y, w) {
			flips++
		}
		at := &grid[index.Bin(s.X, v)][index.Bin(s.Y, w)]
		*at++
		most = max(most, *at)
	})
	if err != nil {
		return nil, err
	}
	for i, column := range grid {
		for j, n := range column {
			if n == 0 {
				continue
			}
			on := a.binned(by, i) && a.binned(rival, j)
			s.Cells = append(s.Cells, cell{X: strconv.Itoa(10 * i), Y: strconv.Itoa(10 * (index.Bins - 1 - j)), On: on,
				Shade: fmt.Sprintf("%.2f", 0.2+0.8*math.Sqrt(float64(n)/float64(most))),
				Label: fmt.Sprintf("%s %s and %s %s: %s", s.X.Name, within(s.X, i), s.Y.Name, within(s.Y, j), rows(n)),
				URL: a.anew(func(a *address) {
					if a.Versus = fmt.Sprintf("m%d", rival); on {
						a.unbin(by)
						a.unbin(rival)
					} else {
						a.bin(by, i)
						a.bin(rival, j)
					}
				})})
		}
	}
	s.Lines = append(s.Lines, rows(n)+" with both scores"+map[bool]string{true: ", of many more", false: ""}[t.More])
	if e, err := stats.Spearman(xs, ys, stats.Options{Err: ctx.Err}); err == nil {
		line := "rank correlation (Spearman) " + signed(e.Value)
		if i := e.Interval; i != nil {
			line += fmt.Sprintf(", 95%% interval %s to %s", signed(i.Lo), signed(i.Hi))
		}
		if n > mostRanked {
			line += fmt.Sprintf(", of the first %s", thousands(mostRanked))
		}
		s.Lines = append(s.Lines, line)
	} else {
		s.Lines = append(s.Lines, "no rank correlation: "+err.Error())
	}
	if n > 0 {
		s.Flips = &link{fmt.Sprintf("%s (%.0f%%) lie on different sides of the middle", rows(flips), 100*float64(flips)/float64(n)),
			a.anew(func(a *address) { a.Versus, a.Flipped = fmt.Sprintf("m%d", rival), !a.Flipped }), a.Flipped}
	}
	return s, ctx.Err()
}
