package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics/prompts"
)

// Options say how [Run] goes about its work.
type Options struct {
	// Window is how many samples may be open at once, those that wait to be emitted in order included; beside them, as
	// many as may be scored at once are read ahead. 0 means two for each slot, a request that a model serves at once, and at least 16: enough
	// that a slow sample at the head does not leave the models idle.
	Window int

	// Ready, if set, is told each result as soon as it is there, before it is the next to be emitted
	// and even if that never comes. It is called from several goroutines at once.
	Ready func(Result)
}

// Run scores every sample by every metric of ms and hands each result to emit: sample by sample in the
// order of samples, and in the order of ms within each. Emit is called from the caller's goroutine.
// Memory does not grow with the number of samples.
//
// What goes wrong with one metric on one sample is a Result: a field that the metric needs and the
// sample lacks (not_applicable), a reply that cannot be decoded, a prompt that is too long, a value out
// of the metric's range, even a panic in the metric, which is a bug but must not lose the run.
//
// When samples yields an error, Run finishes the samples before it and returns the error. When ctx is cancelled,
// a model is unavailable or closed, or emit returns an error, Run ends early and returns that: no call is begun
// any more, those in flight are cancelled (backend/linger gives them a grace), and what was emitted is everything
// up to the first result that is missing. To resume, run the same again: the answers that came back are in the
// cache.
//
// Run returns once everything that it started has ended.
func Run(ctx context.Context, samples iter.Seq2[*Sample, error], ms []Metric, m Models, o Options,
	emit func(Result) error) error {
	if err := checkPrepared(ms, m); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	rows := make(chan *row, openSamples(o, m)-1) // beside the row that is being emitted
	r := &runner{ms: ms, models: m, ready: o.Ready, stop: stop, rows: rows, idle: make(chan func()),
		active: make(chan struct{}, activeSamples(ms, m, cap(rows)+1))}
	r.work.Go(func() {
		defer close(rows)
		defer close(r.idle)
		r.take(ctx, samples)
	})
	for row := range rows {
		if !r.emit(row, emit) {
			break
		}
	}
	ended := context.Cause(ctx)
	stop(ended)
	r.work.Wait()
	return cmp.Or(ended, r.unread)
}

// openSamples returns the number of samples to hold open.
func openSamples(o Options, m Models) int {
	if o.Window > 0 {
		return o.Window
	}
	slots := 0
	for _, b := range m.Roles {
		if b != nil {
			slots = max(slots, b.Info().Slots)
		}
	}
	return max(16, 2*slots)
}

// activeSamples returns the number of samples to score at once, of those that are open. In the row layout, the calls about
// a sample share its prefill, which must stay in the judge's prefix cache until they are done: so no more than have room in
// the judge's slots with one call of each metric, and at least two: one may be down to its last call. Where
// replies are written, which take unequal time, it is twice as many.
func activeSamples(ms []Metric, m Models, open int) int {
	judge, asking, writing := m.Role(backend.Judge), 0, false
	for _, metric := range ms {
		ops := metric.Asks[backend.Judge]
		if ops != 0 {
			asking++
		}
		writing = writing || ops.Has(backend.CanGenerate)
	}
	if m.Prompts.Layout() != prompts.Row || judge == nil || asking == 0 {
		return open
	}
	slots := judge.Info().Slots
	if writing {
		slots *= 2
	}
	return min(open, max(2, slots/asking))
}

// A runner is a run that is going on.
type runner struct {
	ms     []Metric
	models Models
	ready  func(Result) // or nil
	stop   context.CancelCauseFunc
	rows   chan<- *row    // the open samples, in order
	active chan struct{}  // one for each that is being scored
	begun  int            // samples whose scoring has begun
	work   sync.WaitGroup // every goroutine of the run but the caller's
	idle   chan func()    // to a goroutine that has nothing to do
	unread error          // why samples ended, once rows is closed
}

// A row is an open sample: for each metric a channel that gives its result, or is closed without one
// when the run ended before.
type row struct {
	sample  *Sample
	results []chan Result
	left    atomic.Int32 // metrics that have not ended
}

// take opens samples and begins them in their order until there are no more or the run ends. As many as can be scored at
// once are read ahead: the last of a run are begun longest first, so that none is alone at its end.
func (r *runner) take(ctx context.Context, samples iter.Seq2[*Sample, error]) {
	var ahead []*row
	for s, err := range samples {
		if err != nil {
			r.unread = err
			break
		}
		if ahead = append(ahead, newRow(s, len(r.ms))); len(ahead) <= cap(r.active) {
			continue
		}
		if !r.open(ctx, ahead[0]) {
			return
		}
		r.begin(ctx, ahead[0])
		ahead = ahead[1:]
	}
	longest := slices.Clone(ahead)
	slices.SortStableFunc(longest, func(a, b *row) int { return cmp.Compare(b.sample.size(), a.sample.size()) })
	var begun sync.WaitGroup
	begun.Go(func() {
		for _, row := range longest {
			r.begin(ctx, row)
		}
	})
	for _, row := range ahead {
		if !r.open(ctx, row) {
			break
		}
	}
	begun.Wait()
}

