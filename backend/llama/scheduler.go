package llama

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/hybridgroup/yzma/pkg/llama"
)

const (
	// ubatch is how many tokens are computed in one pass, at most.
	ubatch = 512

	// wide is how many tokens are computed in one pass for one stream, at most, where that is not done in
	// tiles. Fewer than 64 do not make a tile.
	wide = 60

	// burst is how many tokens of prompts are computed, at most, before every reply gets a token again.
	// Prompts come first, since a step with many sequences costs little more than a step with few; but
	// a stream of long questions with short answers must not hold up a long answer for good.
	burst = 4096
)

// A cache is what the scheduler needs of llama.cpp: numbered streams that each hold a sequence.
type cache interface {
	// compute appends a piece to each of the streams. The pieces are ordered by stream and have one width.
	compute(pieces []piece) error
	// logits returns the logits for the token after token k of piece i of the last compute; the next one
	// overwrites them.
	logits(i, k int) []float32
	// copy makes a stream hold what another holds.
	copy(to, from llama.SeqId)
	// cut leaves the first n tokens of a stream.
	cut(s llama.SeqId, n int)
}

// A piece is a run of tokens to append to a stream.
type piece struct {
	stream llama.SeqId
	at     int           // tokens there so far
	tokens []llama.Token // those of use
	width  int           // of all tokens: what follows those of use is there to round up, and is cut out later
	from   int           // logits are wanted after this one of tokens and those behind it
}

// outputs is how many logits a piece takes: those after its last tokens, rounded up.
func (p *piece) outputs(columns int) int {
	if p.from >= len(p.tokens) && len(p.tokens) > 0 {
		return 0
	}
	return min(p.width, roundUp(p.width-p.from, columns))
}

// A scheduler decides what is computed when. It belongs to one goroutine.
type scheduler struct {
	cache   cache
	streams []*stream // by number
	slots   int       // jobs on streams at once, at most
	room    int       // tokens that a stream holds
	sharing bool      // a stream can be cut back to a prefix

	// columns is what the number of tokens in a pass is a multiple of, and that of logits wanted from it,
	// if streams can be cut. Weights meet tokens in tiles; what is left over goes through other code,
	// which adds up in another order. So nothing is ever left over: pieces of prompts are rounded up, and
	// idle streams keep replies company. That also avoids llama.cpp's way with a single token of a single
	// long sequence, whose attention it adds up in as many parts as there are threads.
	columns int

	// outputs is how many logits a pass may give. With 128,000 tokens in the vocabulary, each takes half a
	// megabyte.
	outputs int

	tree    tree
	waiting []*job // in the order of arrival
	turns   int
	prompts int // tokens of prompts computed since the last step
	count   *counters
}

// A speller knows what tokens mean.
type speller interface {
	piece(llama.Token) []byte
	ends(llama.Token) bool
}

// turn does one turn's work. It reports whether there may be more to do.
func (s *scheduler) turn() bool {
	s.turns++
	s.drop()
	s.admit()
	pieces := s.nextPrompts()
	if len(pieces) == 0 || s.prompts >= burst {
		if replies := s.nextReplies(); len(replies) > 0 {
			pieces = replies
			s.prompts = 0
		}
	}
	if len(pieces) > 0 {
		s.compute(pieces)
	}
	return len(s.waiting) > 0 || s.running() > 0
}

// drop ends the jobs whose callers no longer wait.
func (s *scheduler) drop() {
	s.waiting = slices.DeleteFunc(s.waiting, func(j *job) bool {
		err := j.ctx.Err()
		if err != nil {
			j.end(err)
		}
		return err != nil
	})
	for _, st := range s.streams {
		if st.job != nil && st.job.ctx.Err() != nil {
			st.job.end(st.job.ctx.Err())
			s.release(st)
		}
	}
}

// failAll ends every job. What the cache holds afterwards is anyone's guess.
func (s *scheduler) failAll(err error) {
	for _, j := range s.waiting {
		j.end(err)
	}
	s.waiting = nil
	for _, st := range s.streams {
		if st.job != nil {
			st.job.end(err)
			st.job = nil
		}
		s.keep(st, 0)
	}
}

// release makes a stream idle. The part of it that is a prompt stays, for others to use.
func (s *scheduler) release(st *stream) {
	st.job = nil
	st.used = s.turns
	n := len(st.prompt)
	if !s.sharing {
		n = 0
	}
	s.keep(st, n)
}

// keep leaves the first n tokens of what a stream holds of its prompt.
func (s *scheduler) keep(st *stream, n int) {
	n = min(n, st.have)
	s.assign(st, st.prompt[:min(n, len(st.prompt))])
	st.have = n
	s.cache.cut(st.id, n)
}

// assign changes the prompt that a stream holds or is to compute.
func (s *scheduler) assign(st *stream, prompt []llama.Token) {
	if len(prompt) == len(st.prompt) && common(prompt, st.prompt) == len(prompt) {
		return
	}
	s.tree.remove(st)
	st.prompt = prompt
	s.tree.add(st)
}

