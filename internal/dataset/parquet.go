package dataset

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/assay-eval/assay/internal/parquet"
)

// openParquet opens the rows of a source beside the stream of its content, which is only hashed.
func openParquet(s *source, in *input) (*parquet.File, error) {
	info, err := in.file.Stat()
	if err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := in.file.ReadAt(head[:], 0); err == nil && isCompressed(head[:]) {
		return nil, fmt.Errorf("%s is compressed: Parquet is read from both ends, so unpack it first (it is packed "+
			"inside, too)", s.name)
	}
	rows, err := parquet.Open(in.file, info.Size(), maxRecord)
	if err != nil {
		return nil, fileError(s.name, 0, err)
	}
	return rows, nil
}

// readParquet reads the rows of a Parquet file. A record for each, with a cell for each column.
func readParquet(f *parquet.File) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for row, err := range f.Rows() {
			rec := record{line: row.Number, err: row.Err}
			for _, field := range row.Fields {
				if err := checkText(field.Value); err != nil && rec.err == nil {
					rec.err = fmt.Errorf("%s: %w", field.Name, err)
				}
				rec.cells = append(rec.cells, cell{
					column: field.Name, value: bytes.TrimSpace(field.Value), none: field.Value == nil,
					bytes: field.Bytes,
				})
			}
			if rec.err != nil {
				rec.cells = nil
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}
