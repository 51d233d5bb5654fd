package grammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
)

// A document is a JSON value whose members keep the order that they were written in.
type document struct {
	kind  byte       // its first byte, but '0' for any number
	text  string     // of a string, without quotes; of a number, true, false and null, as written
	names []string   // of an object's members
	items []document // of an array, or an object's members
}

// Documents that are nested deeper than this, or longer, are refused.
const (
	maxNesting  = 64
	maxDocument = 256 << 10
)

// readDocument reads a JSON document.
func readDocument(text []byte) (document, error) {
	switch {
	case len(text) > maxDocument:
		return document{}, fmt.Errorf("it is longer than %d KiB", maxDocument>>10)
	case !json.Valid(text):
		return document{}, errors.New("it is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return nextDocument(d, 0)
}

func nextDocument(d *json.Decoder, depth int) (document, error) {
	if depth > maxNesting {
		return document{}, fmt.Errorf("it is nested more than %d deep", maxNesting)
	}
	token, err := d.Token()
	if err != nil {
		return document{}, err
	}
	switch token := token.(type) {
	case json.Number:
		return document{kind: '0', text: token.String()}, nil
	case string:
		return document{kind: '"', text: token}, nil
	case bool:
		if token {
			return document{kind: 't', text: "true"}, nil
		}
		return document{kind: 'f', text: "false"}, nil
	case json.Delim:
		return nextMembers(d, byte(token), depth)
	default:
		return document{kind: 'n', text: "null"}, nil
	}
}

// nextMembers reads what follows an opening bracket.
func nextMembers(d *json.Decoder, kind byte, depth int) (document, error) {
	doc := document{kind: kind}
	seen := map[string]bool{}
	for d.More() {
		if kind == '{' {
			token, err := d.Token()
			if err != nil {
				return document{}, err
			}
			name, _ := token.(string)
			if seen[name] {
				return document{}, fmt.Errorf("it has the name %q twice in one object", name)
			}
			seen[name] = true
			doc.names = append(doc.names, name)
		}
		item, err := nextDocument(d, depth+1)
		if err != nil {
			return document{}, err
		}
		doc.items = append(doc.items, item)
	}
	_, err := d.Token()
	return doc, err
}

// get returns an object's member.
func (d document) get(name string) (document, bool) {
	for i, n := range d.names {
		if n == name {
			return d.items[i], true
		}
	}
	return document{}, false
}

// softSpace stands, in what spell returns, for a space that may be left out. JSON has no such byte.
const softSpace = "\x00"

// spell writes a document the way that replies are to have it.
func (d document) spell(b *strings.Builder) {
	switch d.kind {
	case '"':
		b.WriteString(quote(d.text))
	case '[', '{':
		b.WriteByte(d.kind)
		for i, item := range d.items {
			if i > 0 {
				b.WriteString("," + softSpace)
			}
			if d.kind == '{' {
				b.WriteString(quote(d.names[i]) + ":" + softSpace)
			}
			item.spell(b)
		}
		b.WriteByte(d.kind + 2) // both closing brackets stand two behind the opening ones
	default:
		b.WriteString(d.text)
	}
}

// quote writes a JSON string with as few escapes as there can be.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch short := shortEscape(s[i]); {
		case short != 0:
			b.WriteString(`\` + string(short))
		case s[i] < ' ':
			fmt.Fprintf(&b, `\u%04x`, s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	b.WriteByte('"')
	return b.String()
}

// shortEscape returns what stands behind the backslash in the short escape of a byte that a JSON string
// cannot hold as it is, or 0 if there is none.
func shortEscape(b byte) byte {
	if i := strings.IndexByte("\"\\\b\f\n\r\t", b); i >= 0 {
		return "\"\\bfnrt"[i]
	}
	return 0
}

// is reports whether a value is of a type.
func (d document) is(t string) bool {
	switch d.kind {
	case '{':
		return t == "object"
	case '[':
		return t == "array"
	case '"':
		return t == "string"
	case 'n':
		return t == "null"
	case 't', 'f':
		return t == "boolean"
	}
	return t == "number" || t == "integer" && d.integer()
}

// integer reports whether a number has no fraction. In doubt, it has.
func (d document) integer() bool {
	value, ok := parseNumber(d.text)
	return ok && value.IsInt()
}

// parseNumber reads a number of a schema. It reports false for those that take more digits than anyone needs.
func parseNumber(number string) (*big.Rat, bool) {
	_, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if len(number) > 40 || len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return nil, false
	}
	return new(big.Rat).SetString(number)
}

// under returns the place of a part of a schema.
func under(at string, names ...string) string {
	for _, n := range names {
		at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(n)
	}
	return at
}

// resolve finds the part of a document that a reference, "#/$defs/node", points to, and where that stands.
func (d document) resolve(ref document) (place string, target document, ok bool) {
	path, local := strings.CutPrefix(ref.text, "#")
	path, err := url.PathUnescape(path)
	if ref.kind != '"' || !local || err != nil || path != "" && path[0] != '/' {
		return "", document{}, false
	}
	place, target = "#", d
	for i, name := range strings.Split(path, "/") {
		if i == 0 {
			continue
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if target.kind == '[' {
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(target.items) || strconv.Itoa(n) != name {
				return "", document{}, false
			}
			target = target.items[n]
		} else if target, ok = target.get(name); !ok {
			return "", document{}, false
		}
		place = under(place, name)
	}
	return place, target, true
}
