package dataset

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// Tables written by Python programs hold lists as Python prints them: ['it is', "it's"]. That is not
// JSON, but taking the brackets and quotes for text would be worse than an error.

// isPython reports whether a cell looks like a printed list of strings: a bracket and a quote at both ends.
func isPython(value []byte) bool {
	quote := func(c byte) bool { return c == '\'' || c == '"' }
	n := len(value)
	return n >= 4 && value[0] == '[' && quote(value[1]) && quote(value[n-2]) && value[n-1] == ']'
}

// fromPython turns a printed list of strings into JSON.
func fromPython(value []byte) ([]byte, error) {
	bad := errors.New(`looks like a list printed by Python, but cannot be read: write JSON, ["...", "..."]`)
	texts := []string{}
	rest := value[1 : len(value)-1]
	for {
		text, n := pythonString(rest)
		if n == 0 {
			return nil, bad
		}
		texts = append(texts, text)
		rest = rest[n:]
		if len(rest) == 0 {
			return json.Marshal(texts)
		}
		if len(rest) < 2 || rest[0] != ',' || rest[1] != ' ' {
			return nil, bad
		}
		rest = rest[2:]
	}
}

// pythonString reads a string literal at the start of b and returns its length; 0 if there is none.
func pythonString(b []byte) (string, int) {
	if len(b) < 2 || b[0] != '\'' && b[0] != '"' {
		return "", 0
	}
	var text []byte
	for i := 1; i < len(b); i++ {
		switch c := b[i]; c {
		case b[0]:
			return string(text), i + 1
		case '\\':
			r, n := pythonEscape(b[i+1:])
			if n == 0 {
				return "", 0
			}
			text = utf8.AppendRune(text, r)
			i += n
		default:
			text = append(text, c)
		}
	}
	return "", 0
}

// pythonEscape reads what follows a backslash in a string as printed, and returns its length; 0 if it
// is none.
func pythonEscape(b []byte) (rune, int) {
	if len(b) == 0 {
		return 0, 0
	}
	digits := 0
	switch b[0] {
	case '\\', '\'', '"':
		return rune(b[0]), 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	}
	if digits == 0 || len(b) < 1+digits {
		return 0, 0
	}
	v, err := strconv.ParseUint(string(b[1:1+digits]), 16, 32)
	if err != nil || v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
		return 0, 0
	}
	return rune(v), 1 + digits
}