// admit puts waiting jobs on idle streams.
func (s *scheduler) admit() {
	for s.running() < s.slots {
		i, m := s.pick()
		if i < 0 {
			return
		}
		st := m.place(s.streams)
		if st == nil {
			return
		}
		j := s.waiting[i]
		for _, earlier := range s.waiting[:i] {
			if earlier.turn <= j.turn {
				earlier.passed++
			}
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.start(st, j, m)
	}
}

func (s *scheduler) running() int {
	n := 0
	for _, st := range s.streams {
		if st.job != nil {
			n++
		}
	}
	return n
}

// pick chooses the waiting job to admit next: of the earliest turn, the one with the longest prefix at hand,
// before that prefix makes room for another; but one that was passed over many times comes first. A job
// whose prompt will soon be there to copy waits for that. The index is -1 if there is no job to admit.
func (s *scheduler) pick() (int, match) {
	best, found := -1, match{}
	for i, j := range s.waiting {
		var m match
		if s.sharing {
			m = s.tree.find(j.tokens[:min(j.prompt, j.from)], j.tiles)
		}
		if m.soon {
			continue
		}
		if j.passed > 4*s.slots {
			return i, m
		}
		if best < 0 || j.turn < s.waiting[best].turn || j.turn == s.waiting[best].turn && m.n > found.n {
			best, found = i, m
		}
	}
	return best, found
}

// start puts a job on an idle stream, with what it can take from another.
func (s *scheduler) start(st *stream, j *job, m match) {
	s.count.requests.Add(1)
	s.count.promptTokens.Add(int64(len(j.tokens)))
	s.count.trie.add(j.tokens)
	if m.from != nil {
		m.from.used = s.turns
	}
	if m.from != nil && m.from != st {
		s.cache.copy(st.id, m.from.id)
	}
	st.have = m.n
	s.cache.cut(st.id, m.n)
	s.assign(st, j.tokens[:j.prompt])
	st.tiles = j.tiles
	st.job = j
	st.used = s.turns
}

// nextPrompts returns the next pieces of prompts: that of the job that has waited longest, and with it
// those of others that go into the same pass.
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

// near reports whether a piece of so many tokens may be rounded up to a width.
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

// retreat makes room at a stream's end to round a piece up, by computing a few tokens again.
func (s *scheduler) retreat(st *stream) {
	if n := st.left(); s.sharing && n <= wide {
		if over := st.have + roundUp(n, s.columns) - s.room; over > 0 {
			st.have -= over
			s.cache.cut(st.id, st.have)
		}
	}
}

// nextReplies returns the last tokens of all replies, after which the next are wanted. If there are any, pieces
// chosen before hold no longer: streams may have moved.
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
// them would be fillers: llama.cpp computes together only what has consecutive numbers.
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

// fill adds pieces of one token on streams that have none, so that there are no gaps between the pieces
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

// compute computes pieces and carries their streams' jobs forward.
func (s *scheduler) compute(pieces []piece) {
	if err := s.cache.compute(pieces); err != nil {
		s.failAll(err)
		return
	}
	for i := range pieces {
		p := &pieces[i]
		st, n := s.streams[p.stream], len(p.tokens)
		st.have += n
		if p.width > n {
			s.cache.cut(st.id, st.have)
			s.count.fillers.Add(int64(p.width - n))
		}
		if n == 0 {
			continue
		}
		if st.job.drafted > 0 {
			s.prompts = burst // replies without a draft take turns with those
		}
		if asked := min(n, st.job.asked-p.at); asked > 0 {
			s.prompts += asked
			s.count.promptComputed.Add(int64(asked))
		}
		for j := st.job; st.job == j && j.from < st.have; {
			s.advance(st, s.cache.logits(i, j.from-p.at))
		}
		if st.writing() && st.have >= st.job.prompt {
			s.draft(st.job)
		}
	}
}

// draft puts a guess at the end of a job, if that pays.
func (s *scheduler) draft(j *job) {
	if !s.sharing || s.running() > draftCompany || len(s.waiting) > 0 {
		return
	}
	guess := j.guess(j.tokens, j.limit-len(j.tokens)-1)
	j.tokens = append(j.tokens, guess...)
	j.drafted, j.made = len(guess), len(guess)
	s.count.drafted.Add(int64(len(guess)))
}

// advance gives a stream's job the logits that it waits for, and ends it if it has all.
func (s *scheduler) advance(st *stream, logits []float32) {
	j := st.job
	if best := float64(logits[argmax(logits)]); math.IsNaN(best) || math.IsInf(best, 0) {
		j.end(errors.New("the model's output is not a number: its file may be damaged (assay models verify)"))
		s.release(st)
		return
	}
	more := j.next(logits)
	if n := len(more); n > 0 && n <= j.drafted && common(more, j.tokens[j.from+1:]) == n {
		j.from += n // the guess was right
		j.drafted -= n
		s.count.guessed.Add(int64(n))
		if j.drafted == 0 {
			j.judge(j.made)
		}
		return
	}
	if j.drafted > 0 {
		j.judge(j.made - j.drafted)
		j.tokens, j.drafted = j.tokens[:j.from+1], 0
		st.have = j.from + 1
		s.cache.cut(st.id, st.have)
	}
	j.tokens = append(j.tokens, more...)
	j.from += max(1, len(more))
	if j.from == len(j.tokens) {
		j.end(nil)
		s.release(st)
	}
}
