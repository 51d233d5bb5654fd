package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A schema becomes a grammar whose texts are all valid under the schema, though not all that are valid:
//
//   - Properties come in the order of the schema, each name spelt with as few escapes as there can be, and
//     no others beside them. Only an object whose schema names none may have any.
//   - There is no white space but for one space after a colon or a comma, or none.
//   - What a schema says nothing about is not written, where that is possible: prefixItems without items
//     ends with the last of them.
//   - Without type, keywords that speak of objects make it an object, and so on.
//   - Numbers have at most 18 digits before the point and behind it, and exponents of up to two digits;
//     where there are limits, none. Counts end at 10,000.
//   - Where there is a pattern, characters are escaped only if they must be. Patterns are those of Go's
//     regexp package, without \b, \B and (?m).
//   - Values are nested up to about 100 deep, and a text that can be read in thousands of ways at once is
//     held to the first of them.
//
// A keyword that constrains and that is not listed below is refused, and so is one of the wholes beside
// any other but for an enum's or a const's type. The alternatives of oneOf must be seen to exclude each
// other: by type, by value, or by a property that one of them requires.

const maxCount = 10_000

// A keyword is of one of these kinds.
const (
	annotation = "annotation" // says nothing about what is valid
	whole      = "whole"      // says all there is to say
	typeWord   = "type"
	// Others are the type that they speak of.
)

func keyword(name string) (kind string) {
	switch name {
	case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
		"$schema", "$comment", "$defs", "definitions":
		return annotation
	case "$ref", "const", "enum", "anyOf", "oneOf", "allOf":
		return whole
	case "type":
		return typeWord
	case "properties", "required", "additionalProperties":
		return "object"
	case "items", "prefixItems", "minItems", "maxItems":
		return "array"
	case "minLength", "maxLength", "pattern":
		return "string"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return "number"
	}
	return ""
}

// A compiler turns a schema into an automaton.
type compiler struct {
	builder
	root   document
	places map[string]int32 // rules by where their schema stands
	apart  apart
	err    error // the first
}

// compileSchema turns a JSON Schema into a grammar.
func compileSchema(schema []byte) (*grammar, error) {
	root, err := readDocument(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	c := &compiler{root: root, places: map[string]int32{}, apart: apart{root: root}}
	c.names = map[string]int32{}
	c.at("#", root)
	if c.full {
		c.fail("#", "it takes too many states: lower its maxLength, maxItems and repetitions")
	}
	if c.err != nil {
		return nil, c.err
	}
	g, wrong := newGrammar(&c.builder)
	if g == nil {
		c.fail("#", "%s", wrong)
	}
	return g, c.err
}

// fail notes what is wrong, and where.
func (c *compiler) fail(at, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("the schema at %s: %s", at, fmt.Sprintf(format, args...))
	}
}

// at returns the rule for the schema at a place.
func (c *compiler) at(at string, schema document) int32 {
	if r, ok := c.places[at]; ok {
		return r
	}
	r, start := c.rule()
	c.places[at] = r
	if c.err == nil && !c.full {
		c.final(c.schema(start, at, schema))
	}
	return r
}

// schema leads through a value that satisfies a schema.
func (c *compiler) schema(from int32, at string, s document) int32 {
	switch s.kind {
	case 't':
		return c.call(from, c.anyValue())
	case 'f':
		return c.state() // which nothing leads to
	case '{':
	default:
		c.fail(at, "a schema is an object, true or false")
		return from
	}
	if name := c.check(at, s); name != "" {
		return c.whole(from, at, name, s)
	}
	types := c.types(at, s)
	if types == nil {
		return c.call(from, c.anyValue())
	}
	var ways []func(int32) int32
	for _, t := range types {
		ways = append(ways, func(from int32) int32 { return c.typed(from, at, t, s) })
	}
	return c.choice(from, ways...)
}

