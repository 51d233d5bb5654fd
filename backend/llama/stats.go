package llama

import (
	"sync/atomic"
	"time"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// Stats counts what an engine has done since it was opened.
type Stats struct {
	Requests       int64 // to generate or to score, that were begun
	PromptTokens   int64 // of those
	PromptComputed int64 // of them, computed in prefill; the rest were prefix-cached
	OutputTokens   int64 // completion tokens
	Drafted        int64 // draft tokens proposed
	Accepted       int64 // draft tokens accepted

	TrieNodes int64 // distinct prefixes of prompts: the least that could be computed; only with Options.Trie

	Steps         int64 // of decode
	StepSequences int64 // sequences decoded, over all steps
	StepWork      int64 // replies that could have been, had all prompts been ready: at most the slots
	Padding       int64 // padding tokens

	Busy      time.Duration // there was something to write or to score
	Computing time.Duration // of that, in llama.cpp

	Texts      int64 // embedded, and pairs judged
	TextTokens int64 // in those
}

// Packing is the share of sequences with work to do that a step lengthens, on average: 1 is perfect,
// and 0 means that there were no steps.
func (s Stats) Packing() float64 {
	if s.StepWork == 0 {
		return 0
	}
	return float64(s.StepSequences) / float64(s.StepWork)
}

// PrefixEfficiency is how many prompt tokens were computed in prefill for each that had to be: 1 is perfect, and 0
// means that it was not counted.
func (s Stats) PrefixEfficiency() float64 {
	if s.TrieNodes == 0 {
		return 0
	}
	return float64(s.PromptComputed) / float64(s.TrieNodes)
}

// Idle is the share of the time with work to do in which nothing was being computed.
func (s Stats) Idle() float64 {
	if s.Busy == 0 {
		return 0
	}
	return 1 - float64(s.Computing)/float64(s.Busy)
}

// A trie counts the distinct prefixes of prompts, by their hashes.
type trie struct {
	on    bool
	seen  map[uint64]struct{}
	nodes atomic.Int64
}

func (t *trie) add(prompt []llama.Token) {
	if !t.on {
		return
	}
	if t.seen == nil {
		t.seen = map[uint64]struct{}{}
	}
	h := uint64(1)
	for _, token := range prompt {
		h = (h ^ uint64(uint32(token))) * 0x9e3779b97f4a7c15
		h ^= h >> 32
		t.seen[h] = struct{}{}
	}
	t.nodes.Store(int64(len(t.seen)))
}

// counters are the Stats as they are counted: by the engine's owner, always before the caller whose work
// is counted gets its answer.
type counters struct {
	requests, promptTokens, promptComputed, outputTokens atomic.Int64
	steps, stepSequences, stepWork, padding              atomic.Int64
	drafted, accepted                                    atomic.Int64
	texts, textTokens                                    atomic.Int64
	busy, computing                                      atomic.Int64 // nanoseconds
	trie                                                 trie
}

func (c *counters) stats() Stats {
	return Stats{
		Requests:       c.requests.Load(),
		PromptTokens:   c.promptTokens.Load(),
		PromptComputed: c.promptComputed.Load(),
		OutputTokens:   c.outputTokens.Load(),
		Drafted:        c.drafted.Load(),
		Accepted:       c.accepted.Load(),
		TrieNodes:      c.trie.nodes.Load(),
		Steps:          c.steps.Load(),
		StepSequences:  c.stepSequences.Load(),
		StepWork:       c.stepWork.Load(),
		Padding:        c.padding.Load(),
		Busy:           time.Duration(c.busy.Load()),
		Computing:      time.Duration(c.computing.Load()),
		Texts:          c.texts.Load(),
		TextTokens:     c.textTokens.Load(),
	}
}
