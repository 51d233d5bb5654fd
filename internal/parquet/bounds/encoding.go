package bounds

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// What a page may hold. Files in use stay far below; what is above would only fill the memory.
const (
	maxPage   = 256 << 20 // bytes, unpacked
	maxValues = 1 << 24
)

var (
	errShort   = errors.New("damaged: it ends before its values do")
	errMore    = errors.New("damaged: it holds more values than its header says")
	errTooMuch = fmt.Errorf("it is longer than %d MiB: write the file again with smaller pages", maxPage>>20)
)

// checkDictionary checks that a dictionary is encoded as the format has it, and that values of fixed length are there.
func checkDictionary(c *Column, encoding format.Encoding, b []byte, values int) error {
	//lint:ignore SA1019 files of older writers have it, and the library reads them
	if encoding != format.Plain && encoding != format.PlainDictionary {
		return fmt.Errorf("damaged: its dictionary is encoded as %s", encoding)
	}
	if int64(values)*int64(c.Length) > int64(len(b)) {
		return errShort
	}
	return nil
}

// checkValues checks that encoded values do not grow beyond their page's: run lengths and counts are their own word.
// The library decodes what it can with an encoding whatever the type, so that is checked, too.
func checkValues(c *Column, encoding format.Encoding, b []byte, values int) error {
	switch encoding {
	case format.Plain:
		return nil
	//lint:ignore SA1019 files of older writers have it, and the library reads them
	case format.PlainDictionary, format.RLEDictionary:
		if len(b) == 0 {
			return nil // there are only nulls
		}
		return checkRuns(b[1:], int(b[0]), values)
	case format.RLE:
		if c.Kind != pq.Boolean {
			break
		}
		if len(b) < 4 {
			return errShort
		}
		return checkRuns(b[4:], 1, values)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		_, err := deltaLength(b, values)
		return err
	case format.DeltaByteArray:
		return checkPrefixes(c, b, values)
	case format.ByteStreamSplit:
		return checkLength(c, values)
	}
	return fmt.Errorf("its values are encoded as %s, which does not go with their type", encoding)
}

// checkLength bounds the room that the library makes for values of fixed length before it decodes them.
func checkLength(c *Column, values int) error {
	if int64(values)*int64(c.Length) > maxPage {
		return errTooMuch
	}
	return nil
}

// checkPrefixes checks values each of which repeats so many bytes of the one before it.
func checkPrefixes(c *Column, b []byte, values int) error {
	n, err := deltaLength(b, values)
	if err != nil {
		return err
	}
	if _, err := deltaLength(b[n:], values); err != nil {
		return err
	}
	prefixes, err := new(delta.BinaryPackedEncoding).DecodeInt32(nil, b[:n])
	if err != nil {
		return err
	}
	grown := int64(len(b))
	for _, p := range prefixes {
		grown += int64(p)
		if p < 0 || grown > maxPage {
			return errTooMuch
		}
	}
	return checkLength(c, values)
}

// slack is how many values the last run may have too many: they are packed in groups.
const slack = 512

// checkRuns checks that runs of one value, and groups of packed ones, are not more than the values of the page.
func checkRuns(b []byte, width, values int) error {
	if width > 32 {
		return fmt.Errorf("damaged: values of %d bits", width)
	}
	var n uint64
	for len(b) > 0 {
		u, used := binary.Uvarint(b)
		if used <= 0 {
			return errShort
		}
		b = b[used:]
		count, bytes := u>>1, uint64((width+7)/8)
		if u&1 == 1 {
			if count > uint64(len(b)) && width > 0 || count > maxValues {
				return errShort
			}
			count, bytes = 8*count, count*uint64(width)
		}
		if count > maxValues || n+count > uint64(values+slack) {
			return errMore
		}
		n += count
		b = b[min(bytes, uint64(len(b))):]
	}
	return nil
}

// deltaLength returns how long a sequence of numbers is that is packed as differences, if it is of no more values
// than there may be.
func deltaLength(b []byte, values int) (int, error) {
	r := bytes.NewReader(b)
	var head [3]uint64 // the size of a block, how many small blocks are in one, how many values there are
	for i := range head {
		u, err := binary.ReadUvarint(r)
		if err != nil {
			return 0, errShort
		}
		head[i] = u
	}
	if _, err := binary.ReadVarint(r); err != nil { // the first value
		return 0, errShort
	}
	block, small, total := head[0], head[1], head[2]
	if total > uint64(values) || block == 0 || block > 1<<16 || small == 0 || small > block || block%small != 0 {
		return 0, errMore
	}
	for left := int64(total) - 1; left > 0; left -= int64(block) {
		if _, err := binary.ReadVarint(r); err != nil { // the smallest difference
			return 0, errShort
		}
		widths := make([]byte, small)
		if _, err := io.ReadFull(r, widths); err != nil {
			return 0, errShort
		}
		for i, w := range widths {
			if w > 64 {
				return 0, fmt.Errorf("damaged: values of %d bits", w)
			}
			if int64(i)*int64(block/small) < left { // those after the last value are left out
				r.Seek(int64(w)*int64(block/small)/8, io.SeekCurrent)
			}
		}
		if r.Len() == 0 && left > int64(block) {
			return 0, errShort
		}
	}
	return len(b) - r.Len(), nil
}
