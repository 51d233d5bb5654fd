package llama

import (
	"context"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// A job is a request on its way through the engine: tokens to compute, and something that is done with the
// logits that come out.
type job struct {
	ctx      context.Context
	priority int           // see [backend.Priority]
	tokens   []llama.Token // a prompt; then what is to be scored, or has been written so far
	prompt   int           // tokens of prompt
	asked    int           // tokens when it came: the prompt, and what is to be scored
	tiles    int           // tokens from the start on that are computed in tiles: see scheduler.tiled
	from     int           // logits are wanted from this token on
	limit    int           // tokens that there may ever be; 0: no more than there are
	drafter
	passed int // jobs that came later and were admitted earlier
	task
}

// newJob returns a job for tokens of which so many are the prompt, and whose logits are wanted from the
// last of those on.
func newJob(ctx context.Context, tokens []llama.Token, prompt int, t task) *job {
	return &job{ctx: ctx, priority: backend.Priority(ctx), tokens: tokens, prompt: prompt, asked: len(tokens),
		from: prompt - 1, task: t}
}

// A task is what a job is for.
type task interface {
	// next takes the logits for the token after the job's first from+1. It returns tokens to append to the
	// job, which is done when from has come to its end.
	next(logits []float32) []llama.Token

	// end tells the caller that the job is done, or why it cannot be.
	end(err error)
}
