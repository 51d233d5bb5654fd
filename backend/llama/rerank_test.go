package llama

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/llama/chat"
	"github.com/assay-eval/assay/models/gguf"
)

// A tinyBert is a BERT model of random weights with a classification head.
type tinyBert struct {
	*weights
	labels  []string // nil: a reranker, with one number
	heads   int      // of attention
	tokens  []string
	pooling uint32 // as llama.cpp numbers them: 1 is the mean, 4 the classification head
}

const (
	bertWidth   = 32
	bertLayers  = 2
	bertContext = 512
)

func newTinyBert(labels ...string) *tinyBert {
	m := &tinyBert{weights: newWeights(7), labels: labels, heads: 4, pooling: 4}
	m.tokens = strings.Fields("[PAD] [UNK] [CLS] [SEP] [MASK]")
	for c := 'a'; c <= 'z'; c++ { // the first letter of a word, and a later one
		m.tokens = append(m.tokens, "\u2581"+string(c), string(c))
	}
	for _, word := range strings.Fields("river stone cloud window garden letter winter bridge silver candle market " +
		"forest 0 1 2 3 4 5 6 7 8 9") {
		m.tokens = append(m.tokens, "\u2581"+word)
	}
	const n = bertWidth
	m.add("token_embd.weight", 0, 1, n, int64(len(m.tokens)))
	m.add("token_types.weight", 0, 1, n, 2)
	types := m.tensors["token_types.weight"] // of which llama.cpp reads one: a pair is in one segment
	types.shape, types.data = []int64{n, 1}, types.data[:n]
	m.add("position_embd.weight", 0, 1, n, bertContext)
	norm := func(name string) {
		m.add(name+".weight", 1, 0.2, n)
		m.add(name+".bias", 0, 0.2, n)
	}
	linear := func(name string, in, out int64) {
		m.add(name+".weight", 0, 1/math.Sqrt(float64(in)), in, out)
		m.add(name+".bias", 0, 0.2, out)
	}
	norm("token_embd_norm")
	for i := range bertLayers {
		block := fmt.Sprintf("blk.%d.", i)
		for _, part := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			linear(block+part, n, n)
		}
		norm(block + "attn_output_norm")
		linear(block+"ffn_up", n, 2*n)
		linear(block+"ffn_down", 2*n, n)
		norm(block + "layer_output_norm")
	}
	linear("cls", n, n)
	linear("cls.output", n, int64(max(1, len(labels))))
	return m
}

