package onnx

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	engine "github.com/assay-eval/assay/backend/llama"
	llamacpp "github.com/assay-eval/assay/backend/llama/library"
	"github.com/assay-eval/assay/backend/onnx/bert"
)

// shipped is the encoder judge that comes with Assay.
var shipped = filepath.Join("..", "..", "models", "assets", "encoder-judge.gguf")

// openGGUFFile opens a GGUF file.
func openGGUFFile(t *testing.T, path, numbers string) *Engine {
	t.Helper()
	library(t)
	e, err := Open(t.Context(), Options{Lib: os.Getenv("ASSAY_TEST_ORT"), Model: path, Numbers: numbers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// pairsOf are questions, sentences and passages of the examples.
func pairsOf(t *testing.T, most int) []backend.Pair {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "qa.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var pairs []backend.Pair
	for line := range strings.Lines(string(data)) {
		var row struct {
			Question, Answer string
			Contexts         []string
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		for _, text := range row.Contexts {
			pairs = append(pairs, backend.Pair{Query: row.Question, Text: text}, backend.Pair{Query: row.Answer, Text: text})
		}
	}
	if len(pairs) < most {
		t.Fatalf("the examples have %d pairs", len(pairs))
	}
	return pairs[:most]
}

// TestGGUFReference holds the graph of the encoder judge that comes with Assay to llama.cpp with the same file, which
// backend/llama holds to PyTorch. What it may lie from that is what is lost by rounding texts to 8 bits.
func TestGGUFReference(t *testing.T) {
	library(t)
	lib := os.Getenv("ASSAY_TEST_LIB")
	if lib == "" {
		t.Skip("ASSAY_TEST_LIB names no llama.cpp libraries: run make test")
	}
	other, err := engine.Open(t.Context(), engine.Options{Lib: lib, Model: shipped, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	pairs := pairsOf(t, 12)
	want, err := backend.Classify(t.Context(), other, pairs)
	if err != nil {
		t.Fatal(err)
	}
	for numbers, most := range map[string]float64{"fp32": 0.15, "int8": 0.5} {
		e := openGGUFFile(t, shipped, numbers)
		if a, b := e.Info(), other.Info(); !slices.Equal(a.Labels, b.Labels) || a.Context != b.Context ||
			a.Digest != b.Digest || a.Activation != b.Activation || a.Ops != b.Ops ||
			!strings.HasSuffix(a.Engine, " "+numbers) {
			t.Errorf("Info is %+v, llama.cpp's %+v", a, b)
		}
		got, err := backend.Classify(t.Context(), e, pairs)
		if err != nil {
			t.Fatal(err)
		}
		largest, sum, n := 0.0, 0.0, 0
		for i := range got {
			for k := range got[i] {
				off := math.Abs(float64(got[i][k]) - float64(want[i][k]))
				largest, sum, n = max(largest, off), sum+off, n+1
			}
		}
		t.Logf("%s: logits lie %.4f from llama.cpp's on average, %.4f at most", numbers, sum/float64(n), largest)
		if !(largest < most) {
			t.Errorf("%s: a logit lies %.4f from llama.cpp's", numbers, largest)
		}
	}
	e := openGGUFFile(t, shipped, "fp32")
	ahead := backend.Pair{Query: "It must be requested six weeks ahead.",
		Text: "Parental leave must be requested in writing, eight weeks ahead."}
	got, err := backend.Classify(t.Context(), e, []backend.Pair{ahead})
	if err != nil {
		t.Fatal(err)
	}
	chance := 1 / (1 + math.Exp(-float64(got[0][slices.Index(e.Info().Labels, "faithfulness")])))
	if math.Abs(chance-0.0596) > 0.005 {
		t.Errorf("faithfulness is %.4f, PyTorch has 0.0596", chance)
	}
}

// TestGGUFInt8 holds the graph in 8 bits to that in fp32, and its widened kind to the same bits; each text has the same
// bits beside others.
func TestGGUFInt8(t *testing.T) {
	lib := library(t)
	m, err := bert.Read(shipped)
	if err != nil {
		t.Fatal(err)
	}
	session := func(numbers bert.Numbers) *Session {
		file, err := m.Graph(numbers)
		if err != nil {
			t.Fatal(err)
		}
		s, err := lib.NewSession(file, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	exact, small, wide := session(bert.FP32), session(bert.Int8), session(bert.Int8Wide)
	cutter, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairsOf(t, 12) {
		in, err := cutter.Pair(p.Query, p.Text)
		if err != nil {
			t.Fatal(err)
		}
		logits := func(s *Session) []float32 {
			list, err := s.Run(t.Context(), [][]int64{in.IDs}, "logits")
			if err != nil {
				t.Fatal(err)
			}
			return list[0].Values
		}
		a, b := logits(exact), logits(small)
		if !slices.Equal(b, logits(wide)) {
			t.Errorf("%q: widened it gives %v, else %v", p.Query, logits(wide), b)
		}
		for k := range a {
			if (a[k] > 0) != (b[k] > 0) && math.Abs(float64(a[k])) > 0.25 {
				t.Errorf("%q: the verdict %d is %v in 8 bits, and clearly %v in fp32", p.Query, k, b[k], a[k])
			}
			if math.Abs(float64(a[k])-float64(b[k])) > 0.5 {
				t.Errorf("%q: logit %d is %v, in fp32 %v", p.Query, k, b[k], a[k])
			}
		}
	}
}

// TestGGUFEmbeddings holds vectors of MiniLM in GGUF to llama.cpp's.
func TestGGUFEmbeddings(t *testing.T) {
	library(t)
	path, lib := os.Getenv("ASSAY_TEST_EMBED"), os.Getenv("ASSAY_TEST_LIB")
	if path == "" || lib == "" {
		t.Skip("ASSAY_TEST_EMBED or ASSAY_TEST_LIB is not set: run make test")
	}
	other, err := engine.Open(t.Context(), engine.Options{Lib: lib, Model: path, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	e := openGGUFFile(t, path, "")
	if !strings.HasSuffix(e.Info().Engine, " fp32") {
		t.Errorf("the engine is %q", e.Info().Engine)
	}
	texts := []string{"That is a happy person", "Zürich café: naïve, 3.5 % of $40?", "北京 is a city", ""}
	want, err := backend.Embed(t.Context(), other, texts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := backend.Embed(t.Context(), e, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		cosine := 0.0
		for k := range got[i] {
			cosine += float64(got[i][k]) * float64(want[i][k])
		}
		if cosine < 0.9999 {
			t.Errorf("%q: cosine %v with llama.cpp's", texts[i], cosine)
		}
	}
	mine, err := backend.EmbedTokens(t.Context(), e, texts[:2])
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := backend.EmbedTokens(t.Context(), other, texts[:2])
	if err != nil {
		t.Fatal(err)
	}
	for i := range mine {
		if !slices.Equal(mine[i].Tokens, theirs[i].Tokens) {
			t.Errorf("tokens %q, llama.cpp's %q", mine[i].Tokens, theirs[i].Tokens)
		}
	}
}

// TestGGUFTokens holds token ids to llama.cpp's: of every character, alone and within a word, and of the examples.
func TestGGUFTokens(t *testing.T) {
	lib := os.Getenv("ASSAY_TEST_LIB")
	if lib == "" {
		t.Skip("ASSAY_TEST_LIB names no llama.cpp libraries: run make test")
	}
	if _, err := llamacpp.Load(lib); err != nil {
		t.Fatal(err)
	}
	params := llama.ModelDefaultParams()
	params.VocabOnly = 1
	theirs, err := llama.ModelLoadFromFile(shipped, params)
	if err != nil {
		t.Fatal(err)
	}
	defer llama.ModelFree(theirs)
	vocabulary := llama.ModelGetVocab(theirs)
	m, err := bert.Read(shipped)
	if err != nil {
		t.Fatal(err)
	}
	cutter, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	differ := func(text string) bool {
		t.Helper()
		in, err := cutter.Single(text)
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		for _, id := range llama.Tokenize(vocabulary, text, true, false) {
			want = append(want, int64(id))
		}
		return !slices.Equal(in.IDs, want)
	}
	for _, p := range pairsOf(t, 20) {
		if differ(p.Query) || differ(p.Text) {
			t.Errorf("other tokens of %q", p.Text)
		}
	}
	for _, text := range []string{" ", "[SEP] [CLS]", "▁the x▁the", "a\u0301b", "İstanbul", "한국어 조선", "don't",
		strings.Repeat("x", 300), "\u200bzero\ufeffwidth", "ﬁne", "Ǆ ǅ", "A\u0300\u0301"} {
		if differ(text) {
			t.Errorf("other tokens of %q", text)
		}
	}
	var wrong []rune
	for r := rune(1); r <= 0x323af; r++ {
		if r >= 0xd800 && r < 0xe000 || r >= 0xe000 && r < 0xf900 || r >= 0x18d09 && r < 0x1aff0 {
			continue // surrogates, private and unassigned ones
		}
		if r > 0x4e20 && r < 0x9f00 || r > 0xac20 && r < 0xd780 || r > 0x17020 && r < 0x187f0 || r > 0x20020 && r < 0x2f800 {
			continue // the middle of large blocks, which are all alike
		}
		if differ("ab" + string(r) + "ba") {
			wrong = append(wrong, r)
		}
	}
	t.Logf("%d characters are read otherwise: %U", len(wrong), wrong[:min(40, len(wrong))])
	if len(wrong) > 0 {
		t.Errorf("%d characters", len(wrong))
	}
}

// TestGGUFSuite holds the engine to the contract of backend.Backend, with a GGUF file.
func TestGGUFSuite(t *testing.T) {
	library(t)
	backendtest.Run(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
		return openGGUFFile(t, shipped, "int8")
	}})
}
