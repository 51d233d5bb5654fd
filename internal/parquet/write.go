package parquet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"
)

// Write writes rows, which are JSON objects, to a file. They are gone through twice: what the columns are is told
// from all of them. Text, whole numbers, other numbers and truth values are what they are; an array is a list, and
// an object a group with the members of all rows, or a map if its column is one of maps. A column that holds now this
// and now that is one of JSON. [File.Rows] gives the same rows back, less what is null.
func Write(w io.Writer, rows iter.Seq2[json.RawMessage, error], maps ...string) error {
	top := &shape{kind: object, members: map[string]*shape{}}
	for _, name := range maps {
		top.members[name] = &shape{kind: mapping, elem: &shape{}}
	}
	for row, err := range rows {
		if err == nil {
			err = top.see(row, 0)
		}
		if err != nil {
			return err
		}
		if top.kind != object {
			return errors.New("not to be written as Parquet: a row is no object, or the name of a column is empty or " +
				"too long")
		}
	}
	if len(top.order) == 0 {
		return errors.New("not to be written as Parquet: there are no columns")
	}
	s := &shredder{}
	root := group{pq.Group{}, top.order}
	for _, name := range top.order {
		root.Group[name] = s.node(top.members[name], 0)
	}
	out := pq.NewWriter(w, pq.NewSchema("row", root), pq.Compression(&pq.Snappy), pq.MaxRowsPerRowGroup(1<<16))
	s.columns = make([][]pq.Value, s.leaves)
	for raw, err := range rows {
		if err != nil {
			return err
		}
		row, err := s.row(top, raw)
		if err != nil {
			return err
		}
		if _, err := out.WriteRows([]pq.Row{row}); err != nil {
			return err
		}
	}
	return out.Close()
}

// A shape is what the values of a column have in common.
type shape struct {
	kind    shapeKind
	big     bool              // there are whole numbers that no floating-point number is equal to
	elem    *shape            // of a list or map
	members map[string]*shape // of an object
	order   []string          // its members, as they appeared

	leaf  int // the first leaf
	count int // how many there are
	rep   int // of a list or map: the repetition level of its elements
}

type shapeKind int

const (
	nothing  shapeKind = iota // there are only nulls
	text                      //
	whole                     // 64-bit integers
	real                      // floating point
	truth                     //
	list                      //
	object                    //
	mapping                   //
	anything                  // JSON
)

// What is larger is JSON.
const (
	maxMembers = 256 // of an object
	maxNested  = 16
)

// see takes note of a value.
func (s *shape) see(raw json.RawMessage, depth int) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return errors.New("no JSON")
	}
	if raw[0] == 'n' || s.kind == anything {
		return nil
	}
	if depth > maxNested {
		s.kind = anything
		return nil
	}
	switch raw[0] {
	case '"':
		s.is(text)
	case 't', 'f':
		s.is(truth)
	case '[':
		if s.is(list); s.kind != list {
			return nil
		}
		var elems []json.RawMessage
		if err := json.Unmarshal(raw, &elems); err != nil {
			return err
		}
		for _, e := range elems {
			if err := s.elem.see(e, depth+1); err != nil {
				return err
			}
		}
	case '{':
		return s.seeObject(raw, depth)
	default:
		s.seeNumber(string(raw))
	}
	return nil
}

// is takes note of the kind of a value.
func (s *shape) is(kind shapeKind) {
	switch {
	case s.kind == nothing:
		s.kind = kind
		if kind == list {
			s.elem = &shape{}
		}
		if kind == object {
			s.members = map[string]*shape{}
		}
	case s.kind == kind:
	case s.kind == whole && kind == real && !s.big, s.kind == real && kind == whole && !s.big:
		s.kind = real
	default:
		s.kind = anything
	}
}

func (s *shape) seeNumber(digits string) {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		s.big = s.big || n > 1<<53 || n < -1<<53
		s.is(whole)
		return
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.Abs(f) > 1<<53 && !strings.ContainsAny(digits, ".eE") {
		s.kind = anything // a whole number too long for either
		return
	}
	s.is(real)
}

func (s *shape) seeObject(raw json.RawMessage, depth int) error {
	if s.kind != mapping {
		if s.is(object); s.kind != object {
			return nil
		}
	}
	names, values, err := members(raw)
	if err != nil {
		return err
	}
	for i, name := range names {
		if s.kind == mapping {
			if err := s.elem.see(values[i], depth+1); err != nil {
				return err
			}
			continue
		}
		m := s.members[name]
		if m == nil {
			m = &shape{}
			s.members[name] = m
		}
		if !slices.Contains(s.order, name) {
			s.order = append(s.order, name)
		}
		if depth > 0 && len(s.order) > maxMembers || name == "" || len(name) > 1024 || !utf8.ValidString(name) {
			s.kind = anything
			return nil
		}
		if err := m.see(values[i], depth+1); err != nil {
			return err
		}
	}
	return nil
}

