package llama

import (
	"fmt"
	"slices"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/chat"
)

// A question is what a request asks the model to go on from.
type question struct {
	messages  []backend.Message
	documents []string
	thinks    bool   // a thought is to follow
	thought   string // a reply is to follow this one
}

// render returns a question as the model reads it: the conversation, and what the model has thought about it.
func (m *model) render(q question) (asked, thought []chat.Part, err error) {
	if !q.thinks && q.thought == "" {
		asked, err = m.chat.Render(q.messages, q.documents...)
		return asked, nil, err
	}
	if asked, err = m.chat.RenderThinking(q.messages, q.documents...); err != nil || q.thinks {
		return asked, nil, err
	}
	thought, err = m.chat.Thought(q.thought)
	return asked, thought, err
}

// prompt renders a question and cuts it into tokens, at least one.
func (e *Engine) prompt(q question) ([]llama.Token, error) {
	asked, thought, err := e.model.render(q)
	if err != nil {
		return nil, err
	}
	parts := slices.Concat(asked, thought)
	vocab := e.model.vocab
	if token := vocab.unknown(parts); token != "" {
		return nil, backend.UnknownToken(e.info, token)
	}
	if vocab.atLeast(parts) > e.info.Context {
		return nil, &backend.TooLongError{Limit: e.info.Context}
	}
	prompt := vocab.prompt(parts)
	if len(prompt) == 0 {
		return nil, fmt.Errorf("%w: the prompt has no tokens", backend.ErrInvalid)
	}
	return prompt, nil
}
