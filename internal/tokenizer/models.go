package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// A model turns one piece of text into tokens.
type model interface {
	tokens(piece string, out []token) []token
}

type token struct {
	id        int32
	text      string
	low, high int32 // where it stands in its piece, in bytes
}

// wordLevel knows whole pieces only.
type wordLevel struct {
	vocabulary map[string]int32 // without special tokens
	names      []string
	unknown    int32 // -1: pieces out of the vocabulary are dropped
}

func (m *wordLevel) tokens(word string, out []token) []token {
	id, found := m.vocabulary[word]
	if !found {
		id = m.unknown
	}
	if id < 0 {
		return out
	}
	return append(out, token{id, m.names[id], 0, int32(len(word))})
}

// wordPiece takes the longest entry of the vocabulary first, as BERT does.
type wordPiece struct {
	start, rest *trie // entries that begin a word, and those that go on (without their prefix)
	names       []string
	unknown     token
	longest     int // characters of a word; longer ones are unknown
}

func (m *wordPiece) tokens(word string, out []token) []token {
	unknown := m.unknown
	unknown.high = int32(len(word))
	if utf8.RuneCountInString(word) > m.longest {
		return append(out, unknown)
	}
	before, entries := len(out), m.start
	for at := 0; at < len(word); {
		id, length := entries.longest(word[at:])
		if length == 0 {
			return append(out[:before], unknown)
		}
		out = append(out, token{id, m.names[id], int32(at), int32(at + length)})
		at, entries = at+length, m.rest
	}
	return out
}

// bytePair merges the pair of symbols that was learnt first, over and over.
type bytePair struct {
	vocabulary     map[string]int32 // without special tokens
	names          []string
	merges         map[[2]int32]merge
	unknown        int32 // -1: characters out of the vocabulary are dropped
	fuse, whole    bool
	prefix, suffix string
	fallback       []int32 // tokens of the 256 bytes, -1 for those missing; nil without byte fallback
}

type merge struct{ rank, id int32 }

// symbol is an element of a linked list in a slice: previous and next are indices, -1 at the ends.
type symbol struct {
	id, previous, next int32
	low, high          int32 // as a token has it
	gone               bool
}

func (m *bytePair) tokens(word string, out []token) []token {
	if id, found := m.vocabulary[word]; found && m.whole {
		return append(out, token{id, m.names[id], 0, int32(len(word))})
	}
	symbols := m.symbols(word)
	m.mergeAll(symbols)
	for _, s := range symbols {
		if !s.gone {
			out = append(out, token{s.id, m.names[s.id], s.low, s.high})
		}
	}
	return out
}

// symbols gives the tokens of single characters. Where byte fallback and unknown characters meet, an unknown token
// comes after the bytes that follow it: so does the library that the files are written for.
func (m *bytePair) symbols(word string) []symbol {
	list := make([]symbol, 0, len(word))
	add := func(id int32, low, high int) {
		n := int32(len(list))
		list = append(list, symbol{id: id, previous: n - 1, next: n + 1, low: int32(low), high: int32(high)})
	}
	pending, low, high := false, 0, 0 // unknown characters
	for at, r := range word {
		end := at + utf8.RuneLen(r)
		text := word[at:end]
		if at > 0 {
			text = m.prefix + text
		}
		if end == len(word) {
			text += m.suffix
		}
		if id, found := m.vocabulary[text]; found {
			if pending {
				add(m.unknown, low, high)
			}
			pending = false
			add(id, at, end)
			continue
		}
		if ids := m.bytes(text); ids != nil {
			for _, id := range ids {
				add(id, at, end)
			}
			continue
		}
		if pending && !m.fuse {
			add(m.unknown, low, high)
		}
		if !pending || !m.fuse {
			low = at
		}
		pending, high = m.unknown >= 0, end
	}
	if pending {
		add(m.unknown, low, high)
	}
	if len(list) > 0 {
		list[len(list)-1].next = -1
	}
	return list
}

// bytes gives the tokens of a text's bytes, nil without byte fallback or where one has no token.
func (m *bytePair) bytes(text string) []int32 {
	return fallbackTokens(m.fallback, text)
}

func fallbackTokens(fallback []int32, text string) []int32 {
	if fallback == nil {
		return nil
	}
	ids := make([]int32, len(text))
	for i := range len(text) {
		if ids[i] = fallback[text[i]]; ids[i] < 0 {
			return nil
		}
	}
	return ids
}