// newRow is a sample that n metrics are to score.
func newRow(s *Sample, n int) *row {
	row := &row{sample: s}
	for range n {
		row.results = append(row.results, make(chan Result, 1))
	}
	return row
}

// open hands a row to the one who emits, once fewer samples are open. It reports whether it did before the run ended.
func (r *runner) open(ctx context.Context, row *row) bool {
	select {
	case <-ctx.Done():
		return false
	case r.rows <- row:
		return true
	}
}

// begin has a row scored, once fewer of them are.
func (r *runner) begin(ctx context.Context, row *row) {
	if len(r.ms) == 0 {
		return
	}
	select {
	case <-ctx.Done():
		for _, results := range row.results {
			close(results)
		}
		return
	case r.active <- struct{}{}:
	}
	r.begun++
	ctx = backend.WithPriority(ctx, r.begun)
	row.left.Store(int32(len(r.ms)))
	for i := range r.ms {
		r.start(func() {
			r.score(ctx, &r.ms[i], row.sample, row.results[i])
			if row.left.Add(-1) == 0 {
				<-r.active
			}
		})
	}
}

// start does something on a goroutine: one that has done such a thing before, if there is one, as its stack need not
// grow again.
func (r *runner) start(do func()) {
	select {
	case r.idle <- do:
	default:
		r.work.Go(func() {
			for more := true; more; do, more = <-r.idle {
				do()
			}
		})
	}
}

// emit hands on the results of a row as they come, and reports whether all of them were there and
// taken.
func (r *runner) emit(opened *row, emit func(Result) error) bool {
	for _, results := range opened.results {
		result, ok := <-results
		if !ok {
			return false
		}
		if err := emit(result); err != nil {
			r.stop(err)
			return false
		}
	}
	return true
}

// score sends the result of one metric on one sample and closes results. If the run ends instead, it
// sends none.
func (r *runner) score(ctx context.Context, metric *Metric, s *Sample, results chan<- Result) {
	defer close(results)
	result := Result{Sample: s.ID, Group: s.Group, Metric: metric.Name}
	m := r.models
	m.calls = &calls{}
	score, err := metric.Try(ctx, m, s)
	switch {
	case err == nil:
		result.Score = &score
	case Fatal(ctx, err):
		r.stop(fmt.Errorf("sample %q, %s: %w", s.ID, metric.Name, err))
		return
	default:
		result.Error, result.Kind = err.Error(), kindOf(err)
	}
	m.calls.fill(&result)
	if r.ready != nil {
		r.ready(result)
	}
	results <- result
}

// Lacks returns an error wrapping [ErrNotApplicable] if s does not fill what the metric needs.
func (metric *Metric) Lacks(s *Sample) error {
	if missing := metric.Needs &^ s.Fields(); missing != 0 {
		return fmt.Errorf("%w: the sample has no %v", ErrNotApplicable, missing)
	}
	return nil
}

// Try scores s if it has what the metric needs, and checks what comes back.
func (metric *Metric) Try(ctx context.Context, m Models, s *Sample) (score Score, err error) {
	if err := metric.Lacks(s); err != nil {
		return Score{}, err
	}
	defer func() {
		if v := recover(); v != nil {
			score, err = Score{}, fmt.Errorf("a bug in %s: panic: %v", metric.Name, v)
		}
	}()
	s, notes := metric.conversing(m, s)
	score, err = metric.Score(ctx, m, s)
	if err != nil {
		return Score{}, err
	}
	score.Because = append(score.Because, notes...)
	if !(score.Value >= metric.Min && score.Value <= metric.Max) {
		return Score{}, fmt.Errorf("a bug in %s: its value %v is not in [%v, %v]", metric.Name, score.Value, metric.Min,
			metric.Max)
	}
	if score.Ratio != nil {
		if err := score.Ratio.Check(score.Value); err != nil {
			return Score{}, fmt.Errorf("a bug in %s: %v", metric.Name, err)
		}
	}
	for _, f := range score.Because {
		if f.Value != nil && (math.IsNaN(*f.Value) || math.IsInf(*f.Value, 0)) {
			return Score{}, fmt.Errorf("a bug in %s: the value of %q is %v", metric.Name, Bounded(f.Text), *f.Value)
		}
		marked := 0
		for _, p := range f.Parts() {
			if p.Marked {
				marked++
			}
		}
		if marked != len(f.Marks) {
			return Score{}, fmt.Errorf("a bug in %s: the marks %v are not of %q", metric.Name, f.Marks, Bounded(f.Text))
		}
	}
	return score, nil
}

// Fatal draws the line between what ends the run and what is one sample's error: the run was
// cancelled, or no other sample would fare better.
func Fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) ||
		errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrClosed)
}

// kindOf groups an error that is one sample's.
func kindOf(err error) Kind {
	switch {
	case errors.Is(err, ErrNotApplicable):
		return NotApplicable
	case errors.Is(err, ErrBadReply):
		return BadReply
	case errors.Is(err, backend.ErrPromptTooLong):
		return TooLong
	case errors.Is(err, backend.ErrInvalid):
		return Invalid
	}
	return Failed
}
