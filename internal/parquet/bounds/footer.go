package bounds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// What a footer may ask for. Files in use stay far below; what is above would only fill the memory.
const (
	maxFooter   = 64 << 20
	maxElements = 1 << 16 // of the schema
)

// CheckFooter checks that a file is whole, and that its footer claims no more than it holds.
func CheckFooter(r io.ReaderAt, size int64) error {
	var head [4]byte
	if _, err := r.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return err
	}
	switch {
	case string(head[:]) == "PARE":
		return errors.New("it is encrypted: decrypt it first")
	case string(head[:]) != "PAR1":
		return errors.New("not a Parquet file: it does not begin with PAR1")
	case size < 12:
		return io.ErrUnexpectedEOF
	}
	var tail [8]byte
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return err
	}
	if string(tail[4:]) != "PAR1" {
		return io.ErrUnexpectedEOF
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-12 {
		return fmt.Errorf("damaged: its footer should be %d bytes long, and the file has %d", n, size)
	}
	if n > maxFooter {
		return fmt.Errorf("its footer is longer than %d MiB: write it again with fewer row groups", maxFooter>>20)
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-8-n); err != nil {
		return err
	}
	if _, err := structLength(footer); err != nil {
		return fmt.Errorf("damaged footer: %w", err)
	}
	var part struct {
		Schema    thrift.Slice[format.SchemaElement] `thrift:"2,required"`
		RowGroups thrift.Slice[struct {
			Columns thrift.Slice[struct{}] `thrift:"1,required"`
		}] `thrift:"4,required"`
	}
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(footer)).Decode(&part); err != nil {
		return fmt.Errorf("damaged footer: %v", err)
	}
	leaves, err := checkSchema(part.Schema)
	if err != nil {
		return err
	}
	for i := range part.RowGroups {
		if n := len(part.RowGroups[i].Columns); n != leaves {
			return fmt.Errorf("damaged: row group %d has %d columns, and the schema %d", i+1, n, leaves)
		}
	}
	return nil
}

// checkSchema follows the tree that the schema spells out, and counts its leaves. The library takes the tree as it
// comes: it would make room for the paths of all elements, and for each leaf in each row group.
func checkSchema(schema []format.SchemaElement) (leaves int, err error) {
	if len(schema) == 0 || len(schema) > maxElements {
		return 0, fmt.Errorf("its schema has %d elements: want 1 to %d", len(schema), maxElements)
	}
	var open []int32 // of each group around the element: how many parts are still to come
	for i := range schema {
		e := &schema[i]
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if i > 0 && len(open) == 0 {
			return 0, errors.New("damaged: its schema has parts that belong to no group")
		}
		if i > 0 {
			open[len(open)-1]--
		}
		if len(open) > MaxDepth {
			return 0, fmt.Errorf("its columns lie more than %d groups deep", MaxDepth)
		}
		if err := checkElement(e); err != nil {
			return 0, err
		}
		if e.Type.Valid {
			leaves++
		} else {
			open = append(open, e.NumChildren.V)
		}
	}
	for _, n := range open {
		if n > 0 {
			return 0, errors.New("damaged: its schema ends too soon")
		}
	}
	return leaves, nil
}

func checkElement(e *format.SchemaElement) error {
	group := e.NumChildren.Valid && e.NumChildren.V > 0
	switch {
	case e.NumChildren.Valid && e.NumChildren.V < 0 || e.Type.Valid == group:
		return fmt.Errorf("damaged: the column %.60q is neither a value nor a group", e.Name)
	case e.Type.Valid && e.TypeLength.Valid && (e.TypeLength.V < 0 || e.TypeLength.V > 1<<16):
		return fmt.Errorf("the values of the column %.60q are %d bytes long each", e.Name, e.TypeLength.V)
	case e.Type.Valid && e.Type.V == format.FixedLenByteArray && (!e.TypeLength.Valid || e.TypeLength.V == 0):
		return fmt.Errorf("damaged: the column %.60q does not say how long its values are", e.Name)
	}
	return nil
}
