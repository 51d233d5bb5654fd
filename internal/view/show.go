package view

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/cache"
	"github.com/assay-eval/assay/internal/exhibit"
	"github.com/assay-eval/assay/internal/runs"
)

//go:embed page/page.html
var pageTemplates string

//go:embed page/page.css
var pageStyle string

//go:embed page/page.js
var pageScript string

// shownLimits bound what of a row is shown.
var shownLimits = exhibit.Limits{Text: 50_000, Findings: 200}

// An address is what a page shows, as its address says it.
type address struct {
	Run, Versus int // places in the list of runs; Versus is -1 where none is compared
	filter
	Ranges []string // as they were given: "METRIC:BIN"
	Page   int
	At     int    // the row that is open; 0: none
	Focus  string // the metric whose findings are joined
	Left   bool   // without the rows that have a label
}

// The parts of a page.
type (
	shown struct {
		address
		Runs    []runLink
		Dir     string
		Metrics []metricLink
		Rows    []rowLink
		First   int
		Before  string // the page before; "": there is none
		After   string
		State   runState
		Sorts   []sortLink
		Alone   string // without another run
		Clear   string // without words and filters; "": there are none
		Failed  toggle
		Unlabel *toggle
		Exhibit *exhibit.Exhibit
		Pair    *pair
		Label   *labelling
		Charts  *charts
		Call    *call
		Hidden  []said // what the form keeps of the address
	}
	said   struct{ Name, Value string }
	toggle struct {
		URL string
		On  bool
	}
	sortLink struct {
		Name, URL string
		On        bool
	}
	runLink struct {
		Name, URL, Versus string
		On, OnVersus      bool
	}
	metricLink struct {
		Name, URL string
		On        bool
	}
	rowLink struct {
		URL, Sample, Question, Answer string
		ID                            int
		On                            bool
		Value, Class                  string
		Other, OtherClass, Delta      string
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
	charts struct {
		Note   string
		Chance string
		List   []chart
	}
	chart struct {
		Metric, Dimension, Method, Mean, Count, URL, Min, Max string
		On                                                    bool
		Bars                                                  []bar
	}
	bar struct {
		X, Y, Height, Label, URL string
		N                        int
		On                       bool
	}
	call struct {
		Key, Model, Engine, Op, Asked string
		Messages                      []said
		Reply                         string
		Likely                        []likely
	}
	likely struct{ Text, LogProb, Probability, Width string }
)

// read makes an address of a query.
func (v *Viewer) read(q url.Values) (a address, x *index, err error) {
	number := func(name string, or, least, below int) int {
		n, convErr := strconv.Atoi(q.Get(name))
		switch {
		case !q.Has(name):
			return or
		case convErr != nil || n < least || n >= below:
			err = runs.Inputf("the address has no such %s: %.40q", name, q.Get(name))
			return or
		}
		return n
	}
	a.Run, a.Versus = number("run", 0, 0, len(v.indexes)), number("vs", -1, -1, len(v.indexes))
	x = v.indexes[a.Run]
	list := x.metrics()
	a.By = number("m", 0, 0, max(len(list), 1))
	a.Page, a.At = number("p", 0, 0, math.MaxInt32/pageRows), number("at", 0, 0, math.MaxInt32)
	a.Words, a.Failed, a.Left = q.Get("q"), q.Get("failed") == "1", q.Get("left") == "1"
	if a.Sort = q.Get("sort"); !slices.Contains([]string{"", "low", "high"}, a.Sort) {
		err = runs.Inputf("rows cannot be sorted by %.40q", a.Sort)
	}
	if a.Versus == a.Run {
		a.Versus = -1
	}
	a.Focus = q.Get("focus")
	for _, text := range q["f"] {
		var metric, bin int
		if n, _ := fmt.Sscanf(text, "%d:%d", &metric, &bin); n != 2 || metric < 0 || metric >= len(list) || bin < 0 || bin >= bins {
			return a, x, runs.Inputf("the address has no such filter: %.40q", text)
		}
		m := list[metric]
		step := (m.Max - m.Min) / bins
		a.filter.Ranges = append(a.filter.Ranges, bound{metric, m.Min + float64(bin)*step, m.Min + float64(bin+1)*step,
			bin == bins-1})
		a.Ranges = append(a.Ranges, text)
	}
	if a.Left && v.book != nil {
		v.mu.Lock()
		a.Without = v.book.Samples()
		v.mu.Unlock()
	}
	return a, x, err
}

// query is the address with changes.
func (a address) query(change func(*address)) string {
	a.Ranges = slices.Clone(a.Ranges)
	change(&a)
	q := url.Values{}
	set := func(name, value string, on bool) {
		if on {
			q.Set(name, value)
		}
	}
	set("run", strconv.Itoa(a.Run), a.Run > 0)
	set("vs", strconv.Itoa(a.Versus), a.Versus >= 0)
	set("m", strconv.Itoa(a.By), a.By > 0)
	set("p", strconv.Itoa(a.Page), a.Page > 0)
	set("at", strconv.Itoa(a.At), a.At > 0)
	set("q", a.Words, a.Words != "")
	set("sort", a.Sort, a.Sort != "")
	set("focus", a.Focus, a.Focus != "")
	set("failed", "1", a.Failed)
	set("left", "1", a.Left)
	for _, r := range a.Ranges {
		q.Add("f", r)
	}
	return "?" + q.Encode()
}

// anew is the address with changes of what is listed: from the first page, with no row open.
func (a address) anew(change func(*address)) string {
	return a.query(func(a *address) {
		a.Page, a.At, a.Focus = 0, 0, ""
		change(a)
	})
}

// show gathers what a template shows.
func (v *Viewer) show(ctx context.Context, name string, q url.Values) (*shown, error) {
	a, x, err := v.read(q)
	if err != nil {
		return nil, err
	}
	s := &shown{address: a, Dir: x.current().Dir, State: x.progress()}
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
	case "charts":
		err = v.charts(ctx, s, x)
	case "call":
		err = v.call(ctx, s, q.Get("key"))
	}
	return s, err
}

