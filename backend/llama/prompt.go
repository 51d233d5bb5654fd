package llama

import (
	"fmt"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// prompt renders messages and cuts them into tokens, at least one.
func (e *Engine) prompt(messages []backend.Message, documents []string) ([]llama.Token, error) {
	parts, err := e.model.chat.Render(messages, documents...)
	if err != nil {
		return nil, err
	}
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
