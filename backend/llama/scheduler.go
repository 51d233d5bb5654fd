package llama

import (
	"errors"
	"math"
	"slices"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// burst is how many tokens of prompts are computed (prefill), at most, before every reply gets a token again (decode).
// Prompts come first, since a step with many sequences costs little more than a step with few; but
// a stream of long questions with short answers must not hold up a long answer for good.
const burst = 4096

// A scheduler decides what is computed when. It belongs to one goroutine.
type scheduler struct {
	cache   cache
	streams []*stream // by number
	slots   int       // jobs on streams at once, at most
	room    int       // tokens that a stream holds
	sharing bool      // a stream can be cut back to a prefix
	exact   bool      // bits are to depend on nothing but the job; only where sharing is

	// columns is what the number of tokens in a pass is a multiple of, and that of logits wanted from it,
	// if it is exact; 1 if not. Weights meet tokens in tiles; what is left over goes through other code,
	// which adds up in another order. So nothing is ever left over: chunks of prompts end in padding tokens, and
	// idle streams add padding tokens to a decode step. That also avoids llama.cpp's way with a single token of a
	// single long sequence, whose attention it adds up in as many parts as there are threads.
	columns int

	// outputs is how many logits a pass may give. With 128,000 tokens in the vocabulary, each takes half a
	// megabyte.
	outputs int

	tree    tree
	waiting []*job // in the order of arrival
	rounds  int
	prompts int // tokens of prefill since the last decode step
	count   *counters
}

// take lets jobs wait for a stream.
func (s *scheduler) take(jobs []*job) {
	for _, j := range jobs {
		j.tiles = s.tiled(j.prompt, j.asked-j.prompt)
	}
	s.waiting = append(s.waiting, jobs...)
}

// round does one round of work. It reports whether there may be more to do.
func (s *scheduler) round() bool {
	s.rounds++
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

// failAll ends every job. What the cache holds afterwards is unknown.
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
	st.used = s.rounds
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
			if earlier.priority <= j.priority {
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

// pick chooses the waiting job to admit next: of the smallest priority, the one with the longest cached prefix,
// before that prefix is evicted; but one that was passed over many times comes first. A job
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
		if best < 0 || j.priority < s.waiting[best].priority ||
			j.priority == s.waiting[best].priority && m.n > found.n {
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
		m.from.used = s.rounds
	}
	if m.from != nil && m.from != st {
		s.cache.copy(st.id, m.from.id)
	}
	st.have = m.n
	s.cache.cut(st.id, m.n)
	s.assign(st, j.tokens[:j.prompt])
	st.tiles = j.tiles
	st.job = j
	st.used = s.rounds
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
			s.count.padding.Add(int64(p.width - n))
		}
		if n == 0 {
			continue
		}
		if st.job.drafted > 0 {
			s.prompts = burst // replies without a draft alternate with those
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

// draft puts draft tokens at the end of a job, if that pays.
func (s *scheduler) draft(j *job) {
	if !s.sharing || s.running() > draftCompany || len(s.waiting) > 0 {
		return
	}
	free := 0
	if s.running() == 1 {
		free = s.columns - 1 // of the pass that its next token takes
	}
	proposed := j.propose(j.tokens, j.limit-len(j.tokens)-1, free)
	j.tokens = append(j.tokens, proposed...)
	j.drafted, j.made = len(proposed), len(proposed)
	s.count.drafted.Add(int64(len(proposed)))
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
		j.from += n // the draft tokens are accepted
		j.drafted -= n
		s.count.accepted.Add(int64(n))
		if j.drafted == 0 {
			j.learn(j.made)
		}
		return
	}
	if j.drafted > 0 {
		j.learn(j.made - j.drafted)
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
