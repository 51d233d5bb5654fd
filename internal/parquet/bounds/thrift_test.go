package bounds

import (
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// FuzzStructLength: what passes is as long to the library as it is to us.
func FuzzStructLength(f *testing.F) {
	header, err := thrift.Marshal(new(thrift.CompactProtocol), &format.PageHeader{
		Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 3, Encoding: format.Plain}),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(header)
	f.Add([]byte{0x19, 0x28, 1, 'a', 0, 0})
	f.Add([]byte{0x1a, 0xfc, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := structLength(b)
		if err != nil {
			return
		}
		r := new(thrift.CompactProtocol).NewReaderFromBytes(b)
		var h format.PageHeader
		if err := thrift.NewDecoder(r).Decode(&h); err == nil && r.BytesRead() != n {
			t.Errorf("the library read %d of %d bytes, and the length is %d", r.BytesRead(), len(b), n)
		}
	})
}
