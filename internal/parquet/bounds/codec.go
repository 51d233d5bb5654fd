package bounds

import (
	"bytes"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

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
		d, err = zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(1<<27))
		if err == nil {
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
