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

// The sizes of a tiny encoder.
const (
	tinyWords     = 512
	tinyPositions = 256
	tinyWidth     = 32
	tinyHeads     = 4
	tinyInner     = 64
	tinyLayers    = 2
	tinyLabels    = 3
)

// tinyEncoder is the weights of a model like BERT, by the names that its graph gives them, all random.
type tinyEncoder map[string][]float32

func newTinyEncoder() tinyEncoder {
	random := rand.New(rand.NewPCG(7, 13))
	w := tinyEncoder{}
	fill := func(name string, n int, mean, spread float64) {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(mean + spread*random.NormFloat64())
		}
		w[name] = list
	}
	norm := func(name string) {
		fill(name+".weight", tinyWidth, 1, 0.1)
		fill(name+".bias", tinyWidth, 0, 0.1)
	}
	linear := func(name string, in, out int) {
		fill(name+".weight", in*out, 0, 1/math.Sqrt(float64(in)))
		fill(name+".bias", out, 0, 0.1)
	}
	fill("word", tinyWords*tinyWidth, 0, 1)
	fill("position", tinyPositions*tinyWidth, 0, 0.5)
	fill("type", 2*tinyWidth, 0, 0.5)
	norm("norm")
	for _, layer := range layerNames() {
		for _, part := range []string{"q", "k", "v", "o"} {
			linear(layer+part, tinyWidth, tinyWidth)
		}
		norm(layer + "norm1")
		linear(layer+"up", tinyWidth, tinyInner)
		linear(layer+"down", tinyInner, tinyWidth)
		norm(layer + "norm2")
	}
	linear("pooler", tinyWidth, tinyWidth)
	linear("head", tinyWidth, tinyLabels)
	return w
}

func layerNames() []string {
	var names []string
	for i := range tinyLayers {
		names = append(names, string(rune('a'+i))+".")
	}
	return names
}

// file is the .onnx file of the encoder. Its outputs are the hidden states, those of the classification head, or both.
func (w tinyEncoder) file(outputs ...string) []byte {
	g := &tinyGraph{weights: w}
	for _, name := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		g.slot(11, name, Int64, "batch", "tokens")
	}
	x := g.embeddings()
	for _, layer := range layerNames() {
		x = g.layer(layer, x)
	}
	g.node("Identity", "last_hidden_state", []string{x})
	first := g.node("Gather", "first", []string{x, g.ints("zero index", []int64{0})}, intAttribute("axis", 1))
	pooled := g.node("Tanh", "pooled", []string{g.linear("pooler", first, tinyWidth, tinyWidth)})
	g.node("Identity", "logits", []string{g.linear("head", pooled, tinyWidth, tinyLabels)})
	for _, name := range outputs {
		if name == "logits" {
			g.slot(12, name, Float32, "batch", tinyLabels)
		} else {
			g.slot(12, name, Float32, "batch", "tokens", tinyWidth)
		}
	}
	return g.model()
}

// A tinyGraph writes the encoder's graph.
type tinyGraph struct {
	graph
	weights tinyEncoder
}

func (g *tinyGraph) weight(name string, shape ...int64) string {
	return g.floats(name, g.weights[name], shape...)
}

func (g *tinyGraph) linear(name, x string, in, out int64) string {
	y := g.node("MatMul", name+".product", []string{x, g.weight(name+".weight", in, out)})
	return g.node("Add", name+".out", []string{y, g.weight(name+".bias", out)})
}

func (g *tinyGraph) norm(name, x string) string {
	return g.node("LayerNormalization", name+".out",
		[]string{x, g.weight(name+".weight", tinyWidth), g.weight(name+".bias", tinyWidth)},
		intAttribute("axis", -1), floatAttribute("epsilon", 1e-5))
}

func (g *tinyGraph) embeddings() string {
	zero, one := g.ints("zero", []int64{0}), g.ints("one", []int64{1})
	shape := g.node("Shape", "shape", []string{"input_ids"})
	n := g.node("Gather", "length", []string{shape, one}, intAttribute("axis", 0))
	positions := g.node("Range", "positions", []string{zero, n, one})
	x := g.node("Gather", "words", []string{g.weight("word", tinyWords, tinyWidth), "input_ids"})
	t := g.node("Gather", "types", []string{g.weight("type", 2, tinyWidth), "token_type_ids"})
	p := g.node("Gather", "places", []string{g.weight("position", tinyPositions, tinyWidth), positions})
	x = g.node("Add", "words and types", []string{x, t})
	x = g.node("Add", "sum", []string{x, p})
	mask := g.node("Cast", "mask as floats", []string{"attention_mask"}, intAttribute("to", int64(Float32)))
	mask = g.node("Sub", "mask inverted", []string{g.floats("1", []float32{1}), mask})
	mask = g.node("Mul", "mask scaled", []string{mask, g.floats("-10000", []float32{-10000})})
	g.node("Unsqueeze", "mask", []string{mask, g.ints("mask axes", []int64{1, 2}, 2)})
	g.floats("scale", []float32{tinyScale})
	g.floats("0.5", []float32{0.5})
	g.floats("root", []float32{math.Sqrt2})
	g.ints("heads", []int64{0, 0, tinyHeads, tinyWidth / tinyHeads}, 4)
	g.ints("joined", []int64{0, 0, tinyWidth}, 3)
	return g.norm("norm", x)
}

// tinyScale is 1/√8, 8 being the width of a head.
const tinyScale = 1 / (2 * math.Sqrt2)

func (g *tinyGraph) layer(l, x string) string {
	head := func(name string, order ...int64) string {
		y := g.linear(l+name, x, tinyWidth, tinyWidth)
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
	a = g.node("Add", l+"residual", []string{x, g.linear(l+"o", a, tinyWidth, tinyWidth)})
	x = g.norm(l+"norm1", a)
	u := g.linear(l+"up", x, tinyWidth, tinyInner)
	e := g.node("Erf", l+"erf", []string{g.node("Div", l+"divided", []string{u, "root"})})
	e = g.node("Add", l+"erf and one", []string{e, "1"})
	e = g.node("Mul", l+"gelu doubled", []string{u, e})
	e = g.node("Mul", l+"gelu", []string{e, "0.5"})
	y := g.node("Add", l+"residual 2", []string{x, g.linear(l+"down", e, tinyInner, tinyWidth)})
	return g.norm(l+"norm2", y)
}
