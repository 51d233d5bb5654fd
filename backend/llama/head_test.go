package llama

import (
	"encoding/binary"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/backend/llama/chat"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
)

// The tests in this file give a tiny model the classification head of a Hugging Face folder, and compare what comes out
// with the head's formula, computed here on the reference's vectors in float64.

// headFolder writes a folder with a head's tensors, of random numbers, and returns them too. A name is followed by its
// shape; those of norms are around 1.
func headFolder(t *testing.T, config map[string]any, shapes map[string][]int64) (string, *weights) {
	t.Helper()
	w, tensors := newWeights(21), map[string]*floats{}
	for _, name := range slices.Sorted(keys(shapes)) {
		shape := shapes[name]
		mean := 0.0
		if strings.Contains(name, "norm.weight") {
			mean = 1
		}
		short := name[strings.LastIndex(name[:strings.LastIndex(name, ".")], ".")+1:]
		w.add(short, mean, 1/math.Sqrt(float64(shape[0])), shape...)
		f := &floats{values: w.tensors[short].data}
		for _, n := range slices.Backward(shape) { // as PyTorch counts
			f.shape = append(f.shape, int(n))
		}
		tensors[name] = f
	}
	return writeFolder(t, config, nil, tensors), w
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// withHead imports a model with a head and opens it.
func withHead(t *testing.T, path, folder string) *Engine {
	t.Helper()
	made, err := models.ImportWithHead(t.Context(), t.TempDir(), models.Record{Name: "tiny"}, folder, path)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, Options{Model: made.Path, Threads: 1})
}

// headlessBert is a tinyBert whose converter left the head out.
func headlessBert() *tinyBert {
	m := newTinyBert()
	m.heads, m.pooling = 2, 1
	m.names = slices.DeleteFunc(m.names, func(name string) bool { return strings.HasPrefix(name, "cls") })
	return m
}

func activated(v []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = f(v[i])
	}
	return out
}

func average(rows [][]float64) []float64 {
	sum := make([]float64, len(rows[0]))
	for _, row := range rows {
		sum = plus(sum, row)
	}
	return activated(sum, func(x float64) float64 { return x / float64(len(rows)) })
}

// normed is layer norm without a bias, as ModernBERT has it.
func normed(v, weight []float64) []float64 {
	mean, variance, out := 0.0, 0.0, make([]float64, len(v))
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v))
	}
	for i, x := range v {
		out[i] = (x - mean) / math.Sqrt(variance+1e-5) * weight[i]
	}
	return out
}