// write writes the model to a file, with more fields at the end of its header.
func (m *tinyBert) write(t *testing.T, more ...gguf.Field) string {
	t.Helper()
	types := make([]int32, len(m.tokens))
	for i := range types {
		types[i] = 1
		if i < 5 {
			types[i] = 3
		}
	}
	header := []gguf.Field{
		{Key: "general.architecture", Value: "bert"},
		{Key: "bert.block_count", Value: uint32(bertLayers)},
		{Key: "bert.context_length", Value: uint32(bertContext)},
		{Key: "bert.embedding_length", Value: uint32(bertWidth)},
		{Key: "bert.feed_forward_length", Value: uint32(2 * bertWidth)},
		{Key: "bert.attention.head_count", Value: uint32(m.heads)},
		{Key: "bert.attention.layer_norm_epsilon", Value: float32(1e-12)},
		{Key: "bert.attention.causal", Value: false},
		{Key: "bert.pooling_type", Value: m.pooling},
		{Key: "tokenizer.ggml.token_type_count", Value: uint32(1)},
		{Key: "tokenizer.ggml.model", Value: "bert"},
		{Key: "tokenizer.ggml.tokens", Value: m.tokens},
		{Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.padding_token_id", Value: uint32(0)},
		{Key: "tokenizer.ggml.unknown_token_id", Value: uint32(1)},
		{Key: "tokenizer.ggml.bos_token_id", Value: uint32(2)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(3)},
		{Key: "tokenizer.ggml.seperator_token_id", Value: uint32(3)}, // llama.cpp spells it so
	}
	if m.labels != nil {
		header = append(header, gguf.Field{Key: "bert.classifier.output_labels", Value: m.labels})
	}
	return m.weights.write(t, append(header, more...))
}

// closed are the flags of a model that wants [CLS] query [SEP] text [SEP], as converters set them.
func closed() []gguf.Field {
	return []gguf.Field{
		{Key: "tokenizer.ggml.add_eos_token", Value: true},
		{Key: "tokenizer.ggml.add_sep_token", Value: false},
	}
}

// words cuts words of lower-case letters into the model's tokens.
func (m *tinyBert) words(text string) []int {
	var ids []int
	for _, word := range strings.Fields(text) {
		if i := slices.Index(m.tokens, "\u2581"+word); i >= 0 {
			ids = append(ids, i)
			continue
		}
		for i, c := range word {
			mark := ""
			if i == 0 {
				mark = "\u2581"
			}
			ids = append(ids, slices.Index(m.tokens, mark+string(c)))
		}
	}
	return ids
}

// layers is the forward pass of BERT as in its paper: a vector for each token.
func (m *tinyBert) layers(tokens []int) [][]float64 {
	x := make([][]float64, len(tokens))
	for i, id := range tokens {
		v := plus(m.row("token_embd.weight", id),
			plus(m.row("token_types.weight", 0), m.row("position_embd.weight", i)))
		x[i] = m.norm("token_embd_norm", v)
	}
	scale := func(_, _, _ int, product float64) float64 { return product / math.Sqrt(float64(bertWidth/m.heads)) }
	for layer := range bertLayers {
		block := fmt.Sprintf("blk.%d.", layer)
		by := func(name string) func([]float64) []float64 {
			return func(v []float64) []float64 { return m.linear(block+name, v) }
		}
		seen := attend(each(x, by("attn_q")), each(x, by("attn_k")), each(x, by("attn_v")), m.heads, scale)
		for i := range x {
			h := m.norm(block+"attn_output_norm", plus(x[i], m.linear(block+"attn_output", seen[i])))
			inner := m.linear(block+"ffn_up", h)
			for j := range inner {
				inner[j] = gelu(inner[j])
			}
			x[i] = m.norm(block+"layer_output_norm", plus(h, m.linear(block+"ffn_down", inner)))
		}
	}
	return x
}

// head is a dense layer under tanh of the first token's vector, then the output layer.
func (m *tinyBert) head(tokens []int) []float64 {
	dense := m.linear("cls", m.layers(tokens)[0])
	for i := range dense {
		dense[i] = math.Tanh(dense[i])
	}
	return m.linear("cls.output", dense)
}

func (m *tinyBert) norm(name string, x []float64) []float64 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	out := make([]float64, len(x))
	weight, bias := m.row(name+".weight", 0), m.row(name+".bias", 0)
	for i, v := range x {
		out[i] = (v-mean)/math.Sqrt(variance)*weight[i] + bias[i]
	}
	return out
}

