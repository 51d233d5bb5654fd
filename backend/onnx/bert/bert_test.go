package bert

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/models/gguf"
)

// A file is a small BERT in GGUF as a test would have it: fields and tensors by their names.
type file struct {
	fields  map[string]any
	tensors map[string]tensor
}

type tensor struct {
	kind  gguf.TensorType
	shape []int64
	data  []byte
}

// floats is a tensor of fp32, all of whose numbers are one.
func floats(v float32, shape ...int64) tensor {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	var data []byte
	for range n {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return tensor{gguf.F32, shape, data}
}

// small is a classifier of three labels.
func small() *file {
	const width, inner, words, places = 32, 64, 9, 16
	f := &file{tensors: map[string]tensor{}, fields: map[string]any{
		"general.architecture": "bert", "general.name": "assay-encoder-judge",
		"bert.block_count": uint32(1), "bert.context_length": uint32(places), "bert.embedding_length": uint32(width),
		"bert.feed_forward_length": uint32(inner), "bert.attention.head_count": uint32(4),
		"bert.attention.layer_norm_epsilon": float32(1e-5), "bert.attention.causal": false,
		"bert.pooling_type": uint32(4), "bert.classifier.output_labels": []string{"a", "b", "c"},
		"tokenizer.ggml.model": "bert", "tokenizer.ggml.token_type_count": uint32(2),
		"tokenizer.ggml.tokens":        []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁the", "▁cat", "s", "▁.", "▁1"},
		"tokenizer.ggml.token_type":    []int32{3, 2, 3, 3, 1, 1, 1, 1, 1},
		"tokenizer.ggml.bos_token_id":  uint32(2),
		"tokenizer.ggml.eos_token_id":  uint32(3),
		"tokenizer.ggml.add_eos_token": true, "tokenizer.ggml.add_sep_token": false,
		"tokenizer.ggml.seperator_token_id": uint32(3), "tokenizer.ggml.unknown_token_id": uint32(1),
		"tokenizer.ggml.padding_token_id": uint32(0),
	}}
	linear := func(name string, in, out int64) {
		f.tensors[name+".weight"], f.tensors[name+".bias"] = floats(0.5, in, out), floats(0.25, out)
	}
	norm := func(name string) {
		f.tensors[name+".weight"], f.tensors[name+".bias"] = floats(1, width), floats(0, width)
	}
	f.tensors["token_embd.weight"] = floats(1, width, words)
	f.tensors["token_types.weight"] = floats(1, width, 2)
	f.tensors["position_embd.weight"] = floats(1, width, places)
	norm("token_embd_norm")
	for _, part := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		linear("blk.0."+part, width, width)
	}
	norm("blk.0.attn_output_norm")
	linear("blk.0.ffn_up", width, inner)
	linear("blk.0.ffn_down", inner, width)
	norm("blk.0.layer_output_norm")
	linear("cls", width, width)
	linear("cls.output", width, 3)
	return f
}

func (f *file) write(t *testing.T) string {
	t.Helper()
	var fields []gguf.Field
	for _, key := range slices.Sorted(maps.Keys(f.fields)) {
		fields = append(fields, gguf.Field{Key: key, Value: f.fields[key]})
	}
	var tensors []gguf.TensorSource
	for _, name := range slices.Sorted(maps.Keys(f.tensors)) {
		v := f.tensors[name]
		tensors = append(tensors, gguf.TensorSource{Name: name, Type: v.kind, Shape: v.shape,
			Write: func(w io.Writer) error {
				_, err := w.Write(v.data)
				return err
			}})
	}
	var b bytes.Buffer
	if err := gguf.Write(&b, fields, tensors); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "small.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	f := small()
	half := binary.LittleEndian.AppendUint16(nil, 0x3800) // 0.5
	block := append(half, make([]byte, 32)...)
	for i := range 32 {
		block[2+i] = byte(int8(i - 16))
	}
	f.tensors["blk.0.attn_q.weight"] = tensor{gguf.Q8_0, []int64{32, 32}, bytes.Repeat(block, 32)}
	f.tensors["blk.0.attn_k.weight"] = tensor{gguf.F16, []int64{32, 32}, bytes.Repeat(half, 32*32)}
	delete(f.tensors, "blk.0.attn_v.bias")
	m, err := Read(f.write(t))
	if err != nil {
		t.Fatal(err)
	}
	q, k := m.weights["blk.0.attn_q.weight"], m.weights["blk.0.attn_k.weight"]
	if len(q) != 1024 || q[0] != -8 || q[32+31] != 7.5 || len(k) != 1024 || k[1023] != 0.5 {
		t.Errorf("weights are %v and %v", q[:33], k[:2])
	}
	for _, numbers := range []Numbers{FP32, Int8, Int8Wide} {
		if file, err := m.Graph(numbers); err != nil || len(file) == 0 {
			t.Errorf("%s: %d bytes, %v", numbers, len(file), err)
		}
	}
	if _, err := m.Graph("fp8"); err == nil {
		t.Error("fp8 is no kind of numbers here")
	}
	cutter, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cutter.Pair("The cats.", "dog")
	if err != nil || !slices.Equal(in.IDs, []int64{2, 4, 5, 6, 7, 3, 1, 3}) {
		t.Errorf("the tokens are %v (%v)", in.IDs, err)
	}
}

// TestReadRefuses tells files that llama.cpp may read from those that are damaged.
func TestReadRefuses(t *testing.T) {
	check := func(what, want string, other bool, change func(*file)) {
		t.Helper()
		f := small()
		change(f)
		m, err := Read(f.write(t))
		if err == nil {
			_, err = m.Tokenizer()
		}
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrOther) != other {
			t.Errorf("%s: error %v, want one with %q", what, err, want)
		}
	}
	set := func(key string, v any) func(*file) { return func(f *file) { f.fields[key] = v } }
	put := func(name string, v tensor) func(*file) { return func(f *file) { f.tensors[name] = v } }
	check("a causal model", "causal", true, set("bert.attention.causal", true))
	check("the last token's vector", "pooling", true, set("bert.pooling_type", uint32(3)))
	check("many layers", "more than are read", true, set("bert.block_count", uint32(200)))
	check("heads that do not divide", "do not divide", true, set("bert.attention.head_count", uint32(5)))
	check("no epsilon", "epsilon", true, set("bert.attention.layer_norm_epsilon", float32(0)))
	check("a tensor more", "of which", true, put("blk.0.attn_q_norm.weight", floats(1, 32)))
	check("no tensor", "no tensor blk.0.ffn_up.weight", true, func(f *file) { delete(f.tensors, "blk.0.ffn_up.weight") })
	check("4 bits", "stored as Q4_0", true,
		put("blk.0.attn_q.weight", tensor{gguf.TensorType(2), []int64{32, 32}, make([]byte, 32*18)}))
	check("a matrix too small", "has the shape", false, put("blk.0.ffn_up.weight", floats(1, 32, 63)))
	check("positions that are not there", "has the shape", false, set("bert.context_length", uint32(1<<15)))
	check("a weight that is no number", "NaN", false, put("blk.0.ffn_up.bias", floats(float32(math.NaN()), 64)))
	check("labels for other outputs", "labels", false, set("bert.classifier.output_labels", []string{"a"}))
	check("tokens that texts can spell", "can spell", true,
		set("tokenizer.ggml.token_type", []int32{3, 2, 3, 3, 4, 1, 1, 1, 1}))
	check("pairs in a template", "template", true, set("tokenizer.chat_template.rerank", "{query} {document}"))
}
