package onnx

import (
	"archive/tar"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx/graph"
	"github.com/assay-eval/assay/internal/tokenizer"
)

// TestMiniLM writes the real all-MiniLM-L6-v2 as ONNX and holds the engine to plain loops, and to the similarities that
// its authors' card has for four sentences.
func TestMiniLM(t *testing.T) {
	library(t)
	w, list := readMiniLM(t)
	list["onnx/model.onnx"] = string(w.file("last_hidden_state"))
	dir := files(t, list)
	e, err := Open(t.Context(), Options{Lib: os.Getenv("ASSAY_TEST_ORT"), Model: dir, Name: "minilm"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	texts := []string{"That is a happy person", "That is a happy dog", "That is a very happy person",
		"Today is a sunny day"}
	got, err := backend.Embed(t.Context(), e, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 0.6945773, 0.9429150, 0.2568760} {
		cosine := 0.0
		for k, x := range got[i] {
			cosine += float64(x) * float64(got[0][k])
		}
		if math.Abs(cosine-want) > 5e-4 { // these weights are rounded to 16 bits
			t.Errorf("%q and %q: cosine %v, want %v", texts[0], texts[i], cosine, want)
		}
	}
	cutter, err := tokenizer.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	in, err := cutter.Single(texts[0])
	if err != nil {
		t.Fatal(err)
	}
	mean := make([]float64, w.width)
	for _, row := range w.hidden(in.IDs, in.Types) {
		mean = sum(mean, row)
	}
	near(t, texts[0], got[0], scaled(mean))
}

// readMiniLM reads the weights of all-MiniLM-L6-v2 out of a package, and the other files of its folder.
func readMiniLM(t *testing.T) (*encoder, map[string]string) {
	t.Helper()
	f, err := os.Open(os.Getenv("ASSAY_TEST_MINILM"))
	if err != nil {
		t.Skip("ASSAY_TEST_MINILM names no package of MiniLM: run make test")
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	var w *encoder
	for tr := tar.NewReader(zr); ; {
		entry, err := tr.Next()
		if err == io.EOF {
			break
		}
		data, readErr := io.ReadAll(tr)
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		switch name := path.Base(entry.Name); name {
		case "config.json", "tokenizer.json":
			list[name] = string(data)
		case "model.fp16.safetensors":
			w = miniLMOf(t, data)
		}
	}
	if w == nil || len(list) != 2 {
		t.Fatal("the package of MiniLM lacks a file")
	}
	return w, list
}

// miniLMOf names safetensors as an encoder does. The head, which the model has not, stays random.
func miniLMOf(t *testing.T, data []byte) *encoder {
	t.Helper()
	n := binary.LittleEndian.Uint64(data)
	header := map[string]struct {
		Shape   []int `json:"shape"`
		Offsets []int `json:"data_offsets"`
	}{}
	if err := json.Unmarshal(data[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("embeddings.LayerNorm", "norm", "embeddings.word_embeddings.weight", "word",
		"embeddings.position_embeddings.weight", "position", "embeddings.token_type_embeddings.weight", "type",
		"attention.output.LayerNorm", "norm1", "attention.output.dense", "o", "attention.self.key", "k",
		"attention.self.query", "q", "attention.self.value", "v", "intermediate.dense", "up", "output.dense", "down",
		"output.LayerNorm", "norm2", "encoder.layer.0", "a", "encoder.layer.1", "b", "encoder.layer.2", "c",
		"encoder.layer.3", "d", "encoder.layer.4", "e", "encoder.layer.5", "f", "pooler.dense", "pooler")
	w := newEncoder(miniSizes)
	for name, tensor := range header {
		ours := names.Replace(name)
		if _, ok := w.weights[ours]; !ok {
			continue
		}
		raw := data[8+int(n)+tensor.Offsets[0] : 8+int(n)+tensor.Offsets[1]]
		values := make([]float32, len(raw)/2)
		for i := range values {
			values[i] = graph.Half(binary.LittleEndian.Uint16(raw[2*i:]))
		}
		if strings.HasSuffix(ours, ".weight") && len(tensor.Shape) == 2 {
			values = turned(values, tensor.Shape[1])
		}
		if len(values) != len(w.weights[ours]) {
			t.Fatalf("%s has %d numbers, want %d", name, len(values), len(w.weights[ours]))
		}
		w.weights[ours] = values
	}
	return w
}

// turned transposes a matrix that has a row for each output.
func turned(values []float32, inputs int) []float32 {
	outputs := len(values) / inputs
	out := make([]float32, len(values))
	for i, v := range values {
		out[i%inputs*outputs+i/inputs] = v
	}
	return out
}
