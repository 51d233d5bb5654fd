package gguf

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
)

// Bounds on what a header may hold. The models with most tensors have some 25,000.
const (
	maxFields  = 1 << 16
	maxTensors = 1 << 16
	maxKey     = 1<<16 - 1
	maxName    = 63 // GGML_MAX_NAME, less its zero byte
	maxDims    = 4
	maxAlign   = 1 << 20

	defaultAlign = 32
	alignKey     = "general.alignment"
)

// A Header is everything in a GGUF file but the tensor data.
type Header struct {
	Version   int
	Size      int64 // of the whole file, in bytes
	Data      int64 // where in the file the tensor data begins
	Alignment int64 // of each tensor's data, in bytes
	Fields    []Field
	Tensors   []Tensor

	values map[string]any
}

// Read reads the header of a GGUF file (version 2 or 3, little-endian) of the given size. Every
// count, length, shape and offset is checked against the size and against fixed bounds, so that a
// hostile file costs no more memory than a large honest one. The tensor data must lie within the file.
func Read(r io.ReaderAt, size int64) (*Header, error) {
	d := &decoder{
		r:    bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16),
		left: min(size, maxHeader),
		size: size,
	}
	h := &Header{Size: size, Alignment: defaultAlign, values: map[string]any{}}
	nTensors, nFields := d.prologue(h)
	for range nFields {
		d.field(h)
	}
	h.setAlignment(d)
	names := map[string]bool{}
	for range nTensors {
		t := d.tensor()
		if d.err == nil && names[t.Name] {
			d.fail("two tensors are called %q", t.Name)
		}
		if d.err != nil {
			break
		}
		names[t.Name] = true
		h.Tensors = append(h.Tensors, t)
	}
	if d.err != nil {
		return nil, d.err
	}
	h.Data = d.off
	if len(h.Tensors) > 0 {
		h.Data = align(d.off, h.Alignment)
	}
	if err := h.checkData(); err != nil {
		return nil, err
	}
	return h, nil
}

// ReadFile is Read of a file.
func ReadFile(path string) (*Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: name a model file", path)
	}
	return Read(f, fi.Size())
}

// setAlignment takes the alignment from the fields just read.
func (h *Header) setAlignment(d *decoder) {
	v, ok := h.values[alignKey]
	if !ok || d.err != nil {
		return
	}
	n, ok := v.(uint32)
	if !ok || n > maxAlign || bits.OnesCount32(n) != 1 {
		d.fail("its alignment is %v, not a power of two up to %d", v, maxAlign)
		return
	}
	h.Alignment = int64(n)
}

// checkData checks that each tensor's data starts at a multiple of the alignment and ends within the file.
func (h *Header) checkData() error {
	end := int64(0)
	for i := range h.Tensors {
		t := &h.Tensors[i]
		if t.Offset%h.Alignment != 0 {
			return fmt.Errorf("the data of tensor %q starts at %d, not a multiple of %d: "+
				"the file is damaged; fetch it again", t.Name, t.Offset, h.Alignment)
		}
		if t.Offset > math.MaxInt64-h.Data-t.Bytes() {
			return fmt.Errorf("tensor %q lies beyond any file: the file is damaged; fetch it again", t.Name)
		}
		end = max(end, h.Data+t.Offset+t.Bytes())
	}
	if end > h.Size {
		return fmt.Errorf("the file is truncated: its tensors need %d bytes and %d are there; fetch it again",
			end, h.Size)
	}
	return nil
}

// prologue reads the magic number, the version and the two counts.
func (d *decoder) prologue(h *Header) (tensors, fields uint64) {
	magic := string(d.bytes(4, "the magic number"))
	version := d.uint32("the version")
	switch {
	case d.err != nil:
		return 0, 0
	case magic != "GGUF":
		d.fail("the file does not start with GGUF")
	case version != 0 && version&0xffff == 0:
		d.fail("it is big-endian: convert it for little-endian machines, or fetch another file")
	case version <= 1:
		d.fail("version %d is no longer read by anything: fetch a newer file of this model", version)
	case version > 3:
		d.fail("version %d is newer than this program, which reads versions 2 and 3", version)
	}
	h.Version = int(version)
	tensors = d.uint64("the number of tensors")
	fields = d.uint64("the number of fields")
	if d.err == nil && tensors > maxTensors {
		d.fail("it claims %d tensors, more than %d", tensors, maxTensors)
	}
	if d.err == nil && fields > maxFields {
		d.fail("it claims %d fields, more than %d", fields, maxFields)
	}
	if d.err != nil {
		return 0, 0
	}
	return tensors, fields
}

func (d *decoder) field(h *Header) {
	key := d.string(maxKey, "a field's name")
	kind := valueKind(d.uint32("a field's type"))
	if d.err != nil {
		return
	}
	if _, ok := h.values[key]; ok || key == "" {
		d.fail("field %q is there twice, or has no name", key)
		return
	}
	what := fmt.Sprintf("field %.80q", key)
	var v any
	if kind == kindArray {
		kind = valueKind(d.uint32(what))
		v = d.array(kind, d.uint64(what), what)
	} else {
		v = d.value(kind, what)
	}
	if d.err == nil {
		h.values[key] = v
		h.Fields = append(h.Fields, Field{key, v})
	}
}

func (d *decoder) tensor() Tensor {
	t := Tensor{Name: d.string(maxName, "a tensor's name")}
	what := fmt.Sprintf("tensor %q", t.Name)
	dims := d.uint32(what)
	if d.err == nil && dims > maxDims {
		d.fail("%s has %d dimensions, more than %d", what, dims, maxDims)
	}
	if d.err != nil {
		return t
	}
	for range dims {
		n := d.uint64(what)
		if d.err == nil && n > math.MaxInt64 {
			d.fail("%s has a dimension of %d", what, n)
		}
		t.Shape = append(t.Shape, int64(n))
	}
	t.Type = TensorType(d.uint32(what))
	offset := d.uint64(what)
	if d.err != nil {
		return t
	}
	if _, err := t.Type.bytes(t.Shape); err != nil {
		d.fail("%s: %v", what, err)
	}
	if offset > math.MaxInt64 {
		d.fail("%s lies at offset %d", what, offset)
	}
	t.Offset = int64(offset)
	return t
}
