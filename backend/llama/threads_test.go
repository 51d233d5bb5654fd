package llama

import (
	"testing"
	"time"
)

// TestPacer has a pacer choose for a machine of four cores, one of which is busy from time to time.
func TestPacer(t *testing.T) {
	p := newPacer(4, false)
	now := time.Unix(0, 0)
	// run computes passes of 16 tokens for some time and returns the share of it that was not lost.
	run := func(busy bool, for_ time.Duration) float64 {
		cost := [2]time.Duration{75 * time.Millisecond, 100 * time.Millisecond}
		best := cost[0]
		if busy {
			cost[0] = 1200 * time.Millisecond
			best = cost[1]
		}
		passes := 0
		start := now
		for now.Sub(start) < for_ {
			choice := p.choose(16, now)
			now = now.Add(cost[choice])
			p.took(choice, 16, cost[choice], now)
			passes++
		}
		return float64(passes) * float64(best) / float64(now.Sub(start))
	}
	check := func(what string, got, least float64) {
		t.Helper()
		if got < least {
			t.Errorf("%s: %.0f%% of the best speed, want %.0f%%", what, 100*got, 100*least)
		}
	}
	check("free", run(false, time.Minute), 0.98)
	check("busy", run(true, time.Minute), 0.8)
	check("busy for long", run(true, 10*time.Minute), 0.95)
	check("free again for long", run(false, 10*time.Minute), 0.95)

	p = newPacer(4, false)
	check("busy from the start", run(true, time.Minute), 0.7)

	// Heavy passes, as of prompts, are not tried with while they are as fast as ever.
	p = newPacer(2, false)
	heavy := func(passes int, cost [2]time.Duration) (tries int) {
		for range passes {
			choice := p.choose(512, now)
			now = now.Add(cost[choice])
			p.took(choice, 512, cost[choice], now)
			tries += choice
		}
		return tries
	}
	fast, busy := [2]time.Duration{8 * time.Second, 16 * time.Second},
		[2]time.Duration{80 * time.Second, 16 * time.Second}
	if n := heavy(20, fast); n != 0 {
		t.Errorf("%d of 20 heavy passes were computed with the other number of threads", n)
	}
	if n := heavy(200, fast); n < 4 || n > 8 {
		t.Errorf("%d of 200 heavy passes were", n)
	}
	if n := heavy(20, busy); n < 17 {
		t.Errorf("%d of 20 heavy passes were, on a machine that has become busy", n)
	}

	for _, p := range []pacer{newPacer(3, true), newPacer(1, false)} {
		for range 5 {
			choice := p.choose(1, now)
			if n := p.counts[choice]; n != p.counts[0] {
				t.Errorf("chose %d threads where %d are given", n, p.counts[0])
			}
			p.took(choice, 1, time.Second, now)
			now = now.Add(time.Hour)
		}
	}
}
