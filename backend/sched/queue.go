package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/assay-eval/assay/backend"
)

const (
	// maxPassed is how many younger calls may be let in before a call that waits. With a hundred samples
	// open it leaves the order to the prefixes; it makes every wait finite.
	maxPassed = 256

	// recentPrompts is how many of the last prompts let in are taken to be still in the engine's memory.
	recentPrompts = 16
)

// A call waits for a slot.
type call struct {
	priority int           // see [backend.Priority]
	prompt   string        // whose prefix it may have in common with others; "" for Encode
	admitted chan struct{} // closed when it is let in, or ended by refused; nil for Encode
	refused  error         // why it will not be let in
	epoch    int           // of the engine's health when it was let in

	// Of Encode only: see encode.go.
	encode *backend.EncodeRequest
	answer chan encodeAnswer
	alone  bool
	group  *group
	gone   bool // its caller no longer waits

	// Of calls that found the engine unavailable.
	failures     int
	firstFailure time.Time

	order    int // of arrival; 0: new
	passed   int // younger calls that were let in before it
	shared   int // bytes of prompt shared with a recent prompt
	sharedAt int // when that prompt was let in: the value of queue.admitted
}

// A queue holds the calls that wait, oldest first.
type queue struct {
	waiting  []*call
	arrived  int                   // calls that ever came
	admitted int                   // calls that were let in
	recent   [recentPrompts]string // the last prompts let in, a ring
}

// add puts a call in its place: a new one last, and one that comes back where it was.
func (q *queue) add(c *call) {
	if c.order == 0 {
		q.arrived++
		c.order = q.arrived
	}
	c.shared, c.sharedAt = 0, q.admitted
	for _, p := range q.recent {
		c.shared = max(c.shared, sharedPrefix(c.prompt, p))
	}
	i, _ := slices.BinarySearchFunc(q.waiting, c.order, func(w *call, order int) int {
		return cmp.Compare(w.order, order)
	})
	q.waiting = slices.Insert(q.waiting, i, c)
}

// remove takes a call out, and reports whether it was there.
func (q *queue) remove(c *call) bool {
	i := slices.Index(q.waiting, c)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take takes the next call out of a queue that is not empty: of those of the smallest priority, the one that
// shares most with what was let in lately. When the engine is down, it is the one that failed least often,
// so that a request which brings the engine down does not do so every time.
func (q *queue) take(down bool) *call {
	best := q.waiting[0]
	switch {
	case down:
		best = slices.MinFunc(q.waiting, func(a, b *call) int { return cmp.Compare(a.failures, b.failures) })
	case best.passed < maxPassed:
		// MinFunc returns the first, hence oldest, of equals.
		best = slices.MinFunc(q.waiting, func(a, b *call) int {
			return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(b.shared, a.shared))
		})
	}
	q.remove(best)
	q.recent[q.admitted%recentPrompts] = best.prompt
	q.admitted++
	for _, w := range q.waiting {
		if w.order < best.order && w.priority <= best.priority {
			w.passed++
		}
		if n := sharedPrefix(w.prompt, best.prompt); n >= w.shared || q.admitted-w.sharedAt > recentPrompts {
			w.shared, w.sharedAt = n, q.admitted
		}
	}
	return best
}

// sharedPrefix is the length in bytes of the longest common prefix of a and b.
func sharedPrefix(a, b string) int {
	const block = 64 // compared at once, which is much faster than byte by byte
	n, end := 0, min(len(a), len(b))
	for n+block <= end && a[n:n+block] == b[n:n+block] {
		n += block
	}
	for n < end && a[n] == b[n] {
		n++
	}
	return n
}
