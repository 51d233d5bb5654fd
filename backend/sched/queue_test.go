package sched

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestTakeIsBounded fills queues at random and checks that no call is passed over too often, and that all
// come out.
func TestTakeIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	var q queue
	arrived := map[*call]int{} // how many had been let in when it came
	add := func() {
		c := &call{prompt: strings.Repeat("x", rng.IntN(40)) + strings.Repeat("y", rng.IntN(3))}
		if rng.IntN(50) == 0 {
			c.prompt = fmt.Sprint(rng.IntN(1000)) // shares nothing
		}
		arrived[c] = q.admitted
		q.add(c)
	}
	for range 20000 {
		for len(q.waiting) < 1+rng.IntN(20) {
			add()
		}
		before := len(q.waiting)
		c := q.take(rng.IntN(100) == 0)
		if waited := q.admitted - arrived[c]; waited > maxPassed+2*20 {
			t.Fatalf("a call waited while %d others were let in", waited)
		}
		delete(arrived, c)
		if len(q.waiting) != before-1 || len(arrived) != len(q.waiting) {
			t.Fatalf("%d wait, %d are known to", len(q.waiting), len(arrived))
		}
	}
}

// BenchmarkTake lets one call in of 1000 that wait, with prompts of 4 kB that share half.
func BenchmarkTake(b *testing.B) {
	var q queue
	common := strings.Repeat("Decide whether the claim follows from the passage. ", 40)
	add := func(i int) {
		q.add(&call{
			prompt: common + fmt.Sprintf("passage %d", i%200) + strings.Repeat(" and so on", 200) +
				fmt.Sprint("claim ", i),
		})
	}
	for i := range 1000 {
		add(i)
	}
	for i := 0; b.Loop(); i++ {
		q.take(false)
		add(i)
	}
}
