package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/brotli"
	"github.com/parquet-go/parquet-go/compress/gzip"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A hostile is a file of one column and one row group that claims what it likes.
type hostile struct {
	name   string
	column format.SchemaElement
	codec  format.CompressionCodec
	pages  []hostilePage
	footer []byte // in place of the footer that describes the pages
	want   string // in the error
}

// A hostilePage is one page: its header, in which only what is 0 is filled in, and its body as the file has it.
type hostilePage struct {
	header format.PageHeader
	body   []byte
}

func encodeThrift(t testing.TB, v any) []byte {
	t.Helper()
	b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// file lays the file out.
func (h *hostile) file(t testing.TB) []byte {
	t.Helper()
	file := []byte("PAR1")
	chunk := format.ColumnMetaData{
		Type: h.column.Type.V, Codec: h.codec, PathInSchema: []string{"c"}, NumValues: 1, DataPageOffset: 4,
	}
	for i := range h.pages {
		p := &h.pages[i]
		if p.header.CompressedPageSize == 0 {
			p.header.CompressedPageSize = int32(len(p.body))
		}
		if p.header.UncompressedPageSize == 0 {
			p.header.UncompressedPageSize = int32(len(p.body))
		}
		if p.header.Type == format.DictionaryPage {
			chunk.DictionaryPageOffset = int64(len(file))
			chunk.DataPageOffset = 5 // of no use to a reader
		}
		file = append(append(file, encodeThrift(t, &p.header)...), p.body...)
	}
	chunk.TotalCompressedSize = int64(len(file) - 4)
	chunk.TotalUncompressedSize = chunk.TotalCompressedSize
	footer := h.footer
	if footer == nil {
		h.column.Name = "c"
		footer = encodeThrift(t, &format.FileMetaData{
			Version: 2, NumRows: 1,
			Schema: []format.SchemaElement{{Name: "schema", NumChildren: thrift.New[int32](1)}, h.column},
			RowGroups: []format.RowGroup{{NumRows: 1, Columns: []format.ColumnChunk{
				{MetaData: chunk, FileOffset: 4},
			}}},
		})
	}
	file = append(file, footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

func uvarints(list ...uint64) []byte {
	var b []byte
	for _, u := range list {
		b = binary.AppendUvarint(b, u)
	}
	return b
}

func dataPage(values int32, encoding format.Encoding, body []byte) hostilePage {
	return hostilePage{format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: values, Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})}, body}
}

func dictionaryPage(values int32, encoding format.Encoding, body []byte) hostilePage {
	return hostilePage{format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(
		format.DictionaryPageHeader{NumValues: values, Encoding: encoding})}, body}
}

// wideFooter has many leaves and many row groups without columns, so that there is little of it.
func wideFooter(t testing.TB) []byte {
	meta := format.FileMetaData{Version: 2, RowGroups: make([]format.RowGroup, 1<<18)}
	meta.Schema = append(meta.Schema, format.SchemaElement{Name: "schema", NumChildren: thrift.New[int32](1 << 15)})
	for i := range 1 << 15 {
		e := element(format.Int32)
		e.Name = fmt.Sprint(i)
		meta.Schema = append(meta.Schema, e)
	}
	for i := range meta.RowGroups {
		meta.RowGroups[i].Columns = []format.ColumnChunk{}
	}
	return encodeThrift(t, &meta)
}

// fixed is a column whose values are all of a length.
func fixed(length int32) format.SchemaElement {
	e := element(format.FixedLenByteArray)
	e.TypeLength = thrift.New(length)
	return e
}

func element(kind format.Type) format.SchemaElement {
	return format.SchemaElement{Type: thrift.New(kind), RepetitionType: thrift.New(format.Required)}
}

// deltas are differences that are packed in 0 bits: first, and then values that are each by step more.
func deltas(count uint64, first, step int64) []byte {
	b := binary.AppendVarint(uvarints(128, 4, count), first)
	for left := int64(count) - 1; left > 0; left -= 128 {
		b = append(binary.AppendVarint(b, step), 0, 0, 0, 0)
	}
	return b
}

const huge = 1<<31 - 1

