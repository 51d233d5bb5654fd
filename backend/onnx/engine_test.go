package onnx

import (
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/onnx/graph"
	"github.com/assay-eval/assay/internal/tokenizer"
)

// words is a tokenizer for tests: each word is the token that its hash says.
type words struct{}

func (words) Single(text string) (tokenizer.Encoded, error) { return encodeWords(text), nil }

func (words) Pair(first, second string) (tokenizer.Encoded, error) {
	return encodeWords(first, second), nil
}

// Marked has 2 for every special token.
func (words) Marked(before string, specials, after []string) (tokenizer.Encoded, error) {
	if slices.Contains(specials, "no such token") {
		return tokenizer.Encoded{}, &tokenizer.UnknownError{Name: "no such token"}
	}
	e := encodeWords(append([]string{before}, after...)...)
	for i := range e.Types {
		e.Types[i] = 0
	}
	return e, nil
}

// Locate finds the words again.
func (words) Locate(text string) ([][2]int, error) {
	var spans [][2]int
	at := 0
	for _, word := range strings.Fields(text) {
		low := at + strings.Index(text[at:], word)
		at = low + len(word)
		spans = append(spans, [2]int{low, at})
	}
	return spans, nil
}

func encodeWords(texts ...string) tokenizer.Encoded {
	var e tokenizer.Encoded
	add := func(id int64, kind int, token string, special bool) {
		e.IDs = append(e.IDs, id)
		e.Types = append(e.Types, int64(kind))
		e.Tokens = append(e.Tokens, token)
		e.Special = append(e.Special, special)
		if special {
			kind = -1
		}
		e.Pairs = append(e.Pairs, kind)
	}
	add(1, 0, "[CLS]", true)
	for kind, text := range texts {
		for _, word := range strings.Fields(text) {
			h := fnv.New64a()
			h.Write([]byte(word))
			add(3+int64(h.Sum64()%uint64(tinySizes.words-3)), kind, word, false)
		}
		add(2, kind, "[SEP]", true)
	}
	return e
}

