package llama

import (
	"context"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// A job is a request to generate, on its way through the engine.
type job struct {
	ctx     context.Context
	prompt  []llama.Token
	max     int // tokens of reply
	once    bool
	sampler *sampler
	reply   *reply

	last   [1]llama.Token // the last token of the reply, not yet in the cache
	count  int            // tokens of the reply
	passed int            // jobs that came later and were admitted earlier

	done chan outcome // takes one
}

type outcome struct {
	g   *backend.Generation
	err error
}

func (j *job) fail(err error) { j.done <- outcome{err: err} }

func (j *job) finish(stop backend.StopReason) {
	j.done <- outcome{g: &backend.Generation{
		Text:         j.reply.String(),
		Stop:         stop,
		PromptTokens: len(j.prompt),
		OutputTokens: j.count,
	}}
}
