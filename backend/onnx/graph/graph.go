// Package graph writes ONNX graphs: a [Graph] takes operators, initializers, inputs and outputs in any order and
// becomes the bytes of an .onnx file. It checks nothing: what is wrong with a graph ONNX Runtime says when it makes a
// session of it. The numbers of fields are those of onnx.proto.
package graph

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// An ElementType is what a tensor is made of, as ONNX numbers them (TensorProto.DataType).
type ElementType int32

// The types of elements.
const (
	Float32 ElementType = 1
	Uint8   ElementType = 2
	Int8    ElementType = 3
	Int32   ElementType = 6
	Int64   ElementType = 7
	Bool    ElementType = 9
	Float16 ElementType = 10
)

// ContribDomain is that of the operators which ONNX Runtime has beyond ONNX's own.
const ContribDomain = "com.microsoft"

// A Graph is an ONNX graph as it is being written: the fields of a GraphProto so far.
type Graph struct {
	Message
	Domain string // of the nodes that Node adds; "" is ONNX's own
}

// Node adds an operator with one output, and returns that output's name. The name "" stands for an input that is left
// out.
func (g *Graph) Node(op, output string, inputs []string, attributes ...Message) string {
	g.Nodes(op, []string{output}, inputs, attributes...)
	return output
}

// Nodes adds an operator with several outputs.
func (g *Graph) Nodes(op string, outputs, inputs []string, attributes ...Message) {
	var m Message
	for _, in := range inputs {
		m = m.Text(1, in)
	}
	for _, out := range outputs {
		m = m.Text(2, out)
	}
	m = m.Text(4, op)
	for _, a := range attributes {
		m = m.Bytes(5, a)
	}
	if g.Domain != "" {
		m = m.Text(7, g.Domain)
	}
	g.Message = g.Bytes(1, m)
}

// Floats adds an initializer of float32, and returns its name.
func (g *Graph) Floats(name string, values []float32, shape ...int) string {
	return g.Raw(name, Float32, RawFloats(values), shape...)
}

// Ints adds an initializer of int64, and returns its name.
func (g *Graph) Ints(name string, values []int64, shape ...int) string {
	raw := make([]byte, 0, 8*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return g.Raw(name, Int64, raw, shape...)
}

// Raw adds an initializer of elements as they lie in memory, little-endian, and returns its name. Without a shape it is
// a scalar.
func (g *Graph) Raw(name string, kind ElementType, raw []byte, shape ...int) string {
	g.Initializer(Tensor(name, kind, shape...).Bytes(9, raw))
	return name
}

// Initializer adds a TensorProto.
func (g *Graph) Initializer(tensor Message) { g.Message = g.Bytes(5, tensor) }

// Input adds an input. A dimension is a number (an int), or a name (a string) for one that is left open.
func (g *Graph) Input(name string, kind ElementType, dimensions ...any) {
	g.slot(11, name, kind, dimensions)
}

// Output adds an output: the name of one that a node has.
func (g *Graph) Output(name string, kind ElementType, dimensions ...any) {
	g.slot(12, name, kind, dimensions)
}

func (g *Graph) slot(field protowire.Number, name string, kind ElementType, dimensions []any) {
	var shape Message
	for _, d := range dimensions {
		switch d := d.(type) {
		case int:
			shape = shape.Bytes(1, Message{}.Number(1, int64(d)))
		case string:
			shape = shape.Bytes(1, Message{}.Text(2, d))
		}
	}
	tensor := Message{}.Number(1, int64(kind)).Bytes(2, shape)
	g.Message = g.Bytes(field, Message{}.Text(1, name).Bytes(2, Message{}.Bytes(1, tensor)))
}

// The versions that a file is written in: ONNX 1.12's, and its operators', which have LayerNormalization.
const (
	fileVersion     = 8
	operatorVersion = 17
	contribVersion  = 1
)

// Model returns the .onnx file of the graph, which is given a name. The graph is as it was.
func (g *Graph) Model(name string) []byte {
	own := Message{}.Text(2, name)
	size := len(g.Message) + len(own)
	m := make(Message, 0, size+64).Number(1, fileVersion)
	m = protowire.AppendVarint(protowire.AppendTag(m, 7, protowire.BytesType), uint64(size))
	m = append(append(m, g.Message...), own...)
	return m.Bytes(8, Message{}.Text(1, "").Number(2, operatorVersion)).
		Bytes(8, Message{}.Text(1, ContribDomain).Number(2, contribVersion))
}

// Tensor describes an initializer without its elements.
func Tensor(name string, kind ElementType, shape ...int) Message {
	var m Message
	for _, d := range shape {
		m = m.Number(1, int64(d))
	}
	return m.Number(2, int64(kind)).Text(8, name)
}

// RawFloats are numbers of float32 as they lie in memory.
func RawFloats(values []float32) []byte {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

// Int is an attribute that is a whole number.
func Int(name string, v int64) Message { return Message{}.Text(1, name).Number(3, v).Number(20, 2) }

// Float is an attribute that is a number.
func Float(name string, v float32) Message { return Message{}.Text(1, name).Float(2, v).Number(20, 1) }

// Ints is an attribute that is a list of whole numbers.
func Ints(name string, list ...int64) Message {
	m := Message{}.Text(1, name)
	for _, v := range list {
		m = m.Number(8, v)
	}
	return m.Number(20, 7)
}

// Body is an attribute that is a graph: a loop's or a branch's.
func Body(name string, g *Graph) Message {
	return Message{}.Text(1, name).Bytes(6, g.Text(2, name)).Number(20, 5)
}
