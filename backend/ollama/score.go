package ollama

import (
	"context"
	"errors"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/remote"
)

// topProbabilities is how many of the most probable tokens Ollama names, at most.
const topProbabilities = 20

// Score implements the part of [backend.Backend] that [backend.CanChoose] stands for: which of several
// continuations the reply begins with. Ollama has no probabilities of given text, but it names the 20 most
// probable first tokens of a reply, which first-token scoring needs: see [remote.Choose]. A continuation is given one
// number. Where the model would rather say nothing, Score fails.
func (e *Engine) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	first, err := e.model().AdmitChoice(req)
	if err != nil {
		return nil, err
	}
	call, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := e.score(call, first, req.Continuations)
	e.doubt(err)
	return s, err
}

func (e *Engine) score(
	ctx context.Context, first *backend.GenerateRequest, continuations []string,
) (*backend.Scores, error) {
	if err := e.verify(ctx); err != nil {
		return nil, err
	}
	req := e.chatRequest(first, first.MaxTokens)
	req.Logprobs, req.TopLogprobs = true, topProbabilities
	r, err := e.chat(ctx, req)
	if err != nil {
		return nil, err
	}
	if need := r.last.PromptEvalCount + 1; need > e.info.Context {
		return nil, &backend.TooLongError{Tokens: need, Limit: e.info.Context}
	}
	if len(r.top) == 0 {
		return nil, errors.New("ollama gave no probabilities: the model would end its reply at once")
	}
	s := &backend.Scores{PromptTokens: r.last.PromptEvalCount}
	top := make([]remote.Token, len(r.top))
	for i, t := range r.top {
		top[i] = remote.Token{Text: t.Token, LogProb: t.Logprob}
	}
	chances, err := remote.Choose(top, continuations)
	if err != nil {
		return nil, err
	}
	for _, c := range chances {
		s.LogProbs = append(s.LogProbs, []float64{c})
	}
	return s, nil
}
