package llama

import (
	"errors"
	"time"

	"github.com/hybridgroup/yzma/pkg/llama"
)

const (
	// ubatch is how many tokens are computed in one pass, at most.
	ubatch = 512

	// wide is how many tokens are computed in one pass for one stream, at most, where that is not done in
	// tiles: they are fewer than a tile takes.
	wide = 60
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
	width  int           // of all tokens: what follows those of use are padding tokens, which are cut out later
	from   int           // logits are wanted after this one of tokens and those behind it
}

// outputs is how many logits a piece takes: those after its last tokens, rounded up.
func (p *piece) outputs(columns int) int {
	if p.from >= len(p.tokens) && len(p.tokens) > 0 {
		return 0
	}
	return min(p.width, roundUp(p.width-p.from, columns))
}

// A kv is the [cache] of a llama.cpp context, with one stream a sequence.
type kv struct {
	runner
	mem     llama.Memory
	count   *counters
	batch   llama.Batch
	vocab   int   // number of tokens
	columns int   // see scheduler
	start   []int // in the last batch, the index of each piece's first token
}

func newKV(ctx llama.Context, pace pacer, vocab, columns int, count *counters) (*kv, error) {
	mem, err := llama.GetMemory(ctx)
	if err != nil {
		return nil, err
	}
	if mem == 0 {
		return nil, errors.New("llama.cpp gives this model no KV cache, so it cannot generate")
	}
	return &kv{
		runner:  runner{ctx: ctx, pace: pace},
		mem:     mem,
		batch:   llama.BatchInit(ubatch, 0, 1),
		vocab:   vocab,
		columns: columns,
		count:   count,
	}, nil
}

func (c *kv) free() { llama.BatchFree(c.batch) }

func (c *kv) compute(pieces []piece) error {
	c.batch.Clear()
	c.start = c.start[:0]
	for _, p := range pieces {
		c.start = append(c.start, int(c.batch.NTokens))
		wanted := p.width - p.outputs(c.columns)
		for i := range p.width {
			t := llama.Token(0) // padding
			if i < len(p.tokens) {
				t = p.tokens[i]
			}
			if err := c.batch.Add(t, llama.Pos(p.at+i), []llama.SeqId{p.stream}, i >= wanted); err != nil {
				return err
			}
		}
	}
	start := time.Now()
	err := c.run(llama.Decode, c.batch)
	c.count.computing.Add(int64(time.Since(start)))
	return err
}

func (c *kv) logits(i, k int) []float32 {
	logits, _ := llama.GetLogitsIth(c.ctx, int32(c.start[i]+k), c.vocab) // fails for a nil context only
	return logits
}

func (c *kv) copy(to, from llama.SeqId) { _ = llama.MemorySeqCp(c.mem, from, to, -1, -1) }

func (c *kv) cut(s llama.SeqId, n int) { _, _ = llama.MemorySeqRm(c.mem, s, llama.Pos(n), -1) }
