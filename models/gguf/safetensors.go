package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Bounds on a safetensors header: some 100 bytes a tensor.
const maxSafetensorsHeader = 16 << 20

// A safetensor is one tensor of a safetensors file. Its shape is as PyTorch counts: the dimension that
// varies fastest comes last.
type safetensor struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // of its first byte and past its last, from the start of the data

	data io.ReaderAt // of this tensor alone
}

// readSafetensors reads the header of a safetensors file of the given size: eight bytes of length, then
// JSON. Every tensor is checked to lie within the file and to have the size that its shape takes.
func readSafetensors(r io.ReaderAt, size int64) (map[string]*safetensor, error) {
	var buf [8]byte
	if _, err := r.ReadAt(buf[:], 0); err != nil {
		return nil, fmt.Errorf("a safetensors file has at least 8 bytes, this has %d; fetch it again", size)
	}
	n := binary.LittleEndian.Uint64(buf[:])
	if n > maxSafetensorsHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("its header claims %d bytes, the file has %d: it is no safetensors file, or truncated; "+
			"fetch it again", n, size)
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil {
		return nil, err
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		return nil, fmt.Errorf("its header is not JSON: %v", err)
	}
	start := 8 + int64(n)
	tensors := map[string]*safetensor{}
	for name, raw := range entries {
		if name == "__metadata__" {
			continue
		}
		t := new(safetensor)
		if err := json.Unmarshal(raw, t); err != nil {
			return nil, fmt.Errorf("tensor %.80q: %v", name, err)
		}
		if err := t.check(size - start); err != nil {
			return nil, fmt.Errorf("tensor %.80q: %w", name, err)
		}
		t.data = io.NewSectionReader(r, start+t.Offsets[0], t.Offsets[1]-t.Offsets[0])
		tensors[name] = t
	}
	return tensors, nil
}

// check checks a tensor against the size of the file's data.
func (t *safetensor) check(size int64) error {
	if t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] || t.Offsets[1] > size {
		return fmt.Errorf("its data is at %d to %d and the file has %d bytes: it is truncated or damaged; fetch it "+
			"again",
			t.Offsets[0], t.Offsets[1], size)
	}
	width := map[string]int64{
		"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2,
		"I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8,
	}[t.DType]
	n, ok := elements(t.Shape)
	if width == 0 || !ok || n > math.MaxInt64/8 {
		return fmt.Errorf("its type %.20q or shape %v makes no sense", t.DType, t.Shape)
	}
	if n*width != t.Offsets[1]-t.Offsets[0] {
		return fmt.Errorf("its shape %v of %s takes %d bytes, not %d",
			t.Shape, t.DType, n*width, t.Offsets[1]-t.Offsets[0])
	}
	return nil
}

// write writes the tensor's values as target, F16 or F32. F16 is only written from F16.
func (t *safetensor) write(w io.Writer, target TensorType) error {
	size := t.Offsets[1] - t.Offsets[0]
	r := io.NewSectionReader(t.data, 0, size)
	if t.DType == "F16" && target == F16 || t.DType == "F32" && target == F32 {
		_, err := io.Copy(w, r)
		return err
	}
	var decode func(uint16) float32
	switch {
	case t.DType == "F16" && target == F32:
		decode = halfToFloat
	case t.DType == "BF16" && target == F32:
		decode = func(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }
	default:
		return fmt.Errorf("cannot write %s as %v: only F16, BF16 and F32 weights are converted", t.DType, target)
	}
	in, out := make([]byte, 1<<14), make([]byte, 1<<15)
	for size > 0 {
		n := min(size, int64(len(in)))
		if _, err := io.ReadFull(r, in[:n]); err != nil {
			return err
		}
		for i := int64(0); i < n; i += 2 {
			bits := math.Float32bits(decode(binary.LittleEndian.Uint16(in[i:])))
			binary.LittleEndian.PutUint32(out[2*i:], bits)
		}
		if _, err := w.Write(out[:2*n]); err != nil {
			return err
		}
		size -= n
	}
	return nil
}

// floats returns the first n values of a tensor.
func (t *safetensor) floats(n int64) ([]float32, error) {
	if have, _ := elements(t.Shape); n > have || have > maxFloats {
		return nil, fmt.Errorf("it has %d values, and %d are wanted, at most %d", have, n, maxFloats)
	}
	var b bytes.Buffer
	if err := t.write(&b, F32); err != nil {
		return nil, err
	}
	out := make([]float32, n)
	_, err := binary.Decode(b.Bytes(), binary.LittleEndian, out)
	return out, err
}

// after is a matrix without its first rows.
func (t *safetensor) after(rows int64) (*safetensor, error) {
	if len(t.Shape) != 2 || t.Shape[0] <= rows {
		return nil, fmt.Errorf("it has the shape %v, and %d rows are to be left out", t.Shape, rows)
	}
	skip := (t.Offsets[1] - t.Offsets[0]) / t.Shape[0] * rows
	out := *t
	out.Shape = []int64{t.Shape[0] - rows, t.Shape[1]}
	out.Offsets[0] += skip
	out.data = io.NewSectionReader(t.data, skip, out.Offsets[1]-out.Offsets[0])
	return &out, nil
}

// maxFloats bounds the tensors that are held in memory.
const maxFloats = 1 << 25

// halfToFloat converts an IEEE 754 half-precision number.
func halfToFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0: // zero, or a number below the normal range: frac units of 2^-24
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(f))
	case 0x1f: // infinity or not a number
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}
