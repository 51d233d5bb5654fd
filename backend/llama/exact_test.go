package llama

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/library"
	"github.com/assay-eval/assay/models/gguf"
)

// A bitWatcher hashes the bits of each token's logits that come out for one job.
type bitWatcher struct {
	*kv
	s      *scheduler
	job    *job
	hashes []uint64
	pieces []piece
}

func (w *bitWatcher) compute(pieces []piece) error {
	w.pieces = pieces
	return w.kv.compute(pieces)
}

func (w *bitWatcher) logits(i, k int) []float32 {
	logits := w.kv.logits(i, k)
	if w.s.streams[w.pieces[i].stream].job == w.job {
		h := fnv.New64a()
		binary.Write(h, binary.LittleEndian, logits)
		w.hashes = append(w.hashes, h.Sum64())
	}
	return logits
}

// TestExactBits checks that the bits of every logit of a reply are the same whatever is computed beside
// it, whatever was computed before it, where it lies, and on however many threads.
func TestExactBits(t *testing.T) {
	lib := testLib(t)
	f32 := tinyModel{template: plainTemplate}.write(t)
	t.Run("f32", func(t *testing.T) { testExactBits(t, f32, 560, 12) })
	for _, kind := range []string{"q8_0", "q4_0"} {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tiny.gguf")
			if err := Quantize(t.Context(), lib, f32, path, kind); err != nil {
				t.Fatal(err)
			}
			testExactBits(t, path, 560, 12)
		})
	}
	t.Run("sliding window", func(t *testing.T) { testExactBits(t, tinyModel{arch: "gemma2"}.write(t), 560, 12) })
	t.Run("judge", func(t *testing.T) {
		testExactBits(t, fromEnv(t, "ASSAY_TEST_JUDGE", "a TinyLlama GGUF"), 150, 3)
	})
}

func testExactBits(t *testing.T, path string, length, replies int) {
	t.Helper()
	file, err := gguf.Check(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlan(Options{Model: path, Threads: 1, Context: 2048, Slots: 16, Log: t.Logf}, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := library.Load(testLib(t)); err != nil {
		t.Fatal(err)
	}
	m, err := load(p)
	if err != nil {
		t.Fatal(err)
	}
	defer m.free()
	if !m.flash {
		t.Error("flash attention is not in use")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	prompt := randomPrompt(rng, m.vocab.size, length)
	stem := prompt[:length*2/3]

	drafts := false

	// run starts others, as many rounds later the job, and returns the bits of what comes out for it.
	run := func(rounds int, others ...*job) []uint64 {
		t.Helper()
		j := bitJob(prompt, replies)
		if drafts {
			j.limit = len(prompt) + replies
		}
		w := &bitWatcher{kv: m.kv, s: m.writer, job: j}
		m.writer.cache = w
		m.writer.take(others)
		for range rounds {
			m.writer.round()
		}
		m.writer.take([]*job{j})
		for m.writer.round() {
		}
		if o := <-j.task.(*writer).done; o.err != nil {
			t.Fatal(o.err)
		}
		return w.hashes
	}
	forget := func() {
		for _, st := range m.writer.streams {
			m.writer.keep(st, 0)
		}
	}
	many := func(n int) (jobs []*job) {
		for i := range n {
			jobs = append(jobs, bitJob(randomPrompt(rng, m.vocab.size, 1+i*length/16), 1+i*replies/8))
		}
		return jobs
	}
	like := func(n int) (jobs []*job) {
		for range n {
			jobs = append(jobs, bitJob(slices.Concat(stem, randomPrompt(rng, m.vocab.size, 40)), replies))
		}
		return jobs
	}

	want := run(0)
	check := func(what string, got []uint64) {
		t.Helper()
		if len(got) < replies-1 || !slices.Equal(got, want[len(want)-len(got):]) {
			t.Errorf("%s: other bits than alone", what)
		}
		forget()
	}
	forget()
	check("alone, again", run(0))
	check("beside one", run(0, many(1)...))
	check("beside 15", run(0, many(15)...))
	check("when 5 are under way", run(8, many(5)...))
	check("in a queue behind 20", run(9, many(20)...))
	check("with a prefix that others are computing", run(0, like(3)...))
	computed := func() int64 { return m.count.stats().PromptComputed }
	run(0)
	before := computed()
	check("with its own prompt at hand", run(0))
	if n := computed() - before; n != 1 {
		t.Errorf("of a prompt at hand, %d tokens were computed, want the last one", n)
	}
	for m.writer.take(like(2)); m.writer.round(); {
	}
	before = computed()
	check("with a prefix at hand", run(0))
	if n := computed() - before; n != int64(length-len(stem)) {
		t.Errorf("of a prompt of %d tokens, %d of them at hand, %d were computed", length, len(stem), n)
	}
	drafts = true
	check("with drafts", run(0))
	drafts = false
	m.kv.pace = newPacer(2, true)
	check("on two threads", run(0))
	check("on two threads beside 4", run(10, many(4)...))
}

func bitJob(prompt []llama.Token, most int) *job {
	return newJob(context.Background(), prompt, len(prompt), newTestWriter(endless{}, prompt, most,
		backend.Sampling{}, 0))
}

func newTestWriter(text speller, prompt []llama.Token, most int, s backend.Sampling, seed uint64) *writer {
	return &writer{text: text, prompt: len(prompt), max: most, sampler: newSampler(s, seed),
		reply: newReply(nil), all: new(counters), done: make(chan written, 1)}
}

func randomPrompt(rng *rand.Rand, vocab, n int) []llama.Token {
	prompt := make([]llama.Token, n)
	for i := range prompt {
		prompt[i] = llama.Token(3 + rng.IntN(vocab-3))
	}
	return prompt
}
