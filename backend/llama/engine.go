package llama

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/assay-eval/assay/backend"
)

// An Engine is a model, loaded. It implements [backend.Backend].
type Engine struct {
	info  backend.Info
	model *model

	jobs  chan *job
	texts chan *textJob

	forecasts forecasts

	closing sync.Once
	quit    chan struct{} // closed when Close is called
	gone    chan struct{} // closed when everything is freed
	users   sync.RWMutex  // held for reading by callers that use the model, for writing to free it
}

// Info describes the model.
func (e *Engine) Info() backend.Info { return e.info }

// Stats returns what the engine has done so far.
func (e *Engine) Stats() Stats { return e.model.count.stats() }

// Close frees the model. Calls in flight return [backend.ErrClosed]; the pass that is being computed is
// waited for.
func (e *Engine) Close() error {
	e.closing.Do(func() { close(e.quit) })
	<-e.gone
	return nil
}

// enter lets a caller use the model until it calls leave.
func (e *Engine) enter(ctx context.Context) (leave func(), err error) {
	e.users.RLock()
	if err := e.refuse(ctx); err != nil {
		e.users.RUnlock()
		return nil, err
	}
	return e.users.RUnlock, nil
}

// refuse returns the reason to work no more for a caller, if there is one.
func (e *Engine) refuse(ctx context.Context) error {
	select {
	case <-e.quit:
		return backend.ErrClosed
	default:
		return ctx.Err()
	}
}

// hand gives the owner a piece of work.
func hand[T any](ctx context.Context, e *Engine, to chan<- T, work T) error {
	select {
	case to <- work:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.quit:
		return backend.ErrClosed
	}
}

// await waits for the outcome of work.
func await[T any](ctx context.Context, e *Engine, from <-chan T) (outcome T, err error) {
	select {
	case outcome = <-from:
		return outcome, nil
	case <-ctx.Done():
		return outcome, ctx.Err()
	case <-e.quit:
		return outcome, backend.ErrClosed
	}
}

// own is the goroutine that owns the model: it computes while there is work, and frees the model in the end.
func (e *Engine) own() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	writer, encdec, reader := e.model.writer, e.model.encdec, e.model.reader
	busy := false
	for e.receive(busy) {
		busy = false
		if writer != nil {
			start := time.Now()
			busy = writer.round()
			e.model.count.busy.Add(int64(time.Since(start)))
		}
		if encdec != nil {
			busy = encdec.round()
		}
		if reader != nil {
			busy = reader.round() || busy
		}
	}
	e.users.Lock() // no caller uses the model now, and none will
	e.model.free()
	e.users.Unlock()
	close(e.gone)
}

// receive takes the work that has come, and waits for some if the owner has nothing to do. It returns
// false when the engine is being closed.
func (e *Engine) receive(busy bool) bool {
	for {
		if e.refuse(context.Background()) != nil {
			return false
		}
		if busy {
			select {
			case j := <-e.jobs:
				e.model.take(j)
			case t := <-e.texts:
				e.model.reader.waiting = append(e.model.reader.waiting, t)
			default:
				return true
			}
			continue
		}
		select {
		case <-e.quit:
			return false
		case j := <-e.jobs:
			e.model.take(j)
		case t := <-e.texts:
			e.model.reader.waiting = append(e.model.reader.waiting, t)
		}
		busy = true
	}
}