// links are what leads elsewhere from the page.
func (v *Viewer) links(s *shown, x *index) {
	a := s.address
	for i, other := range v.indexes {
		s.Runs = append(s.Runs, runLink{
			Name: filepath.Base(filepath.Clean(other.current().Dir)), On: i == a.Run, OnVersus: i == a.Versus,
			URL:    a.anew(func(a *address) { *a = address{Run: i, Versus: -1} }),
			Versus: a.anew(func(a *address) { a.Versus = i }),
		})
	}
	for i, m := range x.metrics() {
		s.Metrics = append(s.Metrics, metricLink{m.Name, a.anew(func(a *address) { a.By = i }), i == a.By})
	}
	for _, sort := range []sortLink{{Name: ""}, {Name: "low"}, {Name: "high"}} {
		sort.URL, sort.On = a.anew(func(a *address) { a.Sort = sort.Name }), sort.Name == a.Sort
		sort.Name = map[string]string{"": "as in the run", "low": "lowest first", "high": "highest first"}[sort.Name]
		s.Sorts = append(s.Sorts, sort)
	}
	s.Failed = toggle{a.anew(func(a *address) { a.Failed = !a.Failed }), a.Failed}
	if v.book != nil {
		s.Unlabel = &toggle{a.anew(func(a *address) { a.Left = !a.Left }), a.Left}
	}
	s.Alone = a.anew(func(a *address) { a.Versus = -1 })
	if a.Words != "" || len(a.Ranges) > 0 || a.Failed || a.Left {
		s.Clear = a.anew(func(a *address) { a.Words, a.Ranges, a.Failed, a.Left = "", nil, false, false })
	}
	kept, _ := url.ParseQuery(a.anew(func(a *address) { a.Words = "" })[1:])
	for name, values := range kept {
		for _, value := range values {
			s.Hidden = append(s.Hidden, said{name, value})
		}
	}
}

