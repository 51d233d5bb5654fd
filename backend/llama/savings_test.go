package llama

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend/llama/library"
	"github.com/assay-eval/assay/models/gguf"
)

// BenchmarkSavings measures what each of the engine's savings gives alone: the same work with it and without. It is run
// by scripts/bench/engine.sh.
func BenchmarkSavings(b *testing.B) {
	path := fromEnv(b, "ASSAY_TEST_JUDGE", "a TinyLlama GGUF")
	file, err := gguf.Check(path)
	if err != nil {
		b.Fatal(err)
	}
	p, err := newPlan(Options{Model: path, Context: 1024, Slots: 8, Log: b.Logf}, file, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := library.Load(testLib(b)); err != nil {
		b.Fatal(err)
	}
	m, err := load(p)
	if err != nil {
		b.Fatal(err)
	}
	defer m.free()
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []llama.Token { return randomPrompt(rng, m.vocab.size, n) }

	// took is how long jobs take with nothing cached but what they share.
	took := func(jobs ...*job) time.Duration {
		for _, st := range m.writer.streams {
			m.writer.keep(st, 0)
		}
		start := time.Now()
		for m.writer.take(jobs); m.writer.round(); {
		}
		return time.Since(start)
	}
	passes := func(n, width int) (d time.Duration) {
		for at := range n {
			next := piece{at: at * width, tokens: random(width), width: width, from: width - 1}
			start := time.Now()
			if err := m.kv.compute([]piece{next}); err != nil {
				b.Fatal(err)
			}
			d += time.Since(start)
		}
		return d / time.Duration(n*width)
	}
	// A prompt that says the same over and over, as the reply will.
	copied := slices.Concat(slices.Repeat(m.vocab.tokens("The ferry sails from May to September, and the harbour is closed "+
		"in winter. ", true), 4))

	for b.Loop() {
		took() // so that nothing is cached
		plain := passes(15, wide)
		took()
		b.ReportMetric(float64(plain)/float64(passes(15, block)), "tiles")

		stem := random(600)
		var same, apart []*job
		for range 4 {
			own := random(40)
			same = append(same, bitJob(slices.Concat(stem, own), 1))
			apart = append(apart, bitJob(slices.Concat(random(600), own), 1))
		}
		b.ReportMetric(float64(took(apart...))/float64(took(same...)), "prefix-cache")

		var alone time.Duration
		var together []*job
		for range 8 {
			prompt := random(100)
			alone += took(bitJob(prompt, 24))
			together = append(together, bitJob(prompt, 24))
		}
		b.ReportMetric(float64(alone)/float64(took(together...)), "batching")

		guessed := bitJob(copied, 60)
		guessed.limit = len(copied) + 60
		b.ReportMetric(float64(took(bitJob(copied, 60))-took(bitJob(copied, 1)))/
			float64(took(guessed)-took(bitJob(copied, 1))), "drafts")
	}
}
