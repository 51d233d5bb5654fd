package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-eval/assay/models/gguf"
)

// scriptTinyRanker writes a BERT ranker as llama.cpp's converter leaves it, without its pooler: tinyranker FILE.
func scriptTinyRanker(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tinyranker FILE")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	ts.Check(gguf.Write(f, []gguf.Field{
		{Key: "general.architecture", Value: "bert"}, {Key: "bert.block_count", Value: uint32(1)},
		{Key: "bert.pooling_type", Value: uint32(4)}, {Key: "bert.attention.causal", Value: false},
		{Key: "tokenizer.ggml.model", Value: "gpt2"}, {Key: "tokenizer.ggml.tokens", Value: []string{"a", "b"}},
	}, []gguf.TensorSource{
		zeroTensor("token_types.weight", []int64{32, 2}), zeroTensor("cls.output.weight", []int64{32, 1}),
	}))
}

// scriptTinyHead writes a Hugging Face folder with the head of a decoder that was made a classifier of three labels:
// tinyhead FOLDER. It fits tinymodel's.
func scriptTinyHead(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tinyhead FOLDER")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	const size = 3 * 32 * 4
	header, err := json.Marshal(map[string]any{
		"score.weight": map[string]any{"dtype": "F32", "shape": []int{3, 32}, "data_offsets": []int{0, size}}})
	ts.Check(err)
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	ts.Check(os.WriteFile(filepath.Join(dir, "model.safetensors"), append(data, make([]byte, size)...), 0o666))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"model_type": "llama",
		"architectures": ["LlamaForSequenceClassification"],
		"id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"}}`), 0o666))
}
