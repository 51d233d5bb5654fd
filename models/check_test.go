package models

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/models/gguf"
	"github.com/assay-eval/assay/models/head"
)

// writeHeadFolder writes a folder that holds the head of a reward model of some width.
func writeHeadFolder(t *testing.T, width int) string {
	t.Helper()
	dir := t.TempDir()
	header, err := json.Marshal(map[string]any{"score.weight": map[string]any{
		"dtype": "F32", "shape": []int{1, width}, "data_offsets": []int{0, 4 * width}}})
	if err != nil {
		t.Fatal(err)
	}
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	writeFileForTest(t, filepath.Join(dir, "model-00002-of-00002.safetensors"), append(data, make([]byte, 4*width)...))
	writeFileForTest(t, filepath.Join(dir, "config.json"), []byte(`{"model_type":"llama","id2label":{"0":"LABEL_0"}}`))
	return dir
}

func TestImportWithHead(t *testing.T) {
	home := t.TempDir()
	t.Setenv("ASSAY_HOME", home)
	body := tinyModel(t, gguf.Field{Key: "llama.embedding_length", Value: uint32(64)})
	path := writeFileForTest(t, filepath.Join(t.TempDir(), "body.gguf"), body)
	bring := func(width int) (*Model, error) {
		return ImportWithHead(t.Context(), home, Record{Name: "reward"}, writeHeadFolder(t, width), path)
	}
	if _, err := bring(32); err == nil || !strings.Contains(err.Error(), "reads 32 numbers and the model gives 64") {
		t.Errorf("a head of another model: %v", err)
	}
	m, err := bring(64)
	if err != nil {
		t.Fatal(err)
	}
	info, h, err := Check(m.Path)
	if err != nil || h == nil || info.Pooling != "rank" || info.Head != 1 || info.Labels != nil || h.Pooling != head.Last {
		t.Fatalf("%+v, %+v, %v", info, h, err)
	}
	with, err := Digest(m.Path)
	if err != nil {
		t.Fatal(err)
	}
	without, err := Digest(path)
	if err != nil || with == without || without != m.Record.Digest {
		t.Errorf("the digest is %s with a head and %s (%s) without one, %v", with, without, m.Record.Digest, err)
	}
	if err := Verify(home, "reward"); err != nil {
		t.Error(err)
	}

	beside := head.Path(m.Path)
	data, err := os.ReadFile(beside)
	if err != nil {
		t.Fatal(err)
	}
	writeFileForTest(t, beside, append(data, ' '))
	if changed, err := Digest(m.Path); err != nil || changed == with {
		t.Errorf("another head has the same digest, %v", err)
	}
	if err := Verify(home, "reward"); err == nil || !strings.Contains(err.Error(), "head of model reward") {
		t.Errorf("a changed head: %v", err)
	}
	writeFileForTest(t, beside, []byte("{}"))
	if _, _, err := Check(m.Path); err == nil || !strings.Contains(err.Error(), "import the model again") {
		t.Errorf("a damaged head: %v", err)
	}

	if _, err := Import(t.Context(), home, Record{Name: "reward"}, path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(beside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the head stayed with another model: %v", err)
	}
	if _, err := bring(64); err != nil {
		t.Fatal(err)
	}
	if err := Remove(home, "reward"); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(beside)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := CheckName("a.head"); err == nil {
		t.Error("a model may be called a.head, whose record would be another's head")
	}
}

// TestImportMisread checks that a classifier that llama.cpp would misread is not imported.
func TestImportMisread(t *testing.T) {
	home := t.TempDir()
	var b strings.Builder
	err := gguf.Write(&b, []gguf.Field{
		{Key: "general.architecture", Value: "bert"}, {Key: "bert.block_count", Value: uint32(1)},
		{Key: "bert.pooling_type", Value: uint32(4)},
		{Key: "tokenizer.ggml.model", Value: "gpt2"}, {Key: "tokenizer.ggml.tokens", Value: []string{"a", "b"}},
	}, []gguf.TensorSource{zeroTensor("token_types.weight", 4, 2), zeroTensor("cls.output.weight", 4, 1)})
	if err != nil {
		t.Fatal(err)
	}
	path := writeFileForTest(t, filepath.Join(t.TempDir(), "stock.gguf"), []byte(b.String()))
	_, err = Import(t.Context(), home, Record{Name: "stock"}, path)
	if err == nil || !strings.Contains(err.Error(), "pooler") || !strings.Contains(err.Error(), "assay models import") {
		t.Errorf("%v, want an error about the pooler and what to do", err)
	}
	if info, err := Inspect(path); err != nil || info.Misread == "" {
		t.Errorf("%+v, %v: it is inspected with a word about it", info, err)
	}
}