func hostileFiles(t testing.TB) []hostile {
	dictionary := dictionaryPage(1, format.Plain, make([]byte, 4))
	page := func(change func(h *format.PageHeader)) []hostilePage {
		p := dataPage(1, format.Plain, make([]byte, 4))
		change(&p.header)
		return []hostilePage{p}
	}
	optional := element(format.Int32)
	optional.RepetitionType.V = format.Optional
	bitPacked := []hostilePage{dataPage(1, format.Plain, make([]byte, 8))}
	bitPacked[0].header.DataPageHeader.V.DefinitionLevelEncoding = format.BitPacked
	manyRuns := bytes.Repeat(uvarints(1<<25, 0), 500)
	levels := append(binary.LittleEndian.AppendUint32(nil, uint32(len(manyRuns))), manyRuns...)
	return []hostile{
		{name: "a list of 2^31 row groups", footer: append([]byte{0x49, 0xfc}, uvarints(huge)...), want: "footer"},
		{name: "2^22 structures in a footer", want: "too many parts",
			footer: append(append([]byte{0x49, 0xfc}, uvarints(1<<22)...), make([]byte, 1<<22+1)...)},
		{name: "structures in structures", footer: bytes.Repeat([]byte{0xac}, 1<<24), want: "footer"},
		{name: "lists in lists", footer: append([]byte{0xa9}, bytes.Repeat([]byte{0x19}, 1<<24)...), want: "footer"},
		{name: "values of 2^31 bytes", column: fixed(huge), want: "bytes long",
			pages: page(func(h *format.PageHeader) { h.DataPageHeader.V.NumValues = huge })},
		{name: "a page of 2^31 bytes", column: element(format.Int32), want: "longer than its column",
			pages: page(func(h *format.PageHeader) { h.CompressedPageSize = huge })},
		{name: "a page that unpacks to 2^31 bytes", column: element(format.Int32), codec: format.Gzip,
			want: "longer than", pages: page(func(h *format.PageHeader) { h.UncompressedPageSize = huge })},
		{name: "2^31 values", column: element(format.ByteArray), want: "values, where",
			pages: page(func(h *format.PageHeader) { h.DataPageHeader.V.NumValues = huge })},
		{name: "2^31 entries in a dictionary", column: element(format.ByteArray), want: "values, where",
			pages: []hostilePage{dictionaryPage(huge, format.Plain, make([]byte, 4))}},
		{name: "levels in long runs", column: optional, want: "more values than",
			pages: []hostilePage{dataPage(1, format.Plain, levels)}},
		{name: "indices in long runs", column: element(format.Int32), want: "more values than",
			pages: []hostilePage{dictionary, dataPage(1, format.RLEDictionary, append([]byte{1}, manyRuns...))}},
		{name: "2^31 differences", column: element(format.Int64), want: "more values than",
			pages: []hostilePage{dataPage(1, format.DeltaBinaryPacked,
				binary.AppendVarint(uvarints(128, 4, huge), 1))}},
		{name: "2^31 lengths", column: element(format.ByteArray), want: "more values than",
			pages: []hostilePage{dataPage(1, format.DeltaLengthByteArray,
				binary.AppendVarint(uvarints(128, 4, huge), 1))}},
		{name: "2^24 entries of 2^15 bytes in a dictionary", column: fixed(1 << 15), want: "ends before its values",
			pages: []hostilePage{dictionaryPage(1<<24, format.Plain, make([]byte, 4))}},
		{name: "a dictionary of 2^31 differences", column: element(format.Int64), want: "its dictionary is encoded",
			pages: []hostilePage{dictionaryPage(1, format.DeltaBinaryPacked,
				binary.AppendVarint(uvarints(128, 4, huge), 1))}},
		{name: "integers in runs as booleans have them", column: element(format.Int32),
			want: "does not go with their type",
			pages: []hostilePage{dataPage(1, format.RLE,
				append(uvarints(huge<<1), bytes.Repeat([]byte{0xff}, 1<<10)...))}},
		{name: "2^24 prefixed values of 2^15 bytes", column: fixed(1 << 15), want: "longer than 256 MiB",
			pages: []hostilePage{dataPage(1<<24, format.DeltaByteArray, append(deltas(0, 0, 0), deltas(0, 0, 0)...))}},
		{name: "2^24 split values of 2^15 bytes", column: fixed(1 << 15), want: "longer than 256 MiB",
			pages: []hostilePage{dataPage(1<<24, format.ByteStreamSplit, make([]byte, 4))}},
		{name: "levels that are bit-packed", column: optional, want: "its levels are encoded", pages: bitPacked},
		{name: "2^15 leaves in 2^18 row groups", footer: wideFooter(t), want: "row group 1 has 0 columns"},
		{name: "prefixes", column: element(format.ByteArray), want: "longer than 256 MiB",
			pages: []hostilePage{dataPage(1<<16, format.DeltaByteArray, prefixes())}},
	}
}

