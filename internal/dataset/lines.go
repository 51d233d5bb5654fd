package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"unicode/utf8"
)

// readLines reads JSON Lines: an object a line. Blank lines are passed over.
func readLines(r *bufio.Reader) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		var buf []byte
		for n := 1; ; n++ {
			b, err := readLine(r, buf[:0])
			buf = b
			if err != nil && err != io.EOF && err != errTooLong {
				yield(record{line: n}, err)
				return
			}
			b = bytes.TrimSpace(b)
			rec := record{line: n}
			if err == errTooLong {
				rec.err = err
			} else {
				rec.cells, rec.err = parseObject(b)
			}
			if (len(b) > 0 || rec.err == errTooLong) && !yield(rec, nil) || err == io.EOF {
				return
			}
		}
	}
}

// readLine appends the next line to buf. With errTooLong the line has been passed over.
func readLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(buf)+len(part) > maxRecord; !long {
			buf = append(buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == nil || err == io.EOF:
			if long {
				return buf[:0], errTooLong
			}
		}
		return buf, err
	}
}

// parseObject cuts a JSON object into its members. The cells hold copies of b.
func parseObject(b []byte) ([]cell, error) {
	if err := checkText(b); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	open, err := dec.Token()
	if err != nil {
		return nil, notJSON(b)
	}
	if open != json.Delim('{') {
		if !json.Valid(b) {
			return nil, notJSON(b)
		}
		return nil, fmt.Errorf("want an object with a member for each column, have %s", kindOf(b))
	}
	var cells []cell
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return nil, notJSON(b)
		}
		if seen[name] {
			return nil, fmt.Errorf("the column %q is there twice", name)
		}
		seen[name] = true
		cells = append(cells, cell{column: name, value: value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(b)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more text after the end of the object: JSON Lines takes one object a line")
	}
	return cells, nil
}

// notJSON says what is wrong with b, and where.
func notJSON(b []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(b, &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("not JSON: %v (byte %d of the row)", err, syntax.Offset)
	}
	return fmt.Errorf("not JSON: %v", err)
}

// kindOf names the kind of a JSON value for messages.
func kindOf(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "text"
	case 't', 'f', 'n':
		return string(value)
	}
	return "a number"
}

// checkText refuses what the decoder would replace without a word: bytes that are not UTF-8, and
// escaped halves of a surrogate pair.
func checkText(b []byte) error {
	if !utf8.Valid(b) {
		i := 0
		for r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(b[i:]) {
			i += n
		}
		return fmt.Errorf("not UTF-8 (byte %d of the row)", i+1)
	}
	for i := 0; i < len(b); i += 2 {
		next := bytes.IndexByte(b[i:], '\\')
		if next < 0 {
			return nil
		}
		i += next
		switch c := codeUnit(b[i:]); {
		case c < 0xd800 || c > 0xdfff:
		case c < 0xdc00 && codeUnit(b[min(i+6, len(b)):]) >= 0xdc00 && codeUnit(b[i+6:]) <= 0xdfff:
			i += 10 // and 2: past both halves
		default:
			return fmt.Errorf("half a surrogate pair, %s (byte %d of the row)", b[i:i+6], i+1)
		}
	}
	return nil
}

// codeUnit returns the value of an escape \uXXXX that b starts with, or 0.
func codeUnit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(v)
}
