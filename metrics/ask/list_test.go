package ask

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/assay-eval/assay/metrics"
)

func TestDecodeList(t *testing.T) {
	nothing := []string{"no statements", "none"}
	for _, tt := range []struct {
		name, reply string
		want        []string
	}{
		{"numbered", "1. One is odd.\n2. Two is even.", []string{"One is odd.", "Two is even."}},
		{"brackets", "1) One is odd.\n(2) Two is even.\n[3] Three is odd.",
			[]string{"One is odd.", "Two is even.", "Three is odd."}},
		{"labels", "Statement 1: One is odd.\nStatement 2: Two is even.", []string{"One is odd.", "Two is even."}},
		{"bullets", "- One is odd.\n* Two is even.\n• Three is odd.",
			[]string{"One is odd.", "Two is even.", "Three is odd."}},
		{"bold numbers", "**1.** One is odd.\n**2. Two is even.**", []string{"One is odd.", "Two is even."}},
		{"Arabic digits", "١. الماء سائل.\n٢. الثلج صلب.", []string{"الماء سائل.", "الثلج صلب."}},
		{"Chinese", "1、水是液体。\n2．冰是固体。", []string{"水是液体。", "冰是固体。"}},
		{"preamble and note", "Sure! Here are the statements:\n\n1. One is odd.\n2. Two is even.\n\nNote that zero " +
			"is even too.",
			[]string{"One is odd.", "Two is even."}},
		{"no marker", "One is odd.\nTwo is even.", []string{"One is odd.", "Two is even."}},
		{"prose", "Here is the list:\nOne is odd. Two is even.", []string{"One is odd.", "Two is even."}},
		{"one line", "1. One is odd. 2. Two is even. 3. Three is odd.",
			[]string{"One is odd.", "Two is even.", "Three is odd."}},
		{"decimals stay", "1. Pi is\n3.14 or so.\n2. Two is even.", []string{"Pi is 3.14 or so.", "Two is even."}},
		{"continued", "1. One is\n   odd.\n2. Two is even.", []string{"One is odd.", "Two is even."}},
		{"text below number", "1.\nOne is odd.\n2.\nTwo is even.", []string{"One is odd.", "Two is even."}},
		{"repeated", "1. One is odd.\n2. one is ODD\n3. Two is even.", []string{"One is odd.", "Two is even."}},
		{"quoted", "1. \"One is odd.\"\n2. `Two is even.`", []string{"One is odd.", "Two is even."}},
		{"JSON array", `["One is odd.", "Two is even."]`, []string{"One is odd.", "Two is even."}},
		{"fenced JSON", "Here you go:\n```json\n{\"statements\": [\"One is odd.\", \"Two is " +
			"even.\",],}\n```\nAnything else?",
			[]string{"One is odd.", "Two is even."}},
		{"JSON objects", `[{"statement": "One is odd."}, {"claim": "Two is even."}]`,
			[]string{"One is odd.", "Two is even."}},
		{"JSON with a note", `{"note": "hm", "statements": ["One is odd.", "Two is even."]}`,
			[]string{"One is odd.", "Two is even."}},
		{"broken JSON", "[\n\"One is odd.\",\n\"Two is even.\"", []string{"One is odd.", "Two is even."}},
		{"fenced list", "```\n1. One is odd.\n2. Two is even.\n```", []string{"One is odd.", "Two is even."}},
		{"windows lines", "1. One is odd.\r\n2. Two is even.\r\n", []string{"One is odd.", "Two is even."}},
		{"nothing", "No statements.", nil},
		{"nothing at length", "NO STATEMENTS. The answer only apologises.", nil},
		{"nothing in a list", "1. None", nil},
		{"nothing as a part", "1. None of the numbers is odd.", []string{"None of the numbers is odd."}},
	} {
		got, err := DecodeList(Reply{Text: tt.reply}, nothing)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestDecodeListRefuses(t *testing.T) {
	check := func(r Reply, want error) {
		t.Helper()
		if got, err := DecodeList(r, []string{"none"}); !errors.Is(err, want) {
			t.Errorf("decodeList(%+v) = %q, %v; want %v", r, got, err, want)
		}
	}
	check(Reply{Text: ""}, ErrNoList)
	check(Reply{Text: " \n\n"}, ErrNoList)
	check(Reply{Text: "Sure! Here are the statements:"}, ErrNoList)
	check(Reply{Text: "***\n---"}, ErrNoList)
	check(Reply{Text: "I'm sorry, but I cannot help with that."}, ErrNoList)
	check(Reply{Text: "{}"}, ErrNoList)
	check(Reply{Text: "[]"}, ErrNoList)
	check(Reply{Text: "1. One is odd.\n2. Two is ev", Cut: true}, metrics.ErrCut)
	check(Reply{Text: "", Cut: true}, metrics.ErrCut)
}

// A model that repeats itself until it is cut has said all it had to say.
func TestDecodeListCutInALoop(t *testing.T) {
	text := "1. One is odd.\n2. Two is even.\n3. One is odd.\n4. Two is even.\n5. One is o"
	for _, text := range []string{text,
		mend(`["One is odd.", "Two is even.", "One is odd.", "Two is even.", "One is o`)} {
		got, err := DecodeList(Reply{Text: text, Cut: true}, nil)
		if want := []string{"One is odd.", "Two is even."}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
}

func FuzzDecodeList(f *testing.F) {
	for _, s := range []string{"1. a\n2. b", "- a", "[\"a\",]", "{\"x\":[{\"text\":\"b\"}]}", "```\n1)", "1. a 2. b",
		"٣. x", "No.", "\xff1. "} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		text = strings.ToValidUTF8(text, "\uFFFD") // as ask does
		got, err := DecodeList(Reply{text, cut}, []string{"none"})
		for _, s := range got {
			if err != nil || strings.TrimSpace(s) == "" || !utf8.ValidString(s) {
				t.Errorf("decodeList(%q): item %q, error %v", text, s, err)
			}
		}
	})
}
