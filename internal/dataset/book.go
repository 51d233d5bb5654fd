package dataset

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/assay-eval/assay/internal/sheet"
)

// A workbook is one of Excel, of which a sheet is read.
type workbook struct {
	*sheet.Book
	sheet string
}

func openBook(s *source, in *input) (*workbook, error) {
	archive, err := unzip(s, in)
	if err != nil {
		return nil, err
	}
	b, err := sheet.Open(archive)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return &workbook{b, s.sheet}, nil
}

// readBook reads the rows of a sheet. The first that holds something names the columns; a cell below no name is an error.
func readBook(b *workbook) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		var header []string // "": the column has no name
		for row, err := range b.Rows(context.Background(), b.sheet, maxRecord) {
			if err != nil {
				yield(record{}, err)
				return
			}
			rec := record{line: row.Number, err: row.Err}
			if header == nil {
				if err == nil {
					err = row.Err
				}
				if err == nil {
					header, err = sheetHeader(row.Cells)
				}
				if err != nil {
					yield(rec, err)
					return
				}
				continue
			}
			if rec.err == nil {
				rec.cells, rec.err = sheetCells(header, row)
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func sheetHeader(cells []sheet.Cell) ([]string, error) {
	var header, names []string
	for _, c := range cells {
		for len(header) <= c.Column {
			header = append(header, "")
		}
		if header[c.Column] = strings.TrimSpace(c.Text); header[c.Column] != "" {
			names = append(names, header[c.Column])
		}
	}
	return header, checkHeader(names)
}

// sheetCells are a row's cells by the columns that have names.
func sheetCells(header []string, row sheet.Row) ([]cell, error) {
	texts := make([]*string, len(header))
	for i, c := range row.Cells {
		if c.Column >= len(header) || header[c.Column] == "" {
			return nil, fmt.Errorf("%s%d holds %.40q, but its column has no name in the first row", sheet.Letters(c.Column), row.Number, c.Text)
		}
		texts[c.Column] = &row.Cells[i].Text
	}
	var cells []cell
	for i, name := range header {
		switch {
		case name == "":
		case texts[i] == nil:
			cells = append(cells, cell{column: name, none: true})
		default:
			cells = append(cells, cell{column: name, value: []byte(*texts[i]), text: true})
		}
	}
	return cells, nil
}