// TestRerankReference compares the engine's numbers with the forward pass above, of models with one output and
// with three, that want a last [SEP] and that do not, with heads of 8 and of 16 dimensions.
func TestRerankReference(t *testing.T) {
	testLib(t)
	pairs := []backend.Pair{
		{Query: "which river", Text: "the silver bridge over the river"},
		{Query: "the silver bridge over the river", Text: "which river"},
		{Query: "market", Text: "candle"},
		{Query: "market"},
		{Text: "a single text"},
		{},
		{Query: "why", Text: strings.Repeat("winter forest cloud ", 20)},
		{Query: "why", Text: strings.Repeat("winter forest cloud ", 150)},
	}
	check := func(heads int, flags []gguf.Field, labels ...string) {
		t.Helper()
		m := newTinyBert(labels...)
		m.heads = heads
		e := open(t, Options{Model: m.write(t, flags...), Threads: 1})
		if want := backend.CanClassify | backend.CanMark; e.Info().Ops != want {
			t.Errorf("Ops are %v, want %v", e.Info().Ops, want)
		}
		got, err := backend.Classify(t.Context(), e, pairs)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i, p := range pairs {
			tokens := m.pair(p, flags != nil)
			want := m.head(tokens)
			if len(got[i]) != max(1, len(labels)) {
				t.Fatalf("%d numbers for %d labels", len(got[i]), len(labels))
			}
			allowed := attentionError(t, bertWidth/heads, len(tokens))
			for j, v := range got[i] {
				worst = max(worst, math.Abs(float64(v)-want[j]))
				if !(math.Abs(float64(v)-want[j]) < allowed) {
					t.Errorf("%d heads, pair %d of %d tokens: %v, want %v within %v",
						heads, i, len(tokens), got[i], want, allowed)
					break
				}
			}
		}
		t.Logf("%d heads, %d labels, flags %v: the largest difference is %.1e; the first is %v",
			heads, len(labels), flags != nil, worst, got[0])
	}
	for _, heads := range []int{4, 2} {
		check(heads, closed())
		check(heads, nil)
		check(heads, closed(), "entailment", "neutral", "contradiction")
	}
}

// pair cuts a pair into the model's tokens, with a last [SEP] or without.
func (m *tinyBert) pair(p backend.Pair, closed bool) []int {
	const cls, sep = 2, 3
	tokens := append([]int{cls}, m.words(p.Query)...)
	if p.Query != "" {
		tokens = append(tokens, sep)
	}
	tokens = append(tokens, m.words(p.Text)...)
	if closed || p.Query == "" {
		tokens = append(tokens, sep)
	}
	return tokens
}

func TestRerankConforms(t *testing.T) {
	testLib(t)
	path := newTinyBert().write(t, closed()...)
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return open(t, Options{Model: path, Threads: 1}) },
	})
}

// writeTinyJudge writes a decoder of the Qwen3 family that was made a reranker: it reads a pair through a template and
// says how likely the labels are.
func writeTinyJudge(t *testing.T) string {
	t.Helper()
	const n, heads = 64, 2
	w := newWeights(9)
	tokens, types, scores := tinyVocabulary()
	w.add("token_embd.weight", 0, 1, n, int64(len(tokens)))
	w.add("output_norm.weight", 1, 0.2, n)
	w.add("cls.output.weight", 0, 1/math.Sqrt(n), n, 2)
	for i := range 2 {
		block := fmt.Sprintf("blk.%d.", i)
		w.add(block+"attn_norm.weight", 1, 0.2, n)
		for _, part := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			w.add(block+part+".weight", 0, 1/math.Sqrt(n), n, n)
		}
		w.add(block+"attn_q_norm.weight", 1, 0.2, n/heads)
		w.add(block+"attn_k_norm.weight", 1, 0.2, n/heads)
		w.add(block+"ffn_norm.weight", 1, 0.2, n)
		for _, part := range []string{"ffn_gate", "ffn_up", "ffn_down"} {
			w.add(block+part+".weight", 0, 1/math.Sqrt(n), n, n)
		}
	}
	return w.write(t, []gguf.Field{
		{Key: "general.architecture", Value: "qwen3"},
		{Key: "qwen3.block_count", Value: uint32(2)},
		{Key: "qwen3.context_length", Value: uint32(4096)},
		{Key: "qwen3.embedding_length", Value: uint32(n)},
		{Key: "qwen3.feed_forward_length", Value: uint32(n)},
		{Key: "qwen3.attention.head_count", Value: uint32(heads)},
		{Key: "qwen3.attention.layer_norm_rms_epsilon", Value: float32(1e-6)},
		{Key: "qwen3.pooling_type", Value: uint32(4)},
		{Key: "qwen3.classifier.output_labels", Value: []string{"yes", "no"}},
		{Key: "tokenizer.ggml.model", Value: "llama"},
		{Key: "tokenizer.ggml.tokens", Value: tokens},
		{Key: "tokenizer.ggml.scores", Value: scores},
		{Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)},
		{Key: "tokenizer.chat_template.rerank", Value: "<|turn|>ask {query}<|turn|>say {document}</s>"},
	})
}

