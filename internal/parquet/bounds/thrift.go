package bounds

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// MaxDepth bounds how deep parts lie in each other, of a structure or of a schema.
const MaxDepth = 64

// structLength returns how long a Thrift structure in the compact protocol is, which a file's metadata and the
// header of a page are. What it says of the length of a list is checked against what is there, the structures in
// it are counted, since each takes far more memory than bytes, and how deep they lie in each other is bounded. The
// library checks none of it.
func structLength(b []byte) (int, error) {
	w := &thriftWalker{r: new(thrift.CompactProtocol).NewReaderFromBytes(b), size: len(b)}
	err := w.structure(0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return w.r.BytesRead(), err
}

type thriftWalker struct {
	r       thrift.BytesReader
	size    int
	structs int
}

func (w *thriftWalker) structure(depth int) error {
	const most = 1 << 21
	if w.structs++; w.structs > most {
		return errors.New("it holds too many parts")
	}
	for {
		f, err := w.r.ReadField()
		if err != nil || f.Type == thrift.STOP {
			return err
		}
		if f.Type == thrift.TRUE || f.Type == thrift.FALSE {
			continue // the type is the value
		}
		if err := w.value(f.Type, depth+1); err != nil {
			return err
		}
	}
}

// value passes over a value. Parquet's metadata has no maps.
func (w *thriftWalker) value(kind thrift.Type, depth int) error {
	if depth > MaxDepth {
		return errors.New("its parts lie too deep in each other")
	}
	var err error
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		_, err = w.r.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = w.r.ReadInt64()
	case thrift.DOUBLE:
		_, err = w.r.ReadFloat64()
	case thrift.BINARY:
		_, err = w.r.ReadBytes() // a part of what is there, not a copy
	case thrift.LIST, thrift.SET:
		err = w.list(depth)
	case thrift.STRUCT:
		err = w.structure(depth)
	default:
		err = errors.New("it holds what no Parquet file does")
	}
	return err
}

func (w *thriftWalker) list(depth int) error {
	l, err := w.r.ReadList()
	if err != nil {
		return err
	}
	if int(l.Size) > w.size-w.r.BytesRead() {
		return io.ErrUnexpectedEOF
	}
	for range l.Size {
		if err := w.value(l.Type, depth+1); err != nil {
			return err
		}
	}
	return nil
}
