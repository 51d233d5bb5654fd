package llama

import (
	"fmt"
	"strings"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/chat"
)

// prompt renders messages and cuts them into tokens, at least one.
func (e *Engine) prompt(messages []backend.Message, documents []string) ([]llama.Token, tiling, error) {
	parts, err := e.model.chat.Render(messages, documents...)
	if err != nil {
		return nil, tiling{}, err
	}
	vocab := e.model.vocab
	if token := vocab.unknown(parts); token != "" {
		return nil, tiling{}, backend.UnknownToken(e.info, token)
	}
	if vocab.atLeast(parts) > e.info.Context {
		return nil, tiling{}, &backend.TooLongError{Limit: e.info.Context}
	}
	prompt := vocab.prompt(parts)
	if len(prompt) == 0 {
		return nil, tiling{}, fmt.Errorf("%w: the prompt has no tokens", backend.ErrInvalid)
	}
	before, until := lastParagraph(parts)
	last := common(prompt, vocab.prompt(before))
	border := common(prompt, vocab.prompt(until))
	// Behind the last tile there must be room to round a piece up.
	return prompt, newTiling(last, min(border, len(prompt)-1, e.info.Context-block)), nil
}

// lastParagraph returns what stands in a prompt before its last message, and until the last paragraph of that.
func lastParagraph(parts []chat.Part) (before, until []chat.Part) {
	for i := len(parts) - 1; i >= 0; i-- {
		if p := parts[i]; !p.Template && p.Special == "" {
			at := max(0, strings.LastIndex(p.Text, "\n\n"))
			return parts[:i], append(parts[:i:i], chat.Part{Text: p.Text[:at]})
		}
	}
	return nil, nil
}
