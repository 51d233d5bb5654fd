package onnx

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"google.golang.org/protobuf/encoding/protowire"
)

// A message is a protobuf message as it is being written.
type message []byte

func (m message) number(field protowire.Number, v int64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(v))
}

func (m message) bytes(field protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

func (m message) text(field protowire.Number, v string) message { return m.bytes(field, []byte(v)) }

func (m message) float(field protowire.Number, v float32) message {
	return protowire.AppendFixed32(protowire.AppendTag(m, field, protowire.Fixed32Type), math.Float32bits(v))
}

// An attribute is one of a node.
func intAttribute(name string, v int64) message {
	return message{}.text(1, name).number(3, v).number(20, 2)
}

func floatAttribute(name string, v float32) message {
	return message{}.text(1, name).float(2, v).number(20, 1)
}

func intsAttribute(name string, list ...int64) message {
	m := message{}.text(1, name)
	for _, v := range list {
		m = m.number(8, v)
	}
	return m.number(20, 7)
}

// A graph is an ONNX graph as it is being written.
type graph struct {
	message
	domain string // of the nodes
}

// node adds an operator with one output.
func (g *graph) node(op, output string, inputs []string, attributes ...message) string {
	var m message
	for _, in := range inputs {
		m = m.text(1, in)
	}
	m = m.text(2, output).text(4, op)
	for _, a := range attributes {
		m = m.bytes(5, a)
	}
	if g.domain != "" {
		m = m.text(7, g.domain)
	}
	g.message = g.bytes(1, m)
	return output
}

// tensor describes an initializer without its numbers.
func tensor(name string, kind ElementType, shape ...int64) message {
	var m message
	for _, d := range shape {
		m = m.number(1, d)
	}
	return m.number(2, int64(kind)).text(8, name)
}

// floats adds an initializer of float32.
func (g *graph) floats(name string, values []float32, shape ...int64) string {
	g.message = g.bytes(5, tensor(name, Float32, shape...).bytes(9, rawFloats(values)))
	return name
}

func rawFloats(values []float32) []byte {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

// ints adds an initializer of int64.
func (g *graph) ints(name string, values []int64, shape ...int64) string {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	g.message = g.bytes(5, tensor(name, Int64, shape...).bytes(9, raw))
	return name
}

// slot adds an input (11) or an output (12). A dimension is a number, or a name for one that is open.
func (g *graph) slot(field protowire.Number, name string, kind ElementType, dimensions ...any) {
	var shape message
	for _, d := range dimensions {
		switch d := d.(type) {
		case int:
			shape = shape.bytes(1, message{}.number(1, int64(d)))
		case string:
			shape = shape.bytes(1, message{}.text(2, d))
		}
	}
	kinds := message{}.bytes(1, message{}.number(1, int64(kind)).bytes(2, shape))
	g.message = g.bytes(field, message{}.text(1, name).bytes(2, kinds))
}

// model is the file of the graph.
func (g *graph) model() []byte {
	return message{}.number(1, 8).bytes(7, g.text(2, "tiny")).bytes(8, message{}.text(1, "").number(2, 17)).
		bytes(8, message{}.text(1, "com.microsoft").number(2, 1))
}

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

// file is the .onnx file of the encoder. Its outputs are the hidden states, those of the classification head, or both.
func (w *encoder) file(outputs ...string) []byte {
	g := &encoderGraph{encoder: w}
	for _, name := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		g.slot(11, name, Int64, "batch", "tokens")
	}
	x := g.embeddings()
	for _, layer := range w.layerNames() {
		x = g.layer(layer, x)
	}
	g.node("Identity", "last_hidden_state", []string{x})
	first := g.node("Gather", "first", []string{x, g.ints("zero index", []int64{0})}, intAttribute("axis", 1))
	pooled := g.node("Tanh", "pooled", []string{g.linear("pooler", first, w.width, w.width)})
	g.node("Identity", "logits", []string{g.linear("head", pooled, w.width, w.labels)})
	for _, name := range outputs {
		if name == "logits" {
			g.slot(12, name, Float32, "batch", w.labels)
		} else {
			g.slot(12, name, Float32, "batch", "tokens", w.width)
		}
	}
	return g.model()
}

// An encoderGraph writes the encoder's graph.
type encoderGraph struct {
	graph
	*encoder
}

func (g *encoderGraph) weight(name string, shape ...int) string {
	var long []int64
	for _, d := range shape {
		long = append(long, int64(d))
	}
	return g.floats(name, g.weights[name], long...)
}

func (g *encoderGraph) linear(name, x string, in, out int) string {
	var y string
	if g.int8 {
		y = g.integers(name, x, in, out)
	} else {
		y = g.node("MatMul", name+".product", []string{x, g.weight(name+".weight", in, out)})
	}
	return g.node("Add", name+".out", []string{y, g.weight(name+".bias", out)})
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
	const signed ElementType = 3
	g.message = g.bytes(5, tensor(name+".int8", signed, int64(in), int64(out)).bytes(9, raw))
	var dynamic message
	dynamic = dynamic.text(1, x).text(4, "DynamicQuantizeLinear")
	for _, output := range []string{".bytes", ".scale", ".zero"} {
		dynamic = dynamic.text(2, name+output)
	}
	g.message = g.bytes(1, dynamic)
	y := g.node("MatMulInteger", name+".sums", []string{name + ".bytes", name + ".int8", name + ".zero"})
	y = g.node("Cast", name+".floats", []string{y}, intAttribute("to", int64(Float32)))
	scale := g.node("Mul", name+".scales", []string{name + ".scale", g.floats(name+".unit", []float32{largest / 127})})
	return g.node("Mul", name+".product", []string{y, scale})
}

func (g *encoderGraph) norm(name, x string) string {
	return g.node("LayerNormalization", name+".out",
		[]string{x, g.weight(name+".weight", g.width), g.weight(name+".bias", g.width)},
		intAttribute("axis", -1), floatAttribute("epsilon", g.epsilon))
}

func (g *encoderGraph) embeddings() string {
	zero, one := g.ints("zero", []int64{0}), g.ints("one", []int64{1})
	shape := g.node("Shape", "shape", []string{"input_ids"})
	n := g.node("Gather", "length", []string{shape, one}, intAttribute("axis", 0))
	positions := g.node("Range", "positions", []string{zero, n, one})
	x := g.node("Gather", "words", []string{g.weight("word", g.words, g.width), "input_ids"})
	t := g.node("Gather", "types", []string{g.weight("type", 2, g.width), "token_type_ids"})
	p := g.node("Gather", "places", []string{g.weight("position", g.positions, g.width), positions})
	x = g.node("Add", "words and types", []string{x, t})
	x = g.node("Add", "sum", []string{x, p})
	mask := g.node("Cast", "mask as floats", []string{"attention_mask"}, intAttribute("to", int64(Float32)))
	mask = g.node("Sub", "mask inverted", []string{g.floats("1", []float32{1}), mask})
	mask = g.node("Mul", "mask scaled", []string{mask, g.floats("-10000", []float32{-10000})})
	g.node("Unsqueeze", "mask", []string{mask, g.ints("mask axes", []int64{1, 2}, 2)})
	g.floats("scale", []float32{float32(g.scale())})
	g.floats("0.5", []float32{0.5})
	g.floats("root", []float32{math.Sqrt2})
	g.ints("heads", []int64{0, 0, int64(g.heads), int64(g.width / g.heads)}, 4)
	g.ints("joined", []int64{0, 0, int64(g.width)}, 3)
	return g.norm("norm", x)
}

func (g *encoderGraph) layer(l, x string) string {
	head := func(name string, order ...int64) string {
		y := g.linear(l+name, x, g.width, g.width)
		y = g.node("Reshape", l+name+".heads", []string{y, "heads"})
		return g.node("Transpose", l+name+".turned", []string{y}, intsAttribute("perm", order...))
	}
	q, k, v := head("q", 0, 2, 1, 3), head("k", 0, 2, 3, 1), head("v", 0, 2, 1, 3)
	a := g.node("MatMul", l+"scores", []string{q, k})
	a = g.node("Mul", l+"scaled", []string{a, "scale"})
	a = g.node("Add", l+"masked", []string{a, "mask"})
	a = g.node("Softmax", l+"attention", []string{a}, intAttribute("axis", -1))
	a = g.node("MatMul", l+"read", []string{a, v})
	a = g.node("Transpose", l+"read turned", []string{a}, intsAttribute("perm", 0, 2, 1, 3))
	a = g.node("Reshape", l+"read joined", []string{a, "joined"})
	a = g.node("Add", l+"residual", []string{x, g.linear(l+"o", a, g.width, g.width)})
	x = g.norm(l+"norm1", a)
	u := g.linear(l+"up", x, g.width, g.inner)
	e := g.node("Erf", l+"erf", []string{g.node("Div", l+"divided", []string{u, "root"})})
	e = g.node("Add", l+"erf and one", []string{e, "1"})
	e = g.node("Mul", l+"gelu doubled", []string{u, e})
	e = g.node("Mul", l+"gelu", []string{e, "0.5"})
	y := g.node("Add", l+"residual 2", []string{x, g.linear(l+"down", e, g.inner, g.width)})
	return g.norm(l+"norm2", y)
}
