package llama

import (
	"bytes"
	"errors"
	"math"
	"slices"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// An encdec works off the jobs of an encoder-decoder model, such as T5. It does so one at a time, and keeps nothing of
// one job for the next but what was encoded, so that each is computed in the same way whatever came before. It
// belongs to the engine's owner.
type encdec struct {
	runner
	mem   llama.Memory
	batch llama.Batch
	vocab *vocab
	start llama.Token // what every reply begins with, before its first token

	waiting []*job        // in the order of arrival, but for the one being worked on, which is first
	begun   bool          // the first of them has been begun
	read    []llama.Token // the prompt that was encoded last
	have    int           // tokens in the decoder's cache: start, then those of the job
	count   *counters
}

func (t *encdec) free() {
	llama.BatchFree(t.batch)
	llama.Free(t.ctx)
}

// round does one round of work, at most one pass. It reports whether there is more to do.
func (t *encdec) round() bool {
	t.drop()
	if len(t.waiting) == 0 {
		return false
	}
	step := t.write
	if !t.begun {
		t.choose()
		step = t.begin
	}
	j := t.waiting[0]
	err := step(j)
	if err != nil {
		t.read = nil // what encoder and decoder hold now cannot be known
	}
	if err != nil || j.from == len(j.tokens) {
		j.end(err)
		t.waiting, t.begun = t.waiting[1:], false
	}
	return len(t.waiting) > 0
}

// drop ends the jobs whose callers no longer wait.
func (t *encdec) drop() {
	if len(t.waiting) > 0 && t.waiting[0].ctx.Err() != nil {
		t.begun = false
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(j *job) bool {
		err := j.ctx.Err()
		if err != nil {
			j.end(err)
		}
		return err != nil
	})
}

// choose puts the job to begin next first: one whose prompt is encoded already, unless others have waited for
// that too often.
func (t *encdec) choose() {
	const patience = 64
	i := slices.IndexFunc(t.waiting, func(j *job) bool { return slices.Equal(j.tokens[:j.prompt], t.read) })
	if i <= 0 || t.waiting[0].passed >= patience {
		return
	}
	t.waiting[0].passed++
	j := t.waiting[i]
	t.waiting = slices.Insert(slices.Delete(t.waiting, i, i+1), 0, j)
}

// begin encodes a job's prompt and empties the decoder's cache.
func (t *encdec) begin(j *job) error {
	prompt := j.tokens[:j.prompt]
	t.count.requests.Add(1)
	t.count.promptTokens.Add(int64(len(j.tokens)))
	if err := llama.MemoryClear(t.mem, false); err != nil {
		return err
	}
	t.have, t.begun = 0, true
	if slices.Equal(prompt, t.read) {
		return nil
	}
	t.read = nil
	if err := t.compute(llama.Encode, 0, prompt, 0); err != nil {
		return err
	}
	t.read = slices.Clone(prompt)
	t.count.promptComputed.Add(int64(len(prompt)))
	return nil
}

// write decodes what the decoder's cache lacks of a job's tokens, and gives the job the logits that it waits for.
func (t *encdec) write(j *job) error {
	before := j.prompt - 1 + t.have // the job's token that start stands for, or the first to append
	tokens := slices.Concat([]llama.Token{t.start}, j.tokens[j.prompt:])[t.have:]
	from := j.from - before
	if err := t.compute(llama.Decode, t.have, tokens, from); err != nil {
		return err
	}
	t.have += len(tokens)
	t.count.promptComputed.Add(int64(max(0, j.asked-j.from-1)))
	for i := from; i < len(tokens); i++ {
		logits, err := llama.GetLogitsIth(t.ctx, int32(i), t.vocab.size)
		if err != nil {
			return err
		}
		if best := float64(logits[argmax(logits)]); math.IsNaN(best) || math.IsInf(best, 0) {
			return errors.New("the model's output is not a number: its file may be damaged (assay models verify)")
		}
		more := j.next(logits)
		j.tokens = append(j.tokens, more...)
		j.from += max(1, len(more))
	}
	return nil
}

// compute computes tokens with the encoder or the decoder, the first of them at a position. Logits are wanted from one
// of them on.
func (t *encdec) compute(
	with func(llama.Context, llama.Batch) (int32, error), at int, tokens []llama.Token, from int,
) error {
	t.batch.Clear()
	for i, token := range tokens {
		if err := t.batch.Add(token, llama.Pos(at+i), []llama.SeqId{0}, i >= from); err != nil {
			return err
		}
	}
	return t.run(with, t.batch)
}

// A beginning is a speller for a reply that starts a text: the space before its first word, which is part
// of the word's token, is left out.
type beginning struct {
	*vocab
	begun bool
}

func (b *beginning) piece(token llama.Token) []byte {
	piece := b.vocab.piece(token)
	if !b.begun {
		piece = bytes.TrimPrefix(piece, []byte(" "))
	}
	b.begun = true
	return piece
}
