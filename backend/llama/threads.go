package llama

import (
	"fmt"
	"time"

	"github.com/assay-eval/assay/backend/llama/library"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// A runner computes passes of one context.
type runner struct {
	ctx  llama.Context
	pace pacer
}

// run computes a batch with one of llama.cpp's functions for that.
func (r *runner) run(f func(llama.Context, llama.Batch) (int32, error), batch llama.Batch) error {
	choice := r.pace.choose(int(batch.NTokens), time.Now())
	n := int32(r.pace.counts[choice])
	defer library.Cores(int(n))()
	start := time.Now()
	llama.SetNThreads(r.ctx, n, n)
	code, err := f(r.ctx, batch)
	if err == nil {
		err = llama.Synchronize(r.ctx)
	}
	if err == nil && code != 0 {
		err = fmt.Errorf("llama.cpp could not compute a pass of %d tokens, code %d%s",
			batch.NTokens, code, library.Complaints())
	}
	if err == nil {
		end := time.Now()
		r.pace.took(choice, int(batch.NTokens), end.Sub(start), end)
	}
	return err
}

// How long a pacer waits before it tries the other number of threads, which may take a pass twice as long.
const (
	soonest = 2 * time.Second
	latest  = 2 * time.Minute

	rarely = 24 // a try that was useless is not repeated before so many passes like it could have been computed
	light  = 64 // tokens of a pass to try with; a heavier one is worth dozens of those
)

// A pacer chooses the number of threads for each pass: as many as there are cores, or one fewer. The
// threads of a pass spin while they wait for the slowest, so when something else keeps a core busy, one
// fewer can be ten times as fast. Now and then it tries the other number for a pass and keeps the faster,
// at once when passes become slow; while trying proves useless it does so more and more rarely, so that it costs a
// few hundredths at most. What it chooses changes no answer.
type pacer struct {
	counts [2]int                // of threads
	use    int                   // the index of the better one
	last   map[int]time.Duration // of a pass with that many threads, by its number of tokens
	tried  time.Time             // when the other was tried last, or could have been first
	next   time.Time             // when to try it again
	wait   time.Duration
	slow   bool // passes have become slow since
}

// newPacer returns a pacer for at most so many threads; fixed makes it use just those.
func newPacer(most int, fixed bool) pacer {
	p := pacer{counts: [2]int{most, most - 1}, last: map[int]time.Duration{}, wait: soonest}
	if fixed || most < 2 {
		p.counts[1] = most
	}
	return p
}

// choose returns the index of the number of threads for a pass of so many tokens that starts now.
func (p *pacer) choose(tokens int, now time.Time) int {
	last, known := p.last[tokens]
	switch {
	case !known || p.counts[0] == p.counts[1] || !now.After(p.next):
		return p.use
	case tokens > light && !p.slow && now.Sub(p.tried) < rarely*last:
		return p.use // a lighter pass will come, or this has become worth it
	}
	return 1 - p.use
}

// took is told how long a pass took that has ended now.
func (p *pacer) took(choice, tokens int, d time.Duration, now time.Time) {
	last, ok := p.last[tokens]
	if choice == p.use {
		p.last[tokens] = d
		if ok && d > 4*last {
			p.next, p.slow = now, true
		}
		if p.tried.IsZero() {
			p.tried = now
		}
		return
	}
	p.tried, p.slow = now, false
	switch {
	case d < last-last/10:
		p.use = choice
		p.last = map[int]time.Duration{tokens: d}
		p.wait = soonest
	default:
		p.wait = min(2*p.wait, latest)
	}
	p.next = now.Add(max(p.wait, rarely*min(d, last)))
}
