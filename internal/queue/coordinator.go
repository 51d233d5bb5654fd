package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/shard"
	"github.com/assay-eval/assay/metrics"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Coordinator has the rows of a run and wants their results.
type Coordinator struct {
	Job *Job

	// Samples yields the run's samples after the first skip. It is called again for a unit of which nothing is left.
	Samples func(skip int) iter.Seq2[*metrics.Sample, error]
	Kept    int                      // samples that the run folder has the results of
	Write   func(lines []byte) error // takes the results of a sample, in the order of the rows

	Ready func(results int) // is told how many more results there are, those of units that are still worked on included
}

// How many units are on the queue at once: four for each worker, one that it works on, one that it takes next, and two by
// which it may be ahead of the slowest.
const (
	leastAhead = 32
	aheadEach  = 4
	mostAhead  = 1 << 14
)

// Coordinate has workers score the rows. It returns when all results are written and the job is removed from the server,
// or ctx ends, and then the job stays: Coordinate goes on with it when it is called again with the same configuration.
// The calls are those that workers made for the units that were written.
func (b *Broker) Coordinate(ctx context.Context, c *Coordinator) (calls runs.Calls, err error) {
	old, err := b.announce(ctx, c.Job)
	if err != nil {
		return calls, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &coordination{Broker: b, c: c, old: old, changed: make(chan struct{}, 1), open: make(chan unit, mostAhead),
		workers: map[string]time.Time{}, heard: map[int]time.Time{}, stored: map[int]bool{}, partly: map[int]int{}, results: len(c.Job.Config.Metrics)}
	news, err := b.nc.Subscribe(c.Job.news(), w.hear)
	if err != nil {
		return calls, err
	}
	defer news.Unsubscribe()
	var feeding sync.WaitGroup
	defer feeding.Wait()
	defer stop(nil)
	feeding.Go(func() {
		defer close(w.open)
		if err := w.feed(ctx); err != nil {
			stop(err)
		}
	})
	for u := range w.open {
		one, err := w.collect(ctx, u)
		if err != nil {
			stop(err)
			return calls, context.Cause(ctx)
		}
		calls.Cached += one.Cached
		calls.Computed += one.Computed
	}
	if err := context.Cause(ctx); err != nil {
		return calls, err
	}
	return calls, b.Discard(ctx, c.Job)
}

// A unit is some rows that follow one another. It is known by its number, from 1 on.
type unit struct {
	number int
	first  int // the number of its first row
	rows   int
}

// A coordination is a run that is going on.
type coordination struct {
	*Broker
	c       *Coordinator
	old     bool      // the job was there before: units may be
	open    chan unit // those that are on the queue, in order; there are never more ahead than it holds
	results int       // of a row

	mu      sync.Mutex
	merged  int                  // the last unit whose results are written
	ahead   int                  // units on the queue whose results are not written
	workers map[string]time.Time // when each was last heard of
	heard   map[int]time.Time    // when a worker last spoke of a unit
	stored  map[int]bool         // units of which a worker said that their results are stored
	partly  map[int]int          // results of units that are worked on
	written int                  // results
	told    int                  // results that Ready was told of
	changed chan struct{}        // holds one element if a unit was stored or written
}

// hear takes a worker's report.
func (w *coordination) hear(m *nats.Msg) {
	var r report
	if json.Unmarshal(m.Data, &r) != nil {
		return
	}
	w.mu.Lock()
	_, known := w.workers[r.Worker]
	switch {
	case r.Refuse != "":
		w.mu.Unlock()
		w.say("the worker %s takes no part: %s", r.Worker, r.Refuse)
		return
	case r.Left:
		delete(w.workers, r.Worker)
	default:
		w.workers[r.Worker] = time.Now()
	}
	if r.Unit > w.merged && r.Unit <= w.merged+mostAhead {
		w.partly[r.Unit] = max(w.partly[r.Unit], min(r.Done, w.c.Job.Unit*w.results))
		w.stored[r.Unit] = w.stored[r.Unit] || r.Stored
		w.heard[r.Unit] = time.Now()
	}
	n := len(w.workers)
	w.mu.Unlock()
	switch {
	case r.Left && known:
		w.say("the worker %s has ended: %d are left", r.Worker, n)
	case !r.Left && !known:
		w.say("the worker %s takes part: %d in all", r.Worker, n)
	}
	w.progress()
	w.wake()
}

// forget says which workers were not heard of for long.
func (w *coordination) forget() {
	w.mu.Lock()
	var lost []string
	for name, last := range w.workers {
		if time.Since(last) > 2*w.c.Job.Lease {
			lost = append(lost, name)
			delete(w.workers, name)
		}
	}
	w.mu.Unlock()
	slices.Sort(lost)
	for _, name := range lost {
		w.say("the worker %s is silent: what it worked on is given to others", name)
	}
}

// progress tells Ready of results that it was not told of.
func (w *coordination) progress() {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := w.written
	for _, n := range w.partly {
		sum += n
	}
	if more := sum - w.told; more > 0 && w.c.Ready != nil {
		w.told = sum
		w.c.Ready(more)
	}
}

func (w *coordination) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// feed puts units on the queue, as far ahead as is of use.
func (w *coordination) feed(ctx context.Context) error {
	size := w.c.Job.Unit
	first := w.c.Kept / size // units that are written
	if w.old && first > 0 {
		if err := w.clear(ctx, first); err != nil { // the coordinator before this may have come no further
			return err
		}
	}
	rows := make([]shard.Row, 0, size)
	number := first * size
	for sample, err := range w.c.Samples(number) {
		if err != nil {
			return err
		}
		number++
		if rows = append(rows, shard.Row{Number: number, Sample: sample}); len(rows) < size {
			continue
		}
		if err := w.offer(ctx, rows); err != nil {
			return err
		}
		rows = rows[:0]
	}
	if len(rows) > 0 {
		return w.offer(ctx, rows)
	}
	return nil
}

// offer puts a unit on the queue when there is room.
func (w *coordination) offer(ctx context.Context, rows []shard.Row) error {
	for !w.room() {
		if err := sleep(ctx, shortWait/4); err != nil {
			return err
		}
	}
	u := unit{number: (rows[0].Number-1)/w.c.Job.Unit + 1, first: rows[0].Number, rows: len(rows)}
	if w.old {
		if done, err := w.has(ctx, w.c.Job.results(), u.number); err != nil {
			return err
		} else if done {
			w.open <- u
			return nil
		}
	}
	if err := w.keep(ctx, u, rows); err != nil {
		return err
	}
	if err := w.order(ctx, u); err != nil {
		return err
	}
	w.open <- u
	return nil
}

// room reports whether one more unit is of use, and counts it.
func (w *coordination) room() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ahead >= min(max(leastAhead, aheadEach*len(w.workers)), mostAhead) {
		return false
	}
	w.ahead++
	return true
}