// check refuses keywords that are unknown or do not go together. It returns the whole among them, if any.
func (c *compiler) check(at string, s document) string {
	all, others := "", ""
	for _, name := range s.names {
		switch keyword(name) {
		case "":
			if name == "$id" && at == "#" {
				continue
			}
			c.fail(under(at, name), "%q is not supported", name)
		case annotation:
		case whole:
			if all != "" {
				c.fail(at, "%q beside %q is not supported", name, all)
			}
			all = name
		default:
			if name != "type" || others == "" {
				others = name
			}
		}
	}
	listed := all == "enum" || all == "const"
	if all != "" && others != "" && !(listed && others == "type") {
		c.fail(at, "%q beside %q is not supported", others, all)
	}
	return all
}

// types returns the types that a schema allows, nil for any. Those that its keywords speak of are taken
// where it does not say.
func (c *compiler) types(at string, s document) []string {
	t, ok := s.get("type")
	if !ok {
		var types []string
		for _, name := range s.names {
			if kind := keyword(name); kind != "" && kind != annotation && !slices.Contains(types, kind) {
				types = append(types, kind)
			}
		}
		return types
	}
	list := []document{t}
	if t.kind == '[' {
		list = t.items
	}
	types := []string{}
	for _, t := range list {
		switch t.text {
		case "object", "array", "string", "number", "integer", "boolean", "null":
		default:
			t.kind = 0
		}
		if t.kind != '"' || slices.Contains(types, t.text) {
			c.fail(under(at, "type"), "it must be the name of a type, or a list of different ones")
		}
		types = append(types, t.text)
	}
	return types
}

// whole leads through a value that satisfies one of the keywords that say all.
func (c *compiler) whole(from int32, at, name string, s document) int32 {
	value, _ := s.get(name)
	here := under(at, name)
	switch {
	case name == "$ref":
		place, target, ok := c.root.resolve(value)
		if !ok {
			c.fail(here, "it must point into the schema: #/$defs/...")
			return from
		}
		return c.call(from, c.at(place, target))
	case name == "const":
		return c.values(from, at, s, []document{value})
	case value.kind != '[' || len(value.items) == 0:
		c.fail(here, "it must be a list, and not empty")
		return from
	case name == "enum":
		return c.values(from, at, s, value.items)
	case name == "allOf" && len(value.items) > 1:
		c.fail(here, "more than one schema in allOf is not supported")
		return from
	case name == "oneOf":
		if wrong := c.apart.check(value.items); wrong != "" {
			c.fail(here, "%s", wrong)
		}
	}
	end := c.state()
	for i, item := range value.items {
		c.callTo(from, c.at(under(here, strconv.Itoa(i)), item), end)
	}
	return end
}

// values leads through one of some values, as far as the schema's type permits them.
func (c *compiler) values(from int32, at string, s document, values []document) int32 {
	types := []string{}
	if _, ok := s.get("type"); ok {
		types = c.types(at, s)
	}
	type branch struct {
		state int32
		b     byte
	}
	known := map[branch]int32{}
	end := c.state()
	for _, v := range values {
		if len(types) > 0 && !slices.ContainsFunc(types, v.is) {
			continue
		}
		var text strings.Builder
		v.spell(&text)
		s := from
		for _, b := range []byte(text.String()) {
			next, ok := known[branch{s, b}]
			switch {
			case ok:
			case b == softSpace[0]:
				next = c.space(s)
			default:
				next = c.step(s, b, b)
			}
			known[branch{s, b}] = next
			s = next
		}
		if _, ok := known[branch{s, 0xff}]; !ok {
			known[branch{s, 0xff}] = end
			c.join(s, end)
		}
	}
	return end
}

