package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/assay-eval/assay/backend/onnx/graph"
)

// An outline is what a graph's file says of itself, read before ONNX Runtime sees it.
type outline struct {
	external []string // files of weights beside it, without repetition
	numbers  string   // the kind that its weights have: "fp32", "fp16", "bf16", "int8", "int4"

	inputs, outputs []Slot
}

// Bounds on a graph; that of a large encoder has some 10,000 nodes, and graphs within graphs go two deep.
const (
	maxParts    = 1 << 20
	maxDepth    = 16
	maxExternal = 64
)

// readOutline looks through a graph. It refuses operators that are not part of ONNX Runtime, and names of files that
// are not plain paths below the folder.
func readOutline(file []byte) (*outline, error) {
	w := &walk{elements: map[uint64]float64{}, constants: map[string]bool{}, domains: []string{"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}}
	if err := w.model(file); err != nil {
		return nil, err
	}
	for _, u := range w.uses {
		if !slices.Contains(w.domains, u.domain) || u.op == "EPContext" {
			return nil, fmt.Errorf("it needs the operator %.80q of %.80q, which ONNX Runtime does not come with", u.op, u.domain)
		}
	}
	inputs := slices.DeleteFunc(w.inputs, func(in Slot) bool { return w.constants[in.Name] }) // old files list all
	return &outline{external: w.external, numbers: w.numbers(), inputs: inputs, outputs: w.outputs}, nil
}

// A use is an operator as a node names it.
type use struct{ domain, op string }

// A walk goes through the messages of a file. What it does not know it passes over, as ONNX Runtime does; and where a
// field that should stand once is repeated, it looks at each, as ONNX Runtime joins them.
type walk struct {
	parts    int
	depth    int
	uses     []use              // without repetition
	domains  []string           // that operators may be of
	external []string           // without repetition
	elements map[uint64]float64 // of the initializers, by their type
	bits     uint64             // of the weights of MatMulNBits
	graphs   int

	inputs, outputs []Slot          // of the whole graph
	constants       map[string]bool // names of its initializers
}

// A field is one of a message: a number, or bytes.
type field struct {
	number protowire.Number
	value  uint64
	bytes  []byte
}

// is reports whether f is a field of bytes.
func (f field) is(number protowire.Number) bool { return f.number == number && f.bytes != nil }

// each visits the fields of a message that are numbers or bytes.
func (w *walk) each(message []byte, visit func(field) error) error {
	w.depth++
	defer func() { w.depth-- }()
	if w.parts++; w.parts > maxParts || w.depth > maxDepth*4 {
		return errors.New("its graph has too many parts, or parts too deep within each other")
	}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return damaged(n)
		}
		message = message[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return damaged(n)
		}
		message = message[n:]
		if kind != protowire.VarintType && f.bytes == nil {
			continue
		}
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

func damaged(code int) error {
	return fmt.Errorf("it is no ONNX file, or damaged or truncated (%v)", protowire.ParseError(code))
}

// model visits a ModelProto.
func (w *walk) model(message []byte) error {
	err := w.each(message, func(f field) error {
		switch {
		case f.is(7):
			w.graphs++
			if err := w.ends(f.bytes); err != nil {
				return err
			}
			return w.graph(f.bytes)
		case f.is(25):
			return w.function(f.bytes)
		case f.is(20):
			return errors.New("it holds a graph for training: export the model for inference")
		}
		return nil
	})
	if err == nil && w.graphs == 0 {
		err = errors.New("it is no ONNX file: it holds no graph")
	}
	return err
}

// function visits a FunctionProto: an operator that the file defines itself.
func (w *walk) function(message []byte) error {
	return w.each(message, func(f field) error {
		switch {
		case f.is(7):
			return w.node(f.bytes)
		case f.is(10):
			w.domains = append(w.domains, string(f.bytes))
		case f.is(11):
			return w.attribute(f.bytes, "")
		}
		return nil
	})
}

// graph visits a GraphProto.
func (w *walk) graph(message []byte) error {
	return w.each(message, func(f field) error {
		switch {
		case f.is(1):
			return w.node(f.bytes)
		case f.is(5):
			return w.tensor(f.bytes)
		case f.is(15):
			return w.sparse(f.bytes)
		}
		return nil
	})
}

// maxSlots bounds the inputs and outputs; in old files the weights are among them.
const maxSlots = 1 << 16

// ends finds the inputs and outputs of a GraphProto, and the names of its initializers.
func (w *walk) ends(message []byte) error {
	return w.each(message, func(f field) error {
		if len(w.inputs)+len(w.outputs)+len(w.constants) > maxSlots {
			return fmt.Errorf("its graph has more than %d inputs, outputs and weights", maxSlots)
		}
		switch {
		case f.is(5):
			return w.each(f.bytes, func(f field) error {
				if f.is(8) {
					w.constants[string(f.bytes)] = true
				}
				return nil
			})
		case f.is(11), f.is(12):
			slot, err := w.slot(f.bytes)
			if f.number == 11 {
				w.inputs = append(w.inputs, slot)
			} else {
				w.outputs = append(w.outputs, slot)
			}
			return err
		}
		return nil
	})
}

// slot reads a ValueInfoProto. What is no tensor has no type.
func (w *walk) slot(message []byte) (s Slot, err error) {
	shape := func(f field) error { // TensorShapeProto
		if !f.is(1) {
			return nil
		}
		size := int64(-1)
		err := w.each(f.bytes, func(f field) error {
			if f.number == 1 && f.bytes == nil {
				size = int64(f.value)
			}
			return nil
		})
		s.Shape = append(s.Shape, size)
		return err
	}
	tensor := func(f field) error { // TypeProto.Tensor
		switch {
		case f.number == 1 && f.bytes == nil:
			s.Type = graph.ElementType(f.value)
		case f.is(2):
			return w.each(f.bytes, shape)
		}
		return nil
	}
	return s, w.each(message, func(f field) error {
		switch {
		case f.is(1):
			s.Name = string(f.bytes)
		case f.is(2):
			return w.each(f.bytes, func(f field) error {
				if !f.is(1) {
					return nil
				}
				return w.each(f.bytes, tensor)
			})
		}
		return nil
	})
}

// node visits a NodeProto.
func (w *walk) node(message []byte) error {
	ops, domains := []string{}, []string{}
	err := w.each(message, func(f field) error {
		switch {
		case f.is(4):
			ops = append(ops, string(f.bytes))
		case f.is(7):
			domains = append(domains, string(f.bytes))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(ops) != 1 || len(domains) > 1 {
		return errors.New("a node of its graph names no operator, or several")
	}
	u := use{strings.Join(domains, ""), ops[0]}
	if !slices.Contains(w.uses, u) {
		w.uses = append(w.uses, u)
	}
	if len(w.uses) > 1000 {
		return errors.New("its graph has more than 1,000 kinds of operators")
	}
	return w.each(message, func(f field) error {
		if f.is(5) {
			return w.attribute(f.bytes, u.op)
		}
		return nil
	})
}

// attribute visits an AttributeProto of an operator.
func (w *walk) attribute(message []byte, op string) error {
	bits := uint64(0)
	name := ""
	err := w.each(message, func(f field) error {
		switch {
		case f.is(1):
			name = string(f.bytes)
		case f.number == 3 && f.bytes == nil:
			bits = f.value
		case f.is(5), f.is(10):
			return w.tensor(f.bytes)
		case f.is(6), f.is(11):
			return w.graph(f.bytes)
		case f.is(22), f.is(23):
			return w.sparse(f.bytes)
		}
		return nil
	})
	if op == "MatMulNBits" && name == "bits" {
		w.bits = bits
	}
	return err
}

// sparse visits a SparseTensorProto: two tensors.
func (w *walk) sparse(message []byte) error {
	return w.each(message, func(f field) error {
		if f.is(1) || f.is(2) {
			return w.tensor(f.bytes)
		}
		return nil
	})
}

// tensor visits a TensorProto.
func (w *walk) tensor(message []byte) error {
	kind, elements := uint64(0), 1.0
	err := w.each(message, func(f field) error {
		switch {
		case f.is(1): // dimensions, packed
			for b := f.bytes; len(b) > 0; {
				d, n := protowire.ConsumeVarint(b)
				if n < 0 {
					return damaged(n)
				}
				elements, b = elements*float64(d), b[n:]
			}
		case f.number == 1:
			elements *= float64(f.value)
		case f.number == 2 && f.bytes == nil:
			kind = f.value
		case f.is(13):
			return w.entry(f.bytes)
		}
		return nil
	})
	w.elements[kind&0xff] += elements
	return err
}

// entry visits a StringStringEntryProto of external data.
func (w *walk) entry(message []byte) error {
	key, value := "", ""
	err := w.each(message, func(f field) error {
		if f.is(1) {
			key = string(f.bytes)
		} else if f.is(2) {
			value = string(f.bytes)
		}
		return nil
	})
	if err != nil || key != "location" || slices.Contains(w.external, value) {
		return err
	}
	if err := checkLocation(value); err != nil {
		return err
	}
	if w.external = append(w.external, value); len(w.external) > maxExternal {
		return fmt.Errorf("its weights lie in more than %d files", maxExternal)
	}
	return nil
}

// checkLocation refuses what is not the plain path of a file below the folder, on any system. ONNX Runtime itself takes
// some names with a star for places in memory.
func checkLocation(name string) error {
	parts := strings.Split(name, "/")
	if strings.ContainsAny(name, "*?:\\\x00<>|\"") || len(name) > 1000 ||
		slices.Contains(parts, "") || slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return fmt.Errorf("its weights are said to lie in %.80q, which is not the path of a file in its folder", name)
	}
	return nil
}

// quantised are the operators that compute with, or make, integers of 8 bits.
var quantised = []string{"MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "DynamicQuantizeLinear",
	"QLinearMatMul", "DequantizeLinear", "QuantizeLinear", "QAttention", "QGemm", "ConvInteger",
	"QEmbedLayerNormalization", "MatMulNBits", "GatherBlockQuantized"}

// numbers says which kind of numbers the graph computes with.
func (w *walk) numbers() string {
	const fp32, fp16, bf16, uint4, int4 = 1, 10, 16, 21, 22
	integers := slices.ContainsFunc(w.uses, func(u use) bool { return slices.Contains(quantised, u.op) })
	switch {
	case integers && (w.bits == 4 || w.elements[uint4]+w.elements[int4] > 0):
		return "int4"
	case integers:
		return "int8"
	case w.elements[fp16] > w.elements[fp32]:
		return "fp16"
	case w.elements[bf16] > w.elements[fp32]:
		return "bf16"
	}
	return "fp32"
}
