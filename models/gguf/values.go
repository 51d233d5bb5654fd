package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
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

// A valueKind is GGUF's number for the type of a field.
type valueKind uint32

const (
	kindUint8 valueKind = iota
	kindInt8
	kindUint16
	kindInt16
	kindUint32
	kindInt32
	kindFloat32
	kindBool
	kindString
	kindArray
	kindUint64
	kindInt64
	kindFloat64
)

// kindTypes are the Go types of values, by kind. That of an array has none of its own.
var kindTypes = [...]reflect.Type{
	kindUint8: reflect.TypeFor[uint8](), kindInt8: reflect.TypeFor[int8](),
	kindUint16: reflect.TypeFor[uint16](), kindInt16: reflect.TypeFor[int16](),
	kindUint32: reflect.TypeFor[uint32](), kindInt32: reflect.TypeFor[int32](),
	kindUint64: reflect.TypeFor[uint64](), kindInt64: reflect.TypeFor[int64](),
	kindFloat32: reflect.TypeFor[float32](), kindFloat64: reflect.TypeFor[float64](),
	kindBool: reflect.TypeFor[bool](), kindString: reflect.TypeFor[string](),
}

// size is the number of bytes that a value takes at least; 0 for an array or an unknown kind.
func (k valueKind) size() int64 {
	switch {
	case k == kindString:
		return 8 // its length
	case int64(k) >= int64(len(kindTypes)) || kindTypes[k] == nil:
		return 0
	}
	return int64(kindTypes[k].Size())
}

// value reads one value that is not an array.
func (d *decoder) value(k valueKind, what string) any {
	if k == kindString {
		return d.string(maxString, what)
	}
	n := k.size()
	if n == 0 {
		d.fail("%s has type %d, which is not a GGUF type", what, k)
	}
	b := d.bytes(n, what)
	if d.err != nil {
		return nil
	}
	v := reflect.New(kindTypes[k])
	d.decode(b, v.Interface())
	return v.Elem().Interface()
}

// array reads n values of kind k.
func (d *decoder) array(k valueKind, n uint64, what string) any {
	if d.err != nil {
		return nil
	}
	size := k.size()
	switch {
	case k == kindArray:
		d.fail("%s is an array of arrays, which llama.cpp does not read", what)
	case size == 0:
		d.fail("%s is an array of type %d, which is not a GGUF type", what, k)
	case n > uint64(d.left/size):
		d.take(math.MaxInt64, fmt.Sprintf("%s with its %d values", what, n))
	}
	if d.err != nil {
		return nil
	}
	list := reflect.MakeSlice(reflect.SliceOf(kindTypes[k]), int(n), int(n))
	if texts, ok := list.Interface().([]string); ok {
		for i := 0; i < len(texts) && d.err == nil; i++ {
			texts[i] = d.string(maxString, what)
		}
	} else {
		const step = 1 << 13 // so that the bytes never take as much memory again as the values
		for i := 0; i < int(n) && d.err == nil; i += step {
			part := list.Slice(i, min(i+step, int(n)))
			d.decode(d.bytes(int64(part.Len())*size, what), part.Interface())
		}
	}
	if d.err != nil {
		return nil
	}
	return list.Interface()
}

// decode fills in what v points to, or the elements of v.
func (d *decoder) decode(b []byte, v any) {
	if d.err == nil {
		_, d.err = binary.Decode(b, binary.LittleEndian, v)
	}
}

// kindOf is the kind of a value, and of its elements where it is a slice.
func kindOf(v any) (kind, elem valueKind, err error) {
	if t := reflect.TypeOf(v); t != nil {
		if i := slices.Index(kindTypes[:], t); i >= 0 {
			return valueKind(i), 0, nil
		}
		if t.Kind() == reflect.Slice {
			if i := slices.Index(kindTypes[:], t.Elem()); i >= 0 {
				return kindArray, valueKind(i), nil
			}
		}
	}
	return 0, 0, fmt.Errorf("a GGUF field cannot hold a %T", v)
}

// writeValue writes a value as GGUF lays it out, type numbers first.
func writeValue(w io.Writer, v any) error {
	kind, elem, err := kindOf(v)
	if err != nil {
		return err
	}
	if err := writeLE(w, uint32(kind)); err != nil {
		return err
	}
	if kind == kindString {
		return writeString(w, v.(string))
	}
	if kind != kindArray {
		return writeLE(w, v)
	}
	if err := writeLE(w, uint32(elem)); err != nil {
		return err
	}
	if strings, ok := v.([]string); ok {
		if err := writeLE(w, uint64(len(strings))); err != nil {
			return err
		}
		for _, s := range strings {
			if err := writeString(w, s); err != nil {
				return err
			}
		}
		return nil
	}
	if err := writeLE(w, uint64(binary.Size(v))/uint64(elem.size())); err != nil {
		return err
	}
	return writeLE(w, v)
}

func writeString(w io.Writer, s string) error {
	if err := writeLE(w, uint64(len(s))); err != nil {
		return err
	}
	_, err := io.WriteString(w, s)
	return err
}

func writeLE(w io.Writer, v any) error { return binary.Write(w, binary.LittleEndian, v) }
