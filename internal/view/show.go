package view

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/exhibit"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/view/index"
)

//go:embed page/page.html
var pageTemplates string

//go:embed page/page.css
var pageStyle string

//go:embed page/page.js
var pageScript string

// shownLimits bound what of a row is shown.
var shownLimits = exhibit.Limits{Text: 50_000, Findings: 200}

// The parts of a page.
type (
	shown struct {
		address
		Runs    []link
		Dir     string
		Metrics []link
		Beside  []group // what the scores can be held against
		Alone   string  // without that
		Panels  []link
		Rows    []rowLink
		First   int
		Before  string // the page before; "": there is none
		After   string
		State   runState
		Sorts   []link
		Clear   string // without words and filters; "": there are none
		Kept    []link // the slices that rows are in; each leads to the list without it
		Failed  link
		Flips   *link
		Unlabel *link
		Export  string
		Exhibit *exhibit.Exhibit
		Pair    *pair
		Label   *labelling
		Above   *panel
		Call    *call
		Hidden  []said // what the form keeps of the address
	}
	said  struct{ Name, Value string }
	group struct {
		Name string
		List []link
	}
	link struct {
		Name, URL string
		On        bool
	}
	rowLink struct {
		URL, Sample, Question, Answer string
		ID                            int
		On                            bool
		Value, Class                  string
		Other, OtherClass             string
		Flip                          bool
		Failed                        int
		Marks                         []markView
		Label                         string
		Wide                          int // of the marks
	}
	markView  struct{ X, Y, Height, Class, Title string }
	labelling struct {
		Keys   []int
		Label  string // "": none
		Done   int
		Sample string
		File   string
	}
	pair struct {
		Name    string // of the other run
		Changes []change
		Same    bool
		Scores  []pairScore
		Other   *exhibit.Exhibit
	}
	pairScore struct {
		Metric, Before, After, Delta, BeforeClass, AfterClass string
		Flip                                                  bool
	}
)

// show gathers what a template shows.
func (v *Viewer) show(ctx context.Context, name string, q url.Values) (*shown, error) {
	a, x, err := v.read(q)
	if err != nil {
		return nil, err
	}
	s := &shown{address: a, Dir: x.Run().Dir, State: progress(x)}
	switch name {
	case "page":
		v.links(s, x)
		if err = v.rows(ctx, s, x); err == nil && a.At > 0 {
			err = v.row(ctx, s, x)
		}
	case "list":
		err = v.rows(ctx, s, x)
	case "sample":
		err = v.row(ctx, s, x)
	case "panel":
		err = v.panel(ctx, s, x)
	case "call":
		err = v.call(ctx, s, q.Get("key"))
	}
	return s, err
}

// name is that of a run's folder.
func name(x *index.Index) string { return filepath.Base(filepath.Clean(x.Run().Dir)) }

// links are what leads elsewhere from the page.
func (v *Viewer) links(s *shown, x *index.Index) {
	a := s.address
	beside := func(name, versus string) link {
		return link{name, a.anew(func(a *address) { a.Versus = versus }), a.Versus == versus}
	}
	var others, metrics []link
	for i, other := range v.indexes {
		s.Runs = append(s.Runs, link{name(other), a.anew(func(a *address) { *a = address{Run: i} }), i == a.Run})
		if i != a.Run {
			others = append(others, beside(name(other), strconv.Itoa(i)))
		}
	}
	for i, m := range x.Metrics() {
		s.Metrics = append(s.Metrics, link{m.Name, a.anew(func(a *address) { a.By = i }), i == a.By})
		if i != a.By {
			metrics = append(metrics, beside(m.Name, fmt.Sprintf("m%d", i)))
		}
	}
	s.Beside = append(s.Beside, group{"another run", others}, group{"another score", metrics})
	if v.book != nil {
		s.Beside = append(s.Beside, group{"labels", []link{beside("your labels", "labels")}})
		s.Unlabel = &link{"without a label", a.anew(func(a *address) { a.Left = !a.Left }), a.Left}
	}
	s.Alone = a.anew(func(a *address) { a.Versus = "" })
	for _, p := range v.panels(x) {
		s.Panels = append(s.Panels, link{p.Value, a.anew(func(a *address) { a.Panel = p.Name }), p.Name == a.Panel})
	}
	first := "as in the run"
	if a.Against != nil {
		first = "furthest apart first"
		s.Flips = &link{"on different sides", a.anew(func(a *address) { a.Flipped = !a.Flipped }), a.Flipped}
	}
	for _, sort := range []struct {
		by   index.Sort
		name string
	}{{index.AsRun, first}, {index.Low, "lowest first"}, {index.High, "highest first"}} {
		s.Sorts = append(s.Sorts, link{sort.name, a.anew(func(a *address) { a.Sort = sort.by }), sort.by == a.Sort})
	}
	s.Failed = link{"failures", a.anew(func(a *address) { a.Failed = !a.Failed }), a.Failed}
	for _, slice := range a.Filter.Slices {
		s.Kept = append(s.Kept, link{slice.Column + " = " + slice.Value,
			a.anew(func(a *address) { a.toggle(slice.Column, slice.Value) }), true})
	}
	if a.narrowed() {
		s.Clear = a.anew((*address).clear)
	}
	s.Export = "export" + a.anew(func(a *address) { a.Panel, a.Column = "", "" })
	kept, _ := url.ParseQuery(a.anew(func(a *address) { a.Words = "" })[1:])
	for name, values := range kept {
		for _, value := range values {
			s.Hidden = append(s.Hidden, said{name, value})
		}
	}
}