// rows is a page of the list.
func (v *Viewer) rows(ctx context.Context, s *shown, x *index) error {
	a := s.address
	var list []listed
	var err error
	if a.Versus >= 0 {
		list, err = x.compared(ctx, v.indexes[a.Versus], a.filter, a.Page*pageRows)
	} else {
		list, err = x.list(ctx, a.filter, a.Page*pageRows)
	}
	if err != nil {
		return err
	}
	s.First = a.Page*pageRows + 1
	if a.Page > 0 {
		s.Before = a.query(func(a *address) { a.Page--; a.At = 0 })
	}
	if len(list) > pageRows {
		list = list[:pageRows]
		s.After = a.query(func(a *address) { a.Page++; a.At = 0 })
	}
	for _, l := range list {
		s.Rows = append(s.Rows, v.rowLink(a, x, l))
	}
	return nil
}

func (v *Viewer) rowLink(a address, x *index, l listed) rowLink {
	m := &x.current().Manifest
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
		if i != a.By {
			continue
		}
		if score.Valid {
			r.Value, r.Class = exhibit.Number(score.Float64), exhibit.Class(m, metric.Name, score.Float64)
		}
		if l.Other.Valid {
			r.Other, r.OtherClass = exhibit.Number(l.Other.Float64), exhibit.Class(m, metric.Name, l.Other.Float64)
		}
		if score.Valid && l.Other.Valid {
			r.Delta, r.Flip = difference(l.Other.Float64, score.Float64), flips(metric, l.Other.Float64, score.Float64)
		}
	}
	r.Wide = 6 * len(r.Marks)
	if v.book != nil {
		r.Label = v.labelOf(l.Sample)
	}
	return r
}

func difference(before, after float64) string {
	if before == after {
		return "="
	}
	return strings.Replace(fmt.Sprintf("%+.3f", after-before), "-", "−", 1)
}

// flips reports whether two scores lie in different halves of the range.
func flips(m runs.Metric, a, b float64) bool {
	middle := (m.Min + m.Max) / 2
	return (a >= middle) != (b >= middle)
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
func (v *Viewer) row(ctx context.Context, s *shown, x *index) error {
	sample, results, err := x.sample(ctx, s.At)
	if err != nil {
		return err
	}
	m := &x.current().Manifest
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
	if s.Versus < 0 {
		return nil
	}
	other := v.indexes[s.Versus]
	id, err := other.find(ctx, s.Exhibit.Sample)
	if err != nil {
		return nil // the other run lacks it, and the page shows one
	}
	theirs, before, err := other.sample(ctx, id)
	if err != nil {
		return err
	}
	p := &pair{Name: filepath.Base(filepath.Clean(other.current().Dir)),
		Other: exhibit.Of(theirs, before, &other.current().Manifest, s.Focus, shownLimits)}
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
				score.Flip = flips(metric, b.Score.Value, r.Score.Value)
			}
			p.Scores = append(p.Scores, score)
		}
	}
	s.Pair = p
	return nil
}

// charts are the histograms of what is listed.
func (v *Viewer) charts(ctx context.Context, s *shown, x *index) error {
	a, state := s.address, x.now()
	c := &charts{}
	of := state.Counts
	if match(a.Words) != "" || len(a.Ranges) > 0 || a.Failed || len(a.Without) > 0 {
		counted, rows, more, err := x.tally(ctx, a.filter)
		if err != nil {
			return err
		}
		of, c.Note = counted, thousands(rows)+" rows pass the filter"
		if rows == 1 {
			c.Note = "1 row passes the filter"
		}
		if more {
			c.Note = fmt.Sprintf("more than %s rows pass the filter; the charts are of the first", thousands(mostCounted))
		}
	}
	if a.Versus >= 0 && len(x.metrics()) > 0 {
		text, err := x.chance(ctx, v.indexes[a.Versus], x.metrics()[a.By].Name)
		if err != nil {
			text = "Whether the difference is real cannot be told: " + err.Error()
		}
		c.Chance = text
	}
	for i, m := range x.metrics() {
		c.List = append(c.List, a.chart(i, m, &of[i], state.Counts[i]))
	}
	s.Charts = c
	return nil
}

