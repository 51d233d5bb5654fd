package wire

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestPrompts(t *testing.T) {
	check := func(text string, want Prompts) {
		t.Helper()
		var got Prompts
		err := json.Unmarshal([]byte(text), &got)
		if (err == nil) != (want != nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
	check(`"a"`, Prompts{{Text: "a"}})
	check(` ["a", ""] `, Prompts{{Text: "a"}, {}})
	check(`[1, 2]`, Prompts{{Tokens: []int32{1, 2}}})
	check(`[[1, 2], [3]]`, Prompts{{Tokens: []int32{1, 2}}, {Tokens: []int32{3}}})
	check(`[[]]`, Prompts{{Tokens: []int32{}}})
	check(`["a", [3]]`, Prompts{{Text: "a"}, {Tokens: []int32{3}}})
	check(`[]`, Prompts{})
	for _, bad := range []string{`null`, `1`, `{}`, `[null]`, `["a", null]`, `["a", 1]`, `[1, "a"]`, `[1.5]`, `[3000000000]`,
		`[[["a"]]]`, `[{"text": "a"}]`} {
		check(bad, nil)
	}
}

func TestContent(t *testing.T) {
	check := func(text, want string, ok bool) {
		t.Helper()
		var m Message
		if err := json.Unmarshal([]byte(`{"content": `+text+`}`), &m); (err == nil) != ok || string(m.Content) != want {
			t.Errorf("%s is %q, %v", text, m.Content, err)
		}
	}
	check(`"a"`, "a", true)
	check(`null`, "", true)
	check(`[]`, "", true)
	check(`[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]`, "ab", true)
	check(`[{"type": "image_url", "image_url": {"url": "x"}}]`, "", false)
	check(`3`, "", false)
}

func TestStrings(t *testing.T) {
	check := func(text string, want Strings, ok bool) {
		t.Helper()
		var r ChatRequest
		if err := json.Unmarshal([]byte(`{"stop": `+text+`}`), &r); (err == nil) != ok || !reflect.DeepEqual(r.Stop, want) {
			t.Errorf("%s is %q, %v", text, r.Stop, err)
		}
	}
	check(`"a"`, Strings{"a"}, true)
	check(`["a", "b"]`, Strings{"a", "b"}, true)
	check(`null`, nil, true)
	check(`3`, nil, false)
}

func TestVector(t *testing.T) {
	// The packed form was made with Python: base64.b64encode(struct.pack("<3f", 1, -0.5, 3e-8)).
	const packed = `"AACAPwAAAL9Z2QAz"`
	values := []float32{1, -0.5, 3e-8}
	for _, v := range []Vector{{Values: values}, {Values: values, Packed: true}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{true: packed, false: `[1,-0.5,3e-8]`}[v.Packed]; string(text) != want {
			t.Errorf("%+v is written %s, want %s", v, text, want)
		}
		var back Vector
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%s is read as %+v, %v", text, back, err)
		}
	}
	for _, bad := range []string{`"AAA="`, `"!"`, `"AADAfw=="`, `{}`, `["a"]`, `[1e99]`, `[null]`, `null`} {
		var v Vector
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s is read as %+v", bad, v)
		}
	}
}

func TestDocuments(t *testing.T) {
	var r RerankRequest
	if err := json.Unmarshal([]byte(`{"documents": ["a", {"text": "b"}]}`), &r); err != nil ||
		!reflect.DeepEqual(r.Documents, []Document{{"a"}, {"b"}}) {
		t.Errorf("documents are %+v, %v", r.Documents, err)
	}
	for _, bad := range []string{`[1]`, `[null]`, `"a"`} {
		if err := json.Unmarshal([]byte(`{"documents": `+bad+`}`), &r); err == nil {
			t.Errorf("documents %s are read as %+v", bad, r.Documents)
		}
	}
}

func TestDecodeStrict(t *testing.T) {
	var unknown *UnknownFieldError
	var r CompletionRequest
	if err := DecodeStrict(strings.NewReader(`{"model": "m", "prompt": "a", "top_p": 1, "echo": true, "min_p": null}`),
		1000, &r); err != nil || !r.Echo || *r.TopP != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	err := DecodeStrict(strings.NewReader(`{"prompt": "a", "typical_p": 0.5, "min_p": 0.1}`), 1000, &r)
	if !errors.As(err, &unknown) || unknown.Field != "min_p" {
		t.Errorf("fields that are not known: %v", err)
	}
	var large *TooLargeError
	if err := DecodeStrict(strings.NewReader(`{"prompt": "a"}`), 14, &r); !errors.As(err, &large) {
		t.Errorf("a large body: %v", err)
	}
	if err := Decode(strings.NewReader(`{"prompt": "a"}`), 15, &r); err != nil {
		t.Errorf("a body that just fits: %v", err)
	}
	for _, bad := range []string{``, `[]`, `{`, `{"prompt": "a"} {}`, `"a"`} {
		if err := DecodeStrict(strings.NewReader(bad), 1000, &r); err == nil {
			t.Errorf("%q is a request", bad)
		}
	}
}

func TestParseError(t *testing.T) {
	check := func(body, want string) {
		t.Helper()
		if e := ParseError([]byte(body)); (e == nil) != (want == "") || e != nil && e.Message != want {
			t.Errorf("%s says %v, want %q", body, e, want)
		}
	}
	check(`{"error": {"message": "too long", "type": "invalid_request_error", "param": null, "code": null}}`, "too long")
	check(`{"error": {"message": "too long", "type": "x", "code": 400}}`, "too long")
	check(`{"error": "model not found"}`, "model not found")
	check(`{"object": "error", "message": "no", "type": "BadRequestError", "code": 400}`, "no")
	check(`{"detail": "Not Found"}`, "Not Found")
	check(`{"detail": [{"loc": []}]}`, "")
	check(`{"error": {}}`, "")
	check(`<html>`, "")
}

// FuzzPrompts checks that prompts that are read are written so that they are read again.
func FuzzPrompts(f *testing.F) {
	for _, seed := range []string{`"a"`, `["a", "b"]`, `[1, 2]`, `[[1], [2, 3]]`, `[]`, `[[]]`, `[1e9]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, again Prompts
		if json.Unmarshal(b, &p) != nil {
			return
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%q is %+v, written %s, then %+v, %v", b, p, text, again, err)
		}
	})
}

// FuzzVector checks that a vector which is read has numbers only, and is read again from both forms.
func FuzzVector(f *testing.F) {
	for _, seed := range []string{`[1, 2]`, `"AACAPw=="`, `[]`, `""`, `[1e-50]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var v Vector
		if json.Unmarshal(b, &v) != nil {
			return
		}
		for _, packed := range []bool{false, true} {
			v.Packed = packed
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var again Vector
			if err := json.Unmarshal(text, &again); err != nil || len(again.Values) != len(v.Values) {
				t.Fatalf("%q is written %s, then %v", b, text, err)
			}
			for i, x := range v.Values {
				if math.Float32bits(x) != math.Float32bits(again.Values[i]) {
					t.Errorf("%v is read again as %v", x, again.Values[i])
				}
			}
		}
	})
}
