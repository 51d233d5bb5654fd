package llama

import "math"

// block is the number of queries for which llama.cpp computes attention together, in a tile.
const block = 64

// A tiling says where in a prompt attention is computed in tiles: in whole blocks from its start, and in
// whole blocks from the start of its last message.
//
// Tiles are the fast way, but a token gets other bits in one than alone, and where tiles begin and end must
// not depend on what was computed before. So it follows from the prompt: tiles reach up to its last
// message, and in that up to the last paragraph. What lies between is computed token by token, as it
// were, and can be cut and shared anywhere: prompts of one kind differ after the one point or the other.
type tiling struct {
	head      int // the first run is [0, head)
	last, end int // the second is [last, end)
}

// newTiling returns the tiling of a prompt whose last message begins at last, and the last paragraph of
// that at border.
func newTiling(last, border int) tiling {
	last = max(0, min(last, border))
	return tiling{head: last / block * block, last: last, end: last + (border-last)/block*block}
}

// tiled returns how many of the tokens that follow the first n are computed in tiles, one behind the other.
func (t tiling) tiled(n int) int {
	switch {
	case n < t.head:
		return t.head - n
	case t.last <= n && n < t.end:
		return t.end - n
	}
	return 0
}

// plain returns how many of the tokens that follow the first n are not, if the next one is not.
func (t tiling) plain(n int) int {
	if n < t.last && t.last < t.end {
		return t.last - n
	}
	return math.MaxInt
}

// shares returns how many tokens of a shared prefix of n both prompts compute in the same way.
func (t tiling) shares(n int, other tiling) int {
	switch {
	case t.head != other.head || t.last != other.last:
		return min(n, t.head, other.head) / block * block
	case n < t.head:
		return n / block * block
	case n <= t.last, n >= t.end && t.end == other.end:
		return n
	}
	return t.last + (min(n, t.end, other.end)-t.last)/block*block
}
