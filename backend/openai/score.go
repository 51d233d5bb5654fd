package openai

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai/wire"
	"github.com/assay-eval/assay/backend/remote"
)

// topTokens is how many of the most probable first tokens a server is asked for: OpenAI's limit, which others keep.
// llama-server has none.
const (
	topTokens      = 20
	topTokensLlama = 100
)

// Score implements [backend.Backend]. Where the server tells the probabilities of a given text (vLLM, "assay serve"), each
// continuation is sent as the beginning of the assistant's message, and its tokens' probabilities are exact:
// [backend.CanScore]. Elsewhere the most probable first tokens of a reply are asked for, which first-token scoring needs:
// [backend.CanChoose]; see [remote.Choose]. Where the model would rather say nothing, that fails.
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
	if err := e.examine(ctx, first.Messages, 1); err != nil {
		return nil, err
	}
	if e.info.Ops.Has(backend.CanScore) {
		return e.teach(ctx, first, continuations)
	}
	r, err := e.ask(ctx, first, e.top())
	if err != nil {
		return nil, err
	}
	if err := e.whole(first.Messages, r.usage, 1); err != nil {
		return nil, err
	}
	if len(r.top) == 0 {
		return nil, errors.New("the server gave no probabilities: the model would end its reply at once")
	}
	top := make([]remote.Token, len(r.top))
	for i, t := range r.top {
		top[i] = remote.Token{Text: t.Token, LogProb: t.LogProb}
	}
	chances, err := remote.Choose(top, continuations)
	if err != nil {
		return nil, err
	}
	s := &backend.Scores{PromptTokens: r.usage.PromptTokens}
	for _, c := range chances {
		s.LogProbs = append(s.LogProbs, []float64{c})
	}
	return s, nil
}

func (e *Engine) top() int {
	if e.said.kind == llamaServer {
		return topTokensLlama
	}
	return topTokens
}

// teach asks for the probabilities of the tokens of each continuation.
func (e *Engine) teach(
	ctx context.Context, first *backend.GenerateRequest, continuations []string,
) (*backend.Scores, error) {
	s := &backend.Scores{}
	var prompt []int // its tokens, where the server tells them
	for _, c := range continuations {
		req := e.chatRequest(first)
		req.Messages = append(slices.Clone(req.Messages), wire.Message{Role: "assistant", Content: wire.Content(c)})
		req.PromptLogProbs, req.AddGenerationPrompt, req.ContinueFinalMessage = new(0), new(false), true
		answer, err := e.send(ctx, req, 1)
		if err != nil {
			return nil, err
		}
		if answer.Usage == nil || len(answer.PromptLogProbs) == 0 {
			return nil, fmt.Errorf("%w: the server sent no probabilities of the prompt", backend.ErrUnavailable)
		}
		if err := e.whole(append(slices.Clone(first.Messages), backend.Message{Text: c}), *answer.Usage, 0); err != nil {
			return nil, err
		}
		from := 0
		var ids []int
		if e.said.kind == vllm {
			if prompt == nil {
				if prompt, err = e.tokens(ctx, first.Messages, ""); err != nil {
					return nil, err
				}
			}
			if ids, err = e.tokens(ctx, first.Messages, c); err != nil {
				return nil, err
			}
			from = len(prompt)
			if len(ids) != len(answer.PromptLogProbs) || from >= len(ids) || !slices.Equal(prompt, ids[:from]) {
				return nil, fmt.Errorf("the tokens of the continuation %.40q do not begin where the prompt ends", c)
			}
		} else {
			from = slices.IndexFunc(answer.PromptLogProbs,
				func(m map[string]wire.PromptLogProb) bool { return len(m) > 0 })
		}
		list, err := e.given(answer, max(from, 0), ids)
		if err != nil {
			return nil, err
		}
		s.LogProbs = append(s.LogProbs, list)
		s.PromptTokens = answer.Usage.PromptTokens - len(list)
	}
	return s, nil
}

// given reads the log-probabilities of the tokens from a place on; ids are the tokens, nil where there is one entry each.
func (e *Engine) given(answer *chatAnswer, from int, ids []int) ([]float64, error) {
	var list []float64
	for i, entry := range answer.PromptLogProbs[from:] {
		token, there := entry[""], false
		if ids != nil {
			token, there = entry[strconv.Itoa(ids[from+i])]
		} else if len(entry) == 1 {
			for _, token = range entry {
				there = true
			}
		}
		if !there || math.IsNaN(token.LogProb) || math.IsInf(token.LogProb, 0) || token.LogProb > 1e-3 {
			return nil, fmt.Errorf("the server gave no probability of token %d of the continuation, or %v", i, token.LogProb)
		}
		list = append(list, min(token.LogProb, 0))
	}
	return list, nil
}

// tokens has vLLM cut a chat into tokens, with the beginning of a reply unless that is empty.
func (e *Engine) tokens(ctx context.Context, list []backend.Message, begun string) ([]int, error) {
	req := struct {
		Model    string         `json:"model"`
		Messages []wire.Message `json:"messages"`
		Prompt   bool           `json:"add_generation_prompt"`
		Continue bool           `json:"continue_final_message"`
		extras
	}{e.said.model, messages(list), begun == "", begun != "", extras{TemplateArguments: e.extras().TemplateArguments}}
	if begun != "" {
		req.Messages = append(req.Messages, wire.Message{Role: "assistant", Content: wire.Content(begun)})
	}
	var answer struct{ Tokens []int }
	err := e.client.look(ctx, e.client.side("tokenize"), req, &answer)
	return answer.Tokens, e.explain(err)
}
