package llama

import (
	"cmp"
	"slices"
)

// nextPrompts returns the next batch of prefill: a chunk of the prompt of the job that has waited longest, and with it
// chunks of others that go into the same pass.
func (s *scheduler) nextPrompts() []piece {
	ready := s.ready()
	if len(ready) == 0 {
		return nil
	}
	width := s.width(ready)
	var pieces []piece
	tokens, outputs := 0, 0
	for _, st := range ready {
		p := s.piece(st, width)
		if s.sharing && width <= wide && near(p.width, width) && p.at+width <= s.room {
			p.width = width
		}
		if p.width != width || tokens+width > ubatch || outputs+p.outputs(s.columns) > s.outputs {
			continue
		}
		tokens += width
		outputs += p.outputs(s.columns)
		pieces = append(pieces, p)
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.stream, b.stream) })
	return pieces
}

// width returns the width of the pieces to compute now. In tiles, the streams that are ready share a pass.
// Otherwise it is that of the longest of the pieces which are about as long as the first.
func (s *scheduler) width(ready []*stream) int {
	if ready[0].tiling() {
		n := 0
		for _, st := range ready {
			if st.tiling() {
				n++
			}
		}
		return s.piece(ready[0], max(block, ubatch/n/block*block)).width
	}
	first := s.piece(ready[0], wide).width
	width := first
	for _, st := range ready {
		if w := s.piece(st, wide).width; s.sharing && !st.tiling() && near(first, w) {
			width = max(width, w)
		}
	}
	return width
}

// near reports whether a piece of so many tokens may be padded to a width.
func near(tokens, width int) bool { return tokens <= width && 5*tokens >= 4*width }

// ready returns the streams with prompts to compute, that which was admitted first before others.
func (s *scheduler) ready() []*stream {
	var ready []*stream
	for _, st := range s.streams {
		if st.prompting() {
			s.retreat(st)
			ready = append(ready, st)
		}
	}
	slices.SortStableFunc(ready, func(a, b *stream) int { return cmp.Compare(a.used, b.used) })
	return ready
}

// piece returns what a stream is to compute next, at most so many tokens.
func (s *scheduler) piece(st *stream, most int) piece {
	n := min(st.left(), most)
	if st.tiling() {
		n = min(st.tiles.tiled(st.have), max(block, most/block*block))
		if st.job.from < st.have+n { // a pass gives so many logits
			n = min(n, max(block, s.outputs/block*block))
		}
	} else {
		n = min(n, wide, st.tiles.plain(st.have))
	}
	p := piece{stream: st.id, at: st.have, tokens: st.job.tokens[st.have : st.have+n], width: n}
	p.from = max(0, st.job.from-st.have)
	if s.sharing && !st.writing() { // else there is no cutting out
		p.width = roundUp(n, s.columns)
	}
	return p
}

// retreat makes room at a stream's end for padding tokens, by computing a few tokens again.
func (s *scheduler) retreat(st *stream) {
	if n := st.left(); s.sharing && n <= wide {
		if over := st.have + roundUp(n, s.columns) - s.room; over > 0 {
			st.have -= over
			s.cache.cut(st.id, st.have)
		}
	}
}

// nextReplies returns the next batch of decode: the last token of every reply, after which the next are wanted. If
// there are any, pieces chosen before hold no longer: streams may have moved.
func (s *scheduler) nextReplies() []piece {
	if !slices.ContainsFunc(s.streams, (*stream).writing) {
		return nil // so no stream moves whose prompt or draft comes next
	}
	s.gather()
	var pieces []piece
	for _, st := range s.streams {
		if st.writing() {
			pieces = append(pieces, s.piece(st, 1))
		}
	}
	s.count.steps.Add(1)
	s.count.stepSequences.Add(int64(len(pieces)))
	s.count.stepWork.Add(int64(min(s.slots, s.running()+len(s.waiting))))
	if !s.sharing {
		return pieces
	}
	return s.fill(pieces)
}

// gather moves replies to neighbouring streams when they lie so far apart that most streams between
// them would be padding: llama.cpp computes together only what has consecutive numbers.
func (s *scheduler) gather() {
	for s.sharing {
		var at []int
		for i, st := range s.streams {
			if st.job != nil {
				at = append(at, i)
			}
		}
		n := len(at)
		if n < 2 || at[n-1]-at[0]+1 <= 2*n {
			return
		}
		from := s.streams[at[n-1]]
		to := s.streams[at[0]+1]
		for i := at[0] + 1; to.job != nil; i++ {
			to = s.streams[i]
		}
		s.cache.copy(to.id, from.id)
		s.assign(to, from.prompt)
		to.job, to.have, to.tiles, to.used = from.job, from.have, from.tiles, from.used
		s.release(from)
	}
}

// fill adds pieces of one padding token on streams that have none, so that there are no gaps between the pieces
// and their number is a multiple of columns. Nothing in them is of use.
func (s *scheduler) fill(pieces []piece) []piece {
	lo, hi := int(pieces[0].stream), int(pieces[len(pieces)-1].stream)+1
	for (hi-lo)%s.columns != 0 {
		if hi < len(s.streams) {
			hi++
		} else {
			lo--
		}
	}
	var all []piece
	for _, st := range s.streams[lo:hi] {
		if len(pieces) > 0 && pieces[0].stream == st.id {
			all = append(all, pieces[0])
			pieces = pieces[1:]
			continue
		}
		if st.have == s.room { // it is idle: a job leaves room for its reply
			s.keep(st, s.room-1)
		}
		all = append(all, piece{stream: st.id, at: st.have, width: 1})
	}
	return all
}
