package llama

import (
	"errors"
	"math"
	"slices"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

const (
	// ubatch is how many tokens are computed in one pass, at most.
	ubatch = 512

	// burst is how many tokens of prompts are computed, at most, before every reply gets a token again.
	// Prompts come first, since a step with many sequences costs little more than a step with few; but
	// a stream of long questions with short answers must not hold up a long answer for good.
	burst = 4096
)

// A cache is what the scheduler needs of llama.cpp: numbered streams that each hold a sequence.
type cache interface {
	// compute appends a piece to each of the streams. The pieces are ordered by stream and have one width.
	compute(pieces []piece) error
	// logits returns the logits for the token after piece i of the last compute; the next one overwrites them.
	logits(i int) []float32
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
	want   bool          // logits after the last token of use are wanted
}

// A scheduler decides what is computed when. It belongs to one goroutine.
type scheduler struct {
	cache   cache
	text    speller
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
	return len(s.waiting) > 0 || slices.ContainsFunc(s.streams, func(st *stream) bool { return st.job != nil })
}

// drop ends the jobs whose callers no longer wait.
func (s *scheduler) drop() {
	s.waiting = slices.DeleteFunc(s.waiting, func(j *job) bool {
		err := j.ctx.Err()
		if err != nil {
			j.fail(err)
		}
		return err != nil
	})
	for _, st := range s.streams {
		if st.job != nil && st.job.ctx.Err() != nil {
			st.job.fail(st.job.ctx.Err())
			s.release(st)
		}
	}
}

// failAll ends every job.
func (s *scheduler) failAll(err error) {
	for _, j := range s.waiting {
		j.fail(err)
	}
	s.waiting = nil
	for _, st := range s.streams {
		if st.job != nil {
			st.job.fail(err)
			s.release(st)
		}
	}
}

// release makes a stream idle. The part of it that is a prompt stays, for others to use.
func (s *scheduler) release(st *stream) {
	st.job = nil
	st.used = s.turns
	if !s.sharing {
		st.tokens = nil
	}
	s.trim(st)
}

// trim takes everything out of a stream's cache that is not its prompt.
func (s *scheduler) trim(st *stream) {
	st.extra = 0
	s.cache.cut(st.id, len(st.tokens))
}

// keep cuts a stream's prompt back to n tokens.
func (s *scheduler) keep(st *stream, n int) {
	if n < len(st.tokens) {
		st.tokens, st.logits = st.tokens[:n], nil
	}
	s.trim(st)
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
			earlier.passed++
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

// pick chooses the waiting job to admit next: the one with the longest prefix at hand, before that
// prefix makes room for another; but one that was passed over many times comes first. A job whose
// prompt will soon be there to copy waits for that. The index is -1 if there is no job to admit.
func (s *scheduler) pick() (int, match) {
	best, longest := -1, match{n: -1}
	for i, j := range s.waiting[:min(len(s.waiting), 8*s.slots)] {
		var m match
		if s.sharing {
			m = find(s.streams, j.prompt)
		}
		if m.soon {
			continue
		}
		if j.passed > 4*s.slots {
			return i, m
		}
		if m.n > longest.n {
			best, longest = i, m
		}
	}
	return best, longest
}

// start puts a job on an idle stream, with what it can take from another.
func (s *scheduler) start(st *stream, j *job, m match) {
	s.count.requests.Add(1)
	s.count.promptTokens.Add(int64(len(j.prompt)))
	if m.from != nil {
		m.from.used = s.turns
	}
	if m.from != nil && m.from != st {
		s.cache.copy(st.id, m.from.id)
		st.tokens, st.logits = m.from.tokens, m.from.logits
	}
	s.keep(st, m.n)
	st.tokens = j.prompt[:m.n]
	st.job = j
	st.used = s.turns
	if m.n == len(j.prompt) {
		s.advance(st, st.logits)
	}
}

// nextPrompts returns the next pieces of prompts: that of the job that has waited longest, and with it
// those of the same width.
func (s *scheduler) nextPrompts() []piece {
	var first *stream
	for _, st := range s.streams {
		if st.prompting() && (first == nil || st.used < first.used) {
			first = st
		}
	}
	if first == nil {
		return nil
	}
	width := s.piece(first).width
	room := ubatch/width - 1 // besides first
	var pieces []piece
	for _, st := range s.streams {
		if !st.prompting() || s.piece(st).width != width {
			continue
		}
		if st != first {
			if room == 0 {
				continue
			}
			room--
		}
		pieces = append(pieces, s.piece(st))
	}
	return pieces
}

// piece returns what a stream is to compute next: a piece of its prompt, or the last token of its reply.
func (s *scheduler) piece(st *stream) piece {
	p := piece{stream: st.id, at: st.length()}
	if !st.prompting() {
		p.tokens, p.width, p.want = st.job.last[:], 1, true
		return p
	}
	end := min(len(st.job.prompt), p.at-p.at%block+block)
	p.tokens = st.job.prompt[p.at:end]
	p.want = end == len(st.job.prompt)
	p.width = len(p.tokens)
	if s.sharing { // else there is no cutting out
		p.width = roundUp(p.width, s.columns)
	}
	return p
}

// nextReplies returns the last tokens of all replies, after which the next are wanted.
func (s *scheduler) nextReplies() []piece {
	s.gather()
	var pieces []piece
	for _, st := range s.streams {
		if st.job != nil && !st.prompting() {
			pieces = append(pieces, s.piece(st))
		}
	}
	if n := len(pieces); n > 0 {
		s.count.steps.Add(1)
		s.count.stepSequences.Add(int64(n))
		s.count.stepWork.Add(int64(min(s.slots, s.running()+len(s.waiting))))
	}
	if len(pieces) == 0 || !s.sharing {
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
		to.job, to.tokens, to.logits, to.extra, to.used = from.job, from.tokens, from.logits, from.extra, from.used
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
		if st.length() == s.room { // it is idle: a job leaves room for its reply
			s.keep(st, (s.room-1)/block*block)
		}
		all = append(all, piece{stream: st.id, at: st.length(), width: 1, want: true})
		s.count.fillers.Add(1)
	}
	return all
}

// compute computes pieces and carries their streams' jobs forward.
func (s *scheduler) compute(pieces []piece) {
	if err := s.cache.compute(pieces); err != nil {
		s.failAll(err)
		for _, st := range s.streams {
			s.keep(st, 0) // what the cache holds now is anyone's guess
		}
		return
	}
	for i, p := range pieces {
		st, n := s.streams[p.stream], len(p.tokens)
		if st.prompting() {
			st.tokens = st.job.prompt[:len(st.tokens)+n]
			s.prompts += n
			s.count.promptComputed.Add(int64(n))
		} else {
			st.extra += n
		}
		if p.width > n {
			s.cache.cut(st.id, st.length())
		}
		if n == 0 || !p.want {
			continue
		}
		logits := s.cache.logits(i)
		if st.extra == 0 {
			st.logits = slices.Clone(logits)
		}
		s.advance(st, logits)
	}
}

// advance chooses the next token of a reply.
func (s *scheduler) advance(st *stream, logits []float32) {
	j := st.job
	if best := float64(logits[argmax(logits)]); math.IsNaN(best) || math.IsInf(best, 0) {
		j.fail(errors.New("the model's output is not a number: its file may be damaged (assay models verify)"))
		s.release(st)
		return
	}
	token := j.sampler.choose(logits)
	if s.text.ends(token) {
		j.finish(backend.StopEnd)
		s.release(st)
		return
	}
	j.last[0] = token
	j.count++
	s.count.outputTokens.Add(1)
	switch {
	case j.reply.add(s.text.piece(token)):
		j.finish(backend.StopEnd)
	case j.count == j.max:
		j.finish(backend.StopLength)
	case j.once && backend.Repeats(j.reply.text):
		j.finish(backend.StopRepeat)
	default:
		return
	}
	s.release(st)
}
