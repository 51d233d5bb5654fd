package onnx

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assay-eval/assay/backend"
)

var update = flag.Bool("update", false, "write testdata/sample anew")

// sampleSizes are those of an encoder small enough to lie in the repository.
var sampleSizes = sizes{words: 128, positions: 256, width: 8, heads: 2, inner: 8, layers: 1, labels: 4, epsilon: 1e-5}

// sample is a whole folder, for the tests of other packages: its weights are random and its vocabulary is of letters.
func sample(t *testing.T) map[string][]byte {
	vocabulary := map[string]int{}
	add := func(token string) { vocabulary[token] = len(vocabulary) }
	for _, token := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		add(token)
	}
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		add(string(r))
		add("##" + string(r))
	}
	for _, r := range ".,?!'-" {
		add(string(r))
	}
	special := []map[string]any{}
	for id, token := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		special = append(special, map[string]any{"id": id, "content": token, "single_word": false, "lstrip": false,
			"rstrip": false, "normalized": false, "special": true})
	}
	file := map[string]any{
		"version": "1.0", "added_tokens": special,
		"normalizer": map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
			"strip_accents": nil, "lowercase": true},
		"pre_tokenizer":  map[string]any{"type": "BertPreTokenizer"},
		"post_processor": map[string]any{"type": "BertProcessing", "sep": []any{"[SEP]", 3}, "cls": []any{"[CLS]", 2}},
		"model": map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
			"max_input_chars_per_word": 100, "vocab": vocabulary},
	}
	tokens, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	config := `{"max_position_embeddings": 256, "id2label": {"0": "faithfulness", "1": "context_relevance",
	"2": "answer_relevance", "3": "answer_correctness"}}`
	return map[string][]byte{"config.json": []byte(config + "\n"), "tokenizer.json": append(tokens, '\n'),
		"onnx/model.onnx": newEncoder(sampleSizes).file("last_hidden_state", "logits")}
}

// TestSample keeps testdata/sample as it is written here, and reads it.
func TestSample(t *testing.T) {
	dir := filepath.Join("testdata", "sample")
	for name, want := range sample(t) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what this test writes (%v): run it with -update", path, err)
		}
	}
	library(t)
	e, err := Open(t.Context(), Options{Lib: os.Getenv("ASSAY_TEST_ORT"), Model: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	d, digest, err := Check(dir)
	if err != nil || digest != e.Info().Digest || d.Outputs != 4 || d.Width != sampleSizes.width ||
		!slices.Equal(d.Labels, e.Info().Labels) || d.Pooling != "mean" || d.Numbers != "fp32" ||
		!slices.Equal(d.Files, []string{"config.json", "onnx/model.onnx", "tokenizer.json"}) {
		t.Errorf("%+v, digest %s (%v)", d, digest, err)
	}
	got, err := backend.Classify(t.Context(), e, []backend.Pair{{Query: "Who sings?", Text: "A river."}})
	if err != nil || len(got[0]) != 4 {
		t.Errorf("the classification head gives %v (%v)", got, err)
	}
}
