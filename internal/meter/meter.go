// Package meter shows how far work is: on a terminal a bar, with a line above it for each model that is asked; elsewhere a plain
// line now and then, so that a log tells how it goes without growing.
package meter

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// Options say what is shown, and where.
type Options struct {
	Unit  string   // what is counted, in the plural: "rows"
	Total int      // of the units
	Kept  int      // of them, done by an earlier attempt
	Parts []string // of each unit, by name, such as the metrics of a row; nil: a unit has one part, ""

	// Models tell what each model did so far; nil: none is asked.
	Models func() []Model

	Say func(line string) // prints a plain line

	// Of a terminal; where Out is nil, there are plain lines alone.
	Out     io.Writer
	Width   int                           // in columns
	Through func(print func(line string)) // has what else is said printed by print, or as before if it is nil
}

// A Model is one with what it did so far.
type Model struct {
	Name                       string   // "judge tinyllama-q4_0"
	Parts                      []string // that it has a share in: it has nothing left to do when they are done
	Cached, Computed, Failed   int64    // answers
	PromptTokens, OutputTokens int64    // of those that were computed; 0 where none are counted
}

// A Meter is work that goes on.
type Meter struct {
	o     Options
	began time.Time
	over  chan struct{}
	work  sync.WaitGroup

	bar     progress.Writer // nil: there is no terminal
	tracker *progress.Tracker

	mu     sync.Mutex
	done   map[string]int // units of which a part is done, those of an earlier attempt apart
	failed int
}

const (
	drawn = 500 * time.Millisecond // between two looks of the terminal
	said  = 15 * time.Second       // between two plain lines
)

// New starts to show. Stop ends it.
func New(o Options) *Meter {
	if o.Parts == nil {
		o.Parts = []string{""}
	}
	m := &Meter{o: o, began: time.Now(), over: make(chan struct{}), done: map[string]int{}}
	if o.Out != nil {
		m.draw()
	}
	m.work.Go(m.tell)
	return m
}

// draw starts the bar.
func (m *Meter) draw() {
	m.tracker = &progress.Tracker{Total: int64(m.o.Total * len(m.o.Parts))}
	m.bar = progress.NewWriter()
	m.bar.SetOutputWriter(m.o.Out)
	m.bar.SetUpdateFrequency(drawn)
	m.bar.SetTrackerPosition(progress.PositionLeft)
	m.bar.SetTerminalWidth(max(m.o.Width, least)) // once: the library does not guard it
	m.bar.SetTrackerLength(30)
	if m.o.Width < narrow {
		m.bar.SetTrackerLength(10)
	}
	style := progress.StyleBlocks
	style.Options = progress.StyleOptions{PercentFormat: "%4.0f%%", Separator: "  "}
	style.Visibility = progress.StyleVisibility{Percentage: true, Tracker: true, Pinned: true}
	m.bar.SetStyle(style)
	m.bar.AppendTracker(m.tracker)
	m.refresh()
	m.o.Through(func(line string) { m.bar.Log("%s", line) })
	m.work.Go(m.bar.Render)
}

// tell refreshes the terminal, or says a line, until the work is over.
func (m *Meter) tell() {
	every := said
	if m.bar != nil {
		every = drawn
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-m.over:
			return
		case <-tick.C:
		}
		if m.bar != nil {
			m.refresh()
			continue
		}
		m.o.Say(m.summary())
		for _, line := range m.models(false) {
			m.o.Say(line)
		}
	}
}

// Widths of a terminal, in columns: where little is said, and what is taken for one that says less.
const narrow, least = 100, 20

// refresh puts what is known now before the terminal.
func (m *Meter) refresh() {
	m.bar.SetPinnedMessages(m.models(m.o.Width < narrow)...)
	m.tracker.UpdateMessage(m.summary())
	m.mu.Lock()
	defer m.mu.Unlock()
	done := m.o.Kept * len(m.o.Parts)
	for _, n := range m.done {
		done += n
	}
	m.tracker.SetValue(int64(done))
}

// Done notes that a part of a unit is done, and whether it failed. It may be called concurrently.
func (m *Meter) Done(part string, failed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done[part]++
	if failed {
		m.failed++
	}
}

// Stop ends the showing. What was drawn is brought up to date first, and stays.
func (m *Meter) Stop() {
	close(m.over)
	if m.bar != nil {
		m.refresh()
		m.bar.Stop()
	}
	m.work.Wait()
	if m.bar != nil {
		m.o.Through(nil)
	}
}

// summary describes the work: "12 of 24 rows, 0:21 left, 34 a minute, 2 failed". A row is done with its last part.
func (m *Meter) summary() string {
	left, known := m.left(m.o.Parts)
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := m.done[m.o.Parts[0]]
	for _, part := range m.o.Parts {
		fresh = min(fresh, m.done[part])
	}
	s := fmt.Sprintf("%d of %d %s", m.o.Kept+fresh, m.o.Total, m.o.Unit)
	if known {
		s += fmt.Sprintf(", %s left", Duration(left))
	}
	if minutes := time.Since(m.began).Minutes(); fresh > 0 && minutes > 0 {
		s += fmt.Sprintf(", %.3g a minute", float64(fresh)/minutes)
	}
	if m.failed > 0 {
		s += fmt.Sprintf(", %d failed", m.failed)
	}
	return s
}

// left is how long the slowest of some parts will take, if each goes on as so far; false where one has not begun.
func (m *Meter) left(parts []string) (left time.Duration, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	spent := time.Since(m.began)
	for _, part := range parts {
		open := m.o.Total - m.o.Kept - m.done[part]
		switch {
		case open <= 0:
		case m.done[part] == 0:
			return 0, false
		default:
			left = max(left, time.Duration(float64(spent)/float64(m.done[part])*float64(open)))
		}
	}
	return left, len(parts) > 0
}

// models describes each model: how fast, how long, how much came from the cache, what failed. The short form is for narrow
// terminals.
func (m *Meter) models(short bool) []string {
	if m.o.Models == nil {
		return nil
	}
	seconds := max(time.Since(m.began).Seconds(), 1e-3)
	var lines []string
	for _, w := range m.o.Models() {
		lines = append(lines, w.Name+": "+strings.Join(m.model(w, seconds, short), ", "))
	}
	return lines
}

func (m *Meter) model(w Model, seconds float64, short bool) (parts []string) {
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	rate := func(n int64) string {
		v := float64(n) / seconds
		if v < 9.95 {
			return fmt.Sprintf("%.1f", v)
		}
		return fmt.Sprintf("%.0f", v)
	}
	left, known := m.left(w.Parts)
	switch {
	case known && left == 0:
		say("done, %d answers", w.Cached+w.Computed)
	case known:
		say("%s left", Duration(left))
	}
	switch {
	case known && left == 0:
	case w.Cached+w.Computed == 0:
		say("no answers yet")
	case w.PromptTokens > 0 && short:
		say("%s+%s tok/s", rate(w.PromptTokens), rate(w.OutputTokens))
	case w.PromptTokens > 0:
		say("%s prompt and %s completion tokens/s, %d answers", rate(w.PromptTokens), rate(w.OutputTokens), w.Computed)
	case w.Computed > 0:
		say("%s answers/s", rate(w.Computed))
	}
	if all := w.Cached + w.Computed; w.Cached > 0 {
		say("%.0f%% of %d from the cache", 100*float64(w.Cached)/float64(all), all)
	}
	if w.Failed > 0 {
		say("%d failed", w.Failed)
	}
	return parts
}

// Duration prints d for people: 0:07, 12:40, 3:05:10.
func Duration(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
