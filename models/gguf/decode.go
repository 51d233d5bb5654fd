package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Bounds on a header's bytes. The largest vocabularies in use take some 30 MB, the longest chat templates some
// tens of kilobytes.
const (
	maxHeader = 128 << 20
	maxString = 16 << 20
)

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
