package view

import (
	"context"
	"fmt"
	"strconv"

	"github.com/assay-eval/assay/internal/exhibit"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/slicing"
	"github.com/assay-eval/assay/internal/view/index"
)

// mostSliced bounds the columns whose slices are all compared while someone waits.
const mostSliced = 20

// sliced are the slices of a run, when it had so many rows.
type sliced struct {
	rows int
	of   *slicing.Slices
}

type (
	slicesPanel struct {
		Why     string // there are none
		Columns []link
		Metric  string
		Slices  []sliceView
		Worst   []link // the surest over all columns and metrics
		Tests   string
	}
	sliceView struct {
		Value, URL           string // "": it is no filter
		On                   bool
		N, Mean, Class       string
		Interval             string
		X, X0, Width         string // of the mean and its interval, from 0 to 150
		Difference, P, Worse string
	}
)

// slicesPanel are the slices by the column of the address, and the worst of all.
func (v *Viewer) slicesPanel(ctx context.Context, a *address, x *index.Index) (*slicesPanel, error) {
	p := &slicesPanel{Metric: x.Metrics()[a.By].Name}
	state := x.Now()
	var columns []string
	for _, c := range state.Columns {
		if !c.Free && len(c.Values) > 1 && len(columns) < mostSliced {
			columns = append(columns, c.Name)
		}
	}
	switch {
	case len(columns) > 0:
	case !state.Caught && state.Problem == "":
		p.Why = "The run is still being read."
		return p, nil
	default:
		p.Why = "The dataset has no metadata column with two values or more, up to 200, that would sort its rows into slices."
		return p, nil
	}
	column := a.Column
	if state.Column(column) == nil {
		column = columns[0]
	}
	for _, name := range columns {
		p.Columns = append(p.Columns, link{name, a.anew(func(a *address) { a.Column = name }), name == column})
	}
	if state.Rows > mostCompared {
		p.Why = fmt.Sprintf("More than %s rows: assay report --by %s has the means, their intervals and the worst slices.",
			thousands(mostCompared), column)
		for _, value := range state.Column(column).Values {
			p.Slices = append(p.Slices, a.slice(column, value.Name, value.N))
		}
		return p, nil
	}
	of, err := v.slicesOf(ctx, x, columns)
	if err != nil {
		return nil, err
	}
	m, manifest := x.Metrics()[a.By], &x.Run().Manifest
	for _, s := range of.Find(column, m.Name) {
		p.Slices = append(p.Slices, a.sliceView(s, m, manifest))
	}
	p.Tests = fmt.Sprintf("%d comparisons of a slice with all other rows, by Welch's test with Holm's correction over all columns and scores", of.Tests)
	for i, s := range of.Worst() {
		if i == 5 {
			break
		}
		place := 0
		for k, m := range x.Metrics() {
			if m.Name == s.Metric {
				place = k
			}
		}
		p.Worst = append(p.Worst, link{fmt.Sprintf("%s = %s in %s: %s against %s, p %.2g", s.Column, s.Value, s.Metric,
			exhibit.Number(*s.Mean), exhibit.Number(s.Rest.Mean), s.Rest.PHolm),
			a.anew(func(a *address) {
				a.Column, a.By, a.Slices = s.Column, place, nil
				a.toggle(s.Column, s.Value)
			}), false})
	}
	return p, nil
}

// slice is one of which only the number of its rows is known.
func (a *address) slice(column, value string, n int) sliceView {
	view := sliceView{Value: value, N: thousands(n)}
	if value == slicing.None || value == slicing.Others {
		return view
	}
	view.URL = a.anew(func(a *address) { a.toggle(column, value) })
	for _, s := range a.Filter.Slices {
		view.On = view.On || s == index.Slice{Column: column, Value: value}
	}
	return view
}

func (a *address) sliceView(s slicing.Slice, m runs.Metric, manifest *runs.Manifest) sliceView {
	view := a.slice(s.Column, s.Value, s.N)
	if s.Mean == nil {
		return view
	}
	at := func(v float64) string { return strconv.FormatFloat(150*m.Share(v), 'f', 1, 64) }
	view.Mean, view.Class, view.X = exhibit.Number(*s.Mean), exhibit.Class(manifest, m.Name, *s.Mean), at(*s.Mean)
	if s.Lo != nil {
		view.X0, view.Width = at(*s.Lo), strconv.FormatFloat(max(150*(m.Share(*s.Hi)-m.Share(*s.Lo)), 1), 'f', 1, 64)
		view.Interval = exhibit.Number(*s.Lo) + " to " + exhibit.Number(*s.Hi)
	}
	if s.Rest != nil {
		view.Difference, view.P = difference(s.Rest.Mean, *s.Mean), fmt.Sprintf("%.2g", s.Rest.PHolm)
	}
	if s.Worse {
		view.Worse = "worse"
	}
	return view
}

// slicesOf are the slices by some columns, computed anew when there are more rows.
func (v *Viewer) slicesOf(ctx context.Context, x *index.Index, columns []string) (*slicing.Slices, error) {
	v.slicing.Lock()
	defer v.slicing.Unlock()
	if last := v.slices[x]; last != nil && last.rows == x.Now().Rows {
		return last.of, nil
	}
	rows := x.Now().Rows
	data, err := x.Data(ctx, columns)
	if err != nil {
		return nil, err
	}
	data.Fold()
	of, err := slicing.Of(ctx, x.Run(), data, nil)
	if err != nil {
		return nil, err
	}
	v.slices[x] = &sliced{rows, of}
	return of, nil
}
