package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
)

func TestMatcher(t *testing.T) {
	m := newMatcher([]string{
		0: "Oral Arguments",
		1: "The Court of Appeal records all oral arguments electronically.",
		2: "Any party may pay a fee to get a copy of the recording, as long as it asks within thirty days.",
		3: "1. You can visit a law library.",
		4: "The fee is $25.",
		5: "You can visit a law library.",
		6: "我喜欢喝绿茶。",
		7: "The fee is 30 euros.",
	})
	check := func(copied string, want ...int) {
		t.Helper()
		if got := m.find(copied); !slices.Equal(got, want) {
			t.Errorf("find(%q) = %v, want %v", copied, got, want)
		}
	}
	check("The Court of Appeal records all oral arguments electronically.", 1)
	check("the court of appeal RECORDS all **oral arguments** electronically", 1)
	check("The Court of Appeal records oral arguments electronically", 1)          // a word left out
	check("The Court of Appeals records all the oral arguments electronically", 1) // and changed
	check("Any party may pay a fee to get a copy of the recording.", 2)            // a part
	check("Oral arguments", 0)
	check("The fee is $25. Any party may pay a fee to get a copy of the recording, as long as it asks within thirty days.", 2, 4)
	check("The fee is $25", 4)
	check("The fee is 30 euros", 7)
	check("You can visit a law library", 5)
	check("我喜欢喝绿茶", 6)
	check("我很喜欢喝绿茶", 6)
	check("A fee")
	check("The party paid its fee with thirty recordings of the court.")
	check("")
	check("***")
}

func TestMatcherTwins(t *testing.T) {
	m := newMatcher([]string{"It opens at nine.", "It closes at five.", "It opens at nine!"})
	if got := m.find("it opens at nine"); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("find = %v, want both sentences that read so", got)
	}
}

func TestDecodeExtract(t *testing.T) {
	m := newMatcher([]string{"The ferry sails from May.", "A ticket costs 14 euros.", "The pier is green.", "Fees:"})
	nothing := []string{"insufficient information"}
	check := func(text string, found []int, strange ...string) {
		t.Helper()
		got, err := decodeExtract(reply{text: text}, m, nothing)
		if err != nil || !slices.Equal(got.found, found) || !slices.Equal(got.strange, strange) {
			t.Errorf("decodeExtract(%q) = %+v, %v; want %v and %q", text, got, err, found, strange)
		}
	}
	check("A ticket costs 14 euros.", []int{1})
	check("- A ticket costs 14 euros.\n- The ferry sails from May.", []int{0, 1})
	check("1. A ticket costs 14 euros.\nThe pier is green.", []int{1, 2})
	check("The ferry sails from May. The pier is green.", []int{0, 2})
	check("\"A ticket costs 14 euros.\"\nA ticket costs 14 euros.", []int{1})
	check("Here are the sentences:\nFees:\nA ticket costs 14 euros.", []int{1, 3})
	check(`["A ticket costs 14 euros."]`, []int{1})
	check("A ticket costs 14 euros.\nDogs must be on a lead.", []int{1}, "Dogs must be on a lead.")
	check("Insufficient Information", nil)
	check("**Insufficient information.**", nil)
	check("There is insufficient information in the text.\nIt does not mention dogs at all.", nil)

	refuse := func(r reply, want error) {
		t.Helper()
		if got, err := decodeExtract(r, m, nothing); err != want {
			t.Errorf("decodeExtract(%+v) = %+v, %v; want %v", r, got, err, want)
		}
	}
	refuse(reply{}, errNoCopy)
	refuse(reply{text: "Dogs must be on a lead."}, errNoCopy)
	refuse(reply{text: "A ticket costs 14 euros.\nInsufficient Information"}, errContradiction)
	refuse(reply{text: "A ticket costs 14 euros.\nThe fer", cut: true}, errCut)
	got, err := decodeExtract(reply{text: "A ticket costs 14 euros.\nA ticket costs 14 euros.\nA tick", cut: true}, m, nothing)
	if err != nil || !slices.Equal(got.found, []int{1}) {
		t.Errorf("a loop that was cut: %+v, %v", got, err)
	}
}

func FuzzDecodeExtract(f *testing.F) {
	f.Add("a b. c d e f.", "- c d e f", false)
	f.Add("x", "Insufficient Information", true)
	f.Fuzz(func(t *testing.T, context, text string, cut bool) {
		p := newPassage([]string{context})
		var sentences []string
		for _, s := range p.sentences {
			sentences = append(sentences, s.Text)
		}
		got, err := decodeExtract(reply{strings.ToValidUTF8(text, "\uFFFD"), cut}, newMatcher(sentences), []string{"insufficient information"})
		if err != nil {
			return
		}
		if !slices.IsSorted(got.found) || len(slices.Compact(slices.Clone(got.found))) != len(got.found) {
			t.Errorf("found %v: not sorted and distinct", got.found)
		}
	})
}

func TestWindows(t *testing.T) {
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "This is sentence %d of it. ", i)
	}
	p := newPassage([]string{text.String(), " ", "A second context.\nWith two lines."})
	if n := len(p.sentences); n != 42 || p.origin[0] != 1 || p.origin[41] != 3 {
		t.Fatalf("%d sentences, origins %v", n, p.origin)
	}
	for _, limit := range []int{len(p.text), 500, 100, 70} {
		for _, overlap := range []bool{false, true} {
			checkWindows(t, p, limit, overlap)
		}
	}
	// One sentence without any place to cut it at.
	var long strings.Builder
	for r := range rune(400) {
		long.WriteRune('一' + r)
	}
	checkWindows(t, newPassage([]string{long.String()}), 200, false)
}

// checkWindows sees that windows of at most limit bytes cover p without a gap.
func checkWindows(t *testing.T, p passage, limit int, overlap bool) {
	t.Helper()
	covered, calls := 0, 0
	n, err := p.inWindows(overlap, func(text string) error {
		if len(text) > limit {
			return &backend.TooLongError{Tokens: 300 + len(text)/4, Limit: 300 + limit/4}
		}
		calls++
		at := strings.Index(p.text, text)
		if !overlap && at < covered {
			at = covered + strings.Index(p.text[covered:], text)
		}
		if strings.TrimSpace(p.text[min(covered, at):at]) != "" || at+len(text) <= covered {
			t.Errorf("limit %d: a gap before %q, or nothing new in it", limit, text)
		}
		covered = at + len(text)
		return nil
	})
	if err != nil || n != calls || strings.TrimSpace(p.text[covered:]) != "" {
		t.Errorf("limit %d, overlap %v: %d windows, %d calls, %d of %d bytes covered, %v", limit, overlap, n, calls, covered, len(p.text), err)
	}
	if ideal := len(p.text)/limit + 1; n > 4*ideal {
		t.Errorf("limit %d, overlap %v: %d windows where %d could do", limit, overlap, n, ideal)
	}
}

// Where even the smallest window does not fit, the engine's error comes back.
func TestWindowsThatNeverFit(t *testing.T) {
	p := newPassage([]string{strings.Repeat("Some words here. ", 100)})
	calls := 0
	_, err := p.inWindows(true, func(string) error { calls++; return &backend.TooLongError{Limit: 10} })
	if err == nil || calls > 20 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}
