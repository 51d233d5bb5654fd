package llama

import (
	"bytes"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/hybridgroup/yzma/pkg/llama"
)

const (
	maxPiece    = 256 // bytes of a token; longer ones are never allowed
	maxGrammars = 16  // kept for the next request with the same schema
)

// A constrainer makes constraints for one model. It is safe for concurrent use.
type constrainer struct {
	words func() *lexicon

	mu       sync.Mutex
	grammars map[string]*grammar
	order    []string // of the schemas in grammars, the oldest first
}

// newConstrainer returns a constrainer for a vocabulary of size tokens, which it reads when it is first
// needed.
func newConstrainer(text speller, size int) *constrainer {
	return &constrainer{
		words:    sync.OnceValue(func() *lexicon { return newLexicon(text, size) }),
		grammars: map[string]*grammar{},
	}
}

// constraint returns the constraint for a reply that must satisfy a JSON Schema. Its errors wrap
// [backend.ErrInvalid].
func (c *constrainer) constraint(schema []byte) (*constraint, error) {
	g, err := c.grammar(schema)
	if err != nil {
		return nil, err
	}
	g.Lock()
	defer g.Unlock()
	return &constraint{grammar: g, words: c.words(), at: g.begin}, nil
}

func (c *constrainer) grammar(schema []byte) (*grammar, error) {
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

// A constraint holds one reply to a grammar. It belongs to one goroutine.
type constraint struct {
	grammar *grammar
	words   *lexicon
	at      *config
	over    bool // a token that ends the reply was accepted
}

// allows reports whether a token may come next: one that ends the reply may where the reply is complete,
// any other if it is text that fits.
func (c *constraint) allows(t llama.Token) bool {
	c.grammar.Lock()
	defer c.grammar.Unlock()
	_, ok := c.after(t)
	return ok
}

// after returns where a token leads to.
func (c *constraint) after(t llama.Token) (*config, bool) {
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

// accept goes on by a token. It reports false, and changes nothing, if the token is not allowed.
func (c *constraint) accept(t llama.Token) bool {
	c.grammar.Lock()
	defer c.grammar.Unlock()
	at, ok := c.after(t)
	if ok {
		c.at, c.over = at, c.words.ends[t]
	}
	return ok
}

// mask sets the logits of all tokens that are not allowed to minus infinity. It reports false if that
// leaves none: the vocabulary cannot spell what must follow.
func (c *constraint) mask(logits []float32) bool {
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

// ended reports whether the reply is complete and nothing may follow.
func (c *constraint) ended() bool {
	c.grammar.Lock()
	defer c.grammar.Unlock()
	return c.over || c.at.done && c.grammar.only(c.at) == noClass
}

// forced returns the tokens for the text that must come next, if there is but one way on. They are not yet
// accepted, and there may be more behind them.
//
// They are those that the model's own tokenizer would most likely make of the text, whatever comes after
// it: the tokens at its end that what comes after may change are left for the model to choose.
func (c *constraint) forced() []llama.Token {
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

// A lexicon is a vocabulary as a tree over the bytes of its tokens.
type lexicon struct {
	pieces [][]byte // by token; nil for those that no reply may hold
	ends   []bool   // by token: it ends the reply
	final  []llama.Token

	numbers map[string]llama.Token // by text; of several the last, since single bytes to fall back on come first

	nodes  []lexNode     // each before those below it, in the order of their bytes
	tokens []llama.Token // in the order of nodes
	depth  int
}

// A lexNode is a text that tokens start with.
type lexNode struct {
	b     byte  // its last byte
	depth int16 // its length
	skip  int32 // the next node that is not below it
	first int32 // where the tokens of just this text start; they end where those of the next node start
}

func newLexicon(text speller, size int) *lexicon {
	l := &lexicon{pieces: make([][]byte, size), ends: make([]bool, size), numbers: map[string]llama.Token{}}
	for t := range llama.Token(size) {
		if text.ends(t) {
			l.ends[t] = true
			l.final = append(l.final, t)
		} else if p := text.piece(t); len(p) > 0 && len(p) <= maxPiece {
			l.pieces[t] = p
			l.tokens = append(l.tokens, t)
			l.numbers[string(p)] = t
			l.depth = max(l.depth, len(p))
		}
	}
	slices.SortStableFunc(l.tokens, func(a, b llama.Token) int { return bytes.Compare(l.pieces[a], l.pieces[b]) })
	l.grow()
	return l
}

// grow makes the tree.
func (l *lexicon) grow() {
	var path []int32 // the nodes of the last token
	cut := func(n int) {
		for _, i := range path[n:] {
			l.nodes[i].skip = int32(len(l.nodes))
		}
		path = path[:n]
	}
	var last []byte
	for i, t := range l.tokens {
		p := l.pieces[t]
		n := 0
		for n < len(last) && n < len(p) && last[n] == p[n] {
			n++
		}
		cut(n)
		for ; n < len(p); n++ {
			path = append(path, int32(len(l.nodes)))
			l.nodes = append(l.nodes, lexNode{b: p[n], depth: int16(n + 1), first: int32(i)})
		}
		last = p
	}
	cut(0)
}

// at returns the tokens of just a node's text.
func (l *lexicon) at(node int) []llama.Token {
	end := len(l.tokens)
	if node+1 < len(l.nodes) {
		end = int(l.nodes[node+1].first)
	}
	return l.tokens[l.nodes[node].first:end]
}

// allowed returns the set of tokens that may follow, a bit for each.
func (l *lexicon) allowed(g *grammar, c *config) []uint64 {
	set := make([]uint64, (len(l.pieces)+63)/64)
	if c.done {
		for _, t := range l.final {
			set[t/64] |= 1 << (t % 64)
		}
	}
	path := make([]*config, l.depth+1)
	path[0] = c
	for i := 0; i < len(l.nodes); {
		node := &l.nodes[i]
		to := g.step(path[node.depth-1], node.b)
		if to == g.dead {
			i = int(node.skip)
			continue
		}
		path[node.depth] = to
		for _, t := range l.at(i) {
			set[t/64] |= 1 << (t % 64)
		}
		i++
	}
	return set
}

// cut cuts a text into tokens: its characters are joined in pairs for as long as a pair makes a token, that
// of the lowest number first. Nearly all vocabularies that models write with were made, and are numbered,
// in this way. A token that no pair makes is never found; what cannot be spelt is left out, with all that
// follows.
func (l *lexicon) cut(text []byte) []llama.Token {
	var starts []int // of the tokens, and the end
	for i := 0; i < len(text); {
		starts = append(starts, i)
		_, n := utf8.DecodeRune(text[i:])
		if _, ok := l.numbers[string(text[i:i+n])]; !ok {
			n = 1
		}
		if _, ok := l.numbers[string(text[i:i+n])]; !ok {
			text = text[:i]
			starts = starts[:len(starts)-1]
			break
		}
		i += n
	}
	starts = append(starts, len(text))
	for {
		best, at := llama.Token(len(l.pieces)), 0
		for i := 0; i+2 < len(starts); i++ {
			if t, ok := l.numbers[string(text[starts[i]:starts[i+2]])]; ok && t < best {
				best, at = t, i+1
			}
		}
		if at == 0 {
			break
		}
		starts = slices.Delete(starts, at, at+1)
	}
	var tokens []llama.Token
	for i := range starts[1:] {
		tokens = append(tokens, l.numbers[string(text[starts[i]:starts[i+1]])])
	}
	return tokens
}

// runsOver reports whether a token starts with a text and goes on with a byte that may follow.
func (l *lexicon) runsOver(text []byte, follows func(byte) bool) bool {
	lo, hi := 0, len(l.nodes)
	for _, b := range text {
		i := l.child(lo, hi, func(c byte) bool { return c == b })
		if i < 0 {
			return false
		}
		lo, hi = i+1, int(l.nodes[i].skip)
	}
	return l.child(lo, hi, follows) >= 0
}

// child returns the first of some sibling nodes with a fitting byte, or -1.
func (l *lexicon) child(lo, hi int, fits func(byte) bool) int {
	for i := lo; i < hi; i = int(l.nodes[i].skip) {
		if fits(l.nodes[i].b) {
			return i
		}
	}
	return -1
}
