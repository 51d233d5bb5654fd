package parquet

import (
	"fmt"
	"unicode/utf8"

	"github.com/assay-eval/assay/internal/parquet/bounds"
	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A node is a column, or a part of one, as JSON has it: a value, an object, a list or a map. Where the file spells a
// list in the three levels that the format asks for, or in the two of older writers, it is one node here.
type node struct {
	name   string
	kind   nodeKind
	null   int     // the definition level under which it is null; 0: it never is
	rep    int     // of a list or map: the repetition level of its elements
	def    int     // of a list or map: the definition level under which it is empty
	fields []*node // of an object
	key    *node   // of a map
	elem   *node   // of a list or map; nil for a map without values
	leaves []*leaf // all below it, at least one
}

type nodeKind int

const (
	isValue nodeKind = iota
	isObject
	isList
	isMap
)

// A layout is the columns of a file, and all leaves below them in the order that the file has them.
type layout struct {
	columns []*node
	leaves  []*leaf
}

// bounds is what the checks of pages need to know of the leaves.
func (f *layout) bounds() []*bounds.Column {
	var list []*bounds.Column
	for _, l := range f.leaves {
		list = append(list, &l.Column)
	}
	return list
}

// layOut finds the columns and the leaves below the root of a file's schema.
func layOut(root *pq.Column) (layout, error) {
	var f layout
	seen := map[string]bool{}
	for _, c := range root.Columns() {
		n, err := f.build(c)
		if err != nil {
			return f, err
		}
		if n == nil {
			continue // an empty group has no values at all
		}
		if seen[n.name] {
			return f, fmt.Errorf("the column %q is there twice", n.name)
		}
		seen[n.name] = true
		f.columns = append(f.columns, n)
	}
	return f, nil
}

// build makes a node of a column and of what lies below it; nil if nothing does.
func (f *layout) build(c *pq.Column) (*node, error) {
	if name := c.Name(); name == "" || len(name) > 1024 || !utf8.ValidString(name) {
		return nil, fmt.Errorf("the name of a column is empty, longer than 1024 bytes or not UTF-8: %.60q", name)
	}
	n, err := f.core(c)
	if n == nil || err != nil {
		return nil, err
	}
	n.name = c.Name()
	if c.Optional() {
		n.null = c.MaxDefinitionLevel()
	}
	if c.Repeated() { // a list without the groups around it, as protocol buffers have them
		n = &node{name: n.name, kind: isList, rep: c.MaxRepetitionLevel(), def: c.MaxDefinitionLevel(),
			elem: n, leaves: n.leaves}
	}
	return n, nil
}

// core makes a node of a column without regard to whether that is optional or repeated.
func (f *layout) core(c *pq.Column) (*node, error) {
	if c.Depth() > bounds.MaxDepth {
		return nil, fmt.Errorf("the column %q lies more than %d groups deep", c.Name(), bounds.MaxDepth)
	}
	if c.Leaf() {
		t := c.Type()
		l := &leaf{Column: bounds.Column{
			Name: c.Name(), Kind: t.Kind(), Def: c.MaxDefinitionLevel(), Rep: c.MaxRepetitionLevel(),
		}, append: valueOf(t)}
		if l.Kind == pq.FixedLenByteArray {
			l.Length = t.Length()
		}
		if c.Index() != len(f.leaves) {
			return nil, fmt.Errorf("damaged: the column %q is out of order", c.Name())
		}
		f.leaves = append(f.leaves, l)
		return &node{leaves: []*leaf{l}}, nil
	}
	if inner := c.Columns(); len(inner) == 1 && inner[0].Repeated() {
		r := inner[0]
		switch annotation(c).(type) {
		case *format.ListType:
			return f.list(c, r)
		case *format.MapType:
			if !r.Leaf() && (len(r.Columns()) == 1 || len(r.Columns()) == 2) {
				return f.mapping(r)
			}
		}
	}
	n := &node{kind: isObject}
	seen := map[string]bool{}
	for _, inner := range c.Columns() {
		field, err := f.build(inner)
		if err != nil {
			return nil, err
		}
		if field == nil {
			continue
		}
		if seen[field.name] {
			return nil, fmt.Errorf("the column %q is there twice in %q", field.name, c.Name())
		}
		seen[field.name] = true
		n.fields = append(n.fields, field)
		n.leaves = append(n.leaves, field.leaves...)
	}
	if len(n.leaves) == 0 {
		return nil, nil
	}
	return n, nil
}

// list makes a node of a column whose only part, r, is repeated. In three levels r is a group around the element; in
// two it is the element, which is told by the format's rules for old files.
func (f *layout) list(c, r *pq.Column) (*node, error) {
	two := r.Leaf() || len(r.Columns()) != 1 || r.Columns()[0].Repeated() ||
		r.Name() == "array" || r.Name() == c.Name()+"_tuple"
	var elem *node
	var err error
	if two {
		elem, err = f.core(r)
	} else {
		elem, err = f.build(r.Columns()[0])
	}
	if elem == nil || err != nil {
		return nil, err
	}
	return &node{kind: isList, rep: r.MaxRepetitionLevel(), def: r.MaxDefinitionLevel(),
		elem: elem, leaves: elem.leaves}, nil
}

// mapping makes a node of a map whose keys and values are in r.
func (f *layout) mapping(r *pq.Column) (*node, error) {
	n := &node{kind: isMap, rep: r.MaxRepetitionLevel(), def: r.MaxDefinitionLevel()}
	var err error
	if n.key, err = f.build(r.Columns()[0]); err != nil {
		return nil, err
	}
	if n.key == nil || n.key.kind != isValue {
		return nil, fmt.Errorf("the keys of a map, in %q, are no plain values", r.Name())
	}
	n.leaves = n.key.leaves
	if len(r.Columns()) == 2 {
		if n.elem, err = f.build(r.Columns()[1]); err != nil {
			return nil, err
		}
		if n.elem != nil {
			n.leaves = append(n.leaves[:1:1], n.elem.leaves...)
		}
	}
	return n, nil
}

// annotation is the logical type of a column, nil if it has none.
func annotation(c pq.Node) format.LogicalTypeValue {
	if t := c.Type().LogicalType(); t != nil {
		return t.Value
	}
	return nil
}
