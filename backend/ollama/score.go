package ollama

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/assay-eval/assay/backend"
)

// topProbabilities is how many of the most probable tokens Ollama names, at most.
const topProbabilities = 20

// Score implements the part of [backend.Backend] that [backend.CanChoose] stands for: which of several
// continuations the reply begins with. Ollama has no probabilities of given text, but it names the 20 most
// probable first tokens of a reply, which first-token scoring needs. A continuation is given one number, the
// probability that the reply's first token is its beginning, with or without white space before it. One that
// none of the 20 begins is given the probability of the last of them, which is an upper bound; where that holds
// for all, or where the model would rather say nothing, Score fails. Two continuations with one beginning are
// [backend.ErrInvalid].
func (e *Engine) Score(ctx context.Context, req *backend.ScoreRequest) (*backend.Scores, error) {
	if !e.info.Ops.Has(backend.CanChoose) {
		return nil, backend.Unsupported(e.info, backend.CanScore)
	}
	if err := req.Check(); err != nil {
		return nil, err
	}
	first := &backend.GenerateRequest{Messages: req.Messages, Documents: req.Documents, Tokens: req.Tokens, MaxTokens: 1}
	if err := e.admit(first); err != nil {
		return nil, err
	}
	for _, c := range req.Continuations {
		if len(c) >= bytesPerToken*e.info.Context {
			return nil, &backend.TooLongError{Limit: e.info.Context}
		}
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

// bytesPerToken is more than a token of any vocabulary has on average: a text of more bytes than that for
// each token of the context does not fit.
const bytesPerToken = 64

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
	chances, err := beginnings(r.top, continuations)
	if err != nil {
		return nil, err
	}
	for _, c := range chances {
		s.LogProbs = append(s.LogProbs, []float64{c})
	}
	return s, nil
}

// beginnings returns the logarithm of the probability that one of the tokens in top begins each
// continuation. See [Engine.Score].
func beginnings(top []api.TokenLogprob, continuations []string) ([]float64, error) {
	sums := make([]float64, len(continuations))
	least, known := 0.0, false
	for _, t := range top {
		if math.IsNaN(t.Logprob) || t.Logprob > 1e-3 {
			return nil, fmt.Errorf("ollama gives %.40q the log-probability %v", t.Token, t.Logprob)
		}
		least = min(least, t.Logprob)
		token := strings.TrimSpace(t.Token)
		if token == "" {
			continue
		}
		owner := -1
		for i, c := range continuations {
			switch {
			case !strings.HasPrefix(strings.TrimSpace(c), token):
			case owner >= 0 && continuations[owner] != c:
				return nil, fmt.Errorf("%w: %.40q and %.40q both begin with the token %.40q: "+
					"ollama cannot tell them apart", backend.ErrInvalid, continuations[owner], c, token)
			default:
				sums[i] += math.Exp(t.Logprob)
				owner, known = i, true
			}
		}
	}
	if !known {
		return nil, fmt.Errorf("none of %.100q begins with one of the %d most probable tokens, %.40q and others",
			continuations, len(top), top[0].Token)
	}
	logs := make([]float64, len(sums))
	for i, sum := range sums {
		logs[i] = least
		if sum > 0 {
			logs[i] = min(0, math.Log(sum))
		}
	}
	return logs, nil
}
