package backend

import "context"

type priorityKey struct{}

// WithPriority says where the calls made with the returned context stand in a run: with the number of their sample,
// from 1. Of calls that wait, those with the smallest number go first, so that samples are finished in their order
// and the prefixes that the prompts of one sample have in common are still at hand. It changes no answer.
func WithPriority(ctx context.Context, number int) context.Context {
	return context.WithValue(ctx, priorityKey{}, number)
}

// Priority returns the number given to the calls made with ctx; 0 where none was given.
func Priority(ctx context.Context) int {
	number, _ := ctx.Value(priorityKey{}).(int)
	return number
}