// rows is a page of the list.
func (v *Viewer) rows(ctx context.Context, s *shown, x *index.Index) error {
	a := s.address
	list, err := x.List(ctx, a.Filter, a.Page*index.PageRows)
	if err != nil {
		return err
	}
	s.First = a.Page*index.PageRows + 1
	if a.Page > 0 {
		s.Before = a.query(func(a *address) { a.Page--; a.At = 0 })
	}
	if len(list) > index.PageRows {
		list = list[:index.PageRows]
		s.After = a.query(func(a *address) { a.Page++; a.At = 0 })
	}
	for _, l := range list {
		s.Rows = append(s.Rows, v.rowLink(a, x, l))
	}
	if a.narrowed() {
		s.Clear = a.anew((*address).clear)
	}
	return nil
}

func (v *Viewer) rowLink(a address, x *index.Index, l index.Row) rowLink {
	m := &x.Run().Manifest
	r := rowLink{URL: a.query(func(a *address) { a.At, a.Focus = l.ID, "" }), Sample: l.Sample, Question: l.Question,
		Answer: l.Answer, ID: l.ID, On: l.ID == a.At, Failed: l.Failed}
	for i, metric := range m.Config.Metrics {
		score := l.Scores[i]
		if i < 24 {
			mark := markView{X: strconv.Itoa(6 * i), Y: "13", Height: "1", Class: "none", Title: metric.Name}
			if score.Valid {
				height := 2 + 12*metric.Share(score.Float64)
				mark = markView{strconv.Itoa(6 * i), fmt.Sprintf("%.1f", 14-height), fmt.Sprintf("%.1f", height),
					exhibit.Class(m, metric.Name, score.Float64), metric.Name + " " + exhibit.Number(score.Float64)}
			}
			r.Marks = append(r.Marks, mark)
		}
		if i == a.By && score.Valid {
			r.Value, r.Class = exhibit.Number(score.Float64), exhibit.Class(m, metric.Name, score.Float64)
		}
	}
	r.Wide = 6 * len(r.Marks)
	if l.Other.Valid {
		r.Other, r.OtherClass, r.Flip = v.rival(a, m, l)
	}
	if v.book != nil {
		r.Label = v.labelOf(l.Sample)
	}
	return r
}

// rival is what the score of a row is held against, and whether the two lie on different sides of the middle.
func (v *Viewer) rival(a address, m *runs.Manifest, l index.Row) (text, class string, flip bool) {
	by := m.Config.Metrics[a.By]
	switch other := l.Other.Float64; {
	case a.Against.Labels != nil:
		scale := runs.Metric{Min: a.Against.Low, Max: a.Against.High}
		return strconv.FormatFloat(other, 'g', 3, 64), "none", index.Flips(scale, other, by, l.Scores[a.By].Float64)
	case a.rival >= 0:
		metric := m.Config.Metrics[a.rival]
		return exhibit.Number(other), exhibit.Class(m, metric.Name, other), index.Flips(metric, other, by, l.Scores[a.By].Float64)
	default:
		return exhibit.Number(other), exhibit.Class(m, by.Name, other), index.Flips(by, other, by, l.Scores[a.By].Float64)
	}
}

func difference(before, after float64) string {
	if before == after {
		return "="
	}
	return strings.Replace(fmt.Sprintf("%+.3f", after-before), "-", "−", 1)
}

func (v *Viewer) labelOf(sample string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	label, shown, ok := v.book.Label(sample)
	switch {
	case ok:
		return strconv.FormatFloat(label, 'g', 3, 64)
	case shown:
		return "skipped"
	}
	return ""
}

// row is the row that is open.
func (v *Viewer) row(ctx context.Context, s *shown, x *index.Index) error {
	sample, results, err := x.Sample(ctx, s.At)
	if err != nil {
		return err
	}
	m := &x.Run().Manifest
	s.Exhibit = exhibit.Of(sample, results, m, s.Focus, shownLimits)
	if v.book != nil {
		low, high := v.scale()
		l := &labelling{Label: v.labelOf(s.Exhibit.Sample), Sample: s.Exhibit.Sample, File: filepath.Base(v.options.Labels)}
		for key := low; key <= high; key++ {
			l.Keys = append(l.Keys, key)
		}
		v.mu.Lock()
		l.Done = len(v.book.Samples())
		v.mu.Unlock()
		s.Label = l
	}
	if s.other < 0 {
		return nil
	}
	other := v.indexes[s.other]
	id, err := other.Find(ctx, s.Exhibit.Sample)
	if err != nil {
		return nil // the other run lacks it, and the page shows one
	}
	theirs, before, err := other.Sample(ctx, id)
	if err != nil {
		return err
	}
	p := &pair{Name: name(other),
		Other: exhibit.Of(theirs, before, &other.Run().Manifest, s.Focus, shownLimits)}
	p.Other.ID = "other-"
	if sample != nil && theirs != nil {
		p.Same = sample.Answer == theirs.Answer
		if !p.Same {
			p.Changes = changes(theirs.Answer, sample.Answer)
		}
	}
	for _, r := range results {
		for _, b := range before {
			if b.Metric != r.Metric {
				continue
			}
			score := pairScore{Metric: r.Metric, Before: "none", After: "none"}
			if b.Score != nil {
				score.Before, score.BeforeClass = exhibit.Number(b.Score.Value), exhibit.Class(m, r.Metric, b.Score.Value)
			}
			if r.Score != nil {
				score.After, score.AfterClass = exhibit.Number(r.Score.Value), exhibit.Class(m, r.Metric, r.Score.Value)
			}
			if metric, err := m.Find(r.Metric); err == nil && b.Score != nil && r.Score != nil {
				score.Delta = difference(b.Score.Value, r.Score.Value)
				score.Flip = index.Flips(metric, b.Score.Value, metric, r.Score.Value)
			}
			p.Scores = append(p.Scores, score)
		}
	}
	s.Pair = p
	return nil
}