// typed leads through a value of one type.
func (c *compiler) typed(from int32, at, kind string, s document) int32 {
	switch kind {
	case "object":
		return c.object(from, at, s)
	case "array":
		return c.array(from, at, s)
	case "string":
		return c.str(from, at, s)
	case "boolean":
		return c.choice(from,
			func(from int32) int32 { return c.text(from, "true") },
			func(from int32) int32 { return c.text(from, "false") })
	case "null":
		return c.text(from, "null")
	}
	lo := tighter(c.limit(at, s, "minimum", false), c.limit(at, s, "exclusiveMinimum", true), -1)
	hi := tighter(c.limit(at, s, "maximum", false), c.limit(at, s, "exclusiveMaximum", true), 1)
	places := maxPlaces
	if kind == "integer" {
		places = 0
	}
	return c.number(from, lo, hi, places)
}

// limit returns one of a schema's limits on numbers, nil if it has none.
func (c *compiler) limit(at string, s document, name string, open bool) *limit {
	d, ok := s.get(name)
	if !ok {
		return nil
	}
	value, ok := parseNumber(d.text)
	if d.kind != '0' || !ok {
		c.fail(under(at, name), "it must be a number of no more than 40 digits and an exponent of no more than two")
		return nil
	}
	return &limit{value, open}
}

// count returns a schema's count, or another if it has none.
func (c *compiler) count(at string, s document, name string, missing int) int {
	d, ok := s.get(name)
	if !ok {
		return missing
	}
	value, ok := parseNumber(d.text)
	if d.kind != '0' || !ok || !value.IsInt() || value.Sign() < 0 {
		c.fail(under(at, name), "it must be a number from 0")
		return missing
	}
	n := value.Num()
	if !n.IsInt64() || n.Int64() > maxCount {
		if strings.HasPrefix(name, "min") {
			c.fail(under(at, name), "more than %d is not supported", maxCount)
		}
		return maxCount
	}
	return int(n.Int64())
}

// str leads through a string.
func (c *compiler) str(from int32, at string, s document) int32 {
	least, most := c.count(at, s, "minLength", 0), c.count(at, s, "maxLength", -1)
	if most >= 0 && most < least {
		return c.state()
	}
	pattern, ok := s.get("pattern")
	switch {
	case ok && pattern.kind != '"':
		c.fail(under(at, "pattern"), "it must be a string")
	case ok:
		end, err := c.pattern(from, pattern.text, least, most)
		if err != nil {
			c.fail(under(at, "pattern"), "the pattern cannot be used: %v", err)
		}
		return end
	}
	return c.call(from, c.named(fmt.Sprintf("string %d %d", least, most), func(from int32) int32 {
		return c.anyString(from, least, most)
	}))
}

// array leads through an array.
func (c *compiler) array(from int32, at string, s document) int32 {
	least, most := c.count(at, s, "minItems", 0), c.count(at, s, "maxItems", -1)
	prefix, tuple := s.get("prefixItems")
	if tuple && (prefix.kind != '[' || len(prefix.items) == 0) {
		c.fail(under(at, "prefixItems"), "it must be a list, and not empty")
	}
	items, ok := s.get("items")
	if !ok {
		items = document{kind: 't'}
		if tuple { // nobody asked for more
			end := max(least, len(prefix.items))
			if most < 0 || most > end {
				most = end
			}
		}
	}
	if items.kind == '[' {
		c.fail(under(at, "items"), "a list is not supported here: use prefixItems")
	}
	rule := func(i int) int32 {
		if i < len(prefix.items) {
			return c.at(under(at, "prefixItems", strconv.Itoa(i)), prefix.items[i])
		}
		return c.at(under(at, "items"), items)
	}
	end := c.state()
	s0 := c.step(from, '[', '[')
	for i := 0; !c.full; i++ {
		if i >= least {
			c.edge(s0, ']', ']', end)
		}
		if i == most {
			break
		}
		next := s0
		if i > 0 {
			next = c.space(c.step(s0, ',', ','))
		}
		if most < 0 && i >= max(least, len(prefix.items), 1) {
			c.callTo(next, rule(i), s0)
			break
		}
		s0 = c.call(next, rule(i))
	}
	return end
}