// members cuts an object into its members, in their order.
func members(raw json.RawMessage) (names []string, values []json.RawMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		name, ok := key.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil || !ok {
			return nil, nil, fmt.Errorf("no JSON object: %v", err)
		}
		names, values = append(names, name), append(values, value)
	}
	return names, values, nil
}

// A group is a group whose fields stand in an order of their own: that of pq.Group is by the alphabet.
type group struct {
	pq.Group
	order []string
}

// Fields returns the fields in their order.
func (g group) Fields() []pq.Field {
	fields := make([]pq.Field, len(g.order))
	for _, f := range g.Group.Fields() {
		fields[slices.Index(g.order, f.Name())] = f
	}
	return fields
}

// A shredder cuts rows into the values of their columns, each with the levels that tell where it belongs.
type shredder struct {
	leaves  int
	columns [][]pq.Value // of the row at hand
}

// node makes the column of a shape. Rep is how many lists are around it.
func (s *shredder) node(sh *shape, rep int) pq.Node {
	sh.leaf = s.leaves
	var n pq.Node
	switch sh.kind {
	case list:
		sh.rep = rep + 1
		n = pq.List(s.node(sh.elem, sh.rep))
	case mapping:
		sh.rep = rep + 1
		s.leaves++ // the key
		n = pq.Map(pq.String(), s.node(sh.elem, sh.rep))
	case object:
		if len(sh.order) > 0 {
			g := group{pq.Group{}, sh.order}
			for _, name := range sh.order {
				g.Group[name] = s.node(sh.members[name], rep)
			}
			n = g
			break
		}
		sh.kind = anything // Parquet has no group without fields
		fallthrough
	default:
		s.leaves++
		switch sh.kind {
		case whole:
			n = pq.Int(64)
		case real:
			n = pq.Leaf(pq.DoubleType)
		case truth:
			n = pq.Leaf(pq.BooleanType)
		case anything:
			n = pq.JSON()
		default:
			n = pq.String()
		}
	}
	sh.count = s.leaves - sh.leaf
	return pq.Optional(n)
}

// row cuts one row.
func (s *shredder) row(top *shape, raw json.RawMessage) (pq.Row, error) {
	for i := range s.columns {
		s.columns[i] = s.columns[i][:0]
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	for _, name := range top.order {
		if err := s.cut(top.members[name], fields[name], 0, 0); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return slices.Concat(s.columns...), nil
}

// add adds a value to a column.
func (s *shredder) add(leaf, rep, def int, v pq.Value) {
	s.columns[leaf] = append(s.columns[leaf], v.Level(rep, def, leaf))
}

// none adds what stands for nothing to every column of a shape.
func (s *shredder) none(sh *shape, rep, def int) {
	for i := range sh.count {
		s.add(sh.leaf+i, rep, def, pq.NullValue())
	}
}

// cut adds the values of one shape.
func (s *shredder) cut(sh *shape, raw json.RawMessage, rep, def int) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] == 'n' {
		s.none(sh, rep, def)
		return nil
	}
	def++
	switch sh.kind {
	case list:
		var elems []json.RawMessage
		if err := json.Unmarshal(raw, &elems); err != nil {
			return err
		}
		for i, e := range elems {
			if i == 1 {
				rep = sh.rep
			}
			if err := s.cut(sh.elem, e, rep, def+1); err != nil {
				return err
			}
		}
		if len(elems) == 0 {
			s.none(sh, rep, def)
		}
		return nil
	case mapping:
		names, values, err := members(raw)
		for i, name := range names {
			if i == 1 {
				rep = sh.rep
			}
			s.add(sh.leaf, rep, def+1, pq.ByteArrayValue([]byte(name)))
			if err := s.cut(sh.elem, values[i], rep, def+1); err != nil {
				return err
			}
		}
		if len(names) == 0 {
			s.none(sh, rep, def)
		}
		return err
	case object:
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			return err
		}
		for _, name := range sh.order {
			if err := s.cut(sh.members[name], fields[name], rep, def); err != nil {
				return err
			}
		}
		return nil
	}
	v, err := sh.plain(raw)
	if err != nil {
		return err
	}
	s.add(sh.leaf, rep, def, v)
	return nil
}

// plain is a value without parts.
func (sh *shape) plain(raw json.RawMessage) (v pq.Value, err error) {
	switch sh.kind {
	case whole:
		var n int64
		err = json.Unmarshal(raw, &n)
		return pq.Int64Value(n), err
	case real:
		var f float64
		err = json.Unmarshal(raw, &f)
		return pq.DoubleValue(f), err
	case truth:
		var b bool
		err = json.Unmarshal(raw, &b)
		return pq.BooleanValue(b), err
	case anything:
		return pq.ByteArrayValue(bytes.Clone(raw)), nil
	}
	var t string
	err = json.Unmarshal(raw, &t)
	return pq.ByteArrayValue([]byte(t)), err
}
