package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// What a file may ask for. Files in use stay far below; what is above would only fill the memory.
const (
	maxFooter   = 64 << 20
	maxElements = 1 << 16   // of the schema
	maxPage     = 256 << 20 // bytes, unpacked
	maxValues   = 1 << 24   // of a page
	maxGroup    = 2 << 30   // bytes that the largest pages of all columns of a row group take together, about
)

// checkFooter checks that a file is whole, and that its footer claims no more than it holds.
func checkFooter(r io.ReaderAt, size int64) error {
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
	var meta format.FileMetaData
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(footer)).Decode(&meta); err != nil {
		return fmt.Errorf("damaged footer: %v", err)
	}
	return checkSchema(&meta)
}

// checkSchema follows the tree that the schema spells out, which the library takes as it comes.
func checkSchema(meta *format.FileMetaData) error {
	if len(meta.Schema) == 0 || len(meta.Schema) > maxElements {
		return fmt.Errorf("its schema has %d elements: want 1 to %d", len(meta.Schema), maxElements)
	}
	var open []int32 // of each group around the element: how many parts are still to come
	for i := range meta.Schema {
		e := &meta.Schema[i]
		if i > 0 {
			for len(open) > 0 && open[len(open)-1] == 0 {
				open = open[:len(open)-1]
			}
			if len(open) == 0 {
				return errors.New("damaged: its schema has parts that belong to no group")
			}
			open[len(open)-1]--
		}
		switch {
		case len(open) > maxDepth:
			return fmt.Errorf("its columns lie more than %d groups deep", maxDepth)
		case e.NumChildren.Valid && e.NumChildren.V < 0 || e.Type.Valid == (e.NumChildren.Valid && e.NumChildren.V > 0):
			return fmt.Errorf("damaged: the column %.60q is neither a value nor a group", e.Name)
		case e.Type.Valid && e.TypeLength.Valid && (e.TypeLength.V < 0 || e.TypeLength.V > 1<<16):
			return fmt.Errorf("the values of the column %.60q are %d bytes long each", e.Name, e.TypeLength.V)
		case e.Type.Valid && e.Type.V == format.FixedLenByteArray && (!e.TypeLength.Valid || e.TypeLength.V == 0):
			return fmt.Errorf("damaged: the column %.60q does not say how long its values are", e.Name)
		}
		if !e.Type.Valid {
			open = append(open, e.NumChildren.V)
		}
	}
	for _, n := range open {
		if n > 0 {
			return errors.New("damaged: its schema ends too soon")
		}
	}
	return nil
}

// checkGroup checks the pages of a row group.
func (f *File) checkGroup(index int) error {
	meta := f.file.Metadata()
	group := &meta.RowGroups[index]
	if group.NumRows < 0 || len(group.Columns) != len(f.leaves) {
		return fmt.Errorf("damaged: row group %d has %d columns and %d rows", index+1, len(group.Columns), group.NumRows)
	}
	if len(f.leaves) == 0 && group.NumRows > 0 {
		return errors.New("damaged: it has rows, and no columns")
	}
	var cost int64
	for i, l := range f.leaves {
		// The library unpacks all row groups as it does the first.
		first := &meta.RowGroups[0].Columns[i].MetaData
		c := &checker{file: f.file, size: f.size, leaf: l, chunk: &group.Columns[i], codec: first.Codec}
		if err := c.check(); err != nil {
			return fmt.Errorf("row group %d, column %q: %w", index+1, l.name, err)
		}
		if cost += c.cost + c.dictionary; cost > maxGroup {
			return fmt.Errorf("row group %d takes more than %d MiB at once: write the file again with smaller pages", index+1, int64(maxGroup)>>20)
		}
	}
	return nil
}

