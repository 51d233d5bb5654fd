package models

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
)

// Bounds on what a header may hold. The largest vocabularies in use take some 30 MB of header, the
// longest chat templates some tens of kilobytes, and the models with most tensors have some 25,000.
const (
	maxHeader  = 128 << 20
	maxString  = 16 << 20
	maxFields  = 1 << 16
	maxTensors = 1 << 16
	maxKey     = 1<<16 - 1
	maxName    = 63 // GGML_MAX_NAME, less its zero byte
	maxDims    = 4
	maxAlign   = 1 << 20

	defaultAlign = 32
	alignKey     = "general.alignment"
)

// A Field is one entry of a GGUF file's metadata. Value is one of
//
//	uint8 int8 uint16 int16 uint32 int32 uint64 int64 float32 float64 bool string
//
// or a slice of one of these. GGUF allows arrays of arrays; llama.cpp reads none, and nor do we.
type Field struct {
	Key   string
	Value any
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

// A GGUF is the header of a GGUF file: everything but the tensor data.
type GGUF struct {
	Version   int
	Size      int64 // of the whole file, in bytes
	Data      int64 // where in the file the tensor data begins
	Alignment int64 // of each tensor's data, in bytes
	Fields    []Field
	Tensors   []Tensor

	values map[string]any
}

// ReadGGUF reads the header of a GGUF file (version 2 or 3, little-endian) of the given size. Every
// count, length, shape and offset is checked against the size and against fixed bounds, so that a
// hostile file costs no more memory than a large honest one. The tensor data must lie within the file.
func ReadGGUF(r io.ReaderAt, size int64) (*GGUF, error) {
	d := &decoder{
		r:    bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16),
		left: min(size, maxHeader),
		size: size,
	}
	g := &GGUF{Size: size, Alignment: defaultAlign, values: map[string]any{}}
	nTensors, nFields := d.prologue(g)
	for range nFields {
		d.field(g)
	}
	g.setAlignment(d)
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
		g.Tensors = append(g.Tensors, t)
	}
	if d.err != nil {
		return nil, d.err
	}
	g.Data = d.off
	if len(g.Tensors) > 0 {
		g.Data = align(d.off, g.Alignment)
	}
	if err := g.checkData(); err != nil {
		return nil, err
	}
	return g, nil
}

// OpenGGUF is ReadGGUF of a file.
func OpenGGUF(path string) (*GGUF, error) {
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
	return ReadGGUF(f, fi.Size())
}

// Value returns the value of a field, nil if it is not there.
func (g *GGUF) Value(key string) any { return g.values[key] }

// String returns the value of a string field.
func (g *GGUF) String(key string) (string, bool) {
	s, ok := g.values[key].(string)
	return s, ok
}

// Strings returns the value of a field that is an array of strings.
func (g *GGUF) Strings(key string) ([]string, bool) {
	s, ok := g.values[key].([]string)
	return s, ok
}

// Bool returns the value of a boolean field.
func (g *GGUF) Bool(key string) (value, ok bool) {
	value, ok = g.values[key].(bool)
	return value, ok
}

// Int returns the value of a field that is a non-negative integer of any width and fits an int64.
func (g *GGUF) Int(key string) (int64, bool) { return integer(g.values[key]) }

// Ints returns the values of a field that is an array of non-negative integers of any width.
func (g *GGUF) Ints(key string) ([]int64, bool) {
	switch v := g.values[key].(type) {
	case []uint32:
		return integers(v)
	case []int32:
		return integers(v)
	case []uint64:
		return integers(v)
	case []int64:
		return integers(v)
	case []uint16:
		return integers(v)
	case []int16:
		return integers(v)
	case []uint8:
		return integers(v)
	case []int8:
		return integers(v)
	}
	return nil, false
}

func integers[T any](list []T) ([]int64, bool) {
	out := make([]int64, len(list))
	for i, v := range list {
		n, ok := integer(v)
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case int8:
		return int64(v), v >= 0
	case int16:
		return int64(v), v >= 0
	case int32:
		return int64(v), v >= 0
	case int64:
		return v, v >= 0
	}
	return 0, false
}

