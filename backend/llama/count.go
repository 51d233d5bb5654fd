package llama

import "context"

// CountTokens returns how many tokens a text has by itself, without marks of a prompt around it.
func (e *Engine) CountTokens(ctx context.Context, text string) (int, error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	return len(e.model.vocab.tokens(text, false)), nil
}
