package ask

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMend(t *testing.T) {
	for _, tt := range [][2]string{
		// Whole, or no JSON: as it is.
		{`["a", "b"]`, `["a", "b"]`},
		{`{"a": [1, {}]} and so on`, `{"a": [1, {}]} and so on`},
		{"1. Yes\n2. No", "1. Yes\n2. No"},
		{"[1] Yes\n[2] No", "[1] Yes\n[2] No"},
		{"[Note: an aside", "[Note: an aside"},
		{`["a", "b"}`, `["a", "b"}`},
		{"  ", "  "},
		{"", ""},

		// A bracket is missing.
		{`["a", "b"`, `["a", "b"]`},
		{`{"a": ["b"`, `{"a": ["b"]}`},
		{"Sure:\n```json\n  [\"a\"", "Sure:\n```json\n  [\"a\"]"},

		// A text of a list ends where it was cut.
		{`["a", "b, c`, `["a", "b, c"]`},
		{`["a", "`, `["a", ""]`},
		{`["a", `, `["a"]`},
		{`["a",`, `["a"]`},
		{`["a", "b\`, `["a", "b"]`},
		{`["a", "b\\`, `["a", "b\\"]`},
		{`["a", "b\u00`, `["a", "b"]`},
		{`["say \"b`, `["say \"b"]`},
		{`["a]", tr`, `["a]"]`},
		{`[`, `[]`},

		// A field is whole or left out.
		{`{"1": {"reason": "a, b", "verdict": "N`, `{"1": {"reason": "a, b"}}`},
		{`{"1": {"reason": "a", "verdict"`, `{"1": {"reason": "a"}}`},
		{`{"1": {"reason": "a", "verdict":`, `{"1": {"reason": "a"}}`},
		{`{"1": {"reason": "a\`, `{"1": {}}`},
		{`{"1": {"verdict": "No"}, "2`, `{"1": {"verdict": "No"}}`},
		{`{"1": {"verdict": "No"`, `{"1": {"verdict": "No"}}`},
		{`{`, `{}`},
	} {
		if got := mend(tt[0]); got != tt[1] {
			t.Errorf("mend(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
}

// Wherever JSON is cut, what is left of it can be read and holds nothing that was not there.
func TestMendAnywhere(t *testing.T) {
	whole := `{"list": ["an, \"a\"", "b}\u00e9", [], [true, -1.5e3]], "o": {"x": null, "y": {"z": "]"}}}`
	for i := 1; i < len(whole); i++ {
		if got := mend(whole[:i]); !json.Valid([]byte(got)) {
			t.Errorf("mend(%q) = %q", whole[:i], got)
		}
	}
}

func FuzzMend(f *testing.F) {
	for _, s := range []string{`["a", "b`, `{"a": {"b": "c`, "[1] Yes", `["\`, "x\n [{\"a\":[", `[[[{`, `{"a"}`,
		"[\"\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := mend(text)
		if got == text {
			return
		}
		start := JsonStart(text)
		if !json.Valid([]byte(got[start:])) || got[:start] != text[:start] {
			t.Errorf("mend(%q) = %q", text, got)
		}
		kept := strings.TrimRight(got[start:], `]}"`)
		if !strings.HasPrefix(text[start:], kept) {
			t.Errorf("mend(%q) = %q: that was not said", text, got)
		}
	})
}
