package llama

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/models"
)

// References are what testdata/encoders.py computed.
type references struct {
	Vocabulary []string
	Pairs      [][2]string
	Bert       []referenceModel

	Texts   [][2]string // pairs for the folders, which have byte pair encoding
	Spans   [][2]int    // of the tokens of the second pair's second text
	Folders []referenceFolder
}

// A referenceFolder is a small classifier of texts, or of tokens.
type referenceFolder struct {
	Name      string
	Config    json.RawMessage
	Tokenizer json.RawMessage
	Weights   []drawn
	Labels    []string
	Logits    [][][]float64 // of each pair; of each token of its second text, or once
}

// A referenceModel is a small classifier with its logits for each pair.
type referenceModel struct {
	Name    string
	Config  json.RawMessage
	Weights []drawn
	Labels  []string

	Logits     [][]float64
	OneSegment [][]float64 `json:"one_segment"` // what it would give with both texts in segment A
	NoPooler   [][]float64 `json:"no_pooler"`   // what it would give without its pooler
}

// Drawn is a tensor whose numbers come from the script's generator.
type drawn struct {
	Name            string
	Mean, Deviation float64
	Shape           []int
}

func readReferences(t *testing.T) *references {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "encoders.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := new(references)
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func pairsOf(texts [][2]string) []backend.Pair {
	var list []backend.Pair
	for _, p := range texts {
		list = append(list, backend.Pair{Query: p[0], Text: p[1]})
	}
	return list
}

// draw draws tensors as the script does.
func draw(list []drawn) map[string]*floats {
	state, out := uint32(1), map[string]*floats{}
	for _, d := range list {
		f := &floats{shape: d.Shape}
		n := 1
		for _, size := range d.Shape {
			n *= size
		}
		for range n {
			state = state*1664525 + 1013904223
			f.values = append(f.values, float32(d.Mean+d.Deviation*(float64(state>>8)/(1<<23)-1)))
		}
		out[d.Name] = f
	}
	return out
}

// Floats are a tensor as PyTorch has it.
type floats struct {
	shape  []int
	values []float32
}

// writeFolder writes a model as Hugging Face publishes it.
func writeFolder(t *testing.T, config, tokenizer any, tensors map[string]*floats) string {
	t.Helper()
	dir := t.TempDir()
	save := func(name string, v any) {
		data, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	save("config.json", config)
	save("tokenizer.json", tokenizer)
	header, data := map[string]any{}, new(bytes.Buffer)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		from := data.Len()
		binary.Write(data, binary.LittleEndian, tensors[name].values)
		header[name] = map[string]any{"dtype": "F32", "shape": tensors[name].shape,
			"data_offsets": []int{from, data.Len()}}
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	file = append(append(file, head...), data.Bytes()...)
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), file, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wordPieces is a tokenizer.json of BERT's kind.
func wordPieces(tokens []string) any {
	vocab := map[string]int{}
	for i, token := range tokens {
		vocab[token] = i
	}
	return map[string]any{
		"model": map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
			"vocab": vocab},
		"normalizer":    map[string]any{"type": "BertNormalizer", "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
	}
}

// TestImportedReference holds imported classifiers to the logits of testdata/encoders.py. The tolerance is what GELU by
// a table of 11 bits makes of logits between -2 and 2; the readings that llama.cpp gives a file of its own converter
// are a hundred times as far off.
func TestImportedReference(t *testing.T) {
	testLib(t)
	const allowed = 2e-3
	r := readReferences(t)
	for _, m := range r.Bert {
		dir := writeFolder(t, m.Config, wordPieces(r.Vocabulary), draw(m.Weights))
		made, err := models.Import(t.Context(), t.TempDir(), models.Record{Name: "tiny"}, dir)
		if err != nil {
			t.Fatal(err)
		}
		e := open(t, Options{Model: made.Path, Threads: 1})
		if info := e.Info(); !slices.Equal(info.Labels, m.Labels) {
			t.Errorf("%s: labels are %q, want %q", m.Name, info.Labels, m.Labels)
		}
		want := backend.Softmax
		if len(m.Labels) == 0 {
			want = ""
		}
		if got := e.Info().Activation; got != want {
			t.Errorf("%s: the activation is %q, want %q", m.Name, got, want)
		}
		got, err := backend.Classify(t.Context(), e, pairsOf(r.Pairs))
		if err != nil {
			t.Fatal(err)
		}
		far := math.Min(apart(got, m.OneSegment), apart(got, m.NoPooler))
		near := apart(got, m.Logits)
		t.Logf("%s: at most %.1e from the reference, %.2f from the nearest misreading", m.Name, near, far)
		if !(near < allowed) || !(far > 50*allowed) {
			t.Errorf("%s: %v is not within %v of %v, or near another reading", m.Name, got, allowed, m.Logits)
		}
	}
}

// TestFolderReference holds imported RoBERTa and ModernBERT classifiers to the logits of testdata/encoders.py: a head of
// each kind, windows of attention, tokens of byte pair encoding.
func TestFolderReference(t *testing.T) {
	testLib(t)
	const allowed = 3e-3
	r := readReferences(t)
	pairs := pairsOf(r.Texts)
	for _, m := range r.Folders {
		made, err := models.Import(t.Context(), t.TempDir(), models.Record{Name: "tiny"},
			writeFolder(t, m.Config, m.Tokenizer, draw(m.Weights)))
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		e := open(t, Options{Model: made.Path, Threads: 1})
		if info := e.Info(); !slices.Equal(info.Labels, m.Labels) || info.Activation != backend.Softmax {
			t.Errorf("%s: labels are %q and the activation %q, want %q and softmax", m.Name, info.Labels,
				info.Activation, m.Labels)
		}
		got := make([][][]float32, len(pairs))
		if e.Info().Ops == backend.CanLabelTokens {
			items, err := backend.LabelTokens(t.Context(), e, pairs)
			if err != nil {
				t.Errorf("%s: %v", m.Name, err)
				continue
			}
			for i, item := range items {
				got[i] = item.Vectors
			}
			for i, span := range r.Spans {
				if want := (backend.Span{Low: span[0], High: span[1]}); items[1].Spans[i] != want {
					t.Errorf("%s: token %d has the span %v, want %v", m.Name, i, items[1].Spans[i], want)
				}
			}
		} else {
			items, err := backend.Classify(t.Context(), e, pairs)
			if err != nil {
				t.Errorf("%s: %v", m.Name, err)
				continue
			}
			for i, item := range items {
				got[i] = [][]float32{item}
			}
		}
		most := 0.0
		for i, want := range m.Logits {
			if len(got[i]) != len(want) {
				t.Fatalf("%s: %d answers of pair %d, want %d", m.Name, len(got[i]), i, len(want))
			}
			most = max(most, apart(got[i], want))
		}
		t.Logf("%s: at most %.1e from the reference", m.Name, most)
		if !(most < allowed) {
			t.Errorf("%s: %v is not within %v of %v", m.Name, got, allowed, m.Logits)
		}
	}
}

// apart is the largest difference between logits.
func apart(got [][]float32, want [][]float64) float64 {
	most := 0.0
	for i, row := range want {
		if len(got[i]) != len(row) {
			return math.Inf(1)
		}
		for j, v := range row {
			most = max(most, math.Abs(float64(got[i][j])-v))
		}
	}
	return most
}

// TestSegmentB checks that only the second text of a pair is spelt in the second copy of the vocabulary, and that no
// text can spell it.
func TestSegmentB(t *testing.T) {
	testLib(t)
	r := readReferences(t)
	m := r.Bert[0]
	made, err := models.Import(t.Context(), t.TempDir(), models.Record{Name: "tiny"},
		writeFolder(t, m.Config, wordPieces(r.Vocabulary), draw(m.Weights)))
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{Model: made.Path, Threads: 1})
	n := len(r.Vocabulary)
	check := func(p backend.Pair, want ...int) {
		t.Helper()
		tokens, err := e.model.pair(p)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, token := range tokens {
			got = append(got, int(token))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v is cut into %v, want %v", p, got, want)
		}
	}
	id := func(token string) int { return slices.Index(r.Vocabulary, token) }
	check(backend.Pair{Query: "river", Text: "stone"}, 2, id("river"), 3, n+id("stone"), n+3)
	mark := []backend.Mark{{At: len("stone"), Token: "sep"}}
	check(backend.Pair{Query: "river", Text: "stonewas", Marks: mark}, 2, id("river"), 3, n+id("stone"), n+3, n+id("was"), n+3)
	check(backend.Pair{Text: "stonewas", Marks: mark}, 2, id("stone"), 3, id("was"), 3)
	check(backend.Pair{Query: "river"}, 2, id("river"), 3, n+3)
	check(backend.Pair{Text: "stones"}, 2, id("stone"), id("##s"), 3)
	check(backend.Pair{Text: "[B] \u2581river [B] [SEP]"}, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3)
	for i := range n {
		text := e.model.vocab.spelling(llama.Token(n + i))
		for _, token := range e.model.vocab.tokens(text, false) {
			if int(token) >= n {
				t.Errorf("the text %q is cut into token %d, which is of segment B", text, token)
			}
		}
	}
}
