package backend

import "context"

type turnKey struct{}

// WithTurn says that the calls made with the returned context belong to sample number turn of a run.
// Of calls that wait, those of an earlier turn go first, so that samples are finished in their order and
// what the calls of one sample have in common is still at hand. It changes no answer.
func WithTurn(ctx context.Context, turn int) context.Context {
	return context.WithValue(ctx, turnKey{}, turn)
}

// Turn returns the turn of the calls made with ctx; 0 where none was given.
func Turn(ctx context.Context) int {
	turn, _ := ctx.Value(turnKey{}).(int)
	return turn
}
