package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// holdsRows reports whether a member of this name, in a file that is one object, may hold the rows.
func holdsRows(key string) bool {
	return slices.Contains([]string{"results", "data", "samples", "examples", "rows", "test_cases", "testCases"}, key)
}

// readArray reads a JSON array of objects, or an object with such an array in one of its members. It
// cuts the text at the top level only; what is in an element is the business of parseObject.
func readArray(r *bufio.Reader) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		s := &splitter{r: r, line: 1}
		err := s.enter()
		if err == errNoRows && s.whole != nil {
			rec := record{line: 1, lone: true}
			rec.cells, rec.err = parseObject(append(s.whole, '}'))
			yield(rec, nil)
			return
		}
		for err == nil {
			var b []byte
			var line int
			if b, line, err = s.element(); err == nil {
				rec := record{line: line}
				rec.cells, rec.err = parseObject(b)
				if !yield(rec, nil) {
					return
				}
			}
		}
		if err != io.EOF {
			yield(record{line: s.line}, err)
		}
	}
}

// A splitter cuts JSON text into values without looking into them.
type splitter struct {
	r       *bufio.Reader
	line    int  // of the byte to be read next
	more    bool // an element has been read: a comma must come before the next
	wrapped bool // the array is a member of an object
	traces  bool // that object is a request of OTLP, and another may follow it
	buf     []byte
	whole   []byte // an object that has no rows so far, without its last bracket; nil: it is too long, or no row
}

var errNoRows = errors.New("one object, without a list of rows in it: want an array of objects, or JSON Lines")

// peek passes over white space and returns the byte after it, unread.
func (s *splitter) peek() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		switch {
		case err == io.EOF:
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		case c == '\n':
			s.line++
		case c != ' ' && c != '\t' && c != '\r':
			return c, s.r.UnreadByte()
		}
	}
}

// take passes over white space and then over the byte c, which must be there.
func (s *splitter) take(c byte) error {
	got, err := s.peek()
	if err != nil {
		return err
	}
	if got != c {
		return fmt.Errorf("not JSON: want %q, have %q", c, got)
	}
	_, err = s.r.Discard(1)
	return err
}

// enter goes to the start of the rows: past the bracket that opens their array.
func (s *splitter) enter() error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c == '[' {
		return s.take('[')
	}
	if c != '{' {
		return fmt.Errorf("not a dataset: want a JSON array of objects, have %q", c)
	}
	s.wrapped = true
	s.take('{')
	s.whole = []byte{'{'}
	found, err := s.member(0)
	if err == nil && !found {
		err = errNoRows
	}
	return err
}

// member goes through the members of an object to the rows of one of them, and past the bracket that opens them; found is
// false if the object ended. Objects in which a tool keeps its rows are looked into.
func (s *splitter) member(depth int) (found bool, err error) {
	if c, err := s.peek(); err != nil || c == '}' {
		if err == nil {
			err = s.take('}')
		}
		return false, err
	}
	for {
		var key string
		b, err := s.value()
		if err != nil {
			return false, err
		}
		if json.Unmarshal(b, &key) != nil {
			return false, fmt.Errorf("not JSON: want the name of a member, have %.20q", b)
		}
		s.keep(b, ':')
		if err := s.take(':'); err != nil {
			return false, err
		}
		c, err := s.peek()
		if err != nil {
			return false, err
		}
		s.traces = key == "resourceSpans" || key == "resourceLogs"
		switch {
		case c == '[' && (holdsRows(key) || s.traces):
			return true, s.take('[')
		case c == '{' && depth == 0 && nestsRows(key):
			s.whole = nil
			s.take('{')
			if found, err := s.member(1); found || err != nil {
				return found, err
			}
		default:
			if b, err = s.value(); err != nil {
				return false, err
			}
			s.keep(b, ',')
		}
		if c, err = s.peek(); err != nil {
			return false, err
		}
		if c == '}' {
			if s.whole != nil {
				s.whole = s.whole[:len(s.whole)-1] // its last comma
			}
			return false, s.take('}')
		}
		if err := s.take(','); err != nil {
			return false, err
		}
	}
}

// keep adds to the whole object, while it is no longer than a row may be.
func (s *splitter) keep(b []byte, then byte) {
	if len(s.whole)+len(b) > maxRecord {
		s.whole = nil
	}
	if s.whole != nil {
		s.whole = append(append(s.whole, b...), then)
	}
}

// nestsRows reports whether a member of this name, in a file that is one object, may be an object that holds the rows, as
// promptfoo and DeepEval write them.
func nestsRows(key string) bool { return key == "results" || key == "testRunData" }

// element returns the next element and the line it starts on, or io.EOF at the end of the array. The
// bytes are valid until the next call.
func (s *splitter) element() ([]byte, int, error) {
	c, err := s.peek()
	if err != nil {
		return nil, 0, err
	}
	if c == ']' {
		s.take(']')
		if err := s.end(); err != nil {
			return nil, 0, err
		}
		return s.element()
	}
	if s.more {
		if err := s.take(','); err != nil {
			return nil, 0, err
		}
		if c, err = s.peek(); err != nil {
			return nil, 0, err
		}
		if c == ']' {
			return nil, 0, errors.New("not JSON: a comma before the end of the array")
		}
	}
	s.more = true
	line := s.line
	b, err := s.value()
	if err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("not JSON: the row that starts on line %d has no end", line)
	}
	return b, line, err
}

// end is io.EOF if nothing follows the array. After an array in an object, the rest is not looked at, unless it is one of
// several requests of OTLP: then end goes on to the next array.
func (s *splitter) end() error {
	if s.wrapped && !s.traces {
		return io.EOF
	}
	if s.traces {
		s.more = false
		if c, err := s.peek(); err != nil {
			return err
		} else if c == ',' {
			s.take(',')
			if found, err := s.member(1); found || err != nil {
				return err
			}
		} else if err := s.take('}'); err != nil {
			return err
		}
		if _, err := s.peek(); err == io.ErrUnexpectedEOF {
			return io.EOF
		}
		return s.enter()
	}
	c, err := s.peek()
	switch {
	case err == io.ErrUnexpectedEOF:
		return io.EOF
	case err != nil:
		return err
	}
	return fmt.Errorf("not JSON: %q after the end of the array", c)
}

// value reads one value: up to its closing bracket or quote or, if it has none, to what cannot be in it.
func (s *splitter) value() ([]byte, error) {
	if _, err := s.peek(); err != nil {
		return nil, err
	}
	s.buf = s.buf[:0]
	var open []byte // the brackets that will close what is open
	quoted := false
	for {
		c, err := s.r.ReadByte()
		switch {
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case len(s.buf) >= maxRecord:
			return nil, errTooLong
		}
		if len(open) == 0 && !quoted && bytes.IndexByte([]byte(",]}: \t\r\n"), c) >= 0 {
			return s.buf, s.r.UnreadByte()
		}
		s.buf = append(s.buf, c)
		switch {
		case c == '\n':
			s.line++
		case quoted && c == '\\':
			if c, err = s.r.ReadByte(); err != nil {
				return nil, io.ErrUnexpectedEOF
			}
			s.buf = append(s.buf, c)
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open = append(open, c+2) // in ASCII, the closing bracket is two further
		case c == '}' || c == ']':
			if c != open[len(open)-1] {
				return nil, fmt.Errorf("not JSON: %q where %q must come first", c, open[len(open)-1])
			}
			open = open[:len(open)-1]
		}
		if len(open) == 0 && !quoted && (c == '"' || c == '}' || c == ']') {
			return s.buf, nil
		}
	}
}
