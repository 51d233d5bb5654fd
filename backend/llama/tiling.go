package llama

// block is the number of queries for which llama.cpp computes attention together, in a tile. A pass that has at
// least as many tokens of a stream computes them in tiles, one that has fewer computes them one by one.
//
// Tiles are the fast way, by far where much stands before. A token has other bits in a tile than without, but always
// the same ones in a tile, wherever that begins and whatever else is in it. So a prompt can be cut, and shared,
// anywhere, as long as the same tokens are in tiles each time.
const block = 64

// tiled returns how many of a job's first tokens are computed in tiles, given the tokens of its prompt and of what is
// to be scored behind. It depends on nothing else. A piece that does not fill a tile is padded, so the last token of
// a prompt stays out, and with it short texts to score: several draws of one prompt, or choices to score, then cost a
// token each. What is shorter than a tile stays out, too, and what leaves no room for padding at the end of a stream.
func (s *scheduler) tiled(prompt, scored int) int {
	if !s.exact {
		return prompt + scored
	}
	n := prompt - 1
	if scored >= block {
		n += scored
	}
	if n < block {
		return 0
	}
	return min(n, s.room-s.columns)
}

// shares returns how many tokens of a shared prefix of n two jobs compute in the same way, of which the first has so
// many in tiles, and the second so many.
func shares(n, first, second int) int {
	if first == second {
		return n
	}
	return min(n, first, second)
}
