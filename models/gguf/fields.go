package gguf

import (
	"math"
	"reflect"
)

// Value returns the value of a field, nil if it is not there.
func (h *Header) Value(key string) any { return h.values[key] }

// String returns the value of a string field.
func (h *Header) String(key string) (string, bool) {
	s, ok := h.values[key].(string)
	return s, ok
}

// Strings returns the value of a field that is an array of strings.
func (h *Header) Strings(key string) ([]string, bool) {
	s, ok := h.values[key].([]string)
	return s, ok
}

// Bool returns the value of a boolean field.
func (h *Header) Bool(key string) (value, ok bool) {
	value, ok = h.values[key].(bool)
	return value, ok
}

// Int returns the value of a field that is a non-negative integer of any width and fits an int64.
func (h *Header) Int(key string) (int64, bool) { return integer(reflect.ValueOf(h.values[key])) }

// Ints returns the values of a field that is an array of non-negative integers of any width.
func (h *Header) Ints(key string) ([]int64, bool) {
	list := reflect.ValueOf(h.values[key])
	if list.Kind() != reflect.Slice {
		return nil, false
	}
	if _, ok := integer(reflect.Zero(list.Type().Elem())); !ok {
		return nil, false // of another type, though perhaps empty
	}
	out := make([]int64, list.Len())
	for i := range out {
		n, ok := integer(list.Index(i))
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

func integer(v reflect.Value) (int64, bool) {
	switch {
	case v.CanInt():
		return v.Int(), v.Int() >= 0
	case v.CanUint():
		return int64(v.Uint()), v.Uint() <= math.MaxInt64
	}
	return 0, false
}

// Float returns the value of a finite floating-point field.
func (h *Header) Float(key string) (float64, bool) {
	f := math.NaN()
	switch v := h.values[key].(type) {
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

// count returns the field of the model's own architecture with this name, 0 if it is not there.
func (h *Header) count(name string) int {
	arch, _ := h.String("general.architecture")
	n, _ := h.Int(arch + "." + name)
	return clampInt(n)
}

// perLayer returns a field that holds one number for all layers or one for each; nil if it is neither.
func (h *Header) perLayer(name string, layers int) []int {
	if layers <= 0 || layers > 1<<16 {
		return nil
	}
	out := make([]int, layers)
	arch, _ := h.String("general.architecture")
	if n, ok := h.Int(arch + "." + name); ok {
		for i := range out {
			out[i] = clampInt(n)
		}
		return out
	}
	list, ok := h.Ints(arch + "." + name)
	if !ok || len(list) < layers {
		return nil
	}
	for i := range out {
		out[i] = clampInt(list[i])
	}
	return out
}

// clampInt makes an int of a count; none that makes sense is larger than an int32.
func clampInt(n int64) int {
	if n < 0 || n > 1<<31-1 {
		return 0
	}
	return int(n)
}
