package bounds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxGroup bounds what the largest pages of all columns of a row group take together, about, in bytes.
const maxGroup = 2 << 30

// A File is a file whose footer has passed [CheckFooter].
type File struct {
	Reader  io.ReaderAt
	Size    int64
	Meta    *format.FileMetaData
	Columns []*Column // in the order of the file
}

// CheckGroup checks the pages of a row group, the one at index.
func (f *File) CheckGroup(index int) error {
	group := &f.Meta.RowGroups[index]
	if group.NumRows < 0 {
		return fmt.Errorf("damaged: row group %d has %d rows", index+1, group.NumRows)
	}
	if len(f.Columns) == 0 && group.NumRows > 0 {
		return errors.New("damaged: it has rows, and no columns")
	}
	var cost int64
	for i, column := range f.Columns {
		// The library unpacks all row groups as it does the first.
		first := &f.Meta.RowGroups[0].Columns[i].MetaData
		c := &checker{file: f.Reader, size: f.Size, column: column, chunk: &group.Columns[i], codec: first.Codec}
		if err := c.check(); err != nil {
			return fmt.Errorf("row group %d, column %q: %w", index+1, column.Name, err)
		}
		if cost += c.cost + c.dictionary; cost > maxGroup {
			return fmt.Errorf("row group %d takes more than %d MiB at once: write the file again with smaller pages",
				index+1, int64(maxGroup)>>20)
		}
	}
	return nil
}

// A checker goes through the pages of one column of a row group.
type checker struct {
	file       io.ReaderAt
	size       int64
	column     *Column
	chunk      *format.ColumnChunk
	codec      format.CompressionCodec
	cost       int64 // of the largest page
	dictionary int64
}

func (c *checker) check() error {
	m := &c.chunk.MetaData
	switch {
	case c.chunk.FilePath != "":
		return errors.New("it lies in another file")
	case c.chunk.CryptoMetadata.Value != nil:
		return errors.New("it is encrypted: decrypt it first")
	case m.Codec != c.codec:
		return fmt.Errorf("it is packed with %s, and with %s in the first row group: that cannot be read",
			m.Codec, c.codec)
	}
	switch m.Codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Lz4Raw, format.Zstd:
	default:
		return fmt.Errorf("it is packed with %s: write it with zstd, snappy or gzip", m.Codec)
	}
	at := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		at = m.DictionaryPageOffset
	}
	end := at + m.TotalCompressedSize
	if at < 4 || end < at || end > c.size-8 {
		return io.ErrUnexpectedEOF
	}
	for page := 1; at < end; page++ {
		n, err := c.page(at, end)
		if err != nil {
			return fmt.Errorf("page %d: %w", page, err)
		}
		at += n
	}
	return nil
}

// page checks the page at an offset, and returns its length.
func (c *checker) page(at, end int64) (int64, error) {
	h, n, err := c.header(at, end)
	if err != nil {
		return 0, err
	}
	packed, plain := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	switch {
	case packed < 0 || plain < 0 || at+n+packed > end:
		return 0, errors.New("damaged: it is longer than its column")
	case packed > maxPage || plain > maxPage:
		return 0, errTooMuch
	}
	body := make([]byte, packed)
	if _, err := c.file.ReadAt(body, at+n); err != nil {
		return 0, err
	}
	var values int64
	switch h.Type {
	case format.DataPage:
		values = int64(h.DataPageHeader.V.NumValues)
	case format.DataPageV2:
		values = int64(h.DataPageHeaderV2.V.NumValues)
	case format.DictionaryPage:
		values = int64(h.DictionaryPageHeader.V.NumValues)
	default:
		return 0, errors.New("it is of no kind that is known")
	}
	if values < 0 || values > maxValues {
		return 0, fmt.Errorf("it has %d values, where %d are the most: write the file again with smaller pages",
			values, maxValues)
	}
	cost := packed + 2*plain + 16*values
	switch h.Type {
	case format.DataPage:
		err = c.dataPage(&h.DataPageHeader.V, body, int(plain))
	case format.DataPageV2:
		err = c.dataPageV2(&h.DataPageHeaderV2.V, body, int(plain))
	case format.DictionaryPage:
		body, err = unpack(c.codec, body, int(plain))
		if err == nil {
			err = checkDictionary(c.column, h.DictionaryPageHeader.V.Encoding, body, int(values))
		}
		c.dictionary = max(c.dictionary, cost)
	}
	c.cost = max(c.cost, cost)
	return n + packed, err
}

// header reads the header of a page, and returns its length. Statistics in it may be as long as the values are.
func (c *checker) header(at, end int64) (*format.PageHeader, int64, error) {
	for _, most := range []int64{1 << 12, maxPage} {
		b := make([]byte, min(most, end-at))
		if _, err := c.file.ReadAt(b, at); err != nil && err != io.EOF {
			return nil, 0, err
		}
		n, err := structLength(b)
		if errors.Is(err, io.ErrUnexpectedEOF) && most < end-at && most < maxPage {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("damaged header: %w", err)
		}
		h := new(format.PageHeader)
		if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(b[:n])).Decode(h); err != nil {
			return nil, 0, fmt.Errorf("damaged header: %v", err)
		}
		return h, int64(n), nil
	}
	return nil, 0, errors.New("damaged header")
}

func (c *checker) dataPage(h *format.DataPageHeader, body []byte, plain int) error {
	b, err := unpack(c.codec, body, plain)
	if err != nil {
		return err
	}
	for _, levels := range []struct {
		most     int
		encoding format.Encoding
	}{{c.column.Rep, h.RepetitionLevelEncoding}, {c.column.Def, h.DefinitionLevelEncoding}} {
		if levels.most == 0 {
			continue
		}
		if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
			return errShort
		}
		n := 4 + int(binary.LittleEndian.Uint32(b))
		if levels.encoding != format.RLE { // the library takes bit-packed ones for what they are not
			return fmt.Errorf("its levels are encoded as %s: write the file again with a newer program",
				levels.encoding)
		}
		if err := checkRuns(b[4:n], bits.Len(uint(levels.most)), int(h.NumValues)); err != nil {
			return err
		}
		b = b[n:]
	}
	return checkValues(c.column, h.Encoding, b, int(h.NumValues))
}

func (c *checker) dataPageV2(h *format.DataPageHeaderV2, body []byte, plain int) error {
	rep, def := int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	if rep < 0 || def < 0 || rep > len(body) || def > len(body)-rep || rep+def > plain ||
		h.NumNulls < 0 || h.NumNulls > h.NumValues {
		return errShort
	}
	if err := checkRuns(body[:rep], bits.Len(uint(c.column.Rep)), int(h.NumValues)); err != nil {
		return err
	}
	if err := checkRuns(body[rep:rep+def], bits.Len(uint(c.column.Def)), int(h.NumValues)); err != nil {
		return err
	}
	b := body[rep+def:]
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		var err error
		if b, err = unpack(c.codec, b, plain-rep-def); err != nil {
			return err
		}
	}
	return checkValues(c.column, h.Encoding, b, int(h.NumValues))
}