// A property is one that an object may have.
type property struct {
	name     string
	rule     int32
	required bool
}

// object leads through an object.
func (c *compiler) object(from int32, at string, s document) int32 {
	props := c.properties(at, s)
	if props == nil {
		return c.openObject(from, at, s)
	}
	end := c.state()
	// A state for each property that may be next: one if there was none before it, one if there was.
	none, some := c.step(from, '{', '{'), c.state()
	for _, p := range props {
		entry, nextNone, nextSome := c.state(), c.state(), c.state()
		c.join(none, entry)
		c.join(c.space(c.step(some, ',', ',')), entry)
		c.callTo(c.space(c.text(entry, quote(p.name)+":")), p.rule, nextSome)
		if !p.required {
			c.join(none, nextNone)
			c.join(some, nextSome)
		}
		none, some = nextNone, nextSome
	}
	c.edge(none, '}', '}', end)
	c.edge(some, '}', '}', end)
	return end
}

// properties returns an object's properties: those that are listed, then those that are only required.
func (c *compiler) properties(at string, s document) []property {
	listed, ok := s.get("properties")
	if ok && listed.kind != '{' {
		c.fail(under(at, "properties"), "it must be an object")
	}
	required, ok := s.get("required")
	unnamed := func(d document) bool { return d.kind != '"' }
	if ok && (required.kind != '[' || slices.ContainsFunc(required.items, unnamed)) {
		c.fail(under(at, "required"), "it must be a list of names")
	}
	var props []property
	for i, name := range listed.names {
		props = append(props, property{name: name, rule: c.at(under(at, "properties", name), listed.items[i])})
	}
	for _, d := range required.items {
		i := slices.IndexFunc(props, func(p property) bool { return p.name == d.text })
		if i < 0 {
			i = len(props)
			props = append(props, property{name: d.text, rule: c.additional(at, s)})
		}
		props[i].required = true
	}
	return props
}

// additional returns the rule for properties that are not listed.
func (c *compiler) additional(at string, s document) int32 {
	more, ok := s.get("additionalProperties")
	if !ok {
		more.kind = 't'
	}
	return c.at(under(at, "additionalProperties"), more)
}

// openObject leads through an object whose schema names no properties.
func (c *compiler) openObject(from int32, at string, s document) int32 {
	return c.members(from, c.additional(at, s))
}

// members leads through an object whose members have any names and values of one rule.
func (c *compiler) members(from, value int32) int32 {
	open := c.step(from, '{', '{')
	end, entry := c.state(), c.state()
	c.edge(open, '}', '}', end)
	c.join(open, entry)
	name := c.named("string 0 -1", func(from int32) int32 { return c.anyString(from, 0, -1) })
	colon := c.space(c.step(c.call(entry, name), ':', ':'))
	after := c.call(colon, value)
	c.edge(after, '}', '}', end)
	c.join(c.space(c.step(after, ',', ',')), entry)
	return end
}

// anyValue is the rule of any JSON value.
func (c *compiler) anyValue() int32 {
	const name = "value"
	return c.named(name, func(from int32) int32 {
		list := func(from int32) int32 {
			open, end, after := c.step(from, '[', '['), c.state(), c.state()
			c.edge(open, ']', ']', end)
			c.callTo(open, c.names[name], after)
			c.edge(after, ']', ']', end)
			c.callTo(c.space(c.step(after, ',', ',')), c.names[name], after)
			return end
		}
		return c.choice(from, list,
			func(from int32) int32 { return c.members(from, c.names[name]) },
			func(from int32) int32 { return c.anyString(from, 0, -1) },
			func(from int32) int32 { return c.number(from, nil, nil, maxPlaces) },
			func(from int32) int32 { return c.text(from, "true") },
			func(from int32) int32 { return c.text(from, "false") },
			func(from int32) int32 { return c.text(from, "null") })
	})
}
