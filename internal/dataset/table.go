package dataset

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"
)

// readTable reads CSV (RFC 4180) or, with a tab for the comma, TSV quoted in the same way. The first
// record names the columns.
func readTable(r *bufio.Reader, comma rune) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		limited := &limitedReader{r: r, left: maxRecord}
		c := csv.NewReader(limited)
		c.Comma = comma
		header, err := c.Read()
		if err == nil {
			err = checkHeader(header)
		}
		if err != nil {
			if err != io.EOF {
				yield(record{line: 1}, tableError(err))
			}
			return
		}
		for {
			limited.left = maxRecord
			values, err := c.Read()
			if err == io.EOF {
				return
			}
			rec := record{}
			var parse *csv.ParseError
			switch {
			case errors.As(err, &parse) && errors.Is(err, csv.ErrFieldCount):
				rec.line, _ = c.FieldPos(0)
				rec.err = fmt.Errorf("%d values for %d columns", len(values), len(header))
			case errors.As(err, &parse):
				rec.line = parse.StartLine
				rec.err = tableError(err)
			case err != nil:
				yield(record{line: max(limited.line, 1)}, err)
				return
			default:
				rec.line, _ = c.FieldPos(0)
				rec.cells, rec.err = tableCells(header, values)
			}
			limited.line = rec.line + 1
			for _, v := range values {
				limited.line += strings.Count(v, "\n")
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// tableError takes the line out of a message: every error of a row has its place already.
func tableError(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%v (line %d, byte %d): double a quote that is part of a value",
			parse.Err, parse.Line, parse.Column)
	}
	return err
}

func checkHeader(header []string) error {
	seen := map[string]bool{}
	for i, name := range header {
		name = strings.TrimSpace(name)
		header[i] = name
		switch {
		case name == "":
			return fmt.Errorf("column %d has no name", i+1)
		case !utf8.ValidString(name):
			return fmt.Errorf("the name of column %d is not UTF-8", i+1)
		case seen[name]:
			return fmt.Errorf("the column %q is there twice", name)
		}
		seen[name] = true
	}
	return nil
}

func tableCells(header, values []string) ([]cell, error) {
	cells := make([]cell, len(header))
	for i, v := range values {
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("%s: not UTF-8", header[i])
		}
		cells[i] = cell{column: header[i], value: []byte(v), text: true}
	}
	return cells, nil
}

// A limitedReader fails when a record takes more than it may: an unclosed quote would take in the
// whole file otherwise.
type limitedReader struct {
	r    io.Reader
	left int
	line int // where the record being read starts, blank lines not counted
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("%w: is a closing quote missing?", errTooLong)
	}
	n, err := l.r.Read(p)
	l.left -= n
	return n, err
}
