package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func mustCompile(t testing.TB, schema string) *grammar {
	t.Helper()
	g, err := compileSchema([]byte(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return g
}

// takes reports whether a text is in a grammar's language.
func takes(g *grammar, text string) bool {
	at := g.begin
	for i := range len(text) {
		at = g.step(at, text[i])
	}
	return at != g.dead && at.done
}

// validator returns another program's opinion of documents.
func validator(t testing.TB, schema string) func(text string) error {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return func(text string) error {
		if !utf8.ValidString(text) {
			return errors.New("it is not UTF-8")
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
}

// walk writes a text of a grammar at random, at most limit bytes of it. It reports whether the text is
// complete.
func walk(t testing.TB, rng *rand.Rand, g *grammar, limit int) (string, bool) {
	t.Helper()
	var text []byte
	for at := g.begin; ; {
		var live []byte
		for class, b := range g.first {
			if g.step(at, b) != g.dead {
				end := 256
				if class+1 < len(g.first) {
					end = int(g.first[class+1])
				}
				live = append(live, b+byte(rng.IntN(end-int(b))))
				if strings.IndexByte(`"]}`, b) >= 0 && rng.IntN(4) == 0 {
					live = []byte{b} // lest it become too long
					break
				}
			}
		}
		switch {
		case len(live) == 0 && !at.done:
			t.Fatalf("no way on after %q", text)
		case at.done && (len(live) == 0 || rng.IntN(3) == 0):
			return string(text), true
		case len(text) == limit:
			return string(text), false
		}
		b := live[rng.IntN(len(live))]
		text = append(text, b)
		at = g.step(at, b)
	}
}

// verdictSchema is of the kind that metrics use.
const verdictSchema = `{"type":"object","properties":{
	"statements":{"type":"array","maxItems":5,"items":{"type":"object","properties":{
		"statement":{"type":"string","minLength":1},
		"reason":{"type":"string","maxLength":200},
		"verdict":{"enum":[0,1]}},
		"required":["statement","verdict"],"additionalProperties":false}},
	"score":{"type":"number","minimum":0,"maximum":1},
	"label":{"type":["string","null"],"enum":["yes","no",null]}},
	"required":["statements","label"],"additionalProperties":false}`

// schemas are of all kinds that are supported.
var schemas = []string{
	verdictSchema,
	`true`,
	`{}`,
	`{"title":"t","description":"d","default":1,"examples":[1],"$comment":"c","$id":"x","$schema":"https://json-schema.org/draft/2020-12/schema"}`,
	`{"type":"object"}`,
	`{"type":"object","additionalProperties":false}`,
	`{"type":"object","additionalProperties":{"type":"integer"}}`,
	`{"properties":{"a":{"type":"integer"},"b":false,"c":true},"required":["d"]}`,
	`{"properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}}}`,
	`{"required":["x","y"],"additionalProperties":{"type":"boolean"}}`,
	`{"properties":{"\"\\\n\u0001é/":{"const":1}},"required":["\"\\\n\u0001é/"]}`,
	`{"type":"array"}`,
	`{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":4}`,
	`{"items":{"type":"boolean"},"minItems":3}`,
	`{"type":"array","maxItems":0}`,
	`{"items":false}`,
	`{"prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":1}`,
	`{"prefixItems":[{"type":"integer"}],"minItems":3}`,
	`{"prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2}`,
	`{"prefixItems":[{"type":"integer"},{"type":"null"}],"items":{"const":"x"},"maxItems":3}`,
	`{"enum":["a","ab","b\"",1,1.50,-2e3,null,true,[1,{"a":[],"b":{}}],{}]}`,
	`{"type":"string","enum":["a",1,"b"]}`,
	`{"type":["integer"],"enum":[1,1.0,1.5]}`,
	`{"const":{"z":1,"a":[2,"\u0000\u20ac"]}}`,
	`{"type":"string"}`,
	`{"type":"string","minLength":3,"maxLength":5}`,
	`{"type":"string","maxLength":0}`,
	`{"minLength":2}`,
	`{"type":"string","pattern":"^[A-Z]{2}-[0-9]{3,5}$"}`,
	`{"type":"string","pattern":"b+c"}`,
	`{"type":"string","pattern":"\\S","maxLength":4}`,
	`{"type":"string","pattern":"^(a|bb)*$","minLength":3,"maxLength":7}`,
	`{"type":"string","pattern":"(?i)^straße\\pL\\P{Lu}$|^x"}`,
	`{"type":"string","pattern":"^[^\"a]\\n[\\x00-\\x1f]{2}.$"}`,
	`{"type":"string","pattern":"^[\\x{700}-\\x{10000}]{2}$"}`,
	`{"type":"string","pattern":""}`,
	`{"type":"number"}`,
	`{"type":"integer"}`,
	`{"type":["integer","null","number"]}`,
	`{"type":"number","minimum":0,"maximum":1}`,
	`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`,
	`{"type":"number","minimum":-12.5,"exclusiveMaximum":1.25e1}`,
	`{"minimum":1e-12,"maximum":1e-9}`,
	`{"type":"integer","minimum":-3,"maximum":117}`,
	`{"type":"integer","minimum":0.5,"exclusiveMinimum":1,"maximum":5,"exclusiveMaximum":7}`,
	`{"type":"integer","minimum":1000}`,
	`{"type":"integer","exclusiveMaximum":0}`,
	`{"type":"boolean"}`,
	`{"type":"null"}`,
	`{"anyOf":[{"type":"integer"},{"type":"number","minimum":3},{"enum":["x"]},{"items":{"type":"null"}}]}`,
	`{"allOf":[{"$ref":"#/$defs/a~1b%25"}],"$defs":{"a/b%":{"type":"null"},"unused":{"not":{}}}}`,
	`{"oneOf":[{"type":"string"},{"type":"integer"},{"type":["null","boolean"]},{"enum":[[],{}]}]}`,
	`{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"v":{"type":"integer"}},"required":["kind"]},
		{"type":"object","properties":{"kind":{"enum":["b","c"]},"w":{"type":"integer"}},"required":["kind"]},
		{"type":"object","properties":{"other":{"type":"null"}},"required":["other"],"additionalProperties":false}]}`,
	`{"$ref":"#/definitions/node","definitions":{"node":{"type":"object","properties":{
		"value":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/definitions/node"},{"type":"null"}]}},"required":["next"]}}}`,
	`{"type":"array","items":{"$ref":"#"}}`,
	`{"anyOf":[{"const":1},{"type":"array","items":{"$ref":"#"},"minItems":1,"maxItems":2}]}`,
	`{"anyOf":[{"type":"array","items":{"$ref":"#"}},{"type":"array","items":{"$ref":"#"},"maxItems":7}]}`,
	`{"anyOf":[{"$ref":"#"},{"const":2}]}`,
}

// Whatever is written at random is valid, and there is always a way on.
func TestWalksAreValid(t *testing.T) {
	for i, schema := range schemas {
		g, valid := mustCompile(t, schema), validator(t, schema)
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		complete := 0
		for range 300 {
			text, done := walk(t, rng, g, 2000)
			if !done {
				continue
			}
			complete++
			if err := valid(text); err != nil {
				t.Errorf("%s\nwrites %s\n%v", schema, text, err)
				break
			}
			if strings.Contains(text, "\n") {
				t.Errorf("%s\nwrites a line break: %q", schema, text)
			}
		}
		if complete < 100 {
			t.Errorf("%s\nonly %d of 300 walks came to an end", schema, complete)
		}
	}
}

func TestDocuments(t *testing.T) {
	check := func(schema string, yes []string, no ...string) {
		t.Helper()
		g := mustCompile(t, schema)
		for _, text := range yes {
			if !takes(g, text) {
				t.Errorf("%s refuses %s", schema, text)
			}
		}
		for _, text := range no {
			if takes(g, text) {
				t.Errorf("%s takes %s", schema, text)
			}
		}
	}
	check(verdictSchema,
		[]string{`{"statements":[],"label":null}`,
			`{"statements": [{"statement": "a b", "verdict": 1}, {"statement": "é", "reason": "", "verdict": 0}], "score": 0.25, "label": "no"}`},
		`{"label":null,"statements":[]}`, `{"statements":[]}`, `{"statements":[],"label":"maybe"}`,
		`{"statements":[],"label":null,}`,
		`{"statements":[],"label":null,"x":1}`, `{"statements":[],"score":1.01,"label":null}`,
		`{ "statements":[],"label":null}`,
		`{"statements":[],  "label":null}`, `{"statements":[{"statement":"","verdict":1}],"label":null}`)
	check(`{"properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}}}`,
		[]string{`{}`, `{"a":null}`, `{"b":null}`, `{"c":null}`, `{"a":null,"b":null}`, `{"a":null,"c":null}`,
			`{"b":null,"c":null}`,
			`{"a":null,"b":null,"c":null}`},
		`{,"a":null}`, `{"a":null,}`, `{"b":null,"a":null}`, `{"a":null,"a":null}`)
	check(`true`,
		[]string{`{"a":[1,-2.5e+10,0.5E-3,{"b":{}}],"":[]}`, `[[[]],"\u00e9\ud83d\ude00\n\/",true,false,null]`,
			`0`, `-0`, `"é😀"`,
			strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		`[1,]`, `{"a"}`, `01`, `1.`, `.5`, `+1`, `"\x"`, `"\ud83d"`, `"\ude00"`, "\"\n\"", "\"\xff\"",
		"\"\xed\xa0\x80\"", "\"\xc0\xaf\"", `nul`, ``,
		`{"a":1 }`, `'a'`, strings.Repeat("[", 1000)+strings.Repeat("]", 1000))
	check(`{"type":"string","minLength":2,"maxLength":3}`,
		[]string{`"ab"`, `"é😀x"`, `"\ud83d\ude00\u0000"`, `"\"\\"`},
		`"a"`, `"abcd"`, `"\ud83d\ude00"`, `"ab`)
	check(`{"const":[1,{"a":2}]}`, []string{`[1,{"a":2}]`, `[1, {"a": 2}]`}, `[1,{"a":2.0}]`, `[1 ,{"a":2}]`)
	check(`{"prefixItems":[{"type":"null"},{"const":1}]}`, []string{`[]`, `[null]`, `[null,1]`, `[null, 1]`}, `[1]`,
		`[null,1,1]`)
	check(`{"items":{"const":1},"minItems":1,"maxItems":3}`, []string{`[1]`, `[1,1]`, `[1,1,1]`}, `[]`, `[1,1,1,1]`)
}

// Errors say which keyword, and where.
func TestRefusedSchemas(t *testing.T) {
	check := func(schema, want string) {
		t.Helper()
		_, err := compileSchema([]byte(schema))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: error %v, want one with %q", schema, err, want)
		}
	}
	check(`{"type":"string","format":"date"}`, `#/format: "format" is not supported`)
	check(`{"properties":{"a/b":{"items":{"uniqueItems":true}}}}`,
		`#/properties/a~1b/items/uniqueItems: "uniqueItems" is not supported`)
	check(`{"anyOf":[{},{"not":{}}]}`, `#/anyOf/1/not: "not"`)
	check(`{"type":"integer","multipleOf":2}`, `"multipleOf"`)
	check(`{"maxlength":2}`, `"maxlength"`)
	check(`{"properties":{"a":{"$id":"x"}}}`, `"$id"`)
	check(`{"anyOf":[{}],"required":["a"]}`, `"required" beside "anyOf"`)
	check(`{"enum":["a"],"type":"string","minLength":1}`, `"minLength" beside "enum"`)
	check(`{"enum":["a"],"const":"a"}`, `"const" beside "enum"`)
	check(`{"allOf":[{},{}]}`, `#/allOf`)
	check(`{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `#/oneOf: a value may satisfy both 0 and 1`)
	check(`{"oneOf":[{"enum":[1,2]},{"enum":[2.0]}]}`, `#/oneOf`)
	check(`{"oneOf":[{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":2}}}]}`, `#/oneOf`)
	check(`{"$ref":"other.json"}`, `#/$ref`)
	check(`{"$ref":"#/$defs/missing"}`, `#/$ref`)
	check(`{"$ref":"#"}`, `no document can satisfy it`)
	check(`false`, `no document`)
	check(`{"type":"array","items":{"$ref":"#"},"minItems":1}`, `no document`)
	check(`{"required":["a"],"additionalProperties":false}`, `no document`)
	check(`{"type":"string","enum":[1]}`, `no document`)
	check(`{"type":"integer","minimum":0.2,"maximum":0.8}`, `no document`)
	check(`{"type":"string","pattern":"a^"}`, `no document`)
	check(`{"type":"string","minLength":3,"maxLength":2}`, `no document`)
	check(`{"type":"array","minItems":3,"maxItems":2}`, `no document`)
	check(`{"type":"string","pattern":"(?=a)"}`, `#/pattern`)
	check(`{"type":"string","pattern":"\\ba"}`, `#/pattern`)
	check(`{"type":"string","pattern":1}`, `#/pattern`)
	check(`{"type":"text"}`, `#/type`)
	check(`{"type":"string","minLength":-1}`, `#/minLength`)
	check(`{"type":"string","minLength":100000}`, `#/minLength`)
	check(`{"minimum":true}`, `#/minimum`)
	check(`{"items":[{}]}`, `#/items`)
	check(`{"enum":[]}`, `#/enum`)
	check(`{"properties":[]}`, `#/properties`)
	check(`{"required":"a"}`, `#/required`)
	check(`[]`, `an object, true or false`)
	check(`{`, `not JSON`)
	check(`{"type":"null","type":"null"}`, `twice`)
	check(strings.Repeat(`{"items":`, 100)+`{}`+strings.Repeat(`}`, 100), `nested`)
	check(`{"title":"`+strings.Repeat("x", maxDocument)+`"}`, `longer`)
	check(`{"prefixItems":[`+strings.Repeat(`{"pattern":"a","maxLength":10000},`, 4)+`{}]}`, `too many states`)
	check(`{"pattern":"((a{100}){100}){100}"}`, `#/pattern`)
}

// Schemas that would cost without bound are refused, or held to less than they permit.
func TestHugeSchemas(t *testing.T) {
	list := func(n, step, first int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprint(first+i*step))
		}
		return strings.Join(items, ",")
	}
	refuses := func(schema, want string) {
		t.Helper()
		if _, err := compileSchema([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: error %v, want one with %q", schema, err, want)
		}
	}
	refuses(`{"oneOf":[{"enum":[`+list(15_000, 2, 0)+`]},{"enum":[`+list(15_000, 2, 1)+`]}]}`, "too many alternatives")
	refuses(`{"items":{"prefixItems":[`+strings.Repeat(`{"type":"number","maximum":1.5},`, 2000)+`{}]}}`,
		"too many states")

	long := mustCompile(t, `{"enum":[`+list(20_000, 1, 0)+`]}`)
	if !takes(long, "19999") || takes(long, "20000") {
		t.Error("a long list is not kept to")
	}
	alike := mustCompile(t,
		`{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"},"maxItems":7},{"items":{"$ref":"#"},"maxItems":8}]}`)
	at := alike.begin
	for range maxDepth - 10 {
		if at = alike.step(at, '['); len(at.at) > maxPositions {
			t.Fatalf("%d ways to read a text are followed", len(at.at))
		}
	}
	for range maxDepth - 10 {
		at = alike.step(at, ']')
	}
	if at == alike.dead || !at.done {
		t.Error("a text that can be read in many ways came to no end")
	}
}

// The grammar of limits agrees with arithmetic on every number of a few digits.
func TestLimitsAgreeWithArithmetic(t *testing.T) {
	var numbers []string
	for whole := range 112 {
		numbers = append(numbers, fmt.Sprint(whole))
		if whole > 0 {
			numbers = append(numbers, fmt.Sprint(-whole))
		}
		if whole < 13 {
			for places := range 100 {
				n := fmt.Sprintf("%d.%02d", whole, places)
				numbers = append(numbers, n, "-"+n)
				if places < 10 {
					numbers = append(numbers, fmt.Sprintf("%d.%d", whole, places), fmt.Sprintf("-%d.%d", whole, places))
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	limits := []string{"0", "1", "-1", "0.5", "-0.5", "10", "9.99", "0.07", "-10.1", "100", "12.345", "1e1", "-2.5e-1"}
	for range 150 {
		var rules []string
		fits := func(*big.Rat) bool { return true }
		for _, r := range []struct {
			name string
			ok   func(order int) bool
		}{
			{"minimum", func(o int) bool { return o >= 0 }}, {"exclusiveMinimum", func(o int) bool { return o > 0 }},
			{"maximum", func(o int) bool { return o <= 0 }}, {"exclusiveMaximum", func(o int) bool { return o < 0 }},
		} {
			if rng.IntN(2) == 0 {
				continue
			}
			text := limits[rng.IntN(len(limits))]
			limit, _ := new(big.Rat).SetString(text)
			rules = append(rules, fmt.Sprintf(`,%q:%s`, r.name, text))
			before := fits
			fits = func(n *big.Rat) bool { return before(n) && r.ok(n.Cmp(limit)) }
		}
		for _, kind := range []string{"number", "integer"} {
			schema := fmt.Sprintf(`{"type":%q%s}`, kind, strings.Join(rules, ""))
			g, err := compileSchema([]byte(schema))
			for _, n := range numbers {
				value, _ := new(big.Rat).SetString(n)
				if value.Sign() == 0 && n[0] == '-' {
					continue // taken where less than 0 is
				}
				want := fits(value) && (kind == "number" || !strings.Contains(n, "."))
				if got := err == nil && takes(g, n); got != want {
					t.Fatalf("%s: %s is taken: %v, want %v (%v)", schema, n, got, want, err)
				}
			}
		}
	}
}

// The grammar of a pattern agrees with Go's regexp.
func TestPatternsAgreeWithRegexp(t *testing.T) {
	patterns := []string{``, `a`, `^a`, `a$`, `^a$`, `^`, `$`, `^$`, `a|^b$`, `^(a|b)+$`, `(^a|b$)`, `a.b`, `(?s)a.b`,
		`^[^a]*$`, `a{2,3}b?`, `^(ab|a)(b|)$`,
		`(?i)^K+$`, `\d`, `^\w\W$`, `\s`, `[é-ü]`, `^[\x00-\x{ffff}]$`, `a*?b`, `^a^b`, `a$b`, `(a$|b)c`, `\Aa\z`,
		`^(a(b(c)?)?)?$`, `[\\"]`, `^(?:a|b){0}c*$`, `\p{Greek}`, `^[^\n"]{2}$`}
	alphabet := []rune(`aabbcK kéA1_ "\` + "\n\x01Kω😀")
	rng := rand.New(rand.NewPCG(2, 2))
	yes := 0
	for _, pattern := range patterns {
		re := regexp.MustCompile(pattern)
		for _, counts := range []string{``, `,"minLength":2`, `,"maxLength":3`, `,"minLength":1,"maxLength":2`} {
			least, most := 0, 1000
			fmt.Sscanf(strings.ReplaceAll(counts, ",", ""), `"minLength":%d`, &least)
			if i := strings.Index(counts, "max"); i >= 0 {
				fmt.Sscanf(counts[i:], `maxLength":%d`, &most)
			}
			q, _ := json.Marshal(pattern)
			g, err := compileSchema(fmt.Appendf(nil, `{"type":"string","pattern":%s%s}`, q, counts))
			for range 1000 {
				s := make([]rune, rng.IntN(6))
				for i := range s {
					s[i] = alphabet[rng.IntN(len(alphabet))]
				}
				want := re.MatchString(string(s)) && len(s) >= least && len(s) <= most
				if want {
					yes++
				}
				if got := err == nil && takes(g, quote(string(s))); got != want {
					t.Fatalf("pattern %s%s: %q is taken: %v, want %v (%v)", pattern, counts, s, got, want, err)
				}
			}
		}
	}
	if yes < 10_000 {
		t.Errorf("only %d strings matched", yes)
	}
}

// Where the grammar is no narrower than the schema, it takes just what is valid.
func TestDocumentsAgreeWithValidator(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["null","string"]},"c":{"$ref":"#"}},"required":["b"],"additionalProperties":false}`,
		`{"anyOf":[{"type":"array","items":{"$ref":"#"},"maxItems":2},{"enum":["a",0,null,[1]]},{"type":"object","additionalProperties":{"$ref":"#"}}]}`,
		`{"type":"array","prefixItems":[{"type":"integer","minimum":1},{}],"items":{"maxLength":1,"type":"string"},"minItems":1}`,
		`{"anyOf":[{"type":"object"},{"type":"array","minItems":1},{"type":"string","pattern":"a"},{"type":"number","exclusiveMinimum":0}]}`,
		`{"oneOf":[{"type":"integer"},{"type":"object","properties":{"a":{"const":1}},"required":["a"],"additionalProperties":false},
			{"type":"object","properties":{"b":{}},"required":["b"],"additionalProperties":false}]}`,
	} {
		g, valid := mustCompile(t, schema), validator(t, schema)
		yes := 0
		for range 20_000 {
			text := randomJSON(rng, 3)
			want := valid(text) == nil
			if want {
				yes++
			}
			if got := takes(g, text); got != want {
				t.Fatalf("%s: %s is taken: %v, want %v", schema, text, got, want)
			}
		}
		if yes < 100 {
			t.Errorf("%s: only %d documents were valid", schema, yes)
		}
	}
}

// randomJSON writes a small document whose names are in order.
func randomJSON(rng *rand.Rand, depth int) string {
	kind := rng.IntN(7)
	if depth == 0 {
		kind = rng.IntN(5)
	}
	var parts []string
	switch kind {
	case 0:
		return "null"
	case 1:
		return "true"
	case 2, 3:
		return []string{"0", "1", "2", "-1", "1.5"}[rng.IntN(5)]
	case 4:
		return []string{`""`, `"a"`, `"ba"`, `"c"`}[rng.IntN(4)]
	case 5:
		for range rng.IntN(4) {
			parts = append(parts, randomJSON(rng, depth-1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for _, name := range "abc" {
		if rng.IntN(2) == 0 {
			parts = append(parts, fmt.Sprintf("%q: %s", string(name), randomJSON(rng, depth-1)))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Whatever a schema is, it is refused or there is always a way on to an end.
func FuzzSchema(f *testing.F) {
	for _, schema := range schemas {
		f.Add(schema, uint64(1))
	}
	f.Fuzz(func(t *testing.T, schema string, seed uint64) {
		g, err := compileSchema([]byte(schema))
		if err != nil {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		for range 3 {
			if text, done := walk(t, rng, g, 200); done && !json.Valid([]byte(text)) {
				t.Errorf("%s writes %q", schema, text)
			}
		}
	})
}

// FuzzText compares the grammar of any value with a JSON reader.
func FuzzText(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5e+10]}`, `"\u00e9\ud83d\ude00"`, "\"\xff\"", `[1,]`, `1e5`} {
		f.Add(text)
	}
	g := mustCompile(f, `true`)
	f.Fuzz(func(t *testing.T, text string) {
		if takes(g, text) && !(json.Valid([]byte(text)) && utf8.ValidString(text)) {
			t.Errorf("%q is taken", text)
		}
	})
}
