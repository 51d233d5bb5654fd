package parquet

import (
	"bytes"
	"errors"
	"fmt"
)

// A rowWriter writes the values of a row as JSON. Which object, list or null a value belongs to is told by its two
// levels, as Melnik et al. describe it for Dremel (VLDB 2010, section 4).
type rowWriter struct {
	b     []byte
	max   int
	bytes bool // of the field at hand: it holds bytes that are no text
}

var errTooLong = errors.New("too long")

var errUneven = errors.New("damaged: the columns of a group, list or map do not have the same number of values")

// field returns the JSON of a column, nil if it is null.
func (w *rowWriter) field(n *node) ([]byte, error) {
	start := len(w.b)
	w.bytes = false
	there, err := w.write(n)
	if err != nil || !there {
		return nil, err
	}
	return w.b[start:len(w.b):len(w.b)], nil
}

// write appends a node and reports whether it is there: nothing is written for what is null.
func (w *rowWriter) write(n *node) (bool, error) {
	v := n.leaves[0].look()
	switch {
	case v == nil:
		return false, errUneven
	case len(w.b) > w.max:
		return false, errTooLong
	case v.DefinitionLevel() < n.null:
		return false, n.pass()
	}
	switch n.kind {
	case isObject:
		return true, w.object(n)
	case isList, isMap:
		return true, w.elements(n)
	}
	l := n.leaves[0]
	l.next++
	if v.IsNull() {
		return false, nil
	}
	var kind valueKind
	var err error
	w.b, kind, err = l.append(w.b, *v)
	w.bytes = w.bytes || kind == isBytes
	return kind != isNothing, err
}

// pass uses up one value of every leaf: that is what stands for a null or an empty list.
func (n *node) pass() error {
	for _, l := range n.leaves {
		if l.look() == nil {
			return errUneven
		}
		l.next++
	}
	return nil
}

func (w *rowWriter) object(n *node) error {
	w.b = append(w.b, '{')
	empty := true
	for _, f := range n.fields {
		start := len(w.b)
		if !empty {
			w.b = append(w.b, ',')
		}
		w.b = append(appendText(w.b, f.name), ':')
		there, err := w.write(f)
		if err != nil {
			return err
		}
		if !there {
			w.b = w.b[:start]
		}
		empty = empty && !there
	}
	w.b = append(w.b, '}')
	return nil
}

// elements writes a list, or a map as an object.
func (w *rowWriter) elements(n *node) error {
	brackets, keys := "[]", map[string]bool(nil)
	if n.kind == isMap {
		brackets, keys = "{}", map[string]bool{}
	}
	w.b = append(w.b, brackets[0])
	first := n.leaves[0]
	if first.look().DefinitionLevel() < n.def {
		w.b = append(w.b, brackets[1])
		return n.pass()
	}
	for {
		if n.kind == isMap {
			if err := w.key(n.key, keys); err != nil {
				return err
			}
		}
		there := false
		if n.elem != nil {
			var err error
			if there, err = w.write(n.elem); err != nil {
				return err
			}
		}
		if !there {
			w.b = append(w.b, "null"...)
		}
		if v := first.look(); v == nil || v.RepetitionLevel() != n.rep {
			break
		}
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, brackets[1])
	return nil
}

// key writes the key of a map, as text whatever it was.
func (w *rowWriter) key(n *node, seen map[string]bool) error {
	start := len(w.b)
	there, err := w.write(n)
	if err != nil {
		return err
	}
	if !there {
		return &valueError{"a map has a key that is null"}
	}
	text := bytes.Clone(w.b[start:])
	if text[0] != '"' {
		w.b = appendText(w.b[:start], string(text))
		text = bytes.Clone(w.b[start:])
	}
	if seen[string(text)] {
		return &valueError{fmt.Sprintf("a map has the key %.60s twice", text)}
	}
	seen[string(text)] = true
	w.b = append(w.b, ':')
	return nil
}
