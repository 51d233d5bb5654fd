// Package remotetest has what the tests of the engines that ask a server share.
package remotetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/assay-eval/assay/models/gguf"
)

// Tiny returns a GGUF file with a model of two small layers and random weights. It talks
// nonsense, but it is a real file of a real architecture, and answers in milliseconds: the words of its
// vocabulary are likely, single characters much less, and the end of a turn hardly.
func Tiny(t *testing.T) []byte {
	t.Helper()
	const width, wide, layers, heads, length = 64, 128, 2, 4, 8192
	tokens, scores, kinds, biases := tinyVocabulary()
	rng := rand.New(rand.NewPCG(1, 2))
	// The first component of every hidden state is large and the same: the output layer's first column is a
	// bias.
	const constant, hidden = 8, 5.6

	var tensors []gguf.TensorSource
	add := func(name string, value func(row, column int) float32, shape ...int64) {
		rows := 1
		if len(shape) == 2 {
			rows = int(shape[1])
		}
		write := func(w io.Writer) error {
			data := make([]float32, 0, rows*int(shape[0]))
			for r := range rows {
				for c := range int(shape[0]) {
					data = append(data, value(r, c))
				}
			}
			return binary.Write(w, binary.LittleEndian, data)
		}
		tensors = append(tensors, gguf.TensorSource{Name: name, Type: gguf.F32, Shape: shape, Write: write})
	}
	one := func(int, int) float32 { return 1 }
	random := func(scale float64) func(int, int) float32 {
		return func(int, int) float32 { return float32(rng.NormFloat64() * scale) }
	}
	inner := func(row, _ int) float32 { // leaves the first component alone
		if row == 0 {
			return 0
		}
		return float32(rng.NormFloat64() * 0.2)
	}
	add("token_embd.weight", func(_, column int) float32 {
		if column == 0 {
			return constant
		}
		return float32(rng.NormFloat64())
	}, width, int64(len(tokens)))
	for i := range layers {
		layer := func(name string) string { return fmt.Sprintf("blk.%d.%s.weight", i, name) }
		add(layer("attn_norm"), one, width)
		add(layer("attn_q"), random(0.3), width, width)
		add(layer("attn_k"), random(0.3), width, width)
		add(layer("attn_v"), random(0.3), width, width)
		add(layer("attn_output"), inner, width, width)
		add(layer("ffn_norm"), one, width)
		add(layer("ffn_gate"), random(0.2), width, wide)
		add(layer("ffn_up"), random(0.2), width, wide)
		add(layer("ffn_down"), inner, wide, width)
	}
	add("output_norm.weight", one, width)
	add("output.weight", func(row, column int) float32 {
		if column == 0 {
			return biases[row] / hidden
		}
		return float32(rng.NormFloat64() * 0.4)
	}, width, int64(len(tokens)))

	var file bytes.Buffer
	if err := gguf.Write(&file, []gguf.Field{
		{Key: "general.architecture", Value: "llama"},
		{Key: "general.name", Value: "tiny"},
		{Key: "llama.context_length", Value: uint32(length)},
		{Key: "llama.embedding_length", Value: uint32(width)},
		{Key: "llama.block_count", Value: uint32(layers)},
		{Key: "llama.feed_forward_length", Value: uint32(wide)},
		{Key: "llama.attention.head_count", Value: uint32(heads)},
		{Key: "llama.attention.head_count_kv", Value: uint32(heads)},
		{Key: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-5)},
		{Key: "llama.rope.dimension_count", Value: uint32(width / heads)},
		{Key: "tokenizer.ggml.model", Value: "llama"},
		{Key: "tokenizer.ggml.tokens", Value: tokens},
		{Key: "tokenizer.ggml.scores", Value: scores},
		{Key: "tokenizer.ggml.token_type", Value: kinds},
		{Key: "tokenizer.ggml.unknown_token_id", Value: uint32(0)},
		{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)},
	}, tensors); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// tinyVocabulary returns control tokens, the 256 bytes, the ASCII characters and some made-up words.
func tinyVocabulary() (tokens []string, scores []float32, kinds []int32, biases []float32) {
	const normal, unknown, control, bytewise = 1, 2, 3, 6
	add := func(token string, kind int32, bias float32) {
		tokens = append(tokens, token)
		scores = append(scores, -float32(len(scores)))
		kinds = append(kinds, kind)
		biases = append(biases, bias)
	}
	add("<unk>", unknown, -30)
	add("<s>", control, -30)
	add("</s>", control, -14)
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), bytewise, -60) // alone, they are no text
	}
	for c := '!'; c <= '~'; c++ {
		add(string(c), normal, -6)
	}
	add("▁", normal, -8)
	for _, a := range []string{"ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "so", "tu"} {
		for _, b := range []string{"bra", "dro", "fle", "gri", "klu", "mpo", "nta", "rse", "sti", "vlo"} {
			add("▁"+a+b, normal, 0)
		}
	}
	return tokens, scores, kinds, biases
}