// mergeAll merges symbols where they lie: O(n log n) in their number, by a heap of the pairs that may be merged.
func (m *bytePair) mergeAll(symbols []symbol) {
	var queue candidates
	offer := func(left int32) {
		right := symbols[left].next
		if right < 0 {
			return
		}
		if found, ok := m.merges[[2]int32{symbols[left].id, symbols[right].id}]; ok {
			queue.push(candidate{found.rank, left, found.id})
		}
	}
	for i := range symbols {
		offer(int32(i))
	}
	for len(queue) > 0 {
		best := queue.pop()
		left := &symbols[best.at]
		if left.gone || left.next < 0 {
			continue
		}
		right := &symbols[left.next]
		// The pair may have changed since it was offered.
		if now, ok := m.merges[[2]int32{left.id, right.id}]; !ok || now.id != best.id {
			continue
		}
		left.id, left.high, right.gone = best.id, right.high, true
		if left.next = right.next; left.next >= 0 {
			symbols[left.next].previous = best.at
		}
		if left.previous >= 0 {
			offer(left.previous)
		}
		offer(best.at)
	}
}

// candidate is a pair that may be merged: its left symbol, and the token that it becomes.
type candidate struct{ rank, at, id int32 }

// candidates is a binary heap: the merge learnt first is on top, of equal ones the leftmost.
type candidates []candidate

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

func (q *candidates) push(c candidate) {
	*q = append(*q, c)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (q *candidates) pop() candidate {
	h := *q
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*q = h
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// unigram finds the segmentation of the highest summed score (Viterbi).
type unigram struct {
	entries  *trie
	names    []string
	scores   []float64
	unknown  int32
	penalty  float64 // the score of a character that no entry covers
	fallback []int32 // as bytePair has it
}

// step is the best way to a place in the text: where its last token began, and which it is.
type step struct {
	score float64
	start int32
	id    int32
}

func (m *unigram) tokens(piece string, out []token) []token {
	best := make([]step, len(piece)+1)
	for i := range best {
		best[i].start = -1
	}
	for start, r := range piece {
		score, width, single := best[start].score, utf8.RuneLen(r), false
		reach := func(end int, by float64, id int32) {
			if b := &best[end]; b.start < 0 || score+by > b.score {
				*b = step{score + by, int32(start), id}
			}
		}
		for at, end := int32(0), start; end < len(piece); {
			if at = m.entries.next(at, piece[end]); at == 0 {
				break
			}
			end++
			if id := m.entries.nodes[at].id; id >= 0 {
				reach(end, m.scores[id], id)
				single = single || end == start+width
			}
		}
		if !single {
			reach(start+width, m.penalty, m.unknown)
		}
	}
	before := len(out)
	for end := int32(len(piece)); end > 0; {
		s := best[end]
		start := s.start
		for s.id == m.unknown && start > 0 && best[start].id == m.unknown { // unknown neighbours are one token
			start = best[start].start
		}
		out = m.appendReversed(out, s.id, piece, start, end)
		end = start
	}
	slices.Reverse(out[before:])
	return out
}

// appendReversed appends one token; the bytes of an unknown one where each byte has a token, last byte first.
func (m *unigram) appendReversed(out []token, id int32, piece string, low, high int32) []token {
	if id != m.unknown {
		return append(out, token{id, m.names[id], low, high})
	}
	ids := fallbackTokens(m.fallback, piece[low:high])
	if ids == nil {
		return append(out, token{id, piece[low:high], low, high})
	}
	for _, id := range slices.Backward(ids) {
		out = append(out, token{id, m.names[id], low, high})
	}
	return out
}

// byteTokens finds the tokens <0x00> to <0xFF>.
func byteTokens(vocabulary map[string]int32) []int32 {
	ids := make([]int32, 256)
	for b := range ids {
		id, found := vocabulary[fmt.Sprintf("<0x%02X>", b)]
		if !found {
			id = -1
		}
		ids[b] = id
	}
	return ids
}

// lowest is the score of a character that no entry covers: ten below the lowest entry.
func lowest(scores []float64) float64 {
	low := math.Inf(1)
	for _, s := range scores {
		low = min(low, s)
	}
	return low - 10
}
