package judged

import (
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
)

func TestDecodeExtract(t *testing.T) {
	m := ask.NewMatcher([]string{"The ferry sails from May.", "A ticket costs 14 euros.", "The pier is green.",
		"Fees:"})
	nothing := []string{"insufficient information"}
	check := func(text string, found []int, strange ...string) {
		t.Helper()
		got, err := decodeExtract(ask.Reply{Text: text}, m, nothing)
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

	refuse := func(r ask.Reply, want error) {
		t.Helper()
		if got, err := decodeExtract(r, m, nothing); err != want {
			t.Errorf("decodeExtract(%+v) = %+v, %v; want %v", r, got, err, want)
		}
	}
	refuse(ask.Reply{}, errNoCopy)
	refuse(ask.Reply{Text: "Dogs must be on a lead."}, errNoCopy)
	refuse(ask.Reply{Text: "A ticket costs 14 euros.\nInsufficient Information"}, errContradiction)
	refuse(ask.Reply{Text: "A ticket costs 14 euros.\nThe fer", Cut: true}, metrics.ErrCut)
	got, err := decodeExtract(ask.Reply{Text: "A ticket costs 14 euros.\nA ticket costs 14 euros.\nA tick", Cut: true},
		m, nothing)
	if err != nil || !slices.Equal(got.found, []int{1}) {
		t.Errorf("a loop that was cut: %+v, %v", got, err)
	}
}

func FuzzDecodeExtract(f *testing.F) {
	f.Add("a b. c d e f.", "- c d e f", false)
	f.Add("x", "Insufficient Information", true)
	f.Fuzz(func(t *testing.T, context, text string, cut bool) {
		p := metrics.NewPassage([]string{context})
		var sentences []string
		for _, s := range p.Sentences {
			sentences = append(sentences, s.Text)
		}
		got, err := decodeExtract(ask.Reply{Text: strings.ToValidUTF8(text, "\uFFFD"), Cut: cut},
			ask.NewMatcher(sentences), []string{"insufficient information"})
		if err != nil {
			return
		}
		if !slices.IsSorted(got.found) || len(slices.Compact(slices.Clone(got.found))) != len(got.found) {
			t.Errorf("found %v: not sorted and distinct", got.found)
		}
	})
}
