package tokenizer

import (
	"slices"
	"strings"
)

// A trie finds which entries of a vocabulary a text begins with, byte by byte. The children of a node lie next to each
// other, in the order of their labels.
type trie struct {
	nodes  []node
	labels []byte // the byte that leads to each node
	root   [256]int32
}

type node struct {
	first int32 // the first child
	id    int32 // the entry that ends here, or -1
	count int16
}

type entry struct {
	text string
	id   int32
}

// newTrie builds a trie of entries, of which of two with the same text the later one counts.
func newTrie(entries []entry) *trie {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.text, b.text) })
	t := &trie{nodes: []node{{id: -1}}, labels: []byte{0}}
	type span struct{ low, high, depth, node int }
	for queue := []span{{0, len(entries), 0, 0}}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		for s.low < s.high && len(entries[s.low].text) == s.depth { // the shortest come first
			t.nodes[s.node].id = entries[s.low].id
			s.low++
		}
		t.nodes[s.node].first = int32(len(t.nodes))
		for low := s.low; low < s.high; {
			label := entries[low].text[s.depth]
			high := low + 1
			for high < s.high && entries[high].text[s.depth] == label {
				high++
			}
			queue = append(queue, span{low, high, s.depth + 1, len(t.nodes)})
			t.nodes = append(t.nodes, node{id: -1})
			t.labels = append(t.labels, label)
			t.nodes[s.node].count++
			low = high
		}
	}
	t.nodes[0].id = -1 // an empty entry would match everywhere
	for i := range t.nodes[0].count {
		t.root[t.labels[1+i]] = int32(1 + i)
	}
	return t
}

// next gives the child of a node by its label, 0 for none.
func (t *trie) next(at int32, label byte) int32 {
	if at == 0 {
		return t.root[label]
	}
	n := t.nodes[at]
	children := t.labels[n.first : int(n.first)+int(n.count)]
	if len(children) > 8 {
		if i, found := slices.BinarySearch(children, label); found {
			return n.first + int32(i)
		}
		return 0
	}
	for i, b := range children {
		if b == label {
			return n.first + int32(i)
		}
	}
	return 0
}

// longest gives the longest entry that a text begins with, and its length; 0 for none.
func (t *trie) longest(text string) (id int32, length int) {
	at := int32(0)
	for i := range len(text) {
		if at = t.next(at, text[i]); at == 0 {
			break
		}
		if end := t.nodes[at].id; end >= 0 {
			id, length = end, i+1
		}
	}
	return id, length
}
