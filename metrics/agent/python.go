package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// pythonString writes a JSON value as Python's str does once Python has read it.
func pythonString(raw json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return pythonValue(d, false)
}

// pythonValue writes the next value of d. A string inside a list or an object is quoted, one by itself is not.
func pythonValue(d *json.Decoder, inside bool) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	switch v := token.(type) {
	case string:
		if inside {
			return pythonQuote(v), nil
		}
		return v, nil
	case json.Number:
		return pythonNumber(v.String()), nil
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	case json.Delim:
		return pythonContainer(d, v == '{')
	}
	return "None", nil
}

// pythonContainer writes the list or object that d has entered.
func pythonContainer(d *json.Decoder, object bool) (string, error) {
	var parts []string
	for d.More() {
		part, err := pythonValue(d, true)
		if err == nil && object {
			var value string
			value, err = pythonValue(d, true)
			part += ": " + value
		}
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	if _, err := d.Token(); err != nil { // the closing bracket
		return "", err
	}
	if object {
		return "{" + strings.Join(parts, ", ") + "}", nil
	}
	return "[" + strings.Join(parts, ", ") + "]", nil
}

// pythonNumber writes a whole number as its digits and any other as the shortest decimal that is the same
// double: 1.0, 0.1, 1e+16.
func pythonNumber(number string) string {
	if !strings.ContainsAny(number, ".eE") {
		if number == "-0" {
			return "0"
		}
		return number
	}
	x, _ := strconv.ParseFloat(number, 64) // too large a number is infinite, for Python too
	if math.IsInf(x, 0) {
		return strings.TrimPrefix(strings.ToLower(fmt.Sprint(x)), "+")
	}
	text := strconv.FormatFloat(x, 'e', -1, 64)
	_, power, _ := strings.Cut(text, "e")
	if p, _ := strconv.Atoi(power); p >= 16 || p < -4 {
		return text
	}
	text = strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// pythonQuote writes a string as Python's repr does: in single quotes, unless it holds some and no double ones.
func pythonQuote(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}