// A checker goes through the pages of one column of a row group.
type checker struct {
	file       io.ReaderAt
	size       int64
	leaf       *leaf
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
		return fmt.Errorf("it is packed with %s, and with %s in the first row group: that cannot be read", m.Codec, c.codec)
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
		return 0, fmt.Errorf("it is longer than %d MiB: write the file again with smaller pages", maxPage>>20)
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
		return 0, fmt.Errorf("it has %d values, where %d are the most: write the file again with smaller pages", values, maxValues)
	}
	cost := packed + 2*plain + 16*values
	switch h.Type {
	case format.DataPage:
		err = c.dataPage(&h.DataPageHeader.V, body, int(plain))
	case format.DataPageV2:
		err = c.dataPageV2(&h.DataPageHeaderV2.V, body, int(plain))
	case format.DictionaryPage:
		_, err = unpack(c.codec, body, int(plain))
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
	}{{c.leaf.rep, h.RepetitionLevelEncoding}, {c.leaf.def, h.DefinitionLevelEncoding}} {
		if levels.most == 0 {
			continue
		}
		if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
			return io.ErrUnexpectedEOF
		}
		n := 4 + int(binary.LittleEndian.Uint32(b))
		if levels.encoding == format.RLE {
			if err := checkRuns(b[4:n], bits.Len(uint(levels.most)), int(h.NumValues)); err != nil {
				return err
			}
		}
		b = b[n:]
	}
	return checkValues(h.Encoding, b, int(h.NumValues))
}

func (c *checker) dataPageV2(h *format.DataPageHeaderV2, body []byte, plain int) error {
	rep, def := int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	if rep < 0 || def < 0 || rep > len(body) || def > len(body)-rep || rep+def > plain || h.NumNulls < 0 || h.NumNulls > h.NumValues {
		return io.ErrUnexpectedEOF
	}
	if err := checkRuns(body[:rep], bits.Len(uint(c.leaf.rep)), int(h.NumValues)); err != nil {
		return err
	}
	if err := checkRuns(body[rep:rep+def], bits.Len(uint(c.leaf.def)), int(h.NumValues)); err != nil {
		return err
	}
	b := body[rep+def:]
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		var err error
		if b, err = unpack(c.codec, b, plain-rep-def); err != nil {
			return err
		}
	}
	return checkValues(h.Encoding, b, int(h.NumValues))
}

var errPacked = errors.New("damaged: it does not unpack to the length that it should have")

// unpack decompresses a page, to no more than the length that its header states.
func unpack(codec format.CompressionCodec, packed []byte, plain int) ([]byte, error) {
	var r io.Reader
	var err error
	switch codec {
	case format.Uncompressed:
		return packed, nil
	case format.Snappy:
		if n, err := snappy.DecodedLen(packed); err != nil || n != plain {
			return nil, errPacked
		}
		b, err := snappy.Decode(make([]byte, plain), packed)
		if err != nil {
			return nil, errPacked
		}
		return b, nil
	case format.Lz4Raw:
		b := make([]byte, plain)
		if n, err := lz4.UncompressBlock(packed, b); err != nil || n != plain {
			return nil, errPacked
		}
		return b, nil
	case format.Gzip:
		r, err = gzip.NewReader(bytes.NewReader(packed))
	case format.Brotli:
		r = brotli.NewReader(bytes.NewReader(packed))
	case format.Zstd:
		var d *zstd.Decoder
		if d, err = zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(1<<27)); err == nil {
			defer d.Close()
			r = d
		}
	}
	if err != nil {
		return nil, errPacked
	}
	b := make([]byte, plain)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, errPacked
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return nil, errPacked
	}
	return b, nil
}

