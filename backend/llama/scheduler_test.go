package llama

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// A fakeCache is a cache whose model is a hash of the whole sequence. It checks that it is used as
// llama.cpp must be, so that a reply is right only if every stream held the right tokens throughout.
type fakeCache struct {
	t       *testing.T
	s       *scheduler
	streams [][]llama.Token
	tiles   [][]bool // whether each of those was computed in a tile
	room    int
	out     [][][]float32 // logits wanted after each token of each piece
	copies  int
	fail    error // of the next compute
	uncut   bool  // it is one that cannot be cut
}

const (
	fakeVocab   = 50
	fakeColumns = 4
	fakeOutputs = 80
)

// fakeCopier, at the start of a prompt, makes the model copy: it goes on as after the last time that its last
// three tokens stood there, if they did.
const fakeCopier = fakeVocab - 1

// fakeLogits are the logits of the token after tokens.
func fakeLogits(tokens []llama.Token) []float32 {
	if n := len(tokens); tokens[0] == fakeCopier {
		for end := n - 1; end > 3; end-- {
			if slices.Equal(tokens[end-3:end], tokens[n-3:]) {
				logits := make([]float32, fakeVocab)
				logits[tokens[end]] = 1
				return logits
			}
		}
	}
	h := fnv.New64a()
	for _, t := range tokens {
		h.Write([]byte{byte(t), byte(t >> 8)})
	}
	rng := rand.New(rand.NewPCG(h.Sum64(), 1))
	logits := make([]float32, fakeVocab)
	for i := range logits {
		logits[i] = rng.Float32()
	}
	logits[0] = 0.9 // so that token 0, which ends a reply, is chosen now and then
	return logits
}

func (c *fakeCache) compute(pieces []piece) error {
	c.t.Helper()
	if err := c.fail; err != nil {
		c.fail = nil
		return err
	}
	c.out = c.out[:0]
	width := pieces[0].width
	outputs := 0
	if n := len(pieces) * width; n > ubatch || !c.uncut && n%fakeColumns != 0 {
		c.t.Fatalf("%d tokens in one pass", n)
	}
	for i, p := range pieces {
		have, end := c.streams[p.stream], p.at+p.width
		switch {
		case p.at != len(have):
			c.t.Fatalf("stream %d holds %d tokens, and a piece is for %d", p.stream, len(have), p.at)
		case p.width != width || p.width < len(p.tokens) || p.width-max(len(p.tokens), min(width, block)) > fakeColumns+width/7:
			c.t.Fatalf("a piece of %d tokens has width %d, the first has %d", len(p.tokens), p.width, width)
		case c.uncut && p.width != len(p.tokens):
			c.t.Fatalf("a piece was rounded up that cannot be cut")
		case i > 0 && p.stream <= pieces[i-1].stream:
			c.t.Fatal("pieces are not ordered by stream")
		case !c.uncut && width == 1 && i > 0 && p.stream != pieces[i-1].stream+1:
			c.t.Fatalf("there is a gap before stream %d", p.stream)
		case end > c.room:
			c.t.Fatalf("stream %d has no room for %d tokens", p.stream, end)
		}
		have = slices.Clip(have)
		out := make([][]float32, len(p.tokens))
		for k, token := range p.tokens {
			have = append(have, token)
			if k >= p.from {
				out[k] = fakeLogits(have)
			}
		}
		c.out = append(c.out, out)
		c.streams[p.stream] = append(have, make([]llama.Token, p.width-len(p.tokens))...)
		c.tiles[p.stream] = append(slices.Clip(c.tiles[p.stream]), slices.Repeat([]bool{width >= block}, p.width)...)
		for k, tile := range c.tiles[p.stream][:p.at+len(p.tokens)] {
			if j := c.s.streams[p.stream].job; c.s.exact && j != nil && tile != (k < j.tiles) {
				c.t.Fatalf("stream %d: token %d was computed in a tile: %v, of a job with %d", p.stream, k, tile, j.tiles)
			}
		}
		outputs += p.outputs(fakeColumns)
	}
	if outputs > fakeOutputs || !c.uncut && outputs%fakeColumns != 0 {
		c.t.Fatalf("%d logits in one pass", outputs)
	}
	return nil
}

func (c *fakeCache) logits(i, k int) []float32 { return c.out[i][k] }

func (c *fakeCache) copy(to, from llama.SeqId) {
	c.copies++
	c.streams[to], c.tiles[to] = slices.Clone(c.streams[from]), slices.Clone(c.tiles[from])
}

func (c *fakeCache) cut(s llama.SeqId, n int) {
	if n < len(c.streams[s]) {
		c.streams[s], c.tiles[s] = c.streams[s][:n], c.tiles[s][:n]
	}
}

// fakeText spells each token as a letter.
type fakeText struct{}

func (fakeText) piece(t llama.Token) []byte { return []byte{byte('0' + t)} }
func (fakeText) ends(t llama.Token) bool    { return t == 0 }