func TestHeadReference(t *testing.T) {
	testLib(t)
	const n, allowed = bertWidth, 2e-3
	pairs := []backend.Pair{
		{Query: "which river", Text: "the silver bridge over the river"},
		{Query: "market", Text: "candle"},
		{Text: "a single text"},
	}
	exact := func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }
	check := func(config map[string]any, shapes map[string][]int64, want backend.Info,
		formula func(w *weights, rows [][]float64) []float64) {
		t.Helper()
		m := headlessBert()
		folder, w := headFolder(t, config, shapes)
		e := withHead(t, m.write(t, closed()...), folder)
		info := e.Info()
		if info.Ops != backend.CanClassify|backend.CanMark || !slices.Equal(info.Labels, want.Labels) ||
			info.Activation != want.Activation {
			t.Errorf("%v: %v, labels %q, activation %q", config["model_type"], info.Ops, info.Labels, info.Activation)
		}
		got, err := backend.Classify(t.Context(), e, pairs)
		if err != nil {
			t.Fatal(err)
		}
		var reference [][]float64
		for _, p := range pairs {
			reference = append(reference, formula(w, m.layers(m.pair(p, true))))
		}
		if far := apart(got, reference); !(far < allowed) {
			t.Errorf("%v: %v differs by %v from %v", config, got, far, reference)
		} else {
			t.Logf("%v %v: at most %.1e from the reference", config["model_type"], config["classifier_pooling"], far)
		}
	}
	labels := map[string]string{"0": "contradiction", "1": "entailment"}
	two := backend.Info{Labels: []string{"contradiction", "entailment"}, Activation: backend.Softmax}

	check(map[string]any{"model_type": "roberta", "id2label": labels},
		map[string][]int64{"classifier.dense.weight": {n, n}, "classifier.dense.bias": {n},
			"classifier.out_proj.weight": {n, 2}, "classifier.out_proj.bias": {2}}, two,
		func(w *weights, rows [][]float64) []float64 {
			return w.linear("out_proj", activated(w.linear("dense", rows[0]), math.Tanh))
		})
	check(map[string]any{"model_type": "distilbert", "id2label": labels, "problem_type": "multi_label_classification"},
		map[string][]int64{"pre_classifier.weight": {n, 20}, "pre_classifier.bias": {20},
			"classifier.weight": {20, 2}, "classifier.bias": {2}},
		backend.Info{Labels: two.Labels, Activation: backend.Sigmoid},
		func(w *weights, rows [][]float64) []float64 {
			relu := func(x float64) float64 { return math.Max(0, x) }
			return w.linear("classifier", activated(w.linear("pre_classifier", rows[0]), relu))
		})
	check(map[string]any{"model_type": "bert", "type_vocab_size": 1,
		"sentence_transformers": map[string]any{"activation_fn": "torch.nn.modules.linear.Identity"}},
		map[string][]int64{"bert.pooler.dense.weight": {n, n}, "bert.pooler.dense.bias": {n},
			"classifier.weight": {n, 1}, "classifier.bias": {1}}, backend.Info{Activation: backend.Linear},
		func(w *weights, rows [][]float64) []float64 {
			return w.linear("classifier", activated(w.linear("dense", rows[0]), math.Tanh))
		})
	for _, pooling := range []string{"mean", "cls"} {
		check(map[string]any{"model_type": "modernbert", "classifier_pooling": pooling,
			"id2label": map[string]string{"0": "no", "1": "maybe", "2": "yes"}},
			map[string][]int64{"head.dense.weight": {n, n}, "head.norm.weight": {n},
				"classifier.weight": {n, 3}, "classifier.bias": {3}},
			backend.Info{Labels: []string{"no", "maybe", "yes"}, Activation: backend.Softmax},
			func(w *weights, rows [][]float64) []float64 {
				v := rows[0]
				if pooling == "mean" {
					v = average(rows)
				}
				v = activated(w.times("dense.weight", v), exact)
				return w.linear("classifier", normed(v, w.row("norm.weight", 0)))
			})
	}
}

// TestHeadT5 checks a linear head on the first token of T5's encoder, as HHEM-2.1 has it.
func TestHeadT5(t *testing.T) {
	testLib(t)
	m := newTinyT5(true)
	folder, w := headFolder(t, map[string]any{"model_type": "HHEMv2Config"}, map[string][]int64{
		"t5.classifier.weight": {t5Width, 2}, "t5.classifier.bias": {2},
		"t5.transformer.encoder.block.0.layer.0.SelfAttention.q.weight": {t5Width, t5Width},
	})
	path := m.write(t)
	e := withHead(t, path, folder)
	if e.Info().Ops != backend.CanClassify|backend.CanMark {
		t.Errorf("it can %v", e.Info().Ops)
	}
	var want [][]float64
	for _, text := range t5Prompts() {
		want = append(want, w.linear("classifier", m.encode(m.prompt(text))[0]))
	}
	got, err := backend.Classify(t.Context(), e, backend.Texts(t5Prompts()...))
	if err != nil {
		t.Fatal(err)
	}
	if far := apart(got, want); !(far < 2e-3) {
		t.Errorf("%v differs by %v from %v", got, far, want)
	}
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return withHead(t, path, folder) },
	})
}

