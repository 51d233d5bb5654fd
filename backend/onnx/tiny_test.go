package onnx

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/assay-eval/assay/backend/onnx/graph"
)

// sizes are those of a model like BERT.
type sizes struct {
	words, positions, width, heads, inner, layers, labels int

	epsilon float32 // of its layer norms
}

var (
	tinySizes = sizes{words: 512, positions: 256, width: 32, heads: 4, inner: 64, layers: 2, labels: 3, epsilon: 1e-5}

	// miniSizes are those of all-MiniLM-L6-v2.
	miniSizes = sizes{words: 30522, positions: 512, width: 384, heads: 12, inner: 1536, layers: 6, labels: 3,
		epsilon: 1e-12}
)

// scale is what scores of attention are multiplied with.
func (s sizes) scale() float64 { return 1 / math.Sqrt(float64(s.width/s.heads)) }

// An encoder is the weights of a model like BERT, by the names that its graph gives them. A matrix has a row for each
// input.
type encoder struct {
	sizes
	weights map[string][]float32
	int8    bool // its file has matrices of 8 bits, as Hugging Face's dynamic quantisation writes them
}

func newTinyEncoder() *encoder { return newEncoder(tinySizes) }

// newEncoder is one whose weights are all random.
func newEncoder(s sizes) *encoder {
	random := rand.New(rand.NewPCG(7, 13))
	w := &encoder{sizes: s, weights: map[string][]float32{}}
	fill := func(name string, n int, mean, spread float64) {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(mean + float64(spread*random.NormFloat64())) // rounded alike everywhere
		}
		w.weights[name] = list
	}
	norm := func(name string) {
		fill(name+".weight", w.width, 1, 0.1)
		fill(name+".bias", w.width, 0, 0.1)
	}
	linear := func(name string, in, out int) {
		fill(name+".weight", in*out, 0, 1/math.Sqrt(float64(in)))
		fill(name+".bias", out, 0, 0.1)
	}
	fill("word", w.words*w.width, 0, 1)
	fill("position", w.positions*w.width, 0, 0.5)
	fill("type", 2*w.width, 0, 0.5)
	norm("norm")
	for _, layer := range w.layerNames() {
		for _, part := range []string{"q", "k", "v", "o"} {
			linear(layer+part, w.width, w.width)
		}
		norm(layer + "norm1")
		linear(layer+"up", w.width, w.inner)
		linear(layer+"down", w.inner, w.width)
		norm(layer + "norm2")
	}
	linear("pooler", w.width, w.width)
	linear("head", w.width, w.labels)
	return w
}

func (s sizes) layerNames() []string {
	var names []string
	for i := range s.layers {
		names = append(names, string(rune('a'+i))+".")
	}
	return names
}

// tokenLogits stands for the output logits with the classification head on every token.
const tokenLogits = "token logits"

// file is the .onnx file of the encoder. Its outputs are the hidden states, those of the classification head, or both.
func (w *encoder) file(outputs ...string) []byte {
	g := &encoderGraph{encoder: w}
	for _, name := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		g.Input(name, graph.Int64, "batch", "tokens")
	}
	x := g.embeddings()
	for _, layer := range w.layerNames() {
		x = g.layer(layer, x)
	}
	g.Node("Identity", "last_hidden_state", []string{x})
	first := g.Node("Gather", "first", []string{x, g.Ints("zero index", []int64{0})}, graph.Int("axis", 1))
	pooled := g.Node("Tanh", "pooled", []string{g.linear("pooler", first, w.width, w.width)})
	if slices.Contains(outputs, tokenLogits) {
		pooled = x
	}
	g.Node("Identity", "logits", []string{g.linear("head", pooled, w.width, w.labels)})
	for _, name := range outputs {
		if name == tokenLogits {
			g.Output("logits", graph.Float32, "batch", "tokens", w.labels)
		} else if name == "logits" {
			g.Output(name, graph.Float32, "batch", w.labels)
		} else {
			g.Output(name, graph.Float32, "batch", "tokens", w.width)
		}
	}
	return g.Model("tiny")
}

// An encoderGraph writes the encoder's graph.
type encoderGraph struct {
	graph.Graph
	*encoder
}

func (g *encoderGraph) weight(name string, shape ...int) string {
	return g.Floats(name, g.weights[name], shape...)
}

func (g *encoderGraph) linear(name, x string, in, out int) string {
	var y string
	if g.int8 {
		y = g.integers(name, x, in, out)
	} else {
		y = g.Node("MatMul", name+".product", []string{x, g.weight(name+".weight", in, out)})
	}
	return g.Node("Add", name+".out", []string{y, g.weight(name+".bias", out)})
}