func newFake(t *testing.T, slots int) (*scheduler, *fakeCache) {
	const room = 1024
	n := roundUp(slots, fakeColumns)
	c := &fakeCache{t: t, streams: make([][]llama.Token, n), tiles: make([][]bool, n), room: room}
	s := &scheduler{cache: c, outputs: fakeOutputs, slots: slots, room: room, sharing: true, exact: true,
		columns: fakeColumns, count: new(counters)}
	c.s = s
	for i := range n {
		s.streams = append(s.streams, &stream{id: llama.SeqId(i)})
	}
	return s, c
}

func newFakeJob(prompt []llama.Token, most int, seed uint64) *job {
	sampling := backend.Sampling{}
	if seed != 0 {
		sampling.Temperature = 1
	}
	return newJob(context.Background(), prompt, len(prompt), newTestWriter(fakeText{}, prompt, most,
		sampling, seed))
}

// wantReply computes a job's reply the plain way.
func wantReply(j *job, seed uint64) backend.Generation {
	w := j.task.(*writer)
	tokens := slices.Clone(j.tokens[:j.prompt])
	s := newSampler(w.sampler.Sampling, seed)
	g := backend.Generation{Stop: backend.StopLength, PromptTokens: j.prompt}
	for g.OutputTokens < w.max {
		t := s.choose(fakeLogits(tokens))
		if t == 0 {
			g.Stop = backend.StopEnd
			break
		}
		g.Text += string(fakeText{}.piece(t))
		g.OutputTokens++
		tokens = append(tokens, t)
	}
	return g
}

func tokens(rng *rand.Rand, n int) []llama.Token {
	out := make([]llama.Token, n)
	for i := range out {
		out[i] = llama.Token(1 + rng.IntN(fakeVocab-1))
	}
	return out
}

// TestSchedulerRandom throws random work at the scheduler: prompts that share beginnings, repeated prompts,
// callers that leave. Every reply must be the one that the model gives when asked plainly.
func TestSchedulerRandom(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		s, c := newFake(t, 1+rng.IntN(6))
		var stems [][]llama.Token
		for range 3 {
			stems = append(stems, tokens(rng, 1+rng.IntN(400)))
		}
		type asked struct {
			*job
			seed   uint64
			cancel context.CancelFunc
		}
		var all []asked
		for len(all) < 40 || s.running()+len(s.waiting) > 0 {
			for len(all) < 40 && rng.IntN(3) > 0 {
				prompt := slices.Concat(stems[rng.IntN(len(stems))], tokens(rng, rng.IntN(3)*rng.IntN(150)))
				if len(all) > 0 && rng.IntN(4) == 0 {
					other := all[rng.IntN(len(all))]
					prompt = slices.Clone(other.tokens[:other.prompt])
				}
				a := asked{seed: rng.Uint64N(5)}
				if rng.IntN(4) == 0 {
					prompt = slices.Clone(prompt)
					prompt[0] = fakeCopier
				}
				most := 1 + rng.IntN(60)
				a.job = newFakeJob(prompt, most, a.seed)
				a.limit = len(prompt) + most
				a.ctx, a.cancel = context.WithCancel(context.Background())
				defer a.cancel()
				all = append(all, a)
				s.take([]*job{a.job})
			}
			if len(all) > 0 && rng.IntN(20) == 0 {
				all[rng.IntN(len(all))].cancel()
			}
			if s.rounds > 10_000 {
				t.Fatalf("seed %d: %d jobs are still there after %d rounds", seed, s.running()+len(s.waiting), s.rounds)
			}
			s.round()
		}
		for i, a := range all {
			o := <-a.task.(*writer).done
			if o.err != nil {
				if o.err != a.ctx.Err() {
					t.Fatalf("seed %d: job %d: %v", seed, i, o.err)
				}
			} else if want := wantReply(a.job, a.seed); *o.g != want {
				t.Fatalf("seed %d: job %d gave %+v, want %+v", seed, i, *o.g, want)
			}
		}
		for _, st := range s.streams {
			if !slices.Equal(c.streams[st.id], st.prompt) {
				t.Fatalf("seed %d: stream %d holds other tokens than the scheduler thinks", seed, st.id)
			}
		}
	}
}

// run gives the scheduler jobs and lets it finish them.
func run(t *testing.T, s *scheduler, jobs ...*job) {
	t.Helper()
	s.take(jobs)
	for s.round() {
		if s.rounds > 100_000 {
			t.Fatal("the scheduler does not come to an end")
		}
	}
	for i, j := range jobs {
		o := <-j.task.(*writer).done
		if o.err != nil {
			t.Fatalf("job %d: %v", i, o.err)
		}
		if want := wantReply(j, 0); *o.g != want {
			t.Errorf("job %d gave %+v, want %+v", i, *o.g, want)
		}
	}
}

func TestSharedPrefixIsComputedOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	stem := tokens(rng, 400)

	check := func(what string, s *scheduler, prompts [][]llama.Token, want int64) {
		t.Helper()
		before := s.count.stats().PromptComputed
		var jobs []*job
		for _, p := range prompts {
			jobs = append(jobs, newFakeJob(p, 20, 0))
		}
		run(t, s, jobs...)
		if got := s.count.stats().PromptComputed - before; got != want {
			t.Errorf("%s: computed %d tokens of prompts, want %d", what, got, want)
		}
	}
	made := 0
	several := func(n, tail int) (list [][]llama.Token) {
		for range n {
			own := tokens(rng, tail)
			made++
			own[0] = llama.Token(2 + made) // no two begin alike
			list = append(list, slices.Concat(stem, own))
		}
		return list
	}

	s, _ := newFake(t, 16)
	first := several(24, 40)
	check("24 prompts with a common beginning", s, first, 400+24*40)
	check("the last of them again", s, first[23:], 1)
	check("more like them", s, several(5, 10), 5*10)

	s, _ = newFake(t, 16)
	check("10 draws of one prompt", s, slices.Repeat(first[:1], 10), 440+9)

	s, _ = newFake(t, 2)
	check("more prompts than streams", s, first, 400+24*40)

	s, c := newFake(t, 4)
	s.sharing, s.exact, c.uncut = false, false, true
	check("a memory that cannot be cut", s, first[:3], 3*440)
}

// TestDrafts checks that a reply which copies is the same as without drafts, and takes far fewer passes.
func TestDrafts(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	s, _ := newFake(t, 4)
	var jobs []*job
	for range 3 {
		text := tokens(rng, 100)
		text[0] = fakeCopier
		j := newFakeJob(slices.Concat(text, text[10:14]), 80, 0)
		j.limit = len(j.tokens) + 80
		jobs = append(jobs, j)
	}
	run(t, s, jobs...)
	stats := s.count.stats()
	if stats.Drafted == 0 || stats.Accepted < stats.Drafted*9/10 {
		t.Errorf("%d of %d drafted tokens were right", stats.Accepted, stats.Drafted)
	}
	if s.rounds > 30 {
		t.Errorf("replies of 80 tokens took %d rounds", s.rounds)
	}
}

// Jobs that all have a draft to be checked, far apart since others ended, stay where they are for that.
func TestDraftsFarApart(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s, _ := newFake(t, 12)
		var jobs []*job
		for range 12 {
			text := tokens(rng, 8) // over and over, and so the reply will be
			prompt := slices.Concat([]llama.Token{fakeCopier}, slices.Repeat(text, 5))
			most := 1 + rng.IntN(20)*rng.IntN(10)
			j := newFakeJob(prompt, most, 0)
			j.limit = len(prompt) + most
			jobs = append(jobs, j)
		}
		run(t, s, jobs...)
		if s.count.accepted.Load() == 0 {
			t.Fatalf("seed %d: no draft was right", seed)
		}
	}
}

func TestRoomIsMadeAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	s, _ := newFake(t, 8)
	var jobs []*job
	for i := range 64 {
		jobs = append(jobs, newFakeJob(tokens(rng, 30+i), 5+i%40, 0))
	}
	run(t, s, jobs...)
	if p := s.count.stats().Packing(); p != 1 {
		t.Errorf("packing is %.3f, want 1: %+v", p, s.count.stats())
	}
}

// TestNobodyStarves keeps short questions coming, which would all like to go first.
func TestNobodyStarves(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	s, _ := newFake(t, 2)
	stem := tokens(rng, 128)
	long := newFakeJob(tokens(rng, 100), 200, 0)
	other := newFakeJob(tokens(rng, 70), 3, 0)
	s.take([]*job{long})
	s.round()
	for i := 0; len(long.task.(*writer).done) == 0 || len(other.task.(*writer).done) == 0; i++ {
		if i > 20_000 {
			t.Fatalf("after %d rounds the long answer has %d tokens, and the other job was passed over %d times",
				i, long.task.(*writer).count, other.passed)
		}
		if i == 50 {
			s.take([]*job{other})
		}
		for len(s.waiting) < 6 {
			s.take([]*job{newFakeJob(slices.Concat(stem, tokens(rng, 500)), 1, 0)})
		}
		s.round()
	}
}

func TestComputeFails(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	s, c := newFake(t, 4)
	run(t, s, newFakeJob(tokens(rng, 200), 10, 0))
	c.fail = fmt.Errorf("no memory")
	jobs := []*job{newFakeJob(tokens(rng, 100), 10, 0), newFakeJob(tokens(rng, 90), 10, 0)}
	s.take(jobs)
	if s.round() {
		t.Error("there is work left after all of it failed")
	}
	for _, j := range jobs {
		if o := <-j.task.(*writer).done; o.err == nil || o.err.Error() != "no memory" {
			t.Errorf("got %v, want the error of the pass", o.err)
		}
	}
	run(t, s, newFakeJob(tokens(rng, 200), 10, 0), newFakeJob(tokens(rng, 300), 10, 0))
}
