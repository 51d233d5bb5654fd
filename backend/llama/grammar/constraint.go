package grammar

import (
	"math"
	"sync"
)

// maxGrammars is how many automata are kept for the next request with the same schema.
const maxGrammars = 16

// A Constrainer makes constraints for one vocabulary. It is safe for concurrent use.
type Constrainer struct {
	words func() *lexicon

	mu       sync.Mutex
	grammars map[string]*grammar
	order    []string // of the schemas in grammars, the oldest first
}

// New returns a Constrainer for a vocabulary, which it reads when it is first needed.
func New(v Vocabulary) *Constrainer {
	return &Constrainer{
		words:    sync.OnceValue(func() *lexicon { return newLexicon(v) }),
		grammars: map[string]*grammar{},
	}
}

// Constraint returns the constraint for a reply that must satisfy a JSON Schema. Its errors say what in the schema
// is not supported, and where.
func (c *Constrainer) Constraint(schema []byte) (*Constraint, error) {
	g, err := c.grammar(schema)
	if err != nil {
		return nil, err
	}
	g.Lock()
	defer g.Unlock()
	return &Constraint{grammar: g, words: c.words(), at: g.begin}, nil
}

// grammar returns the grammar of a schema, compiled or kept from before.
func (c *Constrainer) grammar(schema []byte) (*grammar, error) {
	key := string(schema)
	c.mu.Lock()
	g := c.grammars[key]
	c.mu.Unlock()
	if g != nil {
		return g, nil
	}
	g, err := compileSchema(schema)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.grammars[key]; known != nil {
		return known, nil // another was faster
	}
	c.grammars[key] = g
	if c.order = append(c.order, key); len(c.order) > maxGrammars {
		delete(c.grammars, c.order[0])
		c.order = c.order[1:]
	}
	return g, nil
}

// A Constraint holds one reply to a schema: it knows which tokens may come next. It belongs to one goroutine.
type Constraint struct {
	grammar *grammar
	words   *lexicon
	at      *config
	over    bool // a token that ends the reply was accepted
}

// Allows reports whether a token may come next: one that ends the reply may where the reply is complete,
// any other if it is text that fits.
func (c *Constraint) Allows(t int32) bool {
	c.grammar.Lock()
	defer c.grammar.Unlock()
	_, ok := c.after(t)
	return ok
}

// after returns where a token leads to.
func (c *Constraint) after(t int32) (*config, bool) {
	if c.over || t < 0 || int(t) >= len(c.words.pieces) {
		return nil, false
	}
	if c.words.ends[t] {
		return c.at, c.at.done
	}
	text := c.words.pieces[t]
	at := c.at
	for _, b := range text {
		if at = c.grammar.step(at, b); at == c.grammar.dead {
			return nil, false
		}
	}
	return at, len(text) > 0
}

// Accept goes on by a token. It reports false, and changes nothing, if the token is not allowed.
func (c *Constraint) Accept(t int32) bool {
	c.grammar.Lock()
	defer c.grammar.Unlock()
	at, ok := c.after(t)
	if ok {
		c.at, c.over = at, c.words.ends[t]
	}
	return ok
}

// Mask sets the logits of all tokens that are not allowed to minus infinity, from a token mask that is memoized. It
// reports false if that leaves none: the vocabulary cannot spell what must follow.
func (c *Constraint) Mask(logits []float32) bool {
	c.grammar.Lock()
	defer c.grammar.Unlock()
	if c.at.allowed == nil {
		c.at.allowed = c.words.allowed(c.grammar, c.at)
		c.grammar.masks++
	}
	refused := float32(math.Inf(-1))
	left := false
	for i := 0; i < len(logits); i += 64 {
		chunk := logits[i:min(i+64, len(logits))]
		bits := uint64(0)
		if w := i / 64; w < len(c.at.allowed) && !c.over {
			bits = c.at.allowed[w]
		}
		if bits == 0 {
			for j := range chunk {
				chunk[j] = refused
			}
			continue
		}
		left = true
		for j := range chunk {
			if bits>>j&1 == 0 {
				chunk[j] = refused
			}
		}
	}
	return left
}

// Ended reports whether the reply is complete and nothing may follow.
func (c *Constraint) Ended() bool {
	c.grammar.Lock()
	defer c.grammar.Unlock()
	return c.over || c.at.done && c.grammar.only(c.at) == noClass
}

// Forced returns the tokens for the text that must come next, if there is but one way on. They are not yet
// accepted, and there may be more behind them.
//
// They are those that the model's own tokenizer would most likely make of the text, whatever comes after
// it: the tokens at its end that what comes after may change are left for the model to choose.
func (c *Constraint) Forced() []int32 {
	c.grammar.Lock()
	defer c.grammar.Unlock()
	if c.over {
		return nil
	}
	text, end := c.grammar.forced(c.at)
	if len(text) == 0 {
		return nil
	}
	tokens := c.words.cut(text)
	for i := range text {
		if c.words.runsOver(text[i:], func(b byte) bool { return c.grammar.step(end, b) != c.grammar.dead }) {
			tokens = tokens[:common(tokens, c.words.cut(text[:i]))]
		}
	}
	return tokens
}
