package bert

import (
	"fmt"
	"math"

	"github.com/assay-eval/assay/backend/onnx/graph"
)

// Numbers is the kind of numbers that a graph multiplies with.
type Numbers string

// The kinds of numbers.
const (
	FP32 Numbers = "fp32"

	// Int8 has matrices of 8 bits with a scale for each row, and gives each token a scale of its own, so that what is
	// computed of a text depends on that text alone. What the values of the first half of the layers are made from has
	// 16 bits. The head, and what the last layer does to the one token that the head reads, stay in fp32. A matrix whose
	// Q8_0 has one scale for each row loses nothing.
	Int8 Numbers = "int8"

	// Int8Wide is Int8 with the same outcome for processors that add up products of 8 bits in 16: on x86, those without
	// VNNI. It has them widened first.
	Int8Wide Numbers = "int8 wide"
)

// Revision numbers the way in which graphs are written: what a model answers can differ between two of them.
const Revision = 1

// A writer writes a model's graph. Texts are matrices with a row for each token.
type writer struct {
	graph.Graph
	m       *Model
	numbers Numbers
}

// Graph returns the model as an .onnx file. Its input is input_ids [1, tokens]; its output is logits [1, labels] of the
// classification head or, without one, last_hidden_state [1, tokens, width].
//
// It is BERT as its authors have it, with the weights of the file: GELU is exact, where llama.cpp has an approximation
// by tanh in 16 bits. As in llama.cpp all tokens are of the first segment.
func (m *Model) Graph(numbers Numbers) ([]byte, error) {
	switch numbers {
	case FP32, Int8, Int8Wide:
	default:
		return nil, fmt.Errorf("unknown kind of numbers %q", numbers)
	}
	g := &writer{m: m, numbers: numbers}
	g.Message = make(graph.Message, 0, 1<<20+4*m.parameters()) // all at once
	g.Input("input_ids", graph.Int64, 1, "tokens")
	g.constants()
	x := g.embeddings()
	for i := range m.layers {
		x = g.layer(i, x)
	}
	if m.outputs == 0 {
		g.Node("Unsqueeze", "last_hidden_state", []string{x, "zero"})
		g.Output("last_hidden_state", graph.Float32, 1, "tokens", m.width)
		return g.Model("bert"), nil
	}
	if m.dense {
		x = g.Node("Tanh", "pooled", []string{g.exact("cls", x, m.width, m.width)})
	}
	g.Node("Identity", "logits", []string{g.exact("cls.output", x, m.width, m.outputs)})
	g.Output("logits", graph.Float32, 1, m.outputs)
	return g.Model("bert"), nil
}

// constants adds what several parts use.
func (g *writer) constants() {
	g.Ints("zero", []int64{0}, 1)
	g.Ints("one", []int64{1}, 1)
	g.Ints("heads", []int64{-1, int64(g.m.heads), int64(g.m.width / g.m.heads)}, 3)
	g.Ints("joined", []int64{-1, int64(g.m.width)}, 2)
	g.Node("Squeeze", "ids", []string{"input_ids", "zero"})
	g.Node("Shape", "count", []string{"ids"})
	if g.numbers != FP32 {
		g.integerConstants()
	}
}

// embeddings looks up tokens and their positions. All are of the first segment, which is added to the positions here.
func (g *writer) embeddings() string {
	m := g.m
	places := make([]float32, m.places*m.width)
	copy(places, m.weights["position_embd.weight"])
	if types := m.weights["token_types.weight"]; types != nil {
		for i := range places {
			places[i] += types[i%m.width]
		}
	}
	words := g.Floats("words", m.weights["token_embd.weight"], m.vocabulary, m.width)
	x := g.Node("Gather", "tokens", []string{words, "ids"})
	p := g.Node("Slice", "positions",
		[]string{g.Floats("places", places, m.places, m.width), "zero", "count", "zero"})
	return g.norm("token_embd_norm", g.Node("Add", "embedded", []string{x, p}))
}

// layer writes a layer. After the last one only the first token is wanted where a classification head follows.
func (g *writer) layer(i int, x string) string {
	m := g.m
	single := i == m.layers-1 && m.outputs > 0
	part := func(name string) string { return block(i, name) }
	asked := x
	if single {
		asked = g.Node("Slice", part("first"), []string{x, "zero", "one", "zero"})
	}
	// Softmax does not see a bias of the keys, which adds the same to all that is compared with a query. One of the
	// values goes through attention as it is, whose weights add up to 1, and so into the bias of what follows.
	q := g.scaled(part("attn_q"), 1/math.Sqrt(float64(m.width/m.heads)))
	k, v := g.matrix(part("attn_k")), g.matrix(part("attn_v"))
	o := g.matrix(part("attn_output"))
	k.bias = nil
	o.bias, v.bias = o.through(v.bias), nil
	in := g.input(part("in"), x, false)
	values := in // of all that is rounded they matter most, in the first layers
	if g.numbers != FP32 && i < m.layers/2 {
		values = g.finely(in, x)
	}
	first := in
	if single {
		first = g.exactly(asked)
	}
	a := g.attend(part("attention"), g.linear(q, first), g.linear(k, in), g.linear(v, values))
	next := func(name, x string, positive bool) input {
		if single {
			return g.exactly(x)
		}
		return g.input(part(name), x, positive)
	}
	a = g.linear(o, next("read", a, false))
	x = g.norm(part("attn_output_norm"), g.Node("Add", part("sum"), []string{a, asked}))
	up := g.matrix(part("ffn_up"))
	bias := up.bias
	up.bias = nil
	u := g.linear(up, next("mid", x, false))
	u = g.contrib("BiasGelu", part("gelu"), []string{u, g.vector(up.name+".bias", bias)})
	d := g.linear(g.matrix(part("ffn_down")), next("inner", u, true))
	return g.norm(part("layer_output_norm"), g.Node("Add", part("sum 2"), []string{d, x}))
}

// attend has each query read the values by its likeness to the keys, in each head.
func (g *writer) attend(name, q, k, v string) string {
	head := func(x string, order ...int64) string {
		y := g.Node("Reshape", x+".heads", []string{x, "heads"})
		return g.Node("Transpose", x+".turned", []string{y}, graph.Ints("perm", order...))
	}
	s := g.Node("MatMul", name+".scores", []string{head(q, 1, 0, 2), head(k, 1, 2, 0)})
	s = g.Node("Softmax", name+".weights", []string{s}, graph.Int("axis", -1))
	s = g.Node("MatMul", name+".read", []string{s, head(v, 1, 0, 2)})
	s = g.Node("Transpose", name+".turned", []string{s}, graph.Ints("perm", 1, 0, 2))
	return g.Node("Reshape", name, []string{s, "joined"})
}

func (g *writer) norm(name, x string) string {
	weight := g.Floats(name+".weight", g.m.weights[name+".weight"], g.m.width)
	return g.Node("LayerNormalization", name, []string{x, weight, g.vector(name+".bias", g.m.weights[name+".bias"])},
		graph.Int("axis", -1), graph.Float("epsilon", g.m.epsilon))
}

// vector adds a vector.
func (g *writer) vector(name string, values []float32) string {
	return g.Floats(name, values, len(values))
}

// contrib adds an operator that ONNX Runtime has beyond ONNX's own.
func (g *writer) contrib(op, output string, inputs []string) string {
	g.Domain = graph.ContribDomain
	g.Node(op, output, inputs)
	g.Domain = ""
	return output
}
