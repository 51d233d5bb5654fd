package metrics

import (
	"slices"
	"strings"
	"testing"
)

// TestParts checks that a finding's text is cut at its marks, and that nothing of it is lost whatever they are.
func TestParts(t *testing.T) {
	check := func(text string, marks []Mark, want ...string) {
		t.Helper()
		f := Finding{Text: text, Marks: marks}
		var got []string
		var whole strings.Builder
		for _, p := range f.Parts() {
			whole.WriteString(p.Text)
			if p.Marked {
				p.Text = "[" + p.Text + "]"
			}
			got = append(got, p.Text)
		}
		if !slices.Equal(got, want) || whole.String() != text {
			t.Errorf("%q with %v: %q, want %q", text, marks, got, want)
		}
	}
	check("It costs 14 gold coins.", []Mark{{9, 22, 0.9}}, "It costs ", "[14 gold coins]", ".")
	check("abc", []Mark{{0, 1, 1}, {1, 2, 1}, {2, 3, 1}}, "[a]", "[b]", "[c]")
	check("abc", nil, "abc")
	check("", nil)
	check("abc", []Mark{{2, 9, 1}, {-1, 2, 1}, {1, 1, 1}}, "abc")
	check("abc", []Mark{{0, 2, 1}, {1, 3, 1}}, "[ab]", "c")
}
