package remote

import "slices"

// Controls are the control tokens of a vocabulary, to be found in texts: a server that reads them in messages, and
// cannot be told not to, would take such a text for what it is not.
type Controls struct {
	tokens  map[string]bool
	first   [256]bool // the bytes that they begin with
	lengths []int
}

// NewControls returns the texts that a vocabulary has as control tokens, given the fields of a GGUF file as Ollama's
// /api/show has them; nil if the server does not tell.
func NewControls(fields map[string]any) *Controls {
	const unknown, control = 2.0, 3.0 // GGUF's numbers for these kinds of token
	tokens, _ := fields["tokenizer.ggml.tokens"].([]any)
	kinds, _ := fields["tokenizer.ggml.token_type"].([]any)
	if len(tokens) == 0 || len(tokens) != len(kinds) {
		return nil
	}
	c := &Controls{tokens: map[string]bool{}}
	for i := range tokens {
		text, _ := tokens[i].(string)
		if text == "" || kinds[i] != unknown && kinds[i] != control {
			continue
		}
		c.tokens[text] = true
		c.first[text[0]] = true
		if !slices.Contains(c.lengths, len(text)) {
			c.lengths = append(c.lengths, len(text))
		}
	}
	return c
}

// Find returns the first control token in a text, "" if there is none. No vocabulary, a nil c, has none.
func (c *Controls) Find(text string) string {
	if c == nil {
		return ""
	}
	for i := range len(text) {
		if !c.first[text[i]] {
			continue
		}
		for _, n := range c.lengths {
			if i+n <= len(text) && c.tokens[text[i:i+n]] {
				return text[i : i+n]
			}
		}
	}
	return ""
}