// Float returns the value of a finite floating-point field.
func (g *GGUF) Float(key string) (float64, bool) {
	f := math.NaN()
	switch v := g.values[key].(type) {
	case float32:
		f = float64(v)
	case float64:
		f = v
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// setAlignment takes the alignment from the fields just read.
func (g *GGUF) setAlignment(d *decoder) {
	v, ok := g.values[alignKey]
	if !ok || d.err != nil {
		return
	}
	n, ok := v.(uint32)
	if !ok || n > maxAlign || bits.OnesCount32(n) != 1 {
		d.fail("its alignment is %v, not a power of two up to %d", v, maxAlign)
		return
	}
	g.Alignment = int64(n)
}

// checkData checks that each tensor's data starts at a multiple of the alignment and ends within the file.
func (g *GGUF) checkData() error {
	end := int64(0)
	for i := range g.Tensors {
		t := &g.Tensors[i]
		if t.Offset%g.Alignment != 0 {
			return fmt.Errorf("the data of tensor %q starts at %d, not a multiple of %d: "+
				"the file is damaged; fetch it again", t.Name, t.Offset, g.Alignment)
		}
		if t.Offset > math.MaxInt64-g.Data-t.Bytes() {
			return fmt.Errorf("tensor %q lies beyond any file: the file is damaged; fetch it again", t.Name)
		}
		end = max(end, g.Data+t.Offset+t.Bytes())
	}
	if end > g.Size {
		return fmt.Errorf("the file is truncated: its tensors need %d bytes and %d are there; fetch it again",
			end, g.Size)
	}
	return nil
}

// align rounds n up to a multiple of a.
func align(n, a int64) int64 { return (n + a - 1) / a * a }

// A decoder reads the parts of a header. The first failure stays in err and ends everything after it.
type decoder struct {
	r    *bufio.Reader
	off  int64 // bytes read
	left int64 // bytes that the header may still take
	size int64 // of the file
	err  error
	buf  [8]byte
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("bad GGUF header at byte %d: %s", d.off, fmt.Sprintf(format, args...))
	}
}

// take reports whether n more bytes can be read, and counts them.
func (d *decoder) take(n int64, what string) bool {
	if d.err != nil {
		return false
	}
	if n > d.left {
		if d.size > maxHeader && n <= d.size-d.off {
			d.fail("%s passes the limit of %d bytes for a header", what, maxHeader)
		} else {
			d.fail("%s takes %d bytes and the file has %d more: it is truncated or damaged; fetch it again",
				what, n, d.left)
		}
		return false
	}
	d.left -= n
	d.off += n
	return true
}

func (d *decoder) bytes(n int64, what string) []byte {
	if !d.take(n, what) {
		return nil
	}
	b := d.buf[:]
	if n > int64(len(b)) {
		b = make([]byte, n)
	}
	b = b[:n]
	if _, err := io.ReadFull(d.r, b); err != nil {
		d.err = err
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			d.err = errors.New("the file became shorter while it was read: fetch it again")
		}
		return nil
	}
	return b
}

func (d *decoder) uint32(what string) uint32 {
	if b := d.bytes(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) uint64(what string) uint64 {
	if b := d.bytes(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) string(limit uint64, what string) string {
	n := d.uint64(what)
	if d.err == nil && n > limit {
		d.fail("%s has %d bytes, more than %d", what, n, limit)
	}
	if d.err != nil {
		return ""
	}
	return string(d.bytes(int64(n), what))
}

// prologue reads the magic number, the version and the two counts.
func (d *decoder) prologue(g *GGUF) (tensors, fields uint64) {
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
	g.Version = int(version)
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

func (d *decoder) field(g *GGUF) {
	key := d.string(maxKey, "a field's name")
	kind := valueKind(d.uint32("a field's type"))
	if d.err != nil {
		return
	}
	if _, ok := g.values[key]; ok || key == "" {
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
		g.values[key] = v
		g.Fields = append(g.Fields, Field{key, v})
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
