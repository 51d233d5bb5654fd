package sched

import (
	"math/rand/v2"
	"time"
)

const (
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 10 * time.Second
)

// A health holds what a Scheduler believes about its engine. The engine is down from a failure until the
// next answer.
type health struct {
	slots     float64   // the most calls at once
	limit     float64   // calls at once now, in [1, slots]
	epoch     int       // counts the cuts of limit, so that the calls of one crash cut it once
	downSince time.Time // the first failure since the last answer; zero: not down
	failures  int       // since the last answer, one an epoch
	notBefore time.Time // when a down engine may be asked again
}

func (h *health) down() bool { return !h.downSince.IsZero() }

// room reports whether one more call may be let in beside inFlight others. If not, and if it depends on
// the time, wait is how long to wait before asking again.
func (h *health) room(now time.Time, inFlight int) (wait time.Duration, ok bool) {
	if !h.down() {
		return 0, inFlight+1 <= int(h.limit)
	}
	if inFlight > 0 {
		return 0, false // when one of them ends, more is known
	}
	if wait = h.notBefore.Sub(now); wait > 0 {
		return wait, false
	}
	return 0, true
}

// answered records an answer that says that the engine is there, if only to refuse a request.
func (h *health) answered() {
	h.downSince = time.Time{}
	h.failures = 0
}

// succeeded records a call that went well. As many as the limit raise it by about one.
func (h *health) succeeded() {
	h.answered()
	h.limit = min(h.limit+1/h.limit, h.slots)
}

// failed records that the engine was unavailable to a call let in at the given epoch, and returns how long
// it will be left alone.
func (h *health) failed(now time.Time, epoch int) (wait time.Duration) {
	if !h.down() {
		h.downSince = now
	}
	if epoch == h.epoch {
		h.epoch++
		h.limit = max(h.limit/2, 1)
		backoff := min(firstBackoff<<min(h.failures, 16), maxBackoff)
		h.failures++
		h.notBefore = now.Add(backoff/2 + rand.N(backoff/2))
	}
	return max(h.notBefore.Sub(now), 0)
}