// TestHeadReward gives a decoder the head of a reward model. Its rows are those of the decoder's own output for three
// tokens, so that differences of rewards are differences of these tokens' log-probabilities.
func TestHeadReward(t *testing.T) {
	testLib(t)
	path := tinyModel{template: "{% for m in messages %}<|turn|>{{ m.role }} {{ m.content }}{% endfor %}"}.write(t)
	judge := open(t, Options{Model: path, Threads: 1})
	words := []string{"ao", "bo", "co"}
	ask := &backend.ScoreRequest{Messages: say("user", "do eo", "assistant", "fo go"), Continuations: words}
	_, continuations, err := judge.continuations(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	var rows []float32
	for _, tokens := range continuations {
		rows = append(rows, tinyOutput(t, path, int64(tokens[0]))...)
	}
	folder := writeFolder(t, map[string]any{"model_type": "llama",
		"architectures": []string{"LlamaForSequenceClassification"}}, nil,
		map[string]*floats{"score.weight": {shape: []int{len(words), tinyWidth}, values: rows}})
	e := withHead(t, path, folder)
	if e.Info().Ops != backend.CanClassify|backend.CanMark {
		t.Errorf("it can %v", e.Info().Ops)
	}
	got, err := backend.Classify(t.Context(), e,
		[]backend.Pair{{Query: "do eo", Text: "fo go"}, {Query: "do eo", Text: "go fo"}})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := judge.Score(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(words); i++ {
		reward := float64(got[0][i] - got[0][0])
		probability := scores.LogProbs[i][0] - scores.LogProbs[0][0]
		if !(math.Abs(reward-probability) < 0.02) || math.Abs(probability) < 0.1 {
			t.Errorf("rewards %v, log-probabilities %v", got[0], scores.LogProbs)
		}
	}
	if slices.Equal(got[0], got[1]) {
		t.Error("another answer has the same reward")
	}
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return withHead(t, path, folder) },
	})
}

