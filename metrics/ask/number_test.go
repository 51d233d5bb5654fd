package ask

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
)

func TestDecodeNumbers(t *testing.T) {
	among := []int{3, 4, 7, 12}
	check := func(text string, want ...int) {
		t.Helper()
		got, err := DecodeNumbers(Reply{Text: text}, among, []string{"none"})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("DecodeNumbers(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	check("[4, 12]", 4, 12)
	check("[12, 4, 4]", 4, 12)
	check("[]")
	check("None.")
	check(" 7\n", 7)
	check("Sentences 3, 4 and 12.", 3, 4, 12)
	check(`["3", "7"]`, 3, 7)
	check("١٢", 12)

	refuse := func(r Reply, want error) {
		t.Helper()
		if got, err := DecodeNumbers(r, among, []string{"none"}); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("DecodeNumbers(%+v) = %v, %v; want %v", r, got, err, want)
		}
	}
	refuse(Reply{Text: "[4, 12", Cut: true}, metrics.ErrCut)
	refuse(Reply{Text: "[4, 1", Cut: true}, metrics.ErrCut)
	refuse(Reply{Text: "3-7"}, errNoNumbers)
	refuse(Reply{Text: "3 to 7"}, errNoNumbers)
	refuse(Reply{Text: ""}, errNoNumbers)
	refuse(Reply{Text: "The ferry costs 4 euros."}, errNoNumbers)
	refuse(Reply{Text: "[5]"}, nil)
	refuse(Reply{Text: "[" + strings.Repeat("3", 400) + "]"}, nil)
	if _, err := DecodeNumbers(Reply{Text: "[99]"}, among, nil); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("a number that there is not: %v", err)
	}
}

func FuzzDecodeNumbers(f *testing.F) {
	f.Add("[1, 2]", false)
	f.Add("Sentences 1 and 3", true)
	f.Add("none", false)
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		among := []int{1, 2, 3, 30}
		got, err := DecodeNumbers(Reply{strings.ToValidUTF8(text, "\uFFFD"), cut}, among, []string{"none"})
		if err != nil && got != nil || err == nil && cut {
			t.Errorf("%v, %v", got, err)
		}
		for i, n := range got {
			if !slices.Contains(among, n) || i > 0 && n <= got[i-1] {
				t.Errorf("%v of %v", got, among)
			}
		}
	})
}

func TestNumbersSchema(t *testing.T) {
	if got, want := string(NumbersSchema([]int{3, 14})), `{"type":"array","items":{"enum":[3,14]},"maxItems":2}`; got != want ||
		!json.Valid([]byte(got)) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDecodeObject(t *testing.T) {
	got, err := DecodeObject(Reply{Text: "Here it is:\n```json\n{\"1\": \"same\", \"2\": [\"x\",],}\n```"})
	if err != nil || len(got) != 2 || got["1"] != "same" {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]error{"[1]": errNoObject, "": errNoObject, "same": errNoObject} {
		if got, err := DecodeObject(Reply{Text: text}); !errors.Is(err, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := DecodeObject(Reply{Text: `{"1": "sa`, Cut: true}); !errors.Is(err, metrics.ErrCut) {
		t.Errorf("a cut object: %v", err)
	}
}
