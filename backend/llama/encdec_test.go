package llama

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/models/gguf"
)

// A tinyT5 is a T5 model of random weights: an encoder of three layers and a decoder of two.
type tinyT5 struct {
	*weights
	gated  bool // the feed-forward layer, as in Flan-T5
	tokens []string
}

const (
	t5Width     = 32
	t5Inner     = 48
	t5Heads     = 4
	t5Head      = 16 // width of a head: T5's need not add up to its width
	t5Buckets   = 32 // of distances
	t5Encoder   = 3  // layers; llama.cpp v0.4.0 wants no fewer than of the decoder
	t5Decoder   = 2
	t5Context   = 1024
	t5Pad       = 0 // the token that replies start from
	t5End       = 1
	t5Unknown   = 2
	t5FirstWord = 3
)

// newTinyT5 makes a model whose replies are words of one letter. Its vocabulary has those, all letters and
// marks, and some longer words.
func newTinyT5(gated bool) *tinyT5 {
	m := &tinyT5{weights: newWeights(5), gated: gated}
	m.tokens = []string{"<pad>", "</s>", "<unk>"}
	for c := 'a'; c <= 'z'; c++ {
		m.tokens = append(m.tokens, "\u2581"+string(c))
	}
	words := len(m.tokens)
	m.tokens = append(m.tokens, "\u2581")
	for _, word := range strings.Fields("river stone cloud window garden letter winter bridge silver candle market " +
		"forest") {
		m.tokens = append(m.tokens, "\u2581"+word)
	}
	for c := '!'; c <= '~'; c++ {
		m.tokens = append(m.tokens, string(c))
	}
	const n, heads = t5Width, t5Heads * t5Head
	random := func(name string, in, out int64) { m.add(name+".weight", 0, 1/math.Sqrt(float64(in)), in, out) }
	norm := func(name string) { m.add(name+".weight", 1, 0.2, n) }
	attention := func(name string) {
		m.add(name+"_q.weight", 0, 0.5/math.Sqrt(n), n, heads)
		random(name+"_k", n, heads)
		random(name+"_v", n, heads)
		random(name+"_o", heads, n)
	}
	feed := func(block string) {
		norm(block + "ffn_norm")
		random(block+"ffn_up", n, t5Inner)
		if gated {
			random(block+"ffn_gate", n, t5Inner)
		}
		m.add(block+"ffn_down.weight", 0, 0.2/math.Sqrt(t5Inner), t5Inner, n) // llama.cpp's GELU has 11 bits
	}
	m.add("token_embd.weight", 0, 1, n, int64(len(m.tokens)))
	for i := range t5Encoder {
		block := fmt.Sprintf("enc.blk.%d.", i)
		norm(block + "attn_norm")
		attention(block + "attn")
		feed(block)
	}
	for i := range t5Decoder {
		block := fmt.Sprintf("dec.blk.%d.", i)
		norm(block + "attn_norm")
		attention(block + "attn")
		norm(block + "cross_attn_norm")
		attention(block + "cross_attn")
		feed(block)
	}
	m.add("enc.blk.0.attn_rel_b.weight", 0, 1, t5Heads, t5Buckets)
	m.add("dec.blk.0.attn_rel_b.weight", 0, 1, t5Heads, t5Buckets)
	norm("enc.output_norm")
	norm("dec.output_norm")
	m.add("output.weight", 0, 2/math.Sqrt(n), n, int64(len(m.tokens)))
	out := m.tensors["output.weight"].data
	clear(out[:t5FirstWord*n]) // only words are ever likely
	clear(out[words*n:])
	return m
}

