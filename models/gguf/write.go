package gguf

import (
	"bufio"
	"fmt"
	"io"
	"math/bits"
)

// A TensorSource is a tensor to be written.
type TensorSource struct {
	Name  string
	Type  TensorType
	Shape []int64 // the dimension that varies fastest first

	// Write writes the tensor's data, exactly as many bytes as type and shape take.
	Write func(w io.Writer) error
}

// Write writes a GGUF file, version 3: the fields in their order, then the tensors in theirs. The
// tensors' data passes through w as it is produced and is never held whole.
func Write(w io.Writer, fields []Field, tensors []TensorSource) error {
	out := &counter{w: bufio.NewWriterSize(w, 1<<16)}
	alignment, err := writeHeader(out, fields, tensors)
	if err != nil {
		return err
	}
	for i := range tensors {
		t := &tensors[i]
		if err := out.pad(alignment); err != nil {
			return err
		}
		want, _ := t.Type.bytes(t.Shape) // writeHeader has checked it
		start := out.n
		if err := t.Write(out); err != nil {
			return fmt.Errorf("tensor %s: %w", t.Name, err)
		}
		if got := out.n - start; got != want {
			return fmt.Errorf("tensor %s: wrote %d bytes of data instead of %d", t.Name, got, want)
		}
	}
	if err := out.pad(alignment); err != nil {
		return err
	}
	return out.w.Flush()
}

// writeHeader writes everything before the first tensor's data, and returns the alignment.
func writeHeader(out *counter, fields []Field, tensors []TensorSource) (int64, error) {
	if _, err := io.WriteString(out, "GGUF"); err != nil {
		return 0, err
	}
	for _, v := range []any{uint32(3), uint64(len(tensors)), uint64(len(fields))} {
		if err := writeLE(out, v); err != nil {
			return 0, err
		}
	}
	alignment := int64(defaultAlign)
	for _, f := range fields {
		if f.Key == alignKey {
			n, ok := f.Value.(uint32)
			if !ok || n > maxAlign || bits.OnesCount32(n) != 1 {
				return 0, fmt.Errorf("field %s is %v, not a uint32 power of two", f.Key, f.Value)
			}
			alignment = int64(n)
		}
		if err := writeString(out, f.Key); err != nil {
			return 0, err
		}
		if err := writeValue(out, f.Value); err != nil {
			return 0, fmt.Errorf("field %s: %w", f.Key, err)
		}
	}
	offset := int64(0)
	for i := range tensors {
		size, err := writeTensorInfo(out, &tensors[i], offset)
		if err != nil {
			return 0, fmt.Errorf("tensor %s: %w", tensors[i].Name, err)
		}
		offset = align(offset+size, alignment)
	}
	return alignment, nil
}

func writeTensorInfo(out *counter, t *TensorSource, offset int64) (int64, error) {
	if len(t.Name) > maxName || len(t.Shape) > maxDims {
		return 0, fmt.Errorf("a name has at most %d bytes and a shape %d dimensions", maxName, maxDims)
	}
	size, err := t.Type.bytes(t.Shape)
	if err != nil {
		return 0, err
	}
	if err := writeString(out, t.Name); err != nil {
		return 0, err
	}
	for _, v := range []any{uint32(len(t.Shape)), t.Shape, uint32(t.Type), uint64(offset)} {
		if err := writeLE(out, v); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// A counter counts what passes to w.
type counter struct {
	w *bufio.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// pad writes zeros up to the next multiple of a.
func (c *counter) pad(a int64) error {
	_, err := c.Write(make([]byte, align(c.n, a)-c.n))
	return err
}
