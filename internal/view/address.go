package view

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/view/index"
)

// An address is what a page shows, as its address says it.
type address struct {
	Run    int    // its place in the list of runs
	Versus string // what its scores are held against: "1" the run of that place, "m1" that metric, "labels"; "": nothing
	index.Filter
	Ranges []string // as they were given: "METRIC:BIN"
	Slices []string // as they were given: "COLUMN=VALUE"
	Page   int
	At     int    // the row that is open; 0: none
	Focus  string // the metric whose findings are joined
	Left   bool   // without the rows that have a label
	Panel  string // what stands above the list: "" histograms, "slices", "scatter", "labels"
	Column string // by which the slices are

	other int // the place of the run that is held against; -1: none
	rival int // the same of a metric
}

// read makes an address of a query.
func (v *Viewer) read(q url.Values) (a address, x *index.Index, err error) {
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
	choice := func(name string, of ...string) string {
		value := q.Get(name)
		if value != "" && !slices.Contains(of, value) {
			err = runs.Inputf("the address has no such %s: %.40q", name, value)
		}
		return value
	}
	a.Run = number("run", 0, 0, len(v.indexes))
	x = v.indexes[a.Run]
	a.By = number("m", 0, 0, max(len(x.Metrics()), 1))
	a.Page, a.At = number("p", 0, 0, math.MaxInt32/index.PageRows), number("at", 0, 0, math.MaxInt32)
	a.Words, a.Failed, a.Left, a.Flipped = q.Get("q"), q.Get("failed") == "1", q.Get("left") == "1", q.Get("flip") == "1"
	a.Sort = index.Sort(choice("sort", string(index.Low), string(index.High)))
	a.Panel, a.Column, a.Focus = choice("show", "slices", "scatter", "labels"), q.Get("by"), q.Get("focus")
	if err == nil {
		err = a.filters(x, q)
	}
	if err == nil {
		err = v.versus(&a, x, q.Get("vs"))
	}
	if a.Left && v.book != nil {
		v.mu.Lock()
		a.Without = v.book.Samples()
		v.mu.Unlock()
	}
	return a, x, err
}

// filters reads the ranges and slices.
func (a *address) filters(x *index.Index, q url.Values) error {
	list := x.Metrics()
	for _, text := range q["f"] {
		var metric, bin int
		if n, _ := fmt.Sscanf(text, "%d:%d", &metric, &bin); n != 2 || metric < 0 || metric >= len(list) || bin < 0 || bin >= index.Bins {
			return runs.Inputf("the address has no such filter: %.40q", text)
		}
		m := list[metric]
		step := (m.Max - m.Min) / index.Bins
		a.Filter.Ranges = append(a.Filter.Ranges, index.Range{Metric: metric, Lo: m.Min + float64(bin)*step,
			Hi: m.Min + float64(bin+1)*step, Last: bin == index.Bins-1})
		a.Ranges = append(a.Ranges, text)
	}
	for _, text := range q["s"] {
		column, value, ok := strings.Cut(text, "=")
		if !ok {
			return runs.Inputf("the address has no such slice: %.40q", text).WithHint("s=COLUMN=VALUE")
		}
		a.Filter.Slices = append(a.Filter.Slices, index.Slice{Column: column, Value: value})
		a.Slices = append(a.Slices, text)
	}
	return nil
}

// versus reads what the scores are held against.
func (v *Viewer) versus(a *address, x *index.Index, text string) error {
	a.Versus, a.other, a.rival = text, -1, -1
	name, metric := strings.CutPrefix(text, "m")
	n, err := strconv.Atoi(name)
	switch {
	case text == "":
	case text == "labels" && v.book != nil:
		low, high := v.scale()
		v.mu.Lock()
		a.Against = &index.Against{Labels: v.book.Labels(), Low: float64(low), High: float64(high)}
		v.mu.Unlock()
	case err == nil && metric && n >= 0 && n < len(x.Metrics()):
		if n == a.By {
			a.Versus = ""
			return nil
		}
		a.rival, a.Against = n, &index.Against{Metric: n}
	case err == nil && !metric && n >= 0 && n < len(v.indexes):
		if n == a.Run {
			a.Versus = ""
			return nil
		}
		a.other, a.Against = n, &index.Against{Run: v.indexes[n]}
	default:
		return runs.Inputf("there is nothing to hold scores against at %.40q", text).WithHint(
			"vs=1 is another run, vs=m1 another metric, vs=labels the labels of --labels")
	}
	return nil
}

// query is the address with changes.
func (a address) query(change func(*address)) string {
	a.Ranges, a.Slices = slices.Clone(a.Ranges), slices.Clone(a.Slices)
	change(&a)
	q := url.Values{}
	set := func(name, value string, on bool) {
		if on {
			q.Set(name, value)
		}
	}
	set("run", strconv.Itoa(a.Run), a.Run > 0)
	set("vs", a.Versus, a.Versus != "")
	set("m", strconv.Itoa(a.By), a.By > 0)
	set("p", strconv.Itoa(a.Page), a.Page > 0)
	set("at", strconv.Itoa(a.At), a.At > 0)
	set("q", a.Words, a.Words != "")
	set("sort", string(a.Sort), a.Sort != "")
	set("show", a.Panel, a.Panel != "")
	set("by", a.Column, a.Column != "")
	set("focus", a.Focus, a.Focus != "")
	set("failed", "1", a.Failed)
	set("left", "1", a.Left)
	set("flip", "1", a.Flipped && a.Versus != "")
	for _, r := range a.Ranges {
		q.Add("f", r)
	}
	for _, s := range a.Slices {
		q.Add("s", s)
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

// narrowed reports whether rows are left out by what can be cleared.
func (a *address) narrowed() bool {
	return a.Words != "" || len(a.Ranges) > 0 || len(a.Slices) > 0 || a.Failed || a.Left || a.Flipped && a.Versus != ""
}

// clear removes what leaves rows out.
func (a *address) clear() {
	a.Words, a.Ranges, a.Slices, a.Failed, a.Left, a.Flipped = "", nil, nil, false, false, false
}

// toggle adds a slice, in the place of another of its column, or removes it.
func (a *address) toggle(column, value string) {
	text := column + "=" + value
	had := slices.Contains(a.Slices, text)
	a.Slices = slices.DeleteFunc(a.Slices, func(s string) bool { return strings.HasPrefix(s, column+"=") })
	if !had {
		a.Slices = append(a.Slices, text)
	}
}

// bin keeps the rows of a bar of a metric's histogram, in the place of another of its bars.
func (a *address) bin(metric, bin int) {
	a.unbin(metric)
	a.Ranges = append(a.Ranges, fmt.Sprintf("%d:%d", metric, bin))
}

// unbin gives up what bin did.
func (a *address) unbin(metric int) {
	a.Ranges = slices.DeleteFunc(a.Ranges, func(f string) bool { return strings.HasPrefix(f, strconv.Itoa(metric)+":") })
}

// binned reports whether the rows of a bar are kept.
func (a *address) binned(metric, bin int) bool {
	return slices.Contains(a.Ranges, fmt.Sprintf("%d:%d", metric, bin))
}
