package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
)

func TestViewWhole(t *testing.T) {
	s := &Sample{Question: " q? ", Answer: "a.", Contexts: []string{"One. Two.", "  ", "Three."}}
	want := []RowContext{{1, "1. One.\n2. Two."}, {3, "3. Three."}}
	for _, context := range []int{0, 3} {
		n, err := View{s, context}.InWindows(true, func(p Excerpt) error {
			if !slices.Equal(p.Row.Contexts, want) || p.Row.Question != "q?" || p.Row.Answer != "a." {
				t.Errorf("about context %d the row is %+v", context, p.Row)
			}
			return nil
		})
		if n != 1 || err != nil {
			t.Errorf("%d parts, %v", n, err)
		}
	}
	_, err := View{s, 3}.InWindows(false, func(p Excerpt) error {
		if p.Text != "Three." || p.Row.Contexts != nil || len(p.Sentences) != 1 || p.Sentences[0].Context != 3 {
			t.Errorf("in the classic layout context 3 is %+v", p)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	asked := 0
	if _, err := (View{Sample: &Sample{Question: "q"}}).InWindows(true, func(p Excerpt) error {
		asked++
		return nil
	}); asked != 1 || err != nil {
		t.Errorf("without contexts it was asked %d times, %v", asked, err)
	}
}

// Windows are the same whichever context is asked about, show every sentence, and list each sentence that is asked
// about once.
func TestViewInWindows(t *testing.T) {
	s := &Sample{Question: "q?"}
	for c := range 3 {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, "Context %d has the sentence %d of twenty. ", c+1, i+1)
		}
		s.Contexts = append(s.Contexts, b.String())
	}
	shown := func(p Excerpt) (all string) {
		for _, c := range p.Row.Contexts {
			all += c.Text + "\n"
		}
		return all
	}
	tooLong := func(p Excerpt) error {
		if n := len(shown(p)); n > 900 {
			return &backend.TooLongError{Tokens: n / 3, Limit: 300}
		}
		return nil
	}
	var windows []string
	for context := range 4 {
		var listed []int
		n, err := View{s, context}.InWindows(true, func(p Excerpt) error {
			if err := tooLong(p); err != nil {
				return err
			}
			if context == 0 {
				windows = append(windows, shown(p))
			} else if !slices.Contains(windows, shown(p)) {
				t.Errorf("context %d is shown in a window of its own: %q", context, shown(p))
			}
			for _, sentence := range p.Sentences {
				listed = append(listed, sentence.Number)
			}
			return nil
		})
		if err != nil || context == 0 && n != len(windows) || context > 0 && n >= len(windows) {
			t.Errorf("context %d: %d parts of %d windows, %v", context, n, len(windows), err)
		}
		first, last := 20*(context-1)+1, 20*context
		if context == 0 {
			first, last = 1, 60
		}
		if len(listed) != last-first+1 || listed[0] != first || !slices.IsSorted(listed) {
			t.Errorf("of context %d the sentences %v are listed", context, listed)
		}
	}
	for i := range 60 {
		if !strings.Contains(strings.Join(windows, ""), fmt.Sprintf("\n%d. ", i+1)) && i > 0 {
			t.Errorf("sentence %d is in no window", i+1)
		}
	}
	asked := 0
	if err := (View{Sample: s}).First(true, func(p Excerpt) error {
		err := tooLong(p)
		if err == nil {
			asked++
		}
		return err
	}); err != nil || asked != 1 {
		t.Errorf("the first part was asked about %d times, %v", asked, err)
	}
}
