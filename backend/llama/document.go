package llama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