func TestRerankDecoder(t *testing.T) {
	testLib(t)
	path := writeTinyJudge(t)
	e := open(t, Options{Model: path, Threads: 1})
	v := e.model.vocab
	got, err := e.model.pair(backend.Pair{Query: "a <|turn|>", Text: "</s>"})
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat([]llama.Token{3}, v.tokens("ask a <|turn|>", false), []llama.Token{3},
		v.tokens("say </s>", false), []llama.Token{2})
	if !slices.Equal(got, want) {
		t.Errorf("a pair is cut into %v, want %v", got, want)
	}
	outputs, err := backend.Classify(t.Context(), e,
		[]backend.Pair{{Query: "lo", Text: "no"}, {Query: "no", Text: "lo"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outputs {
		if len(o) != 2 || math.Abs(float64(o[0]+o[1])-1) > 1e-6 ||
			slices.Equal(o, outputs[0]) && &o[0] != &outputs[0][0] {
			t.Errorf("outputs are %v, want two shares of 1 for each pair", outputs)
		}
	}
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return open(t, Options{Model: path, Threads: 1}) },
	})
}

// TestPairParts checks that texts come where a template has their marks, and that marks in texts are text.
func TestPairParts(t *testing.T) {
	check := func(template string, want ...chat.Part) {
		t.Helper()
		got := pairParts(template, backend.Pair{Query: "the {document}?", Text: "{query}"})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", template, got, want)
		}
	}
	own := func(text string) chat.Part { return chat.Part{Text: text, Template: true} }
	query, text := chat.Part{Text: "the {document}?"}, chat.Part{Text: "{query}"}
	check("", own(""))
	check("<q>{query}</q><d>{document}</d>", own("<q>"), query, own("</q><d>"), text, own("</d>"))
	check("{document}{query}", own(""), text, own(""), query, own(""))
	check("{query}{query}{doc}", own(""), query, own(""), query, own("{doc}"))
}

// FuzzPairParts checks that a template comes back whole from its parts, each text in the place of its mark.
func FuzzPairParts(f *testing.F) {
	f.Add("<q>{query}</q>{document}{query", "a", "{query}")
	f.Fuzz(func(t *testing.T, template, query, text string) {
		var whole strings.Builder
		marks := 0
		for i, p := range pairParts(template, backend.Pair{Query: query, Text: text}) {
			if p.Template != (i%2 == 0) {
				t.Fatalf("part %d is of the template: %v", i, p.Template)
			}
			if !p.Template {
				marks++
			}
			whole.WriteString(p.Text)
		}
		want := strings.NewReplacer("{query}", query, "{document}", text).Replace(template)
		if n := strings.Count(template, "{query}") + strings.Count(template, "{document}"); whole.String() != want ||
			marks != n {
			t.Errorf("%d texts in %q, want %d in %q", marks, whole.String(), n, want)
		}
	})
}

// TestRefusesHead checks that a head of another size than the header says never gets to llama.cpp, which
// would read beyond its numbers.
func TestRefusesHead(t *testing.T) {
	check := func(m *tinyBert) {
		t.Helper()
		path := m.write(t)
		e, err := Open(t.Context(), Options{Lib: t.TempDir(), Model: path})
		if err == nil {
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "classification head") {
			t.Errorf("%v, want an error about the classification head", err)
		}
	}
	m := newTinyBert("yes", "no")
	m.labels = nil
	check(m)
	m.labels = []string{"a", "b", "c"}
	check(m)
	m = newTinyBert()
	m.names = slices.DeleteFunc(m.names, func(name string) bool { return strings.HasPrefix(name, "cls") })
	check(m)
}
