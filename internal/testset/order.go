package testset

import "context"

// An outcome is what work made of one item, or why it could not.
type outcome[T any] struct {
	value T
	err   error
}

// inOrder runs work on the items first, first+1, ... in goroutines, at most width at once, and hands what they
// make to emit in that order, from the caller's goroutine. It begins an item only if more says so, which is told
// the item and how many are begun and not emitted. An error of work or emit ends it, once all that was begun has
// ended.
func inOrder[T any](ctx context.Context, first, width int, more func(item, open int) bool,
	work func(ctx context.Context, item int) (T, error), emit func(item int, value T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var open []chan outcome[T]
	defer func() {
		cancel()
		for _, c := range open {
			<-c
		}
	}()
	for next := first; ; {
		for len(open) < width && more(next, len(open)) {
			c := make(chan outcome[T], 1)
			open = append(open, c)
			go func(item int) {
				v, err := work(ctx, item)
				c <- outcome[T]{v, err}
			}(next)
			next++
		}
		if len(open) == 0 {
			return nil
		}
		o := <-open[0]
		item := next - len(open)
		open = open[1:]
		if o.err != nil {
			return o.err
		}
		if err := emit(item, o.value); err != nil {
			return err
		}
	}
}
