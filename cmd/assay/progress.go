package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// A meter shows how far a run is: a bar on a terminal, a plain line now and then elsewhere.
type meter struct {
	std   *std
	total int
	kept  int
	began time.Time

	bar     progress.Writer
	tracker *progress.Tracker
	drawn   sync.WaitGroup

	mu   sync.Mutex
	done int
	said time.Time
}

// every is the time between two plain lines.
const every = 15 * time.Second

// newMeter starts a meter over total results, of which an earlier attempt had kept.
func newMeter(s *std, total, kept int) *meter {
	m := &meter{std: s, total: total, kept: kept, done: kept, began: time.Now(), said: time.Now()}
	if !s.errTerm {
		return m
	}
	m.tracker = &progress.Tracker{Message: m.line(), Total: int64(total)}
	m.bar = progress.NewWriter()
	m.bar.SetOutputWriter(s.err)
	m.bar.SetTrackerLength(30)
	m.bar.SetMessageLength(60)
	m.bar.SetUpdateFrequency(200 * time.Millisecond)
	m.bar.SetTrackerPosition(progress.PositionLeft)
	style := progress.StyleBlocks
	style.Options = progress.StyleOptions{PercentFormat: "%4.0f%%", Separator: "  "}
	style.Visibility = progress.StyleVisibility{Percentage: true, Tracker: true}
	m.bar.SetStyle(style)
	m.bar.AppendTracker(m.tracker)
	m.tracker.SetValue(int64(kept))
	s.through(func(line string) { m.bar.Log("%s", line) })
	m.drawn.Go(m.bar.Render)
	return m
}

// result notes one more result. It may be called concurrently.
func (m *meter) result() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	if m.bar != nil {
		m.tracker.UpdateMessage(m.line())
		m.tracker.SetValue(int64(m.done))
		return
	}
	if time.Since(m.said) >= every {
		m.said = time.Now()
		m.std.note("%s", m.line())
	}
}

// line describes the progress: "12 of 24 results, 34 a minute, 0:21 left".
func (m *meter) line() string {
	fresh := m.done - m.kept
	spent := time.Since(m.began)
	s := fmt.Sprintf("%d of %d results", m.done, m.total)
	if fresh > 0 {
		left := time.Duration(float64(spent) / float64(fresh) * float64(m.total-m.done))
		s += fmt.Sprintf(", %.3g a minute, %s left", float64(fresh)/spent.Minutes(), duration(left))
	}
	return s
}

// stop takes the bar away.
func (m *meter) stop() {
	if m.bar != nil {
		m.bar.Stop()
		m.drawn.Wait()
		m.std.through(nil)
	}
}
