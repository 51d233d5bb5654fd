package ask

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// mend closes what the JSON in a reply has left open, where the reply was cut or the judge forgot a
// bracket. A text that is one of a list ends where it was cut; a field of an object that is not whole is
// left out, since half a verdict may be another one. Any other reply stays as it is.
func mend(text string) string {
	start := JsonStart(text)
	if start < 0 {
		return text
	}
	body := text[start:]
	var v any
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&v); !errors.Is(err, io.ErrUnexpectedEOF) {
		return text
	}
	o := scanOpen(body)
	tries := []string{body + o.closers}
	if o.inText && strings.HasPrefix(o.closers, "]") {
		escape := max(0, strings.LastIndexByte(body, '\\')) // that may be cut itself
		tries = []string{body + `"` + o.closers, body[:escape] + `"` + o.closers}
	}
	for _, try := range append(tries, body[:o.whole]+o.then) {
		if json.Valid([]byte(try)) {
			return text[:start] + try
		}
	}
	return text
}

// openJSON describes the beginning of a JSON value.
type openJSON struct {
	inText  bool   // it ends within a string
	closers string // of the brackets that are open, the innermost first
	whole   int    // where its last whole item or field ends
	then    string // the brackets open there
}

func scanOpen(body string) openJSON {
	var o openJSON
	escaped := false
	for i := range len(body) {
		c := body[i]
		switch {
		case escaped:
			escaped = false
		case o.inText && c == '\\':
			escaped = true
		case c == '"':
			o.inText = !o.inText
		case o.inText:
		case c == '[':
			o.closers = "]" + o.closers
			o.whole, o.then = i+1, o.closers
		case c == '{':
			o.closers = "}" + o.closers
			o.whole, o.then = i+1, o.closers
		case c == ']' || c == '}':
			o.closers = o.closers[1:]
			o.whole, o.then = i+1, o.closers
		case c == ',':
			o.whole, o.then = i, o.closers
		}
	}
	return o
}
