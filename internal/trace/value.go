package trace

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxSegments bounds how deep the name of an attribute may nest. A longer one is kept as it is.
const maxSegments = 32

// nest makes a tree of values whose names have dots: {"a.0.b": 1} becomes {"a": [{"b": 1}]}. Where a name is another's
// beginning, its value stands under the empty name.
func nest(v any) any {
	switch v := v.(type) {
	case map[string]any:
		tree := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			path := strings.Split(key, ".")
			if len(path) > maxSegments {
				path = []string{key}
			}
			graft(tree, path, nest(v[key]))
		}
		return listed(tree)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = nest(v[i])
		}
		return list
	}
	return v
}

func graft(tree map[string]any, path []string, value any) {
	old, taken := tree[path[0]]
	branch, isBranch := old.(map[string]any)
	switch more, isMap := value.(map[string]any); {
	case len(path) > 1 && !isBranch:
		branch = map[string]any{}
		if taken {
			branch[""] = old
		}
		tree[path[0]] = branch
		graft(branch, path[1:], value)
	case len(path) > 1:
		graft(branch, path[1:], value)
	case isBranch && isMap:
		for _, key := range slices.Sorted(maps.Keys(more)) {
			graft(branch, []string{key}, more[key])
		}
	case isBranch:
		branch[""] = value
	default:
		tree[path[0]] = value
	}
}

// listed replaces, within a tree, objects whose members are all numbered by lists in the order of the numbers.
func listed(v any) any {
	tree, ok := v.(map[string]any)
	if !ok {
		return v
	}
	numbered := len(tree) > 0
	for key := range tree {
		tree[key] = listed(tree[key])
		if _, err := strconv.ParseUint(key, 10, 31); err != nil {
			numbered = false
		}
	}
	if !numbered {
		return tree
	}
	keys := slices.SortedFunc(maps.Keys(tree), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		if x == y {
			return strings.Compare(a, b)
		}
		return x - y
	})
	list := make([]any, len(keys))
	for i, key := range keys {
		list[i] = tree[key]
	}
	return list
}

// at walks into objects; nil where there is nothing.
func at(v any, path ...string) any {
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// pick returns the first of the named members that is there and not null or empty text.
func pick(v any, names ...string) any {
	for _, name := range names {
		if value := at(v, name); value != nil && value != "" {
			return value
		}
	}
	return nil
}

// has reports whether all members are there, null or not.
func (r Record) has(names ...string) bool {
	for _, name := range names {
		if _, ok := r[name]; !ok {
			return false
		}
	}
	return true
}

// any returns the record as a value.
func (r Record) any() any { return map[string]any(r) }

// open returns what JSON says that is written in a string, if that is an object or a list; any other value as it is.
func open(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	trimmed := strings.TrimSpace(text)
	if len(trimmed) < 2 || trimmed[0] != '{' && trimmed[0] != '[' {
		return v
	}
	dec := json.NewDecoder(strings.NewReader(trimmed))
	dec.UseNumber()
	var inner any
	if dec.Decode(&inner) != nil {
		return v
	}
	if _, err := dec.Token(); err != io.EOF {
		return v
	}
	return inner
}

// text writes a value as text: a string as it is, anything else as JSON; nil is "".
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "" // unreachable: it came from JSON
	}
	return string(b)
}

// list returns a list, or the list that a string holds; nil if it is none.
func list(v any) []any {
	l, _ := open(v).([]any)
	return l
}

// object returns an object, or the object that a string holds; nil if it is none.
func object(v any) map[string]any {
	o, _ := open(v).(map[string]any)
	return o
}

// blank reports whether a value says nothing.
func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
