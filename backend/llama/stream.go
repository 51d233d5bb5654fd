package llama

import "github.com/hybridgroup/yzma/pkg/llama"

// A stream is a place for one sequence in the KV cache.
type stream struct {
	id     llama.SeqId
	job    *job          // what it is working on; nil when it is idle
	prompt []llama.Token // of that job, or of an earlier one as far as the stream holds it; in the tree
	have   int           // tokens whose keys and values are in the cache: those of prompt, then of a reply
	tiles  int           // tokens of it from the start on that are computed in tiles
	used   int           // the round in which it was last useful
}

// left is how many tokens the stream's job has that are not computed yet.
func (s *stream) left() int {
	if s.job == nil {
		return 0
	}
	return len(s.job.tokens) - s.have
}

// prompting reports whether there is more to compute than the last token of a reply.
func (s *stream) prompting() bool { return s.left() > 1 }

// tiling reports whether what comes next is computed in tiles.
func (s *stream) tiling() bool { return s.have < s.tiles }

// next is how many tokens come next that are computed in one way, all in tiles or none.
func (s *stream) next() int {
	if s.tiling() {
		return s.tiles - s.have
	}
	return s.left()
}

// writing reports whether the last token of a reply is to be computed, from which the next follows.
func (s *stream) writing() bool { return s.left() == 1 }