func (m *tinyT5) write(t *testing.T, more ...gguf.Field) string {
	t.Helper()
	types, scores := make([]int32, len(m.tokens)), make([]float32, len(m.tokens))
	for i := range types {
		types[i], scores[i] = 1, -2
	}
	scores[slices.Index(m.tokens, "\u2581")] = -3
	types[t5Pad], types[t5End], types[t5Unknown] = 3, 3, 2
	return m.weights.write(t, append([]gguf.Field{
		{Key: "general.architecture", Value: "t5"},
		{Key: "t5.context_length", Value: uint32(t5Context)},
		{Key: "t5.embedding_length", Value: uint32(t5Width)},
		{Key: "t5.feed_forward_length", Value: uint32(t5Inner)},
		{Key: "t5.block_count", Value: uint32(t5Encoder)},
		{Key: "t5.decoder_block_count", Value: uint32(t5Decoder)},
		{Key: "t5.attention.head_count", Value: uint32(t5Heads)},
		{Key: "t5.attention.key_length", Value: uint32(t5Head)},
		{Key: "t5.attention.value_length", Value: uint32(t5Head)},
		{Key: "t5.attention.layer_norm_rms_epsilon", Value: float32(1e-6)},
		{Key: "t5.attention.relative_buckets_count", Value: uint32(t5Buckets)},
		{Key: "t5.decoder_start_token_id", Value: uint32(t5Pad)},
		{Key: "tokenizer.ggml.model", Value: "t5"},
		{Key: "tokenizer.ggml.pre", Value: "default"},
		{Key: "tokenizer.ggml.tokens", Value: m.tokens},
		{Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.scores", Value: scores},
		{Key: "tokenizer.ggml.add_space_prefix", Value: true},
		{Key: "tokenizer.ggml.remove_extra_whitespaces", Value: true},
		{Key: "tokenizer.ggml.padding_token_id", Value: uint32(t5Pad)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(t5End)},
		{Key: "tokenizer.ggml.unknown_token_id", Value: uint32(t5Unknown)},
	}, more...))
}

// cut cuts a text of letters and marks into tokens.
func (m *tinyT5) cut(text string) []int {
	var ids []int
	for _, word := range strings.Fields(text) {
		if id := slices.Index(m.tokens, "\u2581"+word); id >= 0 {
			ids = append(ids, id)
			continue
		}
		for i, c := range word {
			id := slices.Index(m.tokens, string(c))
			if i == 0 {
				id = slices.Index(m.tokens, "\u2581"+string(c))
			}
			if id < 0 {
				ids = append(ids, slices.Index(m.tokens, "\u2581"))
				id = slices.Index(m.tokens, string(c))
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// encode and decode are the forward pass of T5's paper (Raffel et al. 2020).
func (m *tinyT5) encode(prompt []int) [][]float64 {
	read := m.embeddings(prompt)
	for i := range t5Encoder {
		block := fmt.Sprintf("enc.blk.%d.", i)
		h := each(read, m.norm(block+"attn_norm"))
		read = m.add2(read, m.attention(block+"attn", h, h, m.distances("enc", true)))
		read = m.feed(block, read)
	}
	return each(read, m.norm("enc.output_norm"))
}

// decode returns, for each token that the decoder has, the logits of the next.
func (m *tinyT5) decode(read [][]float64, reply []int) [][]float64 {
	x := m.embeddings(append([]int{t5Pad}, reply...))
	for i := range t5Decoder {
		block := fmt.Sprintf("dec.blk.%d.", i)
		h := each(x, m.norm(block+"attn_norm"))
		x = m.add2(x, m.attention(block+"attn", h, h, m.distances("dec", false)))
		h = each(x, m.norm(block+"cross_attn_norm"))
		x = m.add2(x,
			m.attention(block+"cross_attn", h, read, func(_, _, _ int, product float64) float64 { return product }))
		x = m.feed(block, x)
	}
	x = each(x, m.norm("dec.output_norm"))
	return each(x, func(v []float64) []float64 { return m.times("output.weight", v) })
}

func (m *tinyT5) embeddings(tokens []int) [][]float64 {
	var x [][]float64
	for _, id := range tokens {
		x = append(x, m.row("token_embd.weight", id))
	}
	return x
}

// attention is without the usual scale by the width of a head: T5's weights have it in them.
func (m *tinyT5) attention(
	name string, from, to [][]float64, score func(head, i, j int, product float64) float64,
) [][]float64 {
	by := func(part string) func([]float64) []float64 {
		return func(v []float64) []float64 { return m.times(name+part+".weight", v) }
	}
	return each(attend(each(from, by("_q")), each(to, by("_k")), each(to, by("_v")), t5Heads, score), by("_o"))
}

// distances scores by how far apart two tokens are, in buckets: exact when near, then ever coarser, up
// to 128. An encoder looks both ways, and gives each half of the buckets.
func (m *tinyT5) distances(half string, bothWays bool) func(head, i, j int, product float64) float64 {
	return func(head, i, j int, product float64) float64 {
		buckets, bucket, far := t5Buckets, 0, i-j
		if bothWays {
			buckets /= 2
			if far < 0 {
				bucket, far = buckets, -far
			}
		} else if far < 0 {
			return math.Inf(-1) // what comes later is not seen
		}
		exact := buckets / 2
		if far < exact {
			bucket += far
		} else {
			scale := math.Log(float64(far)/float64(exact)) / math.Log(128/float64(exact))
			bucket += min(buckets-1, exact+int(scale*float64(buckets-exact)+1e-6))
		}
		return product + m.row(half+".blk.0.attn_rel_b.weight", bucket)[head]
	}
}

func (m *tinyT5) feed(block string, x [][]float64) [][]float64 {
	return m.add2(x, each(each(x, m.norm(block+"ffn_norm")), func(v []float64) []float64 {
		inner := m.times(block+"ffn_up.weight", v)
		if m.gated {
			for i, g := range m.times(block+"ffn_gate.weight", v) {
				inner[i] *= gelu(g)
			}
		} else {
			for i := range inner {
				inner[i] = max(0, inner[i])
			}
		}
		return m.times(block+"ffn_down.weight", inner)
	}))
}

// norm scales a vector to the root mean square 1, then by weights.
func (m *tinyT5) norm(name string) func([]float64) []float64 {
	weight := m.row(name+".weight", 0)
	return func(v []float64) []float64 {
		out := make([]float64, len(v))
		rms := math.Sqrt(dot(v, v)/float64(len(v)) + 1e-6)
		for i := range v {
			out[i] = v[i] / rms * weight[i]
		}
		return out
	}
}

func (m *tinyT5) add2(a, b [][]float64) [][]float64 {
	out := make([][]float64, len(a))
	for i := range a {
		out[i] = plus(a[i], b[i])
	}
	return out
}

// prompt is what the encoder reads of a text.
func (m *tinyT5) prompt(text string) []int { return append(m.cut(text), t5End) }

// logProbs are the log-probabilities of the tokens of a reply.
func (m *tinyT5) logProbs(read [][]float64, reply []int) []float64 {
	rows := m.decode(read, reply)
	out := make([]float64, len(reply))
	for i, id := range reply {
		sum := 0.0
		for _, l := range rows[i] {
			sum += math.Exp(l)
		}
		out[i] = rows[i][id] - math.Log(sum)
	}
	return out
}

// prompts are texts short and long: distances have buckets up to 128.
func t5Prompts() []string {
	return []string{
		"a",
		"Hello, what is the capital of France?",
		strings.Repeat("The quick brown fox (it was 3 years old) jumps over the lazy dog. ", 6),
	}
}

// TestT5ScoreReference compares the engine's log-probabilities with the forward pass above.
func TestT5ScoreReference(t *testing.T) {
	testLib(t)
	long := strings.Repeat("a b c d e f g h i j k l m n o p q r s t u v w x y z ", 7)
	for _, gated := range []bool{false, true} {
		m := newTinyT5(gated)
		e := open(t, Options{Model: m.write(t), Threads: 1})
		if want := backend.CanGenerate | backend.CanScore | backend.CanChoose | backend.CanMark; e.Info().Ops != want {
			t.Errorf("Ops are %v, want %v", e.Info().Ops, want)
		}
		continuations := []string{"yes", "no", "q", "x y z", "x y q", "xylophone!", long}
		worst := 0.0
		for _, prompt := range t5Prompts() {
			got, err := e.Score(t.Context(), &backend.ScoreRequest{
				Messages: say("user", prompt), Continuations: continuations,
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := len(m.prompt(prompt)); got.PromptTokens != want {
				t.Errorf("%d tokens of prompt, want %d", got.PromptTokens, want)
			}
			read := m.encode(m.prompt(prompt))
			for i, c := range continuations {
				want := m.logProbs(read, m.cut(c))
				if len(got.LogProbs[i]) != len(want) {
					t.Fatalf("%.20q has %d tokens, want %d", c, len(got.LogProbs[i]), len(want))
				}
				for k, v := range got.LogProbs[i] {
					worst = max(worst, math.Abs(v-want[k]))
				}
			}
		}
		if !(worst < 1e-3) {
			t.Errorf("gated %v: log-probabilities differ by up to %v", gated, worst)
		}
		t.Logf("gated %v: log-probabilities differ by up to %.1e", gated, worst)
	}
}

// TestT5MarksReference checks that an end token within a prompt is that token, and that a text which spells it is not:
// the form of MiniCheck-Flan-T5, whose answer is the first token after it.
func TestT5MarksReference(t *testing.T) {
	testLib(t)
	m := newTinyT5(true)
	e := open(t, Options{Model: m.write(t), Threads: 1})
	document, claim := "predict: The quick fox", "a dog jumps"
	got, err := e.Score(t.Context(), &backend.ScoreRequest{
		Messages: []backend.Message{{Role: backend.User, Text: document + claim,
			Marks: []backend.Mark{{At: len(document), Token: "eos"}}}},
		Continuations: []string{"1", "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	prompt := slices.Concat(m.cut(document), []int{t5End}, m.cut(claim), []int{t5End})
	if got.PromptTokens != len(prompt) {
		t.Errorf("%d tokens of prompt, want %d", got.PromptTokens, len(prompt))
	}
	read := m.encode(prompt)
	for i, word := range []string{"1", "0"} {
		if want := m.logProbs(read, m.cut(word)); math.Abs(got.LogProbs[i][0]-want[0]) > 1e-3 {
			t.Errorf("%s has the log-probability %v, want %v", word, got.LogProbs[i][0], want[0])
		}
	}
	spelt, err := e.Score(t.Context(), &backend.ScoreRequest{Messages: say("user", document+"</s>"+claim),
		Continuations: []string{"1"}})
	if err != nil || spelt.PromptTokens <= len(prompt) {
		t.Errorf("a prompt that spells the token has %d tokens, %v", spelt.PromptTokens, err)
	}
	_, err = e.Score(t.Context(), &backend.ScoreRequest{Continuations: []string{"1"}, Messages: []backend.Message{
		{Role: backend.User, Text: "a", Marks: []backend.Mark{{At: 1, Token: "sep"}}}}})
	if !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("a token that T5 lacks: %v", err)
	}
}

// TestT5GenerateReference checks that each token of a greedy reply is the most probable in the forward pass above, and
// that the reply has no space before its first word.
func TestT5GenerateReference(t *testing.T) {
	testLib(t)
	for _, gated := range []bool{false, true} {
		m := newTinyT5(gated)
		e := open(t, Options{Model: m.write(t), Threads: 1})
		for _, prompt := range t5Prompts() {
			got, err := e.Generate(t.Context(), &backend.GenerateRequest{Messages: say("user", prompt), MaxTokens: 40})
			if err != nil {
				t.Fatal(err)
			}
			read := m.encode(m.prompt(prompt))
			var want []int
			for len(want) < 40 {
				rows := m.decode(read, want)
				last := rows[len(rows)-1]
				best := slices.Index(last, slices.Max(last))
				if best == t5End {
					break
				}
				want = append(want, best)
			}
			if words := m.cut(got.Text); !slices.Equal(words, want) || got.Text != strings.TrimSpace(got.Text) {
				t.Errorf("gated %v, prompt %.20q: the reply is %q, tokens %v, want %v",
					gated, prompt, got.Text, words, want)
			}
			if got.OutputTokens != len(want) || got.PromptTokens != len(m.prompt(prompt)) {
				t.Errorf("%d tokens after %d, want %d after %d", got.OutputTokens, got.PromptTokens, len(want),
					len(m.prompt(prompt)))
			}
		}
	}
}

// TestExactT5 checks that answers have the same bits beside others and alone, on one thread and on two.
func TestExactT5(t *testing.T) {
	testLib(t)
	path := newTinyT5(true).write(t)
	one, two := open(t, Options{Model: path, Threads: 1}), open(t, Options{Model: path, Threads: 2})
	type answer struct {
		reply backend.Generation
		probs [][]float64
	}
	ask := func(e *Engine, i int) (a answer, err error) {
		prompt := say("user", t5Prompts()[i%3]+strings.Repeat(" x", i/6))
		g, err := e.Generate(t.Context(), &backend.GenerateRequest{Messages: prompt, MaxTokens: 10 + i,
			Sampling: backend.Sampling{Temperature: float64(i % 2), Seed: 3}})
		if err != nil {
			return a, err
		}
		s, err := e.Score(t.Context(), &backend.ScoreRequest{
			Messages: prompt, Continuations: []string{"yes", "no", "a b c"},
		})
		if err != nil {
			return a, err
		}
		return answer{*g, s.LogProbs}, nil
	}
	const n = 6
	var alone, beside [n]answer
	for i := range n {
		a, err := ask(two, i)
		if err != nil {
			t.Fatal(err)
		}
		alone[i] = a
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			a, err := ask(one, i)
			if err != nil {
				t.Error(err)
			}
			beside[i] = a
		})
	}
	wg.Wait()
	for i := range n {
		if !reflect.DeepEqual(alone[i], beside[i]) {
			t.Errorf("answer %d is %+v alone and %+v beside others", i, alone[i], beside[i])
		}
	}
	if s := one.Stats(); s.PromptComputed >= s.PromptTokens {
		t.Errorf("%d of %d tokens of prompts were computed: what one call's continuations share was read again",
			s.PromptComputed, s.PromptTokens)
	}
}

// A forcing is a task that goes on with given tokens, and keeps the logits that it is shown.
type forcing struct {
	give [][]llama.Token
	seen [][]float32
	done chan error
}

func (f *forcing) next(logits []float32) []llama.Token {
	f.seen = append(f.seen, slices.Clone(logits))
	if len(f.give) == 0 {
		return nil
	}
	tokens := f.give[0]
	f.give = f.give[1:]
	return tokens
}

func (f *forcing) end(err error) { f.done <- err }

// TestT5ForcedReference checks that a task which appends several tokens at once is shown the logits after the last.
func TestT5ForcedReference(t *testing.T) {
	testLib(t)
	m := newTinyT5(false)
	e := open(t, Options{Model: m.write(t), Threads: 1})
	prompt := []llama.Token{5, 6, 7, t5End}
	f := &forcing{give: [][]llama.Token{{8, 9, 10}, {11}, {12, 13}}, done: make(chan error, 1)}
	e.jobs <- []*job{newJob(t.Context(), slices.Clone(prompt), len(prompt), f)}
	if err := <-f.done; err != nil {
		t.Fatal(err)
	}
	rows := m.decode(m.encode([]int{5, 6, 7, t5End}), []int{8, 9, 10, 11, 12, 13})
	for i, row := range []int{0, 3, 4, 6} {
		if len(f.seen) != 4 {
			t.Fatalf("%d logits were shown, want 4", len(f.seen))
		}
		for token, got := range f.seen[i] {
			if want := rows[row][token]; math.Abs(float64(got)-want) > 1e-3 {
				t.Fatalf("logits %d of token %d are %v, want %v", i, token, got, want)
			}
		}
	}
}

func TestT5Conforms(t *testing.T) {
	testLib(t)
	path := newTinyT5(true).write(t)
	backendtest.Run(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
		return open(t, Options{Model: path, Threads: 1})
	}})
}