// chart is the histogram of a metric: its bars are links that filter.
func (a address) chart(i int, m runs.Metric, of *counts, all counts) chart {
	c := chart{Metric: m.Name, On: i == a.By, URL: a.anew(func(a *address) { a.By = i }),
		Min: strconv.FormatFloat(m.Min, 'g', 3, 64), Max: strconv.FormatFloat(m.Max, 'g', 3, 64), Mean: "–"}
	c.Dimension, c.Method, _ = strings.Cut(m.Name, "/")
	if mean, ok := of.mean(); ok {
		c.Mean = exhibit.Number(mean)
	}
	c.Count = "n " + thousands(of.N)
	if all.Failed > 0 {
		c.Count += fmt.Sprintf(", %s failed", thousands(all.Failed))
	}
	most := 1
	for _, n := range of.Bins {
		most = max(most, n)
	}
	step := (m.Max - m.Min) / bins
	for b, n := range of.Bins {
		height := 34 * float64(n) / float64(most)
		if n > 0 {
			height = max(height, 2) // one row among a million must still be seen
		}
		name := fmt.Sprintf("%d:%d", i, b)
		view := bar{X: strconv.Itoa(8 * b), Y: fmt.Sprintf("%.1f", 34-height), Height: fmt.Sprintf("%.1f", height), N: n,
			On:    slices.Contains(a.Ranges, name),
			Label: fmt.Sprintf("%s from %.3g to %.3g: %d rows", m.Name, m.Min+float64(b)*step, m.Min+float64(b+1)*step, n)}
		view.URL = a.anew(func(a *address) {
			own := strconv.Itoa(i) + ":"
			a.Ranges = slices.DeleteFunc(a.Ranges, func(f string) bool { return strings.HasPrefix(f, own) })
			if a.By = i; !view.On {
				a.Ranges = append(a.Ranges, name)
			}
		})
		c.Bars = append(c.Bars, view)
	}
	return c
}

// call looks an answer of a model up.
func (v *Viewer) call(ctx context.Context, s *shown, key string) error {
	if v.options.Answers == nil {
		return runs.Inputf("the answer cache cannot be read")
	}
	e, err := v.options.Answers(ctx, key)
	if err != nil {
		return &runs.InputError{Err: err}
	}
	s.Call = callOf(e)
	return nil
}

// callOf reads an entry of the cache: what was asked, what was said, and how likely that was.
func callOf(e *cache.Entry) *call {
	c := &call{Key: fmt.Sprint(e.Key), Model: e.Model, Engine: e.Engine, Op: e.Op}
	var req struct {
		Messages  []backend.Message `json:"messages"`
		Documents []string          `json:"documents"`
		Query     string            `json:"query"`
		Text      string            `json:"text"`
		Next      []string          `json:"continuations"`
	}
	if json.Unmarshal(e.Request, &req) != nil {
		c.Messages = []said{{"request", clip(string(e.Request))}}
	}
	for _, d := range req.Documents {
		c.Messages = append(c.Messages, said{"document", clip(d)})
	}
	for _, m := range req.Messages {
		c.Messages = append(c.Messages, said{string(m.Role), clip(backend.Pair{Text: m.Text, Marks: m.Marks}.String())})
	}
	for _, part := range []said{{"query", req.Query}, {"text", req.Text}} {
		if part.Value != "" {
			c.Messages = append(c.Messages, said{part.Name, clip(part.Value)})
		}
	}
	switch e.Op {
	case "generate":
		var g backend.Generation
		if json.Unmarshal(e.Answer, &g) == nil {
			c.Reply = clip(g.Text)
			c.Asked = fmt.Sprintf("%d tokens of prompt, %d of reply", g.PromptTokens, g.OutputTokens)
		}
	case "score":
		var scores backend.Scores
		if json.Unmarshal(e.Answer, &scores) == nil && len(scores.LogProbs) == len(req.Next) {
			c.Asked = fmt.Sprintf("%d tokens of prompt", scores.PromptTokens)
			for i, list := range scores.LogProbs {
				sum := 0.0
				for _, p := range list {
					sum += p
				}
				c.Likely = append(c.Likely, likely{clip(req.Next[i]), fmt.Sprintf("%.3f", sum),
					fmt.Sprintf("%.4f", math.Exp(sum)), fmt.Sprintf("%.1f", 100*math.Exp(sum))})
			}
		}
	default:
		c.Reply = clip(string(e.Answer))
	}
	return c
}

// clip bounds a text of a call.
func clip(text string) string {
	const most = 100_000
	if len(text) <= most {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:most], "\ufffd") + fmt.Sprintf(" … (%d more bytes)", len(text)-most)
}