// tinyOutput reads a row of a tiny model's output matrix.
func tinyOutput(t *testing.T, path string, row int64) []float32 {
	t.Helper()
	h, err := gguf.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	at := slices.IndexFunc(h.Tensors, func(t gguf.Tensor) bool { return t.Name == "output.weight" })
	out := make([]float32, tinyWidth)
	part := io.NewSectionReader(file, h.Data+h.Tensors[at].Offset+row*tinyWidth*4, tinyWidth*4)
	if err := binary.Read(part, binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestChatSaid checks that nothing is asked for after an answer that is to be judged.
func TestChatSaid(t *testing.T) {
	c, err := chat.New("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"+
		"{% if add_generation_prompt %}<assistant>{% endif %}", "", "")
	if err != nil {
		t.Fatal(err)
	}
	check := func(p backend.Pair, want string) {
		t.Helper()
		parts, err := c.Said(p)
		text := ""
		for _, part := range parts {
			text += part.Text
		}
		if err != nil || text != want {
			t.Errorf("%+v is %q, %v; want %q", p, text, err, want)
		}
	}
	check(backend.Pair{Query: "why?", Text: "<user>so"}, "<user>why?<assistant><user>so")
	check(backend.Pair{Text: "so"}, "<assistant>so")
}

// TestHeadTokens checks the labels of tokens, and that they stand where they should.
func TestHeadTokens(t *testing.T) {
	testLib(t)
	m := headlessBert()
	folder, w := headFolder(t, map[string]any{"model_type": "roberta", "id2label": map[string]string{"0": "said", "1": "new"},
		"architectures": []string{"RobertaForTokenClassification"}},
		map[string][]int64{"classifier.weight": {bertWidth, 2}, "classifier.bias": {2}})
	e := withHead(t, m.write(t, closed()...), folder)
	if info := e.Info(); info.Ops != backend.CanLabelTokens || !slices.Equal(info.Labels, []string{"said", "new"}) {
		t.Fatalf("it can %v with labels %q", info.Ops, info.Labels)
	}
	pair := backend.Pair{Query: "which river", Text: "the  river ab"}
	got, err := backend.LabelTokens(t.Context(), e, []backend.Pair{pair, {Query: "which river"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []backend.Span{{Low: 0, High: 1}, {Low: 1, High: 2}, {Low: 2, High: 3}, {Low: 5, High: 10},
		{Low: 11, High: 12}, {Low: 12, High: 13}}
	if !slices.Equal(got[0].Spans, want) || len(got[1].Spans) != 0 {
		t.Errorf("spans are %v and %v, want %v and none", got[0].Spans, got[1].Spans, want)
	}
	ids := m.pair(pair, true)
	first := len(ids) - 1 - len(want)
	var reference [][]float64
	for _, row := range m.layers(ids)[first : first+len(want)] {
		reference = append(reference, w.linear("classifier", row))
	}
	if far := apart(got[0].Vectors, reference); !(far < 2e-3) {
		t.Errorf("%v differs by %v from %v", got[0].Vectors, far, reference)
	}
}

// TestHeadTokensConform runs the suite on a decoder that labels tokens, whose vocabulary can spell every text.
func TestHeadTokensConform(t *testing.T) {
	testLib(t)
	path := tinyModel{}.write(t)
	folder, _ := headFolder(t, map[string]any{"model_type": "llama", "architectures": []string{
		"LlamaForTokenClassification"}, "id2label": map[string]string{"0": "said", "1": "new"}},
		map[string][]int64{"model.score.weight": {tinyWidth, 2}})
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return withHead(t, path, folder) },
	})
}

func TestSpans(t *testing.T) {
	check := func(text string, pieces string, want ...backend.Span) {
		t.Helper()
		got, err := spans(text, strings.Split(pieces, "|"))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q as %q: %v, %v; want %v", text, pieces, got, err, want)
		}
	}
	check("a bc", " a| b|c", backend.Span{Low: 0, High: 1}, backend.Span{Low: 2, High: 3}, backend.Span{Low: 3, High: 4})
	check(" a", " | a", backend.Span{Low: 0, High: 1}, backend.Span{Low: 1, High: 2})
	check("a\n\nb", "a|\n\n|b", backend.Span{Low: 0, High: 1}, backend.Span{Low: 1, High: 3}, backend.Span{Low: 3, High: 4})
	check("a\n\nb", "a| b", backend.Span{Low: 0, High: 1}, backend.Span{Low: 3, High: 4})
	check("é", "\xc3|\xa9", backend.Span{Low: 0, High: 2}, backend.Span{Low: 0, High: 2})
	if _, err := spans("A", []string{"a"}); err == nil {
		t.Error("a text that is spelt otherwise has spans")
	}
}

func FuzzSpans(f *testing.F) {
	f.Add("the é  river", " the| \xc3|\xa9| |river")
	f.Fuzz(func(t *testing.T, text, pieces string) {
		list := strings.Split(pieces, "|")
		got, err := spans(text, list)
		if err != nil || backend.CheckText(text) != nil {
			return
		}
		e := backend.Encoding{Items: []backend.Encoded{{Spans: got, Vectors: make([][]float32, len(list))}}}
		req := backend.EncodeRequest{Output: backend.TokenOutputs, Inputs: backend.Texts(text)}
		if err := req.CheckAnswer(&e); err != nil {
			t.Errorf("%q as %q: %v", text, list, err)
		}
	})
}

// TestRefusesMisread checks that files whose head llama.cpp reads otherwise than the model's makers meant are refused,
// and that ours is not.
func TestRefusesMisread(t *testing.T) {
	two := func(m *tinyBert) *tinyBert { // a row for segment B
		types := m.tensors["token_types.weight"]
		types.shape, types.data = []int64{bertWidth, 2}, slices.Concat(types.data, types.data)
		return m
	}
	without := func(m *tinyBert, layer string) *tinyBert {
		m.names = slices.DeleteFunc(m.names, func(n string) bool { return n == layer+".weight" || n == layer+".bias" })
		return m
	}
	check := func(m *tinyBert, want string, more ...gguf.Field) {
		t.Helper()
		_, _, err := models.Check(m.write(t, more...))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check(newTinyBert(), "")
	check(two(newTinyBert()), "two segments")
	check(two(newTinyBert()), "", gguf.Field{Key: "general.name", Value: "assay-encoder-judge"})
	check(without(newTinyBert(), "cls"), "BERT's pooler")
	check(without(newTinyBert(), "cls.output"), "the layer before it")
	check(without(newTinyBert(), "token_types"), "DistilBERT")
}
