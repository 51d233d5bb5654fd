// Package parquet reads and writes Parquet files as rows of JSON, so that they go the way of JSON Lines.
//
//	f, err := parquet.Open(file, size, 1<<20)
//	if err != nil {
//		log.Fatal(err)
//	}
//	for row, err := range f.Rows() {
//		...
//	}
//
// The format is github.com/parquet-go/parquet-go's: it is written in Go alone, decodes every encoding and codec in
// use, and is kept up. A file takes three steps to become rows:
//
//  1. The footer, and then a row group's pages, are checked by package bounds before the library sees them: that
//     package says why.
//  2. The library decodes the pages, column by column and page by page. What goes wrong in it, panics included, is an
//     error.
//  3. The columns are put together to rows: groups become objects, lists become arrays, and what is null is absent.
//
// Memory is bounded by the pages of a row group, one of each column, whatever the file's length.
package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"

	"github.com/assay-eval/assay/internal/parquet/bounds"
	pq "github.com/parquet-go/parquet-go"
)

// A Row is one row of a file.
type Row struct {
	Number int     // from 1
	Fields []Field // one for each column, in the order of the file
	Err    error   // why there are no fields; the rows after it can be read
}

// A Field is the value of one column in one row.
type Field struct {
	Name  string
	Value []byte // JSON; nil if it is null
	Bytes bool   // it holds bytes that are no text: Value has them as base64
}

// A File is an open Parquet file.
type File struct {
	file   *pq.File
	checks bounds.File
	maxRow int
	layout
}

// Is reports whether content that starts so is a Parquet file. What is only text starts otherwise, even with the
// same four letters.
func Is(start []byte) bool {
	return bytes.HasPrefix(start, []byte("PAR1")) && bytes.IndexByte(start, 0) > 0
}

// Open reads the footer of a file. A row of more than maxRow bytes, as JSON, is an error of its own.
func Open(r io.ReaderAt, size int64, maxRow int) (*File, error) {
	f := &File{maxRow: maxRow}
	err := guard(func() error {
		if err := bounds.CheckFooter(r, size); err != nil {
			return err
		}
		var err error
		f.file, err = pq.OpenFile(r, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
		if err != nil {
			return err
		}
		if f.layout, err = layOut(f.file.Root()); err != nil {
			return err
		}
		f.checks = bounds.File{Reader: r, Size: size, Meta: f.file.Metadata(), Columns: f.bounds()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// guard calls do. The library answers some damaged files with a panic: that is an error here, and this is the one
// place where it becomes one.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // what it does unsafely cannot end the process either
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged: %v", p)
		}
	}()
	return do()
}

// Rows yields the rows. An error ends them; its row has the number of the one that could not be read.
func (f *File) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		defer f.closePages()
		number := 0
		for i, group := range f.file.RowGroups() {
			if err := guard(func() error { return f.enter(i, group) }); err != nil {
				yield(Row{Number: number + 1}, damaged(err))
				return
			}
			for range group.NumRows() {
				number++
				row := Row{Number: number}
				err := damaged(guard(func() error { return f.read(&row) }))
				if !yield(row, err) || err != nil {
					return
				}
			}
			if err := guard(f.leave); err != nil {
				yield(Row{Number: number}, damaged(err))
				return
			}
		}
	}
}

// damaged keeps an error from being taken for the end of a file that was cut off: that one has no footer.
func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("damaged: %v", err)
	}
	return err
}

// enter checks a row group and opens its columns.
func (f *File) enter(index int, group pq.RowGroup) error {
	if err := f.checks.CheckGroup(index); err != nil {
		return err
	}
	chunks := group.ColumnChunks()
	for i, l := range f.leaves {
		l.open(chunks[i].Pages())
	}
	return nil
}

// leave checks that the columns have no more values than the row group has rows.
func (f *File) leave() error {
	for _, l := range f.leaves {
		if _, err := l.peek(); err == nil {
			return fmt.Errorf("damaged: the column %q has more rows than its row group", l.Name)
		} else if err != io.EOF {
			return err
		}
	}
	f.closePages()
	return nil
}

func (f *File) closePages() {
	for _, l := range f.leaves {
		guard(func() error { l.close(); return nil })
	}
}

// read puts the next row together.
func (f *File) read(row *Row) error {
	left := f.maxRow
	for _, l := range f.leaves {
		if err := l.take(&left); err != nil {
			return err
		}
	}
	if left >= 0 {
		row.Fields = make([]Field, 0, len(f.columns))
		w := &rowWriter{max: f.maxRow}
		for _, c := range f.columns {
			b, err := w.field(c)
			if err == errTooLong {
				left = -1
				break
			}
			var bad *valueError
			if errors.As(err, &bad) {
				row.Fields, row.Err = nil, fmt.Errorf("%s: %w", c.name, err)
				return nil
			}
			if err != nil {
				return err
			}
			row.Fields = append(row.Fields, Field{c.name, b, w.bytes})
		}
	}
	if left < 0 {
		row.Fields, row.Err = nil, fmt.Errorf("the row is longer than %d MiB", f.maxRow>>20)
		return nil
	}
	for _, l := range f.leaves {
		if l.next < len(l.row) {
			return fmt.Errorf("damaged: the column %q does not fit in with those beside it", l.Name)
		}
	}
	return nil
}
