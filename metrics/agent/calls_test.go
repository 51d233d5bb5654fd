package agent

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// callList reads calls from JSON.
func callList(t *testing.T, text string) []metrics.ToolCall {
	t.Helper()
	calls := []metrics.ToolCall{}
	if err := json.Unmarshal([]byte(text), &calls); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return calls
}

// callValue is the value of a metric on a sample, and whether it is applicable.
func callValue(t *testing.T, name string, s *metrics.Sample) (float64, bool) {
	t.Helper()
	ms := metrictest.Select(t, Metrics(), name)
	score, err := ms[0].Try(t.Context(), metrics.Models{}, s)
	if errors.Is(err, metrics.ErrNotApplicable) {
		return 0, false
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(score.Because) == 0 {
		t.Errorf("%s: %v for no reason", name, score.Value)
	}
	return score.Value, true
}

func TestToolCalls(t *testing.T) {
	const none = -1 // not applicable
	check := func(made, wanted string, accuracy, ragas, f1, precision, recall float64) {
		t.Helper()
		s := &metrics.Sample{ToolCalls: callList(t, made), ReferenceToolCalls: callList(t, wanted)}
		for _, m := range []struct {
			name string
			want float64
		}{{"accuracy", accuracy}, {"accuracy_ragas", ragas}, {"f1", f1}, {"precision", precision}, {"recall", recall}} {
			got, ok := callValue(t, "tool_calls/"+m.name, s)
			if ok != (m.want != none) || ok && math.Abs(got-m.want) > 1e-12 {
				t.Errorf("made %s, wanted %s: %s is %v, applicable %v; want %v", made, wanted, m.name, got, ok, m.want)
			}
		}
	}
	oslo := `{"name": "weather", "args": {"city": "Oslo", "days": 2}}`
	bergen := `{"name": "weather", "args": {"city": "Bergen", "days": 2}}`
	clock := `{"name": "clock"}`
	list := func(calls ...string) string { return "[" + strings.Join(calls, ", ") + "]" }

	check(list(oslo, clock), list(oslo, clock), 1, 1, 1, 1, 1)
	check(list(), list(), 1, 1, 1, none, none)
	check(list(), list(oslo), 0, 0, 0, none, 0)
	check(list(oslo), list(), 0, 0, 0, 0, none)
	check(list(clock), list(oslo), 0, 0, 0, 0, 0)

	// One of two arguments is right: half of one call, and none that is wholly right.
	check(list(bergen), list(oslo), 0.5, 0.5, 0, 0, 0)
	// A call too many, one missing, another order: Ragas has 0 for each.
	check(list(oslo, oslo, clock), list(oslo, clock), 2.0/3, 0, 4.0/5, 2.0/3, 1)
	check(list(clock), list(oslo, clock), 0.5, 0, 2.0/3, 1, 0.5)
	check(list(clock, oslo), list(oslo, clock), 0.5, 0, 1, 1, 1)
	// The second call fits the reference's first: 1 of 2, rather than 0.5 of 2 for the first one.
	check(list(bergen, oslo), list(oslo), 0.5, 0, 2.0/3, 0.5, 1)

	// Values are compared, not how they are written; Ragas compares what Python prints.
	check(list(`{"name": "a", "args": {"x": 1, "y": {"p": [1.50, true], "q": null}}}`),
		list(`{"name": "a", "args": {"y": {"q": null, "p": [15e-1, true]}, "x": 1.0}}`), 1, 0, 1, 1, 1)
	check(list(`{"name": "a", "args": {"x": "1", "y": "True"}}`), list(`{"name": "a", "args": {"x": 1, "y": true}}`),
		0, 1, 0, 0, 0)
	// An argument that nobody wanted costs nothing in Ragas, and everything if none at all was wanted.
	check(list(`{"name": "a", "args": {"x": 1, "y": 2}}`), list(`{"name": "a", "args": {"x": 1}}`), 0.5, 1, 0, 0, 0)
	check(list(`{"name": "a", "args": {"x": 1}}`), list(`{"name": "a"}`), 0, 0, 0, 0, 0)
	check(list(`{"name": "a"}`), list(`{"name": "a", "args": {"x": 1}}`), 0, 0, 0, 0, 0)
	// The same argument under another name is two differences.
	check(list(`{"name": "a", "args": {"x": 1, "z": 2}}`), list(`{"name": "a", "args": {"x": 1, "y": 2}}`), 1.0/3,
		0.5, 0, 0, 0)
}

// A sample that has no list of calls says nothing about them; an empty list does.
func TestToolCallsMissing(t *testing.T) {
	if _, ok := callValue(t, "tool_calls", &metrics.Sample{ToolCalls: []metrics.ToolCall{}}); ok {
		t.Error("a score without a reference")
	}
	if _, ok := callValue(t, "tool_calls", &metrics.Sample{ReferenceToolCalls: []metrics.ToolCall{{Name: "a"}}}); ok {
		t.Error("a score where nobody knows what calls were made")
	}
	if v, ok := callValue(t, "tool_calls", &metrics.Sample{
		ToolCalls: []metrics.ToolCall{}, ReferenceToolCalls: []metrics.ToolCall{},
	}); !ok || v != 1 {
		t.Errorf("no call made and none wanted: %v, %v", v, ok)
	}
}

func TestToolCallFindings(t *testing.T) {
	s := &metrics.Sample{
		ToolCalls:          callList(t, `[{"name": "a", "args": {"x": 1}}, {"name": "b"}]`),
		ReferenceToolCalls: callList(t, `[{"name": "a", "args": {"x": 2}}, {"name": "c"}]`),
	}
	check := func(name string, want ...string) {
		t.Helper()
		ms := metrictest.Select(t, Metrics(), name)
		score, err := ms[0].Score(t.Context(), metrics.Models{}, s)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range score.Because {
			got = append(got, f.Kind+" "+f.Text+" | "+f.Reason+" | "+f.Where)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
	const left = "no reference call is left that is the same"
	check("tool_calls/f1", "call a(x: 1) | "+left+" | call 1", "call b() | "+left+" | call 2",
		"call a(x: 2) | not made | reference call 1", "call c() | not made | reference call 2")
	check("tool_calls/accuracy", "call a(x: 1) | the reference call is a(x: 2) | call 1, reference call 1",
		"call b() | no reference call to pair it with, in order | call 2", "call c() | not made | reference call 2")
	check("tool_calls/accuracy_ragas", `note the tools called are "a, b", the reference has "a, c" |  | `)
}

func TestToolCallsThatAreNotJSON(t *testing.T) {
	bad := []metrics.ToolCall{{Name: "a", Args: map[string]json.RawMessage{"x": json.RawMessage("1 2")}}}
	for _, m := range toolCallMetrics() {
		if _, err := m.Score(t.Context(), metrics.Models{}, &metrics.Sample{
			ToolCalls: bad, ReferenceToolCalls: bad,
		}); err == nil || !strings.Contains(err.Error(), "argument x") {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
	many := make([]metrics.ToolCall, 3000)
	if _, err := toolCallMetrics()[0].Score(t.Context(), metrics.Models{}, &metrics.Sample{
		ToolCalls: many, ReferenceToolCalls: many,
	}); err == nil {
		t.Error("3000 calls are aligned with 3000: the table has no bound")
	}
}

// bestAlignment is the largest sum of agreements, by trying every alignment.
func bestAlignment(made, wanted []call) float64 {
	if len(made) == 0 || len(wanted) == 0 {
		return 0
	}
	return max(callAgreement(made[0], wanted[0])+bestAlignment(made[1:], wanted[1:]),
		bestAlignment(made[1:], wanted), bestAlignment(made, wanted[1:]))
}

func TestAlignCalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() []call {
		list := make([]call, rng.IntN(6))
		for i := range list {
			list[i] = call{name: string("ab"[rng.IntN(2)]), args: map[string]string{}}
			for _, name := range []string{"x", "y", "z"} {
				if rng.IntN(2) == 0 {
					list[i].args[name] = string("12"[rng.IntN(2)])
				}
			}
		}
		return list
	}
	for range 2000 {
		made, wanted := random(), random()
		pairs, sum := alignCalls(made, wanted)
		if want := bestAlignment(made, wanted); math.Abs(sum-want) > 1e-12 {
			t.Fatalf("%v against %v: %v, want %v", made, wanted, sum, want)
		}
		last, again := -1, 0.0
		for i, j := range pairs {
			if j < 0 {
				continue
			}
			if j <= last || made[i].name != wanted[j].name {
				t.Fatalf("the pairs %v cross, or pair calls of two tools", pairs)
			}
			last = j
			again += callAgreement(made[i], wanted[j])
		}
		if math.Abs(again-sum) > 1e-12 {
			t.Fatalf("the pairs %v of %v and %v add up to %v, not %v", pairs, made, wanted, again, sum)
		}
		if _, back := alignCalls(wanted, made); math.Abs(back-sum) > 1e-12 {
			t.Fatalf("%v one way and %v the other", sum, back)
		}
	}
}

func TestCanonicalJSON(t *testing.T) {
	check := func(equal bool, texts ...string) {
		t.Helper()
		seen := map[string]string{}
		for _, text := range texts {
			canonical, err := canonicalJSON(json.RawMessage(text))
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			seen[canonical] = text
		}
		if want := len(texts); equal && len(seen) != 1 || !equal && len(seen) != want {
			t.Errorf("%q: canonical %q", texts, seen)
		}
	}
	check(true, "100", "1e2", "1E+2", "100.0", "0.1e3", "10000e-2")
	check(true, "0", "-0", "0.0", "0e5", "0e99999999999999999999", "-0.00e-7")
	check(true, "-0.5", "-5e-1", "-50.0e-2")
	check(true, `"a\u0062"`, `"ab"`)
	check(true, `{"a": 1, "b": [2, {"c": 3, "d": 4}]}`, ` {"b":[2.0,{"d":4e0,"c":3}],"a":1}`)
	check(false, "1", "-1", "10", "0.1", `"1"`, "true", "null", "[1]", `{"a": 1}`, `{"b": 1}`, "[1, 1]", "{}",
		"[]", `""`)
	check(false, "9007199254740993", "9007199254740992") // one and the same as doubles
	check(false, "[1, 2]", "[2, 1]")
	check(false, "1e99999999999999999999", "2e99999999999999999999", "1e-99999999999999999999")
}

// Two numbers are written alike if and only if they are equal as fractions.
func FuzzCanonicalNumber(f *testing.F) {
	f.Add("100", "1e2")
	f.Add("-0.0", "0")
	f.Add("0.10", "0.01")
	f.Fuzz(func(t *testing.T, a, b string) {
		isNumber := func(s string) bool {
			return json.Valid([]byte(s)) && strings.Trim(s, "0123456789+-.eE") == "" && len(s) < 40
		}
		if !isNumber(a) || !isNumber(b) {
			return
		}
		for _, s := range []string{a, b} {
			if got := canonicalNumber(canonicalNumber(s)); got != canonicalNumber(s) || !json.Valid([]byte(got)) {
				t.Fatalf("%s: %s, then %s", s, canonicalNumber(s), got)
			}
			if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 5 {
				return // too large a fraction to hold
			}
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if equal := x.Cmp(y) == 0; equal != (canonicalNumber(a) == canonicalNumber(b)) {
			t.Fatalf("%s is %s, %s is %s; equal: %v", a, canonicalNumber(a), b, canonicalNumber(b), equal)
		}
	})
}

// The answers are what Python 3.11 prints for str(json.loads(...)).
func TestPythonString(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		got, err := pythonString(json.RawMessage(text))
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	check(`"a"`, "a")
	check("1", "1")
	check("1.0", "1.0")
	check("-0", "0")
	check("-0.0", "-0.0")
	check("1e2", "100.0")
	check("1E16", "1e+16")
	check("1e15", "1000000000000000.0")
	check("123456789012345680.5", "1.2345678901234568e+17")
	check("0.0001", "0.0001")
	check("0.00001", "1e-05")
	check("1e400", "inf")
	check("-1e400", "-inf")
	check("true", "True")
	check("null", "None")
	check("12345678901234567890123", "12345678901234567890123")
	check(`["a", 1, "it's", "say \"x\"", "both ' and \""]`, `['a', 1, "it's", 'say "x"', 'both \' and "']`)
	check(`{"b": [1.5, null], "a": {"c": "\n\u0007\u00e9\u200b"}}`, `{'b': [1.5, None], 'a': {'c': '\n\x07é\u200b'}}`)
	check(`[true, "\\", "\ud83d\ude00", "\t\r"]`, `[True, '\\', '😀', '\t\r']`)
	check("[]", "[]")
	check("{}", "{}")
}
