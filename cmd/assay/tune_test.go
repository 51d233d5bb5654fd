package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestEngineDocs checks that docs/models.md tells of each kind of graphics card.
func TestEngineDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	for _, kind := range models.GPUKinds() {
		if !strings.Contains(text, "| `"+kind+"` |") {
			t.Errorf("docs/models.md does not tell of --gpu %s", kind)
		}
	}
}

// TestTune runs testdata/real/tune.txtar with llama.cpp in this process.
func TestTune(t *testing.T) {
	lib := real(t, "ASSAY_TEST_LIB")[0]
	realScript(t, "tune.txtar", map[string]string{"ASSAY_LLAMA_LIB": lib, "OLLAMA_MODELS": t.TempDir()})
}

// tinyModel is a llama model of one layer, its weights zero: enough to be listed and checked.
func tinyModel(w *os.File) error {
	tokens, types := []string{"<unk>", "<s>", "</s>"}, []int32{2, 3, 3}
	for b := range 256 {
		tokens, types = append(tokens, fmt.Sprintf("<0x%02X>", b)), append(types, 6)
	}
	fields := []gguf.Field{
		{Key: "general.architecture", Value: "llama"}, {Key: "general.name", Value: "tiny"},
		{Key: "llama.context_length", Value: uint32(1024)}, {Key: "llama.embedding_length", Value: uint32(32)},
		{Key: "llama.block_count", Value: uint32(1)}, {Key: "llama.feed_forward_length", Value: uint32(64)},
		{Key: "llama.attention.head_count", Value: uint32(2)}, {Key: "llama.attention.head_count_kv", Value: uint32(1)},
		{Key: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-5)},
		{Key: "tokenizer.ggml.model", Value: "llama"}, {Key: "tokenizer.ggml.tokens", Value: tokens},
		{Key: "tokenizer.ggml.scores", Value: make([]float32, len(tokens))},
		{Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)}, {Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)},
	}
	var tensors []gguf.TensorSource
	for _, t := range []struct {
		name  string
		shape []int64
	}{
		{"token_embd", []int64{32, int64(len(tokens))}}, {"output_norm", []int64{32}},
		{"output", []int64{32, int64(len(tokens))}},
		{"blk.0.attn_norm", []int64{32}}, {"blk.0.attn_q", []int64{32, 32}}, {"blk.0.attn_k", []int64{32, 16}},
		{"blk.0.attn_v", []int64{32, 16}}, {"blk.0.attn_output", []int64{32, 32}}, {"blk.0.ffn_norm", []int64{32}},
		{"blk.0.ffn_gate", []int64{32, 64}}, {"blk.0.ffn_up", []int64{32, 64}}, {"blk.0.ffn_down", []int64{64, 32}},
	} {
		tensors = append(tensors, zeroTensor(t.name+".weight", t.shape))
	}
	return gguf.Write(w, fields, tensors)
}

// scriptTinyModel writes a model file: tinymodel FILE. With more arguments it makes a store of Ollama's
// that holds it: tinymodel STORE HOST/NAMESPACE/MODEL/TAG...
func scriptTinyModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tinymodel FILE | tinymodel STORE NAME...")
	}
	path := ts.MkAbs(args[0])
	if len(args) > 1 {
		path = filepath.Join(path, "blobs", "new")
	}
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
	f, err := os.Create(path)
	ts.Check(err)
	ts.Check(tinyModel(f))
	ts.Check(f.Close())
	if len(args) == 1 {
		return
	}
	data, err := os.ReadFile(path)
	ts.Check(err)
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	ts.Check(os.Rename(path, filepath.Join(filepath.Dir(path), "sha256-"+digest)))
	for _, name := range args[1:] {
		manifest := filepath.Join(ts.MkAbs(args[0]), "manifests", filepath.FromSlash(name))
		ts.Check(os.MkdirAll(filepath.Dir(manifest), 0o777))
		const layer = `{"mediaType":"application/vnd.ollama.image.%s","digest":"sha256:%s","size":%d}`
		text := fmt.Sprintf(`{"layers":[`+layer+`,`+layer+`]}`,
			"model", digest, len(data), "template", digest, len(data))
		ts.Check(os.WriteFile(manifest, []byte(text), 0o666))
	}
}

// zeroTensor is a tensor of 32-bit zeros.
func zeroTensor(name string, shape []int64) gguf.TensorSource {
	n := int64(4)
	for _, d := range shape {
		n *= d
	}
	return gguf.TensorSource{Name: name, Type: gguf.F32, Shape: shape, Write: func(w io.Writer) error {
		_, err := w.Write(make([]byte, n))
		return err
	}}
}