// integers multiplies with a matrix of 8 bits: one scale for it, and one for all that is multiplied with it in a call.
func (g *encoderGraph) integers(name, x string, in, out int) string {
	largest := float32(0)
	for _, v := range g.weights[name+".weight"] {
		largest = max(largest, v, -v)
	}
	var raw []byte
	for _, v := range g.weights[name+".weight"] {
		raw = append(raw, byte(int8(math.Round(float64(v/largest*127)))))
	}
	g.Raw(name+".int8", graph.Int8, raw, in, out)
	g.Nodes("DynamicQuantizeLinear", []string{name + ".bytes", name + ".scale", name + ".zero"}, []string{x})
	y := g.Node("MatMulInteger", name+".sums", []string{name + ".bytes", name + ".int8", name + ".zero"})
	y = g.Node("Cast", name+".floats", []string{y}, graph.Int("to", int64(graph.Float32)))
	scale := g.Node("Mul", name+".scales", []string{name + ".scale", g.Floats(name+".unit", []float32{largest / 127})})
	return g.Node("Mul", name+".product", []string{y, scale})
}

func (g *encoderGraph) norm(name, x string) string {
	return g.Node("LayerNormalization", name+".out",
		[]string{x, g.weight(name+".weight", g.width), g.weight(name+".bias", g.width)},
		graph.Int("axis", -1), graph.Float("epsilon", g.epsilon))
}

func (g *encoderGraph) embeddings() string {
	zero, one := g.Ints("zero", []int64{0}), g.Ints("one", []int64{1})
	shape := g.Node("Shape", "shape", []string{"input_ids"})
	n := g.Node("Gather", "length", []string{shape, one}, graph.Int("axis", 0))
	positions := g.Node("Range", "positions", []string{zero, n, one})
	x := g.Node("Gather", "words", []string{g.weight("word", g.words, g.width), "input_ids"})
	t := g.Node("Gather", "types", []string{g.weight("type", 2, g.width), "token_type_ids"})
	p := g.Node("Gather", "places", []string{g.weight("position", g.positions, g.width), positions})
	x = g.Node("Add", "words and types", []string{x, t})
	x = g.Node("Add", "sum", []string{x, p})
	mask := g.Node("Cast", "mask as floats", []string{"attention_mask"}, graph.Int("to", int64(graph.Float32)))
	mask = g.Node("Sub", "mask inverted", []string{g.Floats("1", []float32{1}), mask})
	mask = g.Node("Mul", "mask scaled", []string{mask, g.Floats("-10000", []float32{-10000})})
	g.Node("Unsqueeze", "mask", []string{mask, g.Ints("mask axes", []int64{1, 2}, 2)})
	g.Floats("scale", []float32{float32(g.scale())})
	g.Floats("0.5", []float32{0.5})
	g.Floats("root", []float32{math.Sqrt2})
	g.Ints("heads", []int64{0, 0, int64(g.heads), int64(g.width / g.heads)}, 4)
	g.Ints("joined", []int64{0, 0, int64(g.width)}, 3)
	return g.norm("norm", x)
}

func (g *encoderGraph) layer(l, x string) string {
	head := func(name string, order ...int64) string {
		y := g.linear(l+name, x, g.width, g.width)
		y = g.Node("Reshape", l+name+".heads", []string{y, "heads"})
		return g.Node("Transpose", l+name+".turned", []string{y}, graph.Ints("perm", order...))
	}
	q, k, v := head("q", 0, 2, 1, 3), head("k", 0, 2, 3, 1), head("v", 0, 2, 1, 3)
	a := g.Node("MatMul", l+"scores", []string{q, k})
	a = g.Node("Mul", l+"scaled", []string{a, "scale"})
	a = g.Node("Add", l+"masked", []string{a, "mask"})
	a = g.Node("Softmax", l+"attention", []string{a}, graph.Int("axis", -1))
	a = g.Node("MatMul", l+"read", []string{a, v})
	a = g.Node("Transpose", l+"read turned", []string{a}, graph.Ints("perm", 0, 2, 1, 3))
	a = g.Node("Reshape", l+"read joined", []string{a, "joined"})
	a = g.Node("Add", l+"residual", []string{x, g.linear(l+"o", a, g.width, g.width)})
	x = g.norm(l+"norm1", a)
	u := g.linear(l+"up", x, g.width, g.inner)
	e := g.Node("Erf", l+"erf", []string{g.Node("Div", l+"divided", []string{u, "root"})})
	e = g.Node("Add", l+"erf and one", []string{e, "1"})
	e = g.Node("Mul", l+"gelu doubled", []string{u, e})
	e = g.Node("Mul", l+"gelu", []string{e, "0.5"})
	y := g.Node("Add", l+"residual 2", []string{x, g.linear(l+"down", e, g.inner, g.width)})
	return g.norm(l+"norm2", y)
}
