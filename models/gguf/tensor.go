package gguf

import (
	"fmt"
	"math/bits"
)

// A TensorType is ggml's number for how a tensor's values are stored.
type TensorType uint32

// The tensor types that this package writes. [TensorType.String] names all that llama.cpp reads.
const (
	F32  TensorType = 0
	F16  TensorType = 1
	Q8_0 TensorType = 8
)

// tensorTypes lists, by number, the types of ggml as of llama.cpp v0.4.0: values are stored in blocks
// of so many values, each of so many bytes. The gaps are types that were withdrawn.
var tensorTypes = [...]struct {
	name          string
	values, bytes int64
}{
	0: {"F32", 1, 4}, 1: {"F16", 1, 2}, 2: {"Q4_0", 32, 18}, 3: {"Q4_1", 32, 20},
	6: {"Q5_0", 32, 22}, 7: {"Q5_1", 32, 24}, 8: {"Q8_0", 32, 34}, 9: {"Q8_1", 32, 36},
	10: {"Q2_K", 256, 84}, 11: {"Q3_K", 256, 110}, 12: {"Q4_K", 256, 144}, 13: {"Q5_K", 256, 176},
	14: {"Q6_K", 256, 210}, 15: {"Q8_K", 256, 292}, 16: {"IQ2_XXS", 256, 66}, 17: {"IQ2_XS", 256, 74},
	18: {"IQ3_XXS", 256, 98}, 19: {"IQ1_S", 256, 50}, 20: {"IQ4_NL", 32, 18}, 21: {"IQ3_S", 256, 110},
	22: {"IQ2_S", 256, 82}, 23: {"IQ4_XS", 256, 136}, 24: {"I8", 1, 1}, 25: {"I16", 1, 2},
	26: {"I32", 1, 4}, 27: {"I64", 1, 8}, 28: {"F64", 1, 8}, 29: {"IQ1_M", 256, 56},
	30: {"BF16", 1, 2}, 34: {"TQ1_0", 256, 54}, 35: {"TQ2_0", 256, 66}, 39: {"MXFP4", 32, 17},
	40: {"NVFP4", 64, 36}, 41: {"Q1_0", 128, 18}, 42: {"Q2_0", 64, 18},
}

// String is the type's usual name, such as "Q4_0", or its number where it has none.
func (t TensorType) String() string {
	if !t.known() {
		return fmt.Sprintf("type %d", uint32(t))
	}
	return tensorTypes[t].name
}

func (t TensorType) known() bool {
	return int64(t) < int64(len(tensorTypes)) && tensorTypes[t].values > 0
}

// bytes is the size of a tensor of this type and shape.
func (t TensorType) bytes(shape []int64) (int64, error) {
	if !t.known() {
		return 0, fmt.Errorf("its storage, %v, is not one that llama.cpp v0.4.0 reads: "+
			"fetch the model in another quantisation", t)
	}
	n, ok := elements(shape)
	if !ok {
		return 0, fmt.Errorf("its shape %v is impossible", shape)
	}
	block := tensorTypes[t]
	if len(shape) > 0 && shape[0]%block.values != 0 || len(shape) == 0 && block.values != 1 {
		return 0, fmt.Errorf("its rows, of shape %v, do not divide into the blocks of %v", shape, t)
	}
	hi, lo := bits.Mul64(uint64(n/block.values), uint64(block.bytes))
	if hi != 0 || lo > maxTensorBytes {
		return 0, fmt.Errorf("its shape %v is impossible", shape)
	}
	return int64(lo), nil
}

// maxTensorBytes leaves room for sums of a header's tensors in an int64.
const maxTensorBytes = 1 << 46

// elements is the product of a shape's dimensions, and whether it makes sense.
func elements(shape []int64) (int64, bool) {
	n := uint64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<62 {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

// A Tensor describes one tensor of a GGUF file.
type Tensor struct {
	Name   string
	Type   TensorType
	Shape  []int64 // as ggml counts: the dimension that varies fastest first
	Offset int64   // from the start of the file's tensor data
}

// Elements is the number of values in the tensor.
func (t *Tensor) Elements() int64 {
	n, _ := elements(t.Shape)
	return n
}

// Bytes is the size of the tensor's data, padding not included.
func (t *Tensor) Bytes() int64 {
	n, _ := t.Type.bytes(t.Shape)
	return n
}

// align rounds n up to a multiple of a.
func align(n, a int64) int64 { return (n + a - 1) / a * a }