// checkValues checks that encoded values do not grow beyond their page's: run lengths and counts are their own word.
func checkValues(encoding format.Encoding, b []byte, values int) error {
	switch encoding {
	//lint:ignore SA1019 files of older writers have it, and the library reads them
	case format.PlainDictionary, format.RLEDictionary:
		if len(b) == 0 {
			return nil // there are only nulls
		}
		return checkRuns(b[1:], int(b[0]), values)
	case format.RLE:
		if len(b) < 4 {
			return io.ErrUnexpectedEOF
		}
		return checkRuns(b[4:], 1, values)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		_, err := deltaLength(b, values)
		return err
	case format.DeltaByteArray:
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
		grown := int64(len(b)) // each value repeats so many bytes of the one before it
		for _, p := range prefixes {
			grown += int64(p)
			if p < 0 || grown > maxPage {
				return fmt.Errorf("it is longer than %d MiB: write the file again with smaller pages", maxPage>>20)
			}
		}
	}
	return nil
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
			return io.ErrUnexpectedEOF
		}
		b = b[used:]
		count, bytes := u>>1, uint64((width+7)/8)
		if u&1 == 1 {
			if count > uint64(len(b)) && width > 0 || count > maxValues {
				return io.ErrUnexpectedEOF
			}
			count, bytes = 8*count, count*uint64(width)
		}
		if count > maxValues || n+count > uint64(values+slack) {
			return errors.New("damaged: it holds more values than its header says")
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
			return 0, io.ErrUnexpectedEOF
		}
		head[i] = u
	}
	if _, err := binary.ReadVarint(r); err != nil { // the first value
		return 0, io.ErrUnexpectedEOF
	}
	block, small, total := head[0], head[1], head[2]
	if total > uint64(values) || block == 0 || block > 1<<16 || small == 0 || small > block || block%small != 0 {
		return 0, errors.New("damaged: it holds more values than its header says")
	}
	for left := int64(total) - 1; left > 0; left -= int64(block) {
		if _, err := binary.ReadVarint(r); err != nil { // the smallest difference
			return 0, io.ErrUnexpectedEOF
		}
		widths := make([]byte, small)
		if _, err := io.ReadFull(r, widths); err != nil {
			return 0, io.ErrUnexpectedEOF
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
			return 0, io.ErrUnexpectedEOF
		}
	}
	return len(b) - r.Len(), nil
}

// Thrift's compact protocol: the types of a field or element.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt64  = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

// structLength returns how long a Thrift structure is. That of a file's metadata has no maps. What it says of the
// length of a list or text is checked against what is there, and the structures in it are counted: each takes far
// more memory than bytes.
func structLength(b []byte) (int, error) {
	w := &thriftWalker{b: b}
	err := w.structure(0)
	return w.at, err
}

type thriftWalker struct {
	b       []byte
	at      int
	structs int
}

func (w *thriftWalker) skip(n uint64) error {
	if n > uint64(len(w.b)-w.at) {
		return io.ErrUnexpectedEOF
	}
	w.at += int(n)
	return nil
}

func (w *thriftWalker) varint() (uint64, error) {
	u, n := binary.Uvarint(w.b[w.at:])
	if n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	if n < 0 {
		return 0, errors.New("a number is too long")
	}
	w.at += n
	return u, nil
}

func (w *thriftWalker) byte() (byte, error) {
	if err := w.skip(1); err != nil {
		return 0, err
	}
	return w.b[w.at-1], nil
}

func (w *thriftWalker) structure(depth int) error {
	const most = 1 << 21
	if w.structs++; w.structs > most || depth > maxDepth {
		return errors.New("it holds too many parts")
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind == thriftTrue || kind == thriftFalse {
			continue // the type is the value
		}
		if err := w.value(head&15, depth); err != nil {
			return err
		}
	}
}

func (w *thriftWalker) value(kind byte, depth int) error {
	switch {
	case kind <= thriftByte:
		return w.skip(1)
	case kind <= thriftInt64:
		_, err := w.varint()
		return err
	case kind == thriftDouble:
		return w.skip(8)
	case kind == thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case kind == thriftList || kind == thriftSet:
		return w.list(depth)
	case kind == thriftStruct:
		return w.structure(depth + 1)
	}
	return errors.New("it holds what no Parquet file does")
}

func (w *thriftWalker) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.b)-w.at) {
		return io.ErrUnexpectedEOF
	}
	for range n {
		if err := w.value(head&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}
