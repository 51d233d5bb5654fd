package grammar

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// maxPiece is the length of the longest token that is ever allowed, in bytes.
const maxPiece = 256

// A Vocabulary is what a model writes with. Its functions must be safe for concurrent use.
type Vocabulary struct {
	Size  int                      // tokens are numbered from 0
	Piece func(token int32) []byte // a token's bytes, perhaps a part of a character; none for a control token
	Ends  func(token int32) bool   // the token ends the model's reply
}

// A lexicon is a vocabulary as a trie over the bytes of its tokens.
type lexicon struct {
	pieces [][]byte // by token; nil for those that no reply may hold
	ends   []bool   // by token: it ends the reply
	final  []int32

	numbers map[string]int32 // by text; of several the last, since single bytes to fall back on come first

	nodes  []lexNode // each before those below it, in the order of their bytes
	tokens []int32   // in the order of nodes
	depth  int
}

// A lexNode is a text that tokens start with.
type lexNode struct {
	b     byte  // its last byte
	depth int16 // its length
	skip  int32 // the next node that is not below it
	first int32 // where the tokens of just this text start; they end where those of the next node start
}

func newLexicon(v Vocabulary) *lexicon {
	l := &lexicon{pieces: make([][]byte, v.Size), ends: make([]bool, v.Size), numbers: map[string]int32{}}
	for t := range int32(v.Size) {
		if v.Ends(t) {
			l.ends[t] = true
			l.final = append(l.final, t)
		} else if p := v.Piece(t); len(p) > 0 && len(p) <= maxPiece {
			l.pieces[t] = p
			l.tokens = append(l.tokens, t)
			l.numbers[string(p)] = t
			l.depth = max(l.depth, len(p))
		}
	}
	slices.SortStableFunc(l.tokens, func(a, b int32) int { return bytes.Compare(l.pieces[a], l.pieces[b]) })
	l.grow()
	return l
}

// grow makes the trie.
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
func (l *lexicon) at(node int) []int32 {
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

// cut tokenizes a text by byte-pair encoding: its characters are merged in pairs for as long as a pair makes a token,
// that of the lowest number first. Nearly all vocabularies that models write with were made, and are numbered,
// in this way. A token that no pair makes is never found; what cannot be spelt is left out, with all that
// follows.
func (l *lexicon) cut(text []byte) []int32 {
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
		best, at := int32(len(l.pieces)), 0
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
	var tokens []int32
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

// common returns how many tokens a and b start with alike.
func common(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
