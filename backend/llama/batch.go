package llama

import (
	"cmp"
	"slices"
)

// nextPrompts returns the next batch of prefill: a chunk of the prompt of the job that was admitted first, as much as
// a pass takes, and with it chunks of others that have the same width. One long chunk is as fast as several short ones,
// or faster, since each stream attends over as many cells as the fullest has.
func (s *scheduler) nextPrompts() []piece {
	ready := s.ready()
	if len(ready) == 0 {
		return nil
	}
	first := ready[0]
	own := s.width(first, s.chunk(first))
	width := own
	for _, st := range ready {
		if w := s.width(st, s.chunk(st)); st.tiling() == first.tiling() && s.near(own, w) {
			width = max(width, w)
		}
	}
	var pieces []piece
	tokens, outputs := 0, 0
	for _, st := range ready {
		n := s.chunk(st)
		switch {
		case st.tiling() != first.tiling(), st.have+width > s.room:
			continue
		case s.near(s.width(st, n), width):
		case st.tiling() && st.next() >= width+block: // what is left fills a tile, too
			n = width
		default:
			continue
		}
		p := s.piece(st, n, width)
		if tokens+width > ubatch || outputs+p.outputs(s.columns) > s.outputs {
			continue
		}
		tokens += width
		outputs += p.outputs(s.columns)
		pieces = append(pieces, p)
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.stream, b.stream) })
	return pieces
}

// near reports whether a piece of so many tokens may be padded to a width: that costs less than a pass of its own.
func (s *scheduler) near(tokens, width int) bool {
	return tokens == width || s.sharing && tokens < width && 8*tokens >= 7*width
}

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

// chunk returns how many tokens a stream is to compute in its next pass, at most. What remains for later ones fills
// tiles, too.
func (s *scheduler) chunk(st *stream) int {
	n := st.next()
	if st.tiling() {
		if passes := (n + ubatch - 1) / ubatch; passes > 1 {
			n = roundUp(n/passes, s.columns)
		}
	} else if n = min(n, wide); n > s.columns && st.have+s.width(st, n) > s.room {
		n -= n % s.columns
	}
	if room := max(0, st.job.from-st.have) + s.outputs; n > room { // for logits
		n = room / s.columns * s.columns
	}
	return n
}

// width returns how wide a stream's piece of so many tokens is by itself, with its padding tokens.
func (s *scheduler) width(st *stream, n int) int {
	switch {
	case !s.sharing || st.writing(): // there is no cutting out, or others fill the pass
		return n
	case s.exact && st.tiling():
		return max(block, roundUp(n, s.columns))
	}
	return roundUp(n, s.columns)
}

// piece returns a stream's next tokens as a piece of a width.
func (s *scheduler) piece(st *stream, n, width int) piece {
	return piece{stream: st.id, at: st.have, tokens: st.job.tokens[st.have : st.have+n], width: width,
		from: max(0, st.job.from-st.have)}
}

// retreat makes room at a stream's end for padding tokens, by computing a few tokens again, in the same way.
func (s *scheduler) retreat(st *stream) {
	if over := st.have + s.width(st, s.chunk(st)) - s.room; over > 0 {
		st.have -= over
		s.cache.cut(st.id, st.have)
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
			pieces = append(pieces, s.piece(st, 1, 1))
		}
	}
	s.count.steps.Add(1)
	s.count.stepSequences.Add(int64(len(pieces)))
	s.count.stepWork.Add(int64(min(s.slots, s.running()+len(s.waiting))))
	switch {
	case !s.sharing:
		return pieces
	case len(pieces) == 1 && pieces[0].at+s.columns <= s.room:
		pieces[0].width = s.columns // no other stream's cells are attended over
		return pieces
	}
	return s.fill(pieces)
}

// gather moves replies to neighbouring streams when they lie so far apart that padding between them would take
// more columns than they do: llama.cpp computes together only what has consecutive numbers.
func (s *scheduler) gather() {
	for s.sharing {
		var at []int
		for i, st := range s.streams {
			if st.job != nil {
				at = append(at, i)
			}
		}
		n := roundUp(len(at), s.columns)
		if len(at) < 2 || at[len(at)-1]-at[0] < n {
			return
		}
		from := s.streams[at[len(at)-1]]
		var to *stream // of those between, the one that was useful longest ago
		for _, st := range s.streams[at[0] : at[0]+n] {
			if st.job == nil && (to == nil || st.used < to.used) {
				to = st
			}
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