// keep stores a unit's rows.
func (w *coordination) keep(ctx context.Context, u unit, rows []shard.Row) error {
	data, err := packRows(rows)
	if err != nil {
		return err
	}
	return w.put(ctx, w.c.Job.rows(), u.number, object{data: data})
}

// order puts a unit on the queue, unless it is there.
func (w *coordination) order(ctx context.Context, u unit) error {
	return w.try(ctx, fmt.Sprintf("queueing unit %d", u.number), func(ctx context.Context) error {
		text, err := json.Marshal(order{Unit: u.number})
		if err != nil {
			return err
		}
		_, err = w.js.Publish(ctx, w.c.Job.unitSubject(u.number), text, jetstream.WithExpectLastSequencePerSubject(0))
		if said := (*jetstream.APIError)(nil); errors.As(err, &said) &&
			(said.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
				said.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
			return nil // it is on the queue
		}
		return err
	})
}

// An order is what is on the work queue.
type order struct {
	Unit int `json:"unit"`
}

// collect waits for a unit's results, checks and writes them, and removes the unit from the server.
func (w *coordination) collect(ctx context.Context, u unit) (calls runs.Calls, err error) {
	for began := time.Now(); ; {
		o, err := w.get(ctx, w.c.Job.results(), u.number)
		if o != nil {
			calls, err = w.write(u, o)
		}
		switch {
		case errors.Is(err, errDamaged):
			w.say("the results of unit %d are damaged: it is scored again (%v)", u.number, err)
			if err = w.remove(ctx, w.c.Job.results(), u.number); err == nil {
				err = w.restore(ctx, u)
			}
			began = time.Now()
		case err == nil && o != nil:
			return calls, w.done(ctx, u)
		case err == nil && time.Since(began) > w.c.Job.Lease:
			err = w.restore(ctx, u)
			began = time.Now()
		}
		if err != nil {
			return calls, err
		}
		w.forget()
		if err := w.wait(ctx, u); err != nil {
			return calls, err
		}
	}
}

// wait returns when a worker said that the unit is stored, or after a second, lest that was lost.
func (w *coordination) wait(ctx context.Context, u unit) error {
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	for {
		w.mu.Lock()
		stored := w.stored[u.number]
		delete(w.stored, u.number) // it is looked for now; should it not be there, it is waited for
		w.mu.Unlock()
		if stored {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return nil
		case <-w.changed:
		}
	}
}

