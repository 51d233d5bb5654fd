package llama

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-eval/assay/models/gguf"
)

// The tiny models are of a real architecture and format, and have random weights: enough for all that does
// not need sense.
const (
	tinyWidth   = 256
	tinyContext = 8192
)

// A tinyModel says what is odd about a tiny model.
type tinyModel struct {
	template string
	arch     string // "" means llama; gemma2, whose attention slides, works too
	control  string // its last control token; "" means <|turn|>
}

// write writes the model to a file of its own.
func (m tinyModel) write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	var buf bytes.Buffer
	if err := gguf.Write(&buf, m.header(), m.tensors()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (m tinyModel) header() []gguf.Field {
	if m.arch == "" {
		m.arch = "llama"
	}
	tokens, types, scores := tinyVocabulary()
	if m.control != "" {
		tokens[3] = m.control
	}
	fields := []gguf.Field{
		{Key: "general.architecture", Value: m.arch},
		{Key: "general.name", Value: "tiny"},
		{Key: m.arch + ".context_length", Value: uint32(tinyContext)},
		{Key: m.arch + ".embedding_length", Value: uint32(tinyWidth)},
		{Key: m.arch + ".block_count", Value: uint32(2)},
		{Key: m.arch + ".feed_forward_length", Value: uint32(2 * tinyWidth)},
		{Key: m.arch + ".attention.head_count", Value: uint32(2)},
		{Key: m.arch + ".attention.head_count_kv", Value: uint32(1)},
		{Key: m.arch + ".attention.layer_norm_rms_epsilon", Value: float32(1e-5)},
		{Key: m.arch + ".vocab_size", Value: uint32(len(tokens))},
		{Key: "tokenizer.ggml.model", Value: "llama"},
		{Key: "tokenizer.ggml.tokens", Value: tokens},
		{Key: "tokenizer.ggml.scores", Value: scores},
		{Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)},
		{Key: "tokenizer.ggml.unknown_token_id", Value: uint32(0)},
	}
	if m.arch == "gemma2" {
		fields = append(fields,
			gguf.Field{Key: "gemma2.attention.key_length", Value: uint32(tinyWidth / 2)},
			gguf.Field{Key: "gemma2.attention.value_length", Value: uint32(tinyWidth / 2)},
			gguf.Field{Key: "gemma2.attention.sliding_window", Value: uint32(100)})
	}
	if m.template != "" {
		fields = append(fields, gguf.Field{Key: "tokenizer.chat_template", Value: m.template})
	}
	return fields
}

// tinyWords is where the words of the vocabulary start: after the control tokens and the bytes.
const tinyWords = 4 + 256

// tinyVocabulary has a few control tokens, all bytes, and some words.
func tinyVocabulary() (tokens []string, types []int32, scores []float32) {
	const normal, unknown, control, byteToken = 1, 2, 3, 6
	add := func(text string, kind int32) {
		tokens = append(tokens, text)
		types = append(types, kind)
		scores = append(scores, -float32(len(tokens)))
	}
	add("<unk>", unknown)
	add("<s>", control)
	add("</s>", control)
	add("<|turn|>", control)
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), byteToken)
	}
	add("▁", normal)
	for c := 'a'; c <= 'z'; c++ {
		add("▁"+string(c)+"o", normal)
		add("▁"+string(c), normal)
		add(string(c)+"o", normal)
		add(string(c), normal)
	}
	return tokens, types, scores
}

func (m tinyModel) tensors() []gguf.TensorSource {
	tokens, _, _ := tinyVocabulary()
	rng := rand.New(rand.NewPCG(11, 12))
	var list []gguf.TensorSource
	add := func(name string, weight func(row int64) float32, shape ...int64) {
		list = append(list, gguf.TensorSource{Name: name, Type: gguf.F32, Shape: shape,
			Write: func(w io.Writer) error {
				n := int64(1)
				for _, d := range shape {
					n *= d
				}
				data := make([]float32, n)
				for i := range data {
					data[i] = weight(int64(i) / shape[0])
				}
				return binary.Write(w, binary.LittleEndian, data)
			}})
	}
	random := func(int64) float32 { return float32(rng.NormFloat64()) / 8 }
	one := func(int64) float32 { return 1 }
	words := func(row int64) float32 { // only words are ever likely
		if row < tinyWords {
			return 0
		}
		return random(row)
	}
	const w = tinyWidth
	n := int64(len(tokens))
	add("token_embd.weight", random, w, n)
	for i := range 2 {
		block := fmt.Sprintf("blk.%d.", i)
		add(block+"attn_norm.weight", one, w)
		add(block+"attn_q.weight", random, w, w)
		add(block+"attn_k.weight", random, w, w/2)
		add(block+"attn_v.weight", random, w, w/2)
		add(block+"attn_output.weight", random, w, w)
		add(block+"ffn_norm.weight", one, w)
		add(block+"ffn_gate.weight", random, w, 2*w)
		add(block+"ffn_up.weight", random, w, 2*w)
		add(block+"ffn_down.weight", random, 2*w, w)
		if m.arch == "gemma2" {
			add(block+"post_attention_norm.weight", one, w)
			add(block+"post_ffw_norm.weight", one, w)
		}
	}
	add("output_norm.weight", one, w)
	if m.arch != "gemma2" { // which has one matrix for tokens read and written
		add("output.weight", words, w, n)
	}
	return list
}