// files writes a folder of files.
func files(t testing.TB, list map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	for name, text := range list {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tinyFolder is the tiny encoder as Hugging Face would publish it.
func tinyFolder(t testing.TB, outputs ...string) string {
	return files(t, map[string]string{
		"onnx/model.onnx": string(newTinyEncoder().file(outputs...)),
		"config.json": `{"max_position_embeddings": 256,
			"id2label": {"0": "entailment", "2": "contradiction", "1": "neutral"}}`,
		"tokenizer_config.json": `{"model_max_length": 1e30}`,
	})
}

func openTiny(t testing.TB, o Options) *Engine {
	t.Helper()
	library(t)
	o.Lib = os.Getenv("ASSAY_TEST_ORT")
	o.cutter = words{}
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestSuite holds the engine to the contract of backend.Backend, with a head for pairs and with one for tokens.
func TestSuite(t *testing.T) {
	library(t)
	t.Run("Pairs", func(t *testing.T) { testSuite(t, tinyFolder(t, "last_hidden_state", "logits")) })
	t.Run("Tokens", func(t *testing.T) { testSuite(t, tinyFolder(t, tokenLogits)) })
}

func testSuite(t *testing.T, folder string) {
	backendtest.Run(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
		return openTiny(t, Options{Model: folder})
	}})
}

func TestInfo(t *testing.T) {
	folder := tinyFolder(t, "last_hidden_state", "logits")
	i := openTiny(t, Options{Model: folder}).Info()
	if i.Model != "tiny" || i.Context != 256 || i.Slots != runtime.GOMAXPROCS(0) ||
		i.Ops != backend.CanEmbed|backend.CanEmbedTokens|backend.CanClassify|backend.CanMark ||
		strings.Join(i.Labels, " ") != "entailment neutral contradiction" ||
		!strings.HasPrefix(i.Engine, "ONNX Runtime 1.") || !strings.HasSuffix(i.Engine, Kernels()+" fp32") {
		t.Errorf("Info is %+v", i)
	}
	path := filepath.Join(folder, "onnx", "model.onnx")
	file := openTiny(t, Options{Model: path, Name: "mine", Context: 100, Threads: 3}).Info()
	if file.Model != "mine" || file.Context != 100 || file.Slots != 3 || file.Digest != i.Digest {
		t.Errorf("Info by the file is %+v", file)
	}
	if err := os.WriteFile(filepath.Join(folder, "tokenizer.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if other := openTiny(t, Options{Model: folder}).Info(); other.Digest == i.Digest {
		t.Error("with another tokenizer the digest is the same")
	}
	if head := openTiny(t, Options{Model: tinyFolder(t, "logits")}).Info(); head.Ops != backend.CanClassify|backend.CanMark {
		t.Errorf("a classification head alone can %v", head.Ops)
	}
}

// TestEngineReference holds answers to plain loops.
func TestEngineReference(t *testing.T) {
	w := newTinyEncoder()
	e := openTiny(t, Options{Model: tinyFolder(t, "last_hidden_state", "logits")})
	pair := backend.Pair{Query: "who sings", Text: "a river sings in Paris"}
	got, err := backend.Classify(t.Context(), e, []backend.Pair{pair})
	if err != nil {
		t.Fatal(err)
	}
	in := encodeWords(pair.Query, pair.Text)
	near(t, "logits", got[0], w.logits(in.IDs, in.Types))

	text := encodeWords(pair.Text)
	rows := w.hidden(text.IDs, text.Types)
	mean := make([]float64, tinySizes.width)
	for _, row := range rows {
		mean = sum(mean, row)
	}
	vectors, err := backend.Embed(t.Context(), e, []string{pair.Text})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "embedding", vectors[0], scaled(mean))

	items, err := backend.EmbedTokens(t.Context(), e, []string{pair.Text})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(items[0].Tokens, " ") != pair.Text {
		t.Errorf("the tokens are %q", items[0].Tokens)
	}
	for i, v := range items[0].Vectors {
		for k, x := range scaled(rows[i+1]) {
			if math.Abs(float64(v[k])-x) > math.Abs(x)/200+1e-5 { // a bfloat16 has eight bits
				t.Fatalf("token %d: number %d is %v, want %v", i, k, v[k], x)
			}
		}
	}
}

// TestInt8 reads a graph with dynamic quantisation: near the reference, and with the same bits beside any other text.
func TestInt8(t *testing.T) {
	w := newTinyEncoder()
	w.int8 = true
	e := openTiny(t, Options{Model: files(t, map[string]string{"model.onnx": string(w.file("logits"))})})
	if !strings.HasSuffix(e.Info().Engine, " int8") {
		t.Errorf("the engine is %q", e.Info().Engine)
	}
	pairs := []backend.Pair{{Query: "who sings", Text: "a river sings"},
		{Query: "why", Text: strings.Repeat("stone ", 99)}}
	both, err := backend.Classify(t.Context(), e, pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pairs {
		in := encodeWords(p.Query, p.Text)
		for k, want := range w.logits(in.IDs, in.Types) {
			if math.Abs(float64(both[i][k])-want) > 0.1 {
				t.Errorf("pair %d, logit %d: %v, want about %v", i, k, both[i][k], want)
			}
		}
		alone, err := backend.Classify(t.Context(), e, []backend.Pair{p})
		if err != nil || !slices.Equal(alone[0], both[i]) {
			t.Errorf("pair %d: %v alone, %v beside the other (%v)", i, alone, both[i], err)
		}
	}
}

// scaled is a vector of length 1.
func scaled(v []float64) []float64 {
	square := 0.0
	for _, x := range v {
		square += x * x
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x / math.Sqrt(square)
	}
	return out
}

// TestExternal reads weights from a file beside the graph, and none from elsewhere.
func TestExternal(t *testing.T) {
	library(t)
	file := func(location string) string {
		var g graph.Graph
		g.Input("input_ids", graph.Int64, "batch", "tokens")
		entry := func(key, value string) graph.Message { return graph.Message{}.Text(1, key).Text(2, value) }
		g.Initializer(graph.Tensor("w", graph.Float32, 512, 8).Bytes(13, entry("location", location)).
			Bytes(13, entry("offset", "0")).Bytes(13, entry("length", "16384")).Number(14, 1))
		g.Node("Gather", "last_hidden_state", []string{"w", "input_ids"})
		g.Output("last_hidden_state", graph.Float32, "batch", "tokens", 8)
		return string(g.Model("tiny"))
	}
	weights := make([]float32, 512*8)
	for i := range weights {
		weights[i] = float32(1 + i%13)
	}
	dir := files(t, map[string]string{"model.onnx": file("w.data"), "w.data": string(graph.RawFloats(weights)),
		"link.onnx": file("link.data"), "absent.onnx": file("absent.data"), "up.onnx": file("../w.data")})
	e := openTiny(t, Options{Model: dir})
	if _, err := backend.Embed(t.Context(), e, []string{"a word"}); err != nil {
		t.Error(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.data")
	if err := os.WriteFile(outside, graph.RawFloats(weights), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.data")); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]string{"link.onnx": "cp -rL", "absent.onnx": "no such file", "up.onnx": "not the path"} {
		o := Options{Lib: os.Getenv("ASSAY_TEST_ORT"), Model: filepath.Join(dir, name), cutter: words{}}
		if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "its weights are said to lie in") ||
			runtime.GOOS != "windows" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	library(t)
	whole := string(newTinyEncoder().file("logits"))
	check := func(want string, list map[string]string, o Options) {
		t.Helper()
		o.Lib, o.Model, o.cutter = os.Getenv("ASSAY_TEST_ORT"), files(t, list), words{}
		if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	check("holds neither", map[string]string{"config.json": "{}"}, Options{})
	check("no ONNX file", map[string]string{"model.onnx": "<html>"}, Options{})
	check("config.json", map[string]string{"model.onnx": whole, "config.json": "["}, Options{})
	labelled := func(labels string) map[string]string {
		return map[string]string{"model.onnx": whole, "config.json": `{"id2label": ` + labels + `}`}
	}
	check("id2label", labelled(`{"0": "a", "7": "b"}`), Options{})
	check("names 2 labels", labelled(`{"0": "a", "1": "b"}`), Options{})
	check("cannot be given 1000", map[string]string{"model.onnx": whole}, Options{Context: 1000})
	var g graph.Graph
	g.Input("pixel_values", graph.Float32, "batch", 3)
	g.Node("Identity", "logits", []string{"pixel_values"})
	g.Output("logits", graph.Float32, "batch", 3)
	check("only input_ids, attention_mask, token_type_ids, position_ids of int64 or int32",
		map[string]string{"model.onnx": string(g.Model("tiny"))}, Options{})
	check("none is the logits", map[string]string{"model.onnx": string(unnamed())}, Options{})
}

// TestChoice takes the graph of a folder that suits: the model as it was trained if it is there.
func TestChoice(t *testing.T) {
	check := func(kernels, want string, names ...string) {
		t.Helper()
		f, err := chooseGraph("dir", names, kernels)
		got := f.graph
		if err != nil {
			got = err.Error()
		}
		if got != want || err == nil && (f.choice == "") != (len(names) == 1) {
			t.Errorf("of %q, %q was chosen (%s), want %q", names, got, f.choice, want)
		}
	}
	check("avx2", "encoder_model.onnx", "encoder_model.onnx")
	check("avx2", "model.onnx", "model_O4.onnx", "model_quantized.onnx", "model.onnx", "model_fp16.onnx")
	check("avx2", "model_O2.onnx", "model_O4.onnx", "model_quantized.onnx", "model_O2.onnx")
	check("avx2", "model_int8.onnx", "model_fp16.onnx", "model_int8.onnx", "model_q4.onnx")
	check("avx512vnni", "model_qint8_avx512_vnni.onnx", "model_qint8_arm64.onnx", "model_qint8_avx512.onnx",
		"model_qint8_avx512_vnni.onnx", "model_quint8_avx2.onnx")
	check("avx512", "model_qint8_avx512.onnx", "model_qint8_avx512.onnx", "model_qint8_avx512_vnni.onnx",
		"model_quint8_avx2.onnx")
	check("amx", "onnx/model_quint8_avx2.onnx", "onnx/model_fp16.onnx", "onnx/model_quint8_avx2.onnx")
	check("avx2", "dir holds decoder_model.onnx, encoder_model.onnx, none of which is known to be the model: "+
		"name one by its path", "decoder_model.onnx", "encoder_model.onnx")
	check("avx2", "dir holds neither onnx/model.onnx nor model.onnx: name its .onnx file")

	dir := files(t, map[string]string{"onnx/model_q4.onnx": "x", "onnx/model_int8.onnx": "x", "model.onnx": "x"})
	if f, err := findFolder(dir); err != nil || filepath.Base(f.graph) != "model_int8.onnx" || !Is(dir) {
		t.Errorf("%+v was found (%v)", f, err)
	}
	if Is(files(t, map[string]string{"config.json": "{}", "onnx/readme": ""})) {
		t.Error("a folder without a graph is one of ONNX")
	}
}

// TestHalfOutput reads numbers of 16 bits from integers of 32.
func TestHalfOutput(t *testing.T) {
	library(t)
	var g graph.Graph
	g.Input("input_ids", graph.Int32, "batch", "tokens")
	g.Ints("from", []int64{0}, 1)
	g.Ints("to", []int64{2}, 1)
	g.Ints("along", []int64{1}, 1)
	g.Node("Slice", "two", []string{"input_ids", "from", "to", "along"})
	g.Node("Cast", "logits", []string{"two"}, graph.Int("to", int64(graph.Float16)))
	g.Output("logits", graph.Float16, "batch", 2)
	dir := files(t, map[string]string{"model.onnx": string(g.Model("tiny"))})
	e, err := Open(t.Context(), Options{Lib: os.Getenv("ASSAY_TEST_ORT"), Model: dir, cutter: spelled{}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	got, err := backend.Classify(t.Context(), e, []backend.Pair{{Query: "2047 31", Text: "9"}, {Text: "0 6"}})
	if want := [][]float32{{2047, 31}, {0, 6}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
}

// unnamed is a graph whose output has a name that says nothing.
func unnamed() []byte {
	var g graph.Graph
	g.Input("input_ids", graph.Int64, "batch", "tokens")
	g.Node("Cast", "y", []string{"input_ids"}, graph.Int("to", int64(graph.Float32)))
	g.Output("y", graph.Float32, "batch", "tokens")
	return g.Model("tiny")
}

func TestContext(t *testing.T) {
	check := func(c config, want int) {
		t.Helper()
		if got := c.context(); got != want {
			t.Errorf("%+v: %d tokens, want %d", c, got, want)
		}
	}
	check(config{}, 512)
	check(config{Positions: 512, longest: 1e30}, 512)
	check(config{Positions: 514}, 512) // RoBERTa
	padding := 2
	check(config{Positions: 515, Padding: &padding}, 512)
	check(config{Positions: 514, Padding: &padding}, 514)
	check(config{Positions: 8194, longest: 8192}, 8192)
	check(config{Positions: 512, longest: 128}, 128)
	check(config{longest: 2048}, 2048)
	check(config{Positions: -3}, 512)
}

func TestPooling(t *testing.T) {
	if got := poolingOf(map[string]any{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}); got != "cls" {
		t.Errorf("pooling %q", got)
	}
	for _, on := range []string{"pooling_mode_max_tokens", "pooling_mode_lasttoken"} {
		if got := poolingOf(map[string]any{on: true}); got != "" {
			t.Errorf("%s is pooling %q", on, got)
		}
	}
	if got := poolingOf(map[string]any{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}); got != "" {
		t.Errorf("two ways at once are pooling %q", got)
	}
}