// restore has a unit scored whose results do not come. Its rows are stored again if they are lost, and its order is put on
// the queue again if that is lost, or lies there while workers wait and none of them has the unit: whatever became of it,
// the server gives out one that is new.
func (w *coordination) restore(ctx context.Context, u unit) error {
	job := w.c.Job
	if err := w.stillMine(ctx); err != nil {
		return err
	}
	if err := w.prepare(ctx, job); err != nil {
		return err
	}
	if done, err := w.has(ctx, job.results(), u.number); err != nil || done {
		return err
	}
	there, err := w.has(ctx, job.rows(), u.number)
	if err != nil {
		return err
	}
	if !there {
		w.say("the queue has lost the rows of unit %d: they are put there again", u.number)
		var rows []shard.Row
		for sample, err := range w.c.Samples(u.first - 1) {
			if err != nil {
				return err
			}
			if rows = append(rows, shard.Row{Number: u.first + len(rows), Sample: sample}); len(rows) == u.rows {
				break
			}
		}
		if err := w.keep(ctx, u, rows); err != nil {
			return err
		}
	}
	idle, err := w.idle(ctx, u)
	if err != nil {
		return err
	}
	if idle {
		w.say("workers wait, and none has unit %d: it is put on the queue again", u.number)
		if err := w.withdraw(ctx, u.number); err != nil {
			return err
		}
	}
	return w.order(ctx, u)
}

// idle reports whether workers wait for units, and none spoke of this one for two leases.
func (w *coordination) idle(ctx context.Context, u unit) (idle bool, err error) {
	w.mu.Lock()
	silent := time.Since(w.heard[u.number]) > 2*w.c.Job.Lease
	w.mu.Unlock()
	if !silent {
		return false, nil
	}
	err = w.try(ctx, "looking for workers that wait", func(ctx context.Context) error {
		c, err := w.js.Consumer(ctx, w.c.Job.stream(), consumer)
		if err == nil {
			idle = c.CachedInfo().NumWaiting > 0
		}
		return err
	})
	return idle, err
}

// stillMine returns an error if the job was removed.
func (w *coordination) stillMine(ctx context.Context) error {
	job, err := w.look(ctx, w.c.Job.ID())
	if err == nil && job == nil {
		err = errors.New("the run was removed from the queue by somebody else: the same command puts it there again")
	}
	return err
}

// write checks that results are those of the unit's rows, and writes them, but for those of rows that are written already.
func (w *coordination) write(u unit, o *object) (calls runs.Calls, err error) {
	text, err := unpack(o.data)
	if err != nil {
		return calls, err
	}
	var blocks [][]byte
	for block, err := range shard.Blocks(bytes.NewReader(text), w.c.Job.Metrics()) {
		if err == nil && block.Row != u.first+len(blocks) {
			err = fmt.Errorf("row %d is not where it belongs", block.Row)
		}
		if err != nil {
			return calls, fmt.Errorf("%w: unit %d, %v", errDamaged, u.number, err)
		}
		blocks = append(blocks, bytes.Clone(block.Lines))
	}
	if len(blocks) != u.rows {
		return calls, fmt.Errorf("%w: unit %d has results of %d rows, not %d", errDamaged, u.number, len(blocks), u.rows)
	}
	fresh := 0
	for i, lines := range blocks {
		if u.first+i <= w.c.Kept {
			continue
		}
		if err := w.c.Write(lines); err != nil {
			return calls, err
		}
		fresh++
	}
	w.mu.Lock()
	delete(w.partly, u.number)
	w.merged = u.number
	w.written += fresh * w.results
	w.mu.Unlock()
	w.progress()
	fmt.Sscan(o.meta[metaCached], &calls.Cached)
	fmt.Sscan(o.meta[metaComputed], &calls.Computed)
	return calls, nil
}

// What is said of a unit's results.
const (
	metaCached   = "cached" // calls that the cache answered
	metaComputed = "computed"
)

// done removes a unit whose results are in the run folder.
func (w *coordination) done(ctx context.Context, u unit) error {
	if err := w.clear(ctx, u.number); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead--
	delete(w.stored, u.number)
	delete(w.heard, u.number)
	return nil
}

// clear removes what there is of a unit, an order that comes again included.
func (w *coordination) clear(ctx context.Context, number int) error {
	if err := w.withdraw(ctx, number); err != nil {
		return err
	}
	for _, bucket := range []string{w.c.Job.rows(), w.c.Job.results()} {
		if err := w.remove(ctx, bucket, number); err != nil {
			return err
		}
	}
	return nil
}

// withdraw takes a unit's order from the queue.
func (w *coordination) withdraw(ctx context.Context, number int) error {
	return w.try(ctx, fmt.Sprintf("removing the order of unit %d", number), func(ctx context.Context) error {
		stream, err := w.js.Stream(ctx, w.c.Job.stream())
		if err != nil {
			return err
		}
		return stream.Purge(ctx, jetstream.WithPurgeSubject(w.c.Job.unitSubject(number)))
	})
}