// prefixes are 2^16 values of which each repeats all 2^16 bytes of the one before it: 4 GiB.
func prefixes() []byte {
	const n = 1 << 16
	b := binary.AppendVarint(uvarints(128, 4, n), 0)
	first := append(binary.AppendVarint(nil, 0), 17, 17, 17, 17) // 17 bits, so that the first difference can be n
	b = append(b, first...)
	b = append(b, packed17(n)...)
	for left := n - 1 - 128; left > 0; left -= 128 {
		b = append(binary.AppendVarint(b, 0), 0, 0, 0, 0)
	}
	b = append(b, deltasDown(n)...)
	return append(b, bytes.Repeat([]byte("x"), n)...)
}

// packed17 is a block of 128 numbers of 17 bits, the first n and the others 0.
func packed17(n uint32) []byte {
	b := make([]byte, 17*128/8)
	binary.LittleEndian.PutUint32(b, n)
	return b
}

// deltasDown are count numbers: count, and then 0 each.
func deltasDown(count int64) []byte {
	b := binary.AppendVarint(uvarints(128, 4, uint64(count)), count)
	b = append(append(binary.AppendVarint(b, -count), 17, 17, 17, 17), packed17(0)...)
	b = b[:len(b)-17*128/8]
	block := make([]byte, 17*128/8)
	for bit := 17; bit < 17*128; bit += 17 { // all but the first difference are count more than the smallest
		at := bit + 16
		block[at/8] |= 1 << (at % 8)
	}
	b = append(b, block...)
	for left := count - 1 - 128; left > 0; left -= 128 {
		b = append(binary.AppendVarint(b, 0), 0, 0, 0, 0)
	}
	return b
}

// bombs are pages that unpack to far more than their headers say, and one that does not unpack at all.
func bombs(t testing.TB) []hostile {
	zeros := make([]byte, 300<<20)
	var list []hostile
	for _, c := range []compress.Codec{
		&snappy.Codec{}, &gzip.Codec{Level: 1}, &zstd.Codec{}, &brotli.Codec{Quality: 1, LGWin: 18}, &lz4.Codec{},
	} {
		b, err := c.Encode(nil, zeros)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, packed("a bomb of "+c.String(), c.CompressionCodec(), b),
			packed("half a bomb of "+c.String(), c.CompressionCodec(), bytes.Clone(b[:len(b)/2])))
	}
	return append(list, packed("LZ4 that is none", format.Lz4Raw, []byte{0xff, 0xff, 0xff, 0xff}))
}

// packed is a file of one page that should unpack to 4 bytes.
func packed(name string, codec format.CompressionCodec, body []byte) hostile {
	p := dataPage(1, format.Plain, body)
	p.header.UncompressedPageSize = 4
	return hostile{name: name, column: element(format.Int32), codec: codec, pages: []hostilePage{p},
		want: "does not unpack"}
}

// Whatever a file claims, reading it takes little memory and ends with an error.
func TestHostile(t *testing.T) {
	check := func(h hostile) {
		t.Helper()
		b := h.file(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := read(b, 1<<20)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), h.want) {
			t.Errorf("%s: error is %v, want one with %q", h.name, err, h.want)
		}
		took := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: a file of %d bytes took %d KiB: %v", h.name, len(b), took>>10, err)
		if most := uint64(16<<20 + 16*len(b)); took > most {
			t.Errorf("%s: a file of %d bytes took %d, want at most %d", h.name, len(b), took, most)
		}
	}
	for _, h := range hostileFiles(t) {
		check(h)
	}
	for _, h := range bombs(t) {
		check(h)
	}
}
