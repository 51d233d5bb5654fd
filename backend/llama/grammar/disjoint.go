package grammar

import (
	"fmt"
	"slices"
)

// maxCompared bounds the pairs of schemas and values that are looked at to tell whether schemas exclude each
// other.
const maxCompared = 100_000

// apart tells whether no value satisfies two schemas of one document. In doubt, it says that one may.
type apart struct {
	root     document
	compared int
}

// check says what is wrong with the alternatives of a oneOf, "" if no value may satisfy two of them.
func (a *apart) check(schemas []document) string {
	for i := range schemas {
		for j := range i {
			switch {
			case a.schemas(schemas[j], schemas[i], 0):
			case a.compared > maxCompared:
				return "there are too many alternatives to tell whether they exclude each other: use anyOf"
			default:
				return fmt.Sprintf("a value may satisfy both %d and %d: give them different types, or a required "+
					"property with different values, or use anyOf", j, i)
			}
		}
	}
	return ""
}

func (a *apart) schemas(x, y document, depth int) bool {
	a.compared++
	if depth > maxNesting || a.compared > maxCompared {
		return false
	}
	if x.kind == 'f' || y.kind == 'f' {
		return true
	}
	if xs := a.alternatives(x); xs != nil {
		return !slices.ContainsFunc(xs, func(x document) bool { return !a.schemas(x, y, depth+1) })
	}
	if ys := a.alternatives(y); ys != nil {
		return !slices.ContainsFunc(ys, func(y document) bool { return !a.schemas(x, y, depth+1) })
	}
	xs, xListed := listed(x)
	ys, yListed := listed(y)
	switch {
	case xListed && yListed:
		return !slices.ContainsFunc(xs, func(v document) bool {
			return slices.ContainsFunc(ys, func(w document) bool {
				a.compared++
				return a.compared > maxCompared || mayBeEqual(v, w)
			})
		})
	case xListed:
		return !slices.ContainsFunc(xs, func(v document) bool { return allows(y, v) })
	case yListed:
		return !slices.ContainsFunc(ys, func(v document) bool { return allows(x, v) })
	}
	common := commonTypes(x, y)
	return len(common) == 0 || len(common) == 1 && common[0] == "object" && a.objects(x, y, depth)
}

// alternatives returns the schemas of which a value must satisfy one, if a schema is of that kind.
func (a *apart) alternatives(s document) []document {
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		if d, ok := s.get(name); ok && (name != "allOf" || len(d.items) == 1) {
			return d.items
		}
	}
	if ref, ok := s.get("$ref"); ok {
		if _, target, ok := a.root.resolve(ref); ok {
			return []document{target}
		}
	}
	return nil
}

// objects tells whether no object satisfies both schemas: one requires a property that the other does not
// permit, or not with such values.
func (a *apart) objects(x, y document, depth int) bool {
	return a.requires(x, y, depth) || a.requires(y, x, depth)
}

func (a *apart) requires(x, y document, depth int) bool {
	required, _ := x.get("required")
	xs, _ := x.get("properties")
	ys, _ := y.get("properties")
	for _, name := range required.items {
		xp, ok := xs.get(name.text)
		if !ok {
			xp.kind = 't'
		}
		yp, ok := ys.get(name.text)
		if !ok {
			if yp, ok = y.get("additionalProperties"); !ok {
				continue
			}
		}
		if a.schemas(xp, yp, depth+1) {
			return true
		}
	}
	return false
}

// listed returns the values that a schema lists.
func listed(s document) ([]document, bool) {
	if v, ok := s.get("const"); ok {
		return []document{v}, true
	}
	v, ok := s.get("enum")
	return v.items, ok
}

// allows reports whether a schema's type permits a value.
func allows(s, v document) bool {
	t := typesOf(s)
	if v.kind == '0' {
		return slices.Contains(t, "number") || slices.Contains(t, "integer")
	}
	return slices.ContainsFunc(t, v.is)
}

// typesOf returns the types that a schema permits: all, if it does not say.
func typesOf(s document) []string {
	t, ok := s.get("type")
	switch {
	case !ok:
		return []string{"object", "array", "string", "number", "boolean", "null"}
	case t.kind != '[':
		return []string{t.text}
	}
	var types []string
	for _, t := range t.items {
		types = append(types, t.text)
	}
	return types
}

func commonTypes(x, y document) []string {
	var common []string
	for _, t := range typesOf(x) {
		for _, u := range typesOf(y) {
			switch {
			case t == u, t == "integer" && u == "number", t == "number" && u == "integer":
				common = append(common, t)
			}
		}
	}
	return common
}

// mayBeEqual reports whether two values are not seen to differ.
func mayBeEqual(v, w document) bool {
	switch {
	case v.kind != w.kind:
		return false
	case v.kind == '"':
		return v.text == w.text
	case v.kind == '0':
		x, ok1 := parseNumber(v.text)
		y, ok2 := parseNumber(w.text)
		return !ok1 || !ok2 || x.Cmp(y) == 0
	}
	return true
}
