package llama

import "github.com/hybridgroup/yzma/pkg/llama"

// block is the length of the pieces that prompts are computed in. A piece ends at every multiple of it,
// whatever part of the prompt was there already, and a shared prefix ends at one. It is as short as
// it can be without costing speed: attention is computed in tiles of 64 tokens.
const block = 64

// A stream is a place for one sequence in the cache.
type stream struct {
	id     llama.SeqId
	job    *job          // what it is working on; nil when it is idle
	tokens []llama.Token // of a prompt, whose keys and values are in the cache, computed in pieces
	logits []float32     // for the token after tokens, where tokens are a whole prompt; else nil
	extra  int           // tokens of the reply behind them
	used   int           // the turn in which it was last useful
}

// length is how many tokens the cache holds for the stream.
func (s *stream) length() int { return len(s.tokens) + s.extra }

// prompting reports whether a part of the prompt is still to be computed.
func (s *stream) prompting() bool { return s.job != nil && len(s.tokens) < len(s.job.prompt) }

// common returns how many tokens two prompts start with alike.
func common(a, b []llama.Token) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// shared returns how many of a prompt's tokens can be taken from another that starts like it: whole
// blocks, and never the prompt's last token, from which the reply follows.
func shared(prompt, other []llama.Token) int {
	return min(common(prompt, other), len(prompt)-1) / block * block
}

// offers returns how many of a prompt's tokens the stream can give now: all, when it has come to the end
// of the very same prompt and knows what follows.
func (s *stream) offers(prompt []llama.Token) int {
	if s.logits != nil && len(s.tokens) == len(prompt) && common(s.tokens, prompt) == len(prompt) {
		return len(prompt)
	}
	return shared(prompt, s.tokens)
}

// promises returns how many of a prompt's tokens the stream will be able to give once the prompt that it
// is computing is done.
func (s *stream) promises(prompt []llama.Token) int {
	if !s.prompting() {
		return 0
	}
	if n := common(s.job.prompt, prompt); n == len(prompt) && n == len(s.job.prompt) {
		return n
	}
	return shared(prompt, s.job.prompt)
}

// A match says what a waiting job can take from the streams.
type match struct {
	from *stream // that holds the longest useful prefix; nil if none does
	n    int     // tokens of it
	soon bool    // a longer one is being computed: better to wait
}

// find looks for the longest prefix of a prompt in the streams.
func find(streams []*stream, prompt []llama.Token) match {
	var m match
	promised := 0
	for _, s := range streams {
		if n := s.offers(prompt); n > m.n {
			m.from, m.n = s, n
		}
		promised = max(promised, s.promises(prompt))
	}
	m.soon = promised > m.n
	return m
}

// place chooses the idle stream to put a job on: one that holds exactly what the job is to take, so that
// nothing is lost and nothing copied, else the one that was useful longest ago. It returns nil if all are busy.
func (m match) place(streams []*stream) *stream {
	var oldest *stream
	for _, s := range streams {
		switch {
		case s.job != nil:
		case s == m.from && m.n == len(s.tokens):
			return s
		case oldest == nil || s.used < oldest.used:
			oldest = s
		}
	}
	return oldest
}
