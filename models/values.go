package models

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

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

// size is the number of bytes that a value takes at least; 0 for an array or an unknown kind.
func (k valueKind) size() int64 {
	switch k {
	case kindUint8, kindInt8, kindBool:
		return 1
	case kindUint16, kindInt16:
		return 2
	case kindUint32, kindInt32, kindFloat32:
		return 4
	case kindUint64, kindInt64, kindFloat64, kindString:
		return 8
	}
	return 0
}

// value reads one value that is not an array.
func (d *decoder) value(k valueKind, what string) any {
	if k == kindString {
		return d.string(maxString, what)
	}
	n := k.size()
	if d.err == nil && n == 0 {
		d.fail("%s has type %d, which is not a GGUF type", what, k)
	}
	b := d.bytes(n, what)
	if d.err != nil {
		return nil
	}
	switch k {
	case kindUint8:
		return b[0]
	case kindInt8:
		return int8(b[0])
	case kindUint16:
		return binary.LittleEndian.Uint16(b)
	case kindInt16:
		return int16(binary.LittleEndian.Uint16(b))
	case kindUint32:
		return binary.LittleEndian.Uint32(b)
	case kindInt32:
		return int32(binary.LittleEndian.Uint32(b))
	case kindFloat32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case kindBool:
		return b[0] != 0
	case kindUint64:
		return binary.LittleEndian.Uint64(b)
	case kindInt64:
		return int64(binary.LittleEndian.Uint64(b))
	default: // kindFloat64
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
}

// array reads n values of kind k.
func (d *decoder) array(k valueKind, n uint64, what string) any {
	if d.err != nil {
		return nil
	}
	switch size := k.size(); {
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
	switch k {
	case kindUint8:
		return list[uint8](d, k, n, what)
	case kindInt8:
		return list[int8](d, k, n, what)
	case kindUint16:
		return list[uint16](d, k, n, what)
	case kindInt16:
		return list[int16](d, k, n, what)
	case kindUint32:
		return list[uint32](d, k, n, what)
	case kindInt32:
		return list[int32](d, k, n, what)
	case kindFloat32:
		return list[float32](d, k, n, what)
	case kindBool:
		return list[bool](d, k, n, what)
	case kindString:
		return list[string](d, k, n, what)
	case kindUint64:
		return list[uint64](d, k, n, what)
	case kindInt64:
		return list[int64](d, k, n, what)
	default: // kindFloat64
		return list[float64](d, k, n, what)
	}
}

func list[T any](d *decoder, k valueKind, n uint64, what string) any {
	out := make([]T, n)
	for i := range out {
		v, ok := d.value(k, what).(T)
		if !ok {
			return nil // d.err is set
		}
		out[i] = v
	}
	return out
}

// kindOf is the kind of a value, and of its elements where it is a slice.
func kindOf(v any) (kind, elem valueKind, err error) {
	switch v.(type) {
	case uint8:
		return kindUint8, 0, nil
	case int8:
		return kindInt8, 0, nil
	case uint16:
		return kindUint16, 0, nil
	case int16:
		return kindInt16, 0, nil
	case uint32:
		return kindUint32, 0, nil
	case int32:
		return kindInt32, 0, nil
	case float32:
		return kindFloat32, 0, nil
	case bool:
		return kindBool, 0, nil
	case string:
		return kindString, 0, nil
	case uint64:
		return kindUint64, 0, nil
	case int64:
		return kindInt64, 0, nil
	case float64:
		return kindFloat64, 0, nil
	}
	elem, ok := elemKind(v)
	if !ok {
		return 0, 0, fmt.Errorf("a GGUF field cannot hold a %T", v)
	}
	return kindArray, elem, nil
}

func elemKind(v any) (valueKind, bool) {
	switch v.(type) {
	case []uint8:
		return kindUint8, true
	case []int8:
		return kindInt8, true
	case []uint16:
		return kindUint16, true
	case []int16:
		return kindInt16, true
	case []uint32:
		return kindUint32, true
	case []int32:
		return kindInt32, true
	case []float32:
		return kindFloat32, true
	case []bool:
		return kindBool, true
	case []string:
		return kindString, true
	case []uint64:
		return kindUint64, true
	case []int64:
		return kindInt64, true
	case []float64:
		return kindFloat64, true
	}
	return 0, false
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
