package parquet

import (
	"fmt"
	"io"

	"github.com/assay-eval/assay/internal/parquet/bounds"
	pq "github.com/parquet-go/parquet-go"
)

// A leaf is a column of plain values, at the end of a path through groups, lists and maps.
type leaf struct {
	bounds.Column
	append func(b []byte, v pq.Value) (_ []byte, kind valueKind, err error)

	// What is read of the row group.
	pages  pq.Pages
	page   pq.Page
	values pq.ValueReader
	buf    [64]pq.Value
	at, n  int

	// The values of the row at hand, and how many of them have been used. Nulls and empty lists have one, too.
	row  []pq.Value
	next int
}

func (l *leaf) open(pages pq.Pages) {
	l.close()
	l.pages = pages
}

func (l *leaf) close() {
	if l.page != nil {
		pq.Release(l.page)
	}
	if l.pages != nil {
		l.pages.Close()
	}
	l.pages, l.page, l.values, l.at, l.n, l.row = nil, nil, nil, 0, 0, nil
}

// peek returns the next value without passing over it, or io.EOF at the end of the row group.
func (l *leaf) peek() (*pq.Value, error) {
	for l.at == l.n {
		if l.values != nil {
			n, err := l.values.ReadValues(l.buf[:])
			if l.at, l.n = 0, n; n > 0 {
				break
			}
			if err != nil && err != io.EOF {
				return nil, fmt.Errorf("column %q: %w", l.Name, err)
			}
			pq.Release(l.page)
			l.page, l.values = nil, nil
		}
		page, err := l.pages.ReadPage()
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", l.Name, err)
		}
		l.page, l.values = page, page.Values()
	}
	return &l.buf[l.at], nil
}

// take reads the values of the next row. They count towards what is left; when nothing is, they are passed over.
func (l *leaf) take(left *int) error {
	l.row, l.next = l.row[:0], 0
	for first := true; ; first = false {
		v, err := l.peek()
		switch {
		case err == io.EOF && !first:
			return nil
		case err == io.EOF:
			return fmt.Errorf("damaged: the column %q has fewer rows than its row group", l.Name)
		case err != nil:
			return err
		case first && v.RepetitionLevel() != 0:
			return fmt.Errorf("damaged: the column %q begins in the middle of a row", l.Name)
		case !first && v.RepetitionLevel() == 0:
			return nil
		}
		const most = 16 // bytes that a value takes beside its text, about
		if *left -= most; v.Kind() == pq.ByteArray || v.Kind() == pq.FixedLenByteArray {
			*left -= len(v.ByteArray())
		}
		if *left >= 0 {
			l.row = append(l.row, v.Clone())
		}
		l.at++
	}
}

// look returns the next value of the row without using it, nil at the row's end.
func (l *leaf) look() *pq.Value {
	if l.next == len(l.row) {
		return nil
	}
	return &l.row[l.next]
}
