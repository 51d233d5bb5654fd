package sheet

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
)

// A Row is a row of a sheet that has cells.
type Row struct {
	Number int    // from 1, as Excel shows it
	Cells  []Cell // in the order of their columns
	Err    error  // why there are no cells; the rows after it can be read
}

// A Cell is one that holds something.
type Cell struct {
	Column int // from 0
	Text   string
}

// Rows yields the rows of a sheet that have a cell with a value, in their order; of the sheet "" those of the first that is
// not hidden. Of cells that were merged the first has the value. A row takes at most mostRow bytes. An error ends them.
func (b *Book) Rows(ctx context.Context, name string, mostRow int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		stopped := errors.New("stopped by who reads")
		s, err := b.find(name)
		if err == nil {
			err = b.read(s.file, mostPart, func(x *reader) error {
				r := rows{Book: b, reader: x, most: mostRow}
				return r.each(func(e xml.StartElement) error {
					if e.Name.Local != "row" {
						return nil
					}
					row, err := r.row(e)
					if err == nil {
						err = ctx.Err()
					}
					if err == nil && (len(row.Cells) > 0 || row.Err != nil) && !yield(row, nil) {
						err = stopped
					}
					return err
				})
			})
		}
		if err != nil && !errors.Is(err, stopped) {
			yield(Row{}, err)
		}
	}
}

// rows is a sheet that is being read.
type rows struct {
	*Book
	*reader
	most   int
	number int // of the last row
}

// row reads a row that has begun, to its end.
func (r *rows) row(e xml.StartElement) (Row, error) {
	number := r.number + 1
	if given := attr(e, "r"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < number || n > 1<<24 {
			return Row{}, fmt.Errorf("after row %d comes a row %.20q", r.number, given)
		}
		number = n
	}
	r.number = number
	row := Row{Number: number}
	left, next := r.most, 0
	for depth := r.deep; ; {
		t, err := r.next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return row, err
		}
		switch t := t.(type) {
		case xml.EndElement:
			if r.deep < depth {
				if row.Err != nil {
					row.Cells = nil
				}
				return row, nil
			}
		case xml.StartElement:
			if t.Name.Local != "c" {
				continue
			}
			column, err := columnOf(attr(t, "r"), next)
			if err != nil {
				return row, fmt.Errorf("in row %d: %w", number, err)
			}
			next = column + 1
			text, filled, err := r.cell(t)
			switch {
			case err != nil && !errors.As(err, new(*cellError)):
				return row, err
			case err != nil && row.Err == nil:
				row.Err = fmt.Errorf("%s%d %w", Letters(column), number, err)
			}
			if left -= len(text) + 32; left < 0 && row.Err == nil {
				row.Err = fmt.Errorf("the row is longer than %d MiB", r.most>>20)
			}
			if filled && row.Err == nil {
				row.Cells = append(row.Cells, Cell{column, text})
			}
		}
	}
}

// A cellError is of a cell alone.
type cellError struct{ error }

func cellErrorf(format string, args ...any) error { return &cellError{fmt.Errorf(format, args...)} }

// cell reads a cell that has begun, to its end.
func (r *rows) cell(e xml.StartElement) (text string, filled bool, err error) {
	kind, value, formula, valued := attr(e, "t"), "", false, false
	for depth := r.deep; ; {
		t, err := r.next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", false, err
		}
		if _, ends := t.(xml.EndElement); ends && r.deep < depth {
			break
		}
		if start, ok := t.(xml.StartElement); ok {
			switch start.Name.Local {
			case "v":
				value, err = r.content()
				valued = true
			case "is":
				value, err = r.reader.text(start)
				valued = true
			case "f":
				formula = true
			}
			if err != nil {
				return "", false, err
			}
		}
	}
	if !valued || kind == "" && strings.TrimSpace(value) == "" {
		if formula {
			return "", false, cellErrorf("holds a formula without its value: open the file in a spreadsheet and save it")
		}
		return "", false, nil
	}
	text, err = r.valueOf(kind, value, attr(e, "s"))
	return text, text != "", err
}

// content is the text of an element that has begun and has no others in it.
func (r *rows) content() (string, error) {
	var text strings.Builder
	for depth := r.deep; ; {
		t, err := r.next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			if text.Len()+len(t) > mostToken {
				return "", errors.New("a value is too long")
			}
			text.Write(t)
		case xml.EndElement:
			if r.deep < depth {
				return text.String(), nil
			}
		}
	}
}

// valueOf is a cell's value as text.
func (r *rows) valueOf(kind, value, format string) (string, error) {
	switch kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || i < 0 || i >= len(r.strings) {
			return "", cellErrorf("names a shared text %.20q, of which there are %d", value, len(r.strings))
		}
		return r.strings[i], nil
	case "str", "inlineStr":
		return unescape(value), nil
	case "b":
		switch strings.TrimSpace(value) {
		case "1", "true":
			return "true", nil
		case "0", "false":
			return "false", nil
		}
		return "", cellErrorf("is neither true nor false, but %.20q", value)
	case "e", "d":
		return strings.TrimSpace(value), nil
	case "", "n":
	default:
		return "", cellErrorf("is of an unknown type, %.20q", kind)
	}
	value = strings.TrimSpace(value)
	if value == "" {
		return "", nil
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return "", cellErrorf("is no number, but %.20q", value)
	}
	if i, err := strconv.Atoi(format); err == nil && i >= 0 && i < len(r.dates) {
		if text, ok := r.dates[i].format(v, r.since04); ok {
			return text, nil
		}
	}
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return strconv.FormatFloat(v+0, 'f', -1, 64), nil
}

// columnOf is the column that a reference such as BC7 names; of "", next.
func columnOf(reference string, next int) (int, error) {
	column := 0
	for i, c := range []byte(reference) {
		switch {
		case c >= 'A' && c <= 'Z' && i < 3:
			column = column*26 + int(c-'A') + 1
			continue
		case c >= '0' && c <= '9' && i > 0:
		default:
			return 0, fmt.Errorf("the reference %.20q is none of a cell", reference)
		}
		break
	}
	if reference == "" {
		column = next + 1
	}
	if column > mostColumns {
		return 0, fmt.Errorf("the column of %.20q is beyond the last", reference)
	}
	if column-1 < next {
		return 0, fmt.Errorf("the cell %.20q stands behind one after it", reference)
	}
	return column - 1, nil
}

// Letters names a column, counted from 0, as Excel does: A, Z, AA.
func Letters(column int) string {
	name := ""
	for column++; column > 0; column = (column - 1) / 26 {
		name = string(rune('A'+(column-1)%26)) + name
	}
	return name
}
