package queue

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/shard"
	"github.com/nats-io/nats.go/jetstream"
)

// A Worker scores units of a job.
type Worker struct {
	Name string // unlike that of any other worker
	Job  *Job

	// Score scores rows and hands a block for each to emit, in their order, as [shard.Score] does; ready is called when a
	// result is there. It is called for a second unit when it has taken all rows of the first.
	Score func(ctx context.Context, rows iter.Seq2[shard.Row, error], ready func(), emit func(shard.Block) error) error

	Calls func() runs.Calls // counts the answers so far
	Idle  time.Duration     // how long to wait for a unit where there is none; 0: until the job is done
}

// openUnits is how many units a worker has at once: the rows of the second are begun as the last of the first come to their
// end, so that the models are never idle.
const openUnits = 2

// Work pulls units and scores them until the job is done, nothing came for as long as Idle, or ctx ends; units that are
// not done then are given back. An error of Score ends it, too, and gives the unit to others. It returns the number of
// units that it stored.
func (b *Broker) Work(ctx context.Context, w *Worker) (units int, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &shift{Broker: b, w: w, active: map[int]bool{}}
	b.tell(w.Job, report{Worker: w.Name})
	defer func() {
		b.tell(w.Job, report{Worker: w.Name, Left: true})
		b.nc.FlushTimeout(time.Second)
	}()
	var open sync.WaitGroup
	places, room := make(chan struct{}, openUnits), make(chan struct{}, 1)
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
		case places <- struct{}{}: // few units are open
		}
		select {
		case <-ctx.Done():
		case room <- struct{}{}: // the rows of all of them are begun
		}
		var msg jetstream.Msg
		var more bool
		if err = context.Cause(ctx); err == nil {
			msg, more, err = s.next(ctx)
		}
		if msg == nil {
			if err != nil || !more || w.Idle > 0 && time.Since(last) > w.Idle && len(places) == 1 {
				break
			}
			if len(places) > 1 {
				last = time.Now()
			}
			<-room
			<-places
			continue
		}
		last = time.Now()
		open.Go(func() {
			defer func() { <-places }()
			begun := sync.OnceFunc(func() { <-room })
			defer begun()
			if err := s.unit(ctx, msg, begun); err != nil {
				stop(err)
			}
		})
	}
	if err != nil {
		stop(err)
	}
	open.Wait()
	if cause := context.Cause(ctx); err == nil {
		err = cause
	}
	return int(s.done.Load()), err
}

// A shift is a worker at work.
type shift struct {
	*Broker
	w    *Worker
	done atomic.Int64

	mu     sync.Mutex
	active map[int]bool // units that are open
	told   runs.Calls   // those that were counted with a unit
}

// pullWait is how long the server keeps a request for a unit.
const pullWait = 2 * time.Second

// next asks for a unit. Where there is none now, more says whether there may be one later.
func (s *shift) next(ctx context.Context) (msg jetstream.Msg, more bool, err error) {
	cons, err := s.js.Consumer(ctx, s.w.Job.stream(), consumer)
	if err == nil {
		var batch jetstream.MessageBatch
		if batch, err = cons.Fetch(1, jetstream.FetchMaxWait(pullWait)); err == nil {
			for m := range batch.Messages() {
				msg = m
			}
			err = batch.Error()
		}
	}
	if msg != nil {
		return msg, true, nil
	}
	if err != nil && ctx.Err() == nil {
		if err := sleep(ctx, shortWait); err != nil {
			return nil, false, err
		}
	}
	job, err := s.look(ctx, s.w.Job.ID())
	return nil, job != nil, err
}

// unit does what an order says: it scores the unit, stores the results and acknowledges the order. Begun is called when
// all rows are begun.
func (s *shift) unit(ctx context.Context, msg jetstream.Msg, begun func()) error {
	var o order
	if err := json.Unmarshal(msg.Data(), &o); err != nil || o.Unit < 1 {
		return msg.Term()
	}
	if !s.enter(o.Unit) {
		return nil // the same order twice: it is acknowledged with the first
	}
	defer s.leave(o.Unit)
	var results atomic.Int64
	beating, rest := context.WithCancel(ctx)
	var beat sync.WaitGroup
	beat.Go(func() { s.beat(beating, msg, o.Unit, &results) })
	defer beat.Wait()
	defer rest()
	stored, err := s.score(ctx, o.Unit, begun, &results)
	switch {
	case err != nil:
		rest()
		msg.Nak() // at once: the lease, which would end, too, is long
		return err
	case !stored:
		rest()
		msg.NakWithDelay(s.w.Job.Lease) // should it be lost, the lease ends all the same
		return nil
	}
	msg.Ack() // should it be lost, the lease ends, and the next worker finds the results
	s.done.Add(1)
	s.tell(s.w.Job, report{Worker: s.w.Name, Unit: o.Unit, Done: int(results.Load()), Stored: true})
	return nil
}

// enter notes that a unit is open, unless it is.
func (s *shift) enter(unit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[unit] {
		return false
	}
	s.active[unit] = true
	return true
}

func (s *shift) leave(unit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, unit)
}

// beat says, while a unit is open, that it still is.
func (s *shift) beat(ctx context.Context, msg jetstream.Msg, unit int, results *atomic.Int64) {
	for {
		msg.InProgress() // lost where the server is away; should the lease end, the unit is scored twice and merged once
		s.tell(s.w.Job, report{Worker: s.w.Name, Unit: unit, Done: int(results.Load())})
		if sleep(ctx, min(s.w.Job.Lease/3, 5*time.Second)) != nil {
			return
		}
	}
}

// score scores a unit and stores its results, unless they are there. It reports whether they are now: they are not where
// the rows are lost, or the job was removed in the meantime.
func (s *shift) score(ctx context.Context, unit int, begun func(), results *atomic.Int64) (stored bool, err error) {
	job := s.w.Job
	if done, err := s.has(ctx, job.results(), unit); err != nil || done {
		return done, err
	}
	o, err := s.get(ctx, job.rows(), unit)
	var rows []shard.Row
	if o != nil {
		rows, err = unpackRows(o.data)
	}
	if err != nil && !errors.Is(err, errDamaged) {
		return false, err
	}
	if o == nil || err != nil {
		s.say("the rows of unit %d are not on the queue any more: it is left to its run", unit)
		return false, s.remove(ctx, job.rows(), unit)
	}
	data, err := pack(func(out io.Writer) error {
		var lines []byte
		return s.w.Score(ctx, each(rows, begun), func() { results.Add(1) }, func(block shard.Block) error {
			lines = block.Numbered(lines[:0])
			_, err := out.Write(lines)
			return err
		})
	})
	if err != nil {
		return false, err
	}
	calls := s.calls()
	err = s.put(ctx, job.results(), unit, object{data, map[string]string{
		metaCached: strconv.FormatInt(calls.Cached, 10), metaComputed: strconv.FormatInt(calls.Computed, 10)}})
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return false, nil
	}
	return err == nil, err
}

// each yields rows, and calls begun after the last.
func each(rows []shard.Row, begun func()) iter.Seq2[shard.Row, error] {
	return func(yield func(shard.Row, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		begun()
	}
}

// calls are those since it was called last.
func (s *shift) calls() runs.Calls {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.w.Calls()
	fresh := runs.Calls{Cached: now.Cached - s.told.Cached, Computed: now.Computed - s.told.Computed}
	s.told = now
	return fresh
}
