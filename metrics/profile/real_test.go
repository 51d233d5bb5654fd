package profile

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/backend/onnx/graph"
	"github.com/assay-eval/assay/metrics"
)

// pieces are the vocabulary of the small encoders, the id of each its place.
var pieces = strings.Fields("[PAD] [UNK] [CLS] [SEP] [MASK] the pier is long it was built by giants and green . [ ] " +
	"sep what ? passage 1 2 : answer output")

// writeEncoder writes a folder with an encoder whose numbers tell exactly which ids it was given: of a text, the sum of
// the ids and of each times its place; of a token, its id less 13.5 against 0.
func writeEncoder(t *testing.T, tokens bool) string {
	t.Helper()
	g := &graph.Graph{}
	g.Input("input_ids", graph.Int64, 1, "n")
	g.Input("attention_mask", graph.Int64, 1, "n")
	cast := func(name, to string) string {
		return g.Node("Cast", to, []string{name}, graph.Int("to", int64(graph.Float32)))
	}
	ids := cast("input_ids", "ids")
	if tokens {
		own := g.Node("Unsqueeze", "own", []string{ids, g.Ints("last", []int64{2}, 1)})
		above := g.Node("Sub", "above", []string{own, g.Floats("border", []float32{13.5}, 1)})
		none := g.Node("Sub", "none", []string{own, own})
		g.Output(g.Node("Concat", "logits", []string{none, above}, graph.Int("axis", 2)), graph.Float32, 1, "n", 2)
	} else {
		places := g.Node("CumSum", "places", []string{cast("attention_mask", "ones"), g.Ints("one", []int64{1}, 1)})
		sum := func(name, of string) string {
			return g.Node("ReduceSum", name, []string{of, "one"}, graph.Int("keepdims", 1))
		}
		weighed := sum("weighed", g.Node("Mul", "each", []string{ids, places}))
		g.Output(g.Node("Concat", "logits", []string{sum("plain", ids), weighed}, graph.Int("axis", 1)), graph.Float32, 1, 2)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"model.onnx":            string(g.Model("tell")),
		"vocab.txt":             strings.Join(pieces, "\n") + "\n",
		"tokenizer_config.json": `{"tokenizer_class": "BertTokenizer", "eos_token": "[MASK]", "pad_token": "[PAD]"}`,
		"config.json":           `{"max_position_embeddings": 64}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// openEncoder opens such a folder, or skips the test where there is no ONNX Runtime.
func openEncoder(t *testing.T, tokens bool) *recorder {
	t.Helper()
	lib := os.Getenv("ASSAY_TEST_ORT")
	if lib == "" {
		t.Skip("ASSAY_TEST_ORT names no ONNX Runtime library: make test runs this")
	}
	e, err := onnx.Open(t.Context(), onnx.Options{Lib: lib, Model: writeEncoder(t, tokens), Name: "tell"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return &recorder{Backend: e}
}

// A recorder keeps what a model answered.
type recorder struct {
	backend.Backend
	said []backend.Encoded
}

func (r *recorder) Encode(ctx context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	answer, err := r.Backend.Encode(ctx, req)
	if err == nil {
		r.said = append(r.said, answer.Items...)
	}
	return answer, err
}

// TestIDs holds the profiles of encoders, asked by the engine itself, to the ids that their models are to be given.
func TestIDs(t *testing.T) {
	s := metrics.Sample{Question: "what?", Answer: "The pier is green. It was built [SEP] by giants.",
		Contexts: []string{"The pier is long [SEP]."}}
	check := func(p *Profile, want ...string) {
		t.Helper()
		e := openEncoder(t, false)
		if _, err := scored(t, p.Metrics()[0], e, s); err != nil || len(e.said) != len(want) {
			t.Fatalf("%s asked %d times, %v, want %d", p.Name, len(e.said), err, len(want))
		}
		for i, line := range want {
			plain, weighed := 0, 0
			for at, piece := range strings.Fields(line) {
				id := slices.Index(pieces, piece)
				if id < 0 {
					t.Fatal("no piece ", piece)
				}
				plain, weighed = plain+id, weighed+id*(at+1)
			}
			if got := e.said[i].Vectors[0]; int(got[0]) != plain || int(got[1]) != weighed {
				t.Errorf("%s: the ids add up to %v, want %d and %d: %s", p.Name, got, plain, weighed, line)
			}
		}
	}
	// changed is a shipped profile with something else in it: words of the small vocabulary, an output's number.
	changed := func(name, from, to string) *Profile {
		t.Helper()
		text := Find(name).Text
		if !strings.Contains(text, from) {
			t.Fatalf("%s has no %q", name, from)
		}
		p, err := Load(name+".yaml", []byte(strings.Replace(text, from, to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	check(Find("minicheck-roberta"),
		"[CLS] the pier is long [ sep ] . [MASK] the pier is green . [SEP]",
		"[CLS] the pier is long [ sep ] . [MASK] it was built [ sep ] by giants . [SEP]")
	check(changed("nli", "labels: [entailment, entails]", "output: 0"),
		"[CLS] the pier is long [ sep ] . [SEP] the pier is green . [SEP]",
		"[CLS] the pier is long [ sep ] . [SEP] it was built [ sep ] by giants . [SEP]")
	check(Find("bge-reranker"), "[CLS] what ? [SEP] the pier is long [ sep ] . [SEP]")
	check(changed("hhem",
		"Does the premise make the hypothesis true?\n\n  Premise: {{contexts}}\n\n  Hypothesis: {{answer}}",
		"what? {{contexts}}\n\n  {{answer}}"),
		"[CLS] [PAD] what ? the pier is long [ sep ] . the pier is green . it was built [ sep ] by giants . [SEP]")
}

// TestRealSpans marks words by the engine's own tokens.
func TestRealSpans(t *testing.T) {
	e := openEncoder(t, true)
	s := metrics.Sample{Question: "what?", Answer: "The pier is green, and long.", Contexts: []string{"The pier is long."}}
	score, err := scored(t, Find("lettucedetect").Metrics()[0], e, s)
	if err != nil {
		t.Fatal(err)
	}
	var marked []string
	f := score.Because[0]
	for _, m := range f.Marks {
		marked = append(marked, f.Text[m.Low:m.High])
	}
	if want := []string{"green", "and", "."}; !slices.Equal(marked, want) { // ids above 13; the comma is unknown, 1
		t.Errorf("marked %q, want %q", marked, want)
	}
	if want := 1 - 1/(1+math.Exp(-2.5)); math.Abs(score.Value-want) > 1e-5 {
		t.Errorf("value %v, want %v", score.Value, want)
	}
}

// TestRealJudge asks a small instruct model by the profiles of judges. What it says is worth little; that it is asked,
// and that its answer is a value or a bad reply, is what is seen.
func TestRealJudge(t *testing.T) {
	lib, path := os.Getenv("ASSAY_TEST_LIB"), os.Getenv("ASSAY_TEST_JUDGE")
	if lib == "" || path == "" {
		t.Skip("ASSAY_TEST_LIB and ASSAY_TEST_JUDGE do not name libraries and a model: make test runs this")
	}
	judge, err := llama.Open(t.Context(), llama.Options{Lib: lib, Model: path, Slots: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	own := metrics.Sample{Answer: "The ferry costs 14 euros.", Contexts: []string{"The ferry costs 14 euros."}}
	score, err := scored(t, Find("minicheck-7b").Metrics()[0], judge, own)
	if err != nil || !(score.Value > 0 && score.Value < 1) {
		t.Errorf("%+v, %v", score, err)
	}
	t.Logf("minicheck-7b by %s: %v for a document that says the same", judge.Info().Model, score.Value)
	if _, err := scored(t, Find("granite-guardian").Metrics()[0], judge, own); err == nil ||
		!strings.Contains(err.Error(), "read documents") {
		t.Errorf("a chat template without documents: %v", err)
	}
}
