package llama

import (
	"errors"
	"time"

	"github.com/hybridgroup/yzma/pkg/llama"
)

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
		return nil, errors.New("llama.cpp gives this model no cache, so it cannot write")
	}
	return &kv{runner: runner{ctx: ctx, pace: pace}, mem: mem, batch: llama.BatchInit(ubatch, 0, 1), vocab: vocab, columns: columns, count: count}, nil
}

func (c *kv) free() { llama.BatchFree(c.batch) }

func (c *kv) compute(pieces []piece) error {
	c.batch.Clear()
	c.start = c.start[:0]
	for _, p := range pieces {
		c.start = append(c.start, int(c.batch.NTokens))
		wanted := p.width - p.outputs(c.columns)
		for i := range p.width {
			t := llama.Token(0) // any will do to round up
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
