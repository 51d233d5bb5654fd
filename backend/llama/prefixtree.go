package llama

import (
	"slices"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// A tree is the index of the prefix cache: a radix tree over the prompts that streams hold or are computing, in which
// a shared prefix stands once. A longest-prefix match takes as long as the prefix is.
type tree struct{ root node }

// A node is a run of tokens that all prompts below it have in common.
type node struct {
	label   []llama.Token // follows the labels of the nodes above
	next    map[llama.Token]*node
	streams []*stream // whose prompts reach the end of label
}

// A match says what a waiting job can take from the streams.
type match struct {
	from *stream // that holds the longest useful prefix; nil if none does
	n    int     // tokens of it
	soon bool    // a longer one is being computed: better to wait
}

// add puts in the prompt of a stream.
func (t *tree) add(s *stream) {
	at, rest := &t.root, s.prompt
	for len(rest) > 0 {
		below := at.next[rest[0]]
		if below == nil {
			below = &node{label: rest}
			at.put(below)
		}
		n := common(rest, below.label)
		if n < len(below.label) {
			below.split(n)
		}
		below.streams = append(below.streams, s)
		at, rest = below, rest[n:]
	}
}

func (n *node) put(below *node) {
	if n.next == nil {
		n.next = map[llama.Token]*node{}
	}
	n.next[below.label[0]] = below
}

// split has a node end after k tokens of its label, and puts the rest below it.
func (n *node) split(k int) {
	rest := &node{label: n.label[k:], next: n.next, streams: slices.Clone(n.streams)}
	n.label, n.next = n.label[:k:k], nil
	n.put(rest)
}

// remove takes out the prompt of a stream, and what no other one has.
func (t *tree) remove(s *stream) {
	at, rest := &t.root, s.prompt
	for len(rest) > 0 {
		below := at.next[rest[0]]
		i := slices.Index(below.streams, s)
		below.streams = slices.Delete(below.streams, i, i+1)
		if len(below.streams) == 0 {
			delete(at.next, rest[0])
			return
		}
		at, rest = below, rest[len(below.label):]
	}
}

// find looks for the longest prefix of a prompt that can be taken from a stream, and tells whether one that
// is longer is being computed.
func (t *tree) find(prompt []llama.Token, tiles int) match {
	var m match
	depth, promised := 0, 0
	for at := &t.root; depth < len(prompt); {
		below := at.next[prompt[depth]]
		if below == nil {
			break
		}
		n := common(prompt[depth:], below.label)
		depth += n
		for _, s := range below.streams {
			if have := shares(min(s.have, depth), s.tiles, tiles); have > m.n {
				m.from, m.n = s, have
			}
			if s.have < len(s.prompt) {
				promised = max(promised, shares(depth, s.tiles, tiles))
			}
		}
		if n < len(below.label) {
			break
		}
		at = below
	}
	m.soon = promised > m.n
	return m
}

// tail is how much of an idle stream's prompt may be given up for a job that takes the rest of it, rather
// than copy the rest to another stream.
const tail = 128

// place chooses the idle stream to put a job on: that which holds what the job is to take and hardly more,
// so that nothing is copied and little lost, else the one that was useful longest ago. It returns nil if all
// are busy.
func (m match) place(streams []*stream) *stream {
	var oldest *stream
	for _, s := range streams {
		switch {
		case s.job != nil:
		case s == m.from && s.have-m.n <= tail:
			return s
		case oldest == nil || s.used < oldest.used:
			oldest = s
		}
	}
	return oldest
}
