package metrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
)

func TestWindows(t *testing.T) {
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "This is sentence %d of it. ", i)
	}
	p := NewPassage([]string{text.String(), " ", "A second context.\nWith two lines."})
	if n := len(p.Sentences); n != 42 || p.Origin[0] != 1 || p.Origin[41] != 3 {
		t.Fatalf("%d sentences, origins %v", n, p.Origin)
	}
	for _, limit := range []int{len(p.Text), 500, 100, 70} {
		for _, overlap := range []bool{false, true} {
			checkWindows(t, p, limit, overlap)
		}
	}
	// One sentence without any place to cut it at.
	var long strings.Builder
	for r := range rune(400) {
		long.WriteRune('一' + r)
	}
	checkWindows(t, NewPassage([]string{long.String()}), 200, false)
}

// checkWindows sees that windows of at most limit bytes cover p without a gap.
func checkWindows(t *testing.T, p Passage, limit int, overlap bool) {
	t.Helper()
	covered, calls := 0, 0
	n, err := p.InWindows(overlap, func(text string) error {
		if len(text) > limit {
			return &backend.TooLongError{Tokens: 300 + len(text)/4, Limit: 300 + limit/4}
		}
		calls++
		at := strings.Index(p.Text, text)
		if !overlap && at < covered {
			at = covered + strings.Index(p.Text[covered:], text)
		}
		if strings.TrimSpace(p.Text[min(covered, at):at]) != "" || at+len(text) <= covered {
			t.Errorf("limit %d: a gap before %q, or nothing new in it", limit, text)
		}
		covered = at + len(text)
		return nil
	})
	if err != nil || n != calls || strings.TrimSpace(p.Text[covered:]) != "" {
		t.Errorf("limit %d, overlap %v: %d windows, %d calls, %d of %d bytes covered, %v", limit, overlap, n, calls,
			covered, len(p.Text), err)
	}
	if ideal := len(p.Text)/limit + 1; n > 4*ideal {
		t.Errorf("limit %d, overlap %v: %d windows where %d could do", limit, overlap, n, ideal)
	}
}

// Where even the smallest window does not fit, the engine's error comes back.
func TestWindowsThatNeverFit(t *testing.T) {
	p := NewPassage([]string{strings.Repeat("Some words here. ", 100)})
	calls := 0
	_, err := p.InWindows(true, func(string) error { calls++; return &backend.TooLongError{Limit: 10} })
	if err == nil || calls > 20 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

// The best reference is the first of equal ones; one that does not apply is passed over, and an error is not.
func TestBestReference(t *testing.T) {
	broken := errors.New("no memory")
	compare := func(reference string) (Score, error) {
		switch reference {
		case "no":
			return Score{}, fmt.Errorf("%w: %s", ErrNotApplicable, reference)
		case "broken":
			return Score{}, broken
		}
		return Score{Value: float64(len(reference))}, nil
	}
	check := func(references []string, better func(a, b Score) bool, value float64, place int, fault error) {
		t.Helper()
		best, at, err := BestReference(references, better, compare)
		if best.Value != value || at != place || !errors.Is(err, fault) {
			t.Errorf("%q: %v at %d, %v; want %v at %d, %v", references, best.Value, at, err, value, place, fault)
		}
	}
	check([]string{"aa", " ", "bbb", "ccc"}, Higher, 3, 2, nil)
	check([]string{"aa", "", "bbb", "c"}, Lower, 1, 3, nil)
	check([]string{"no", "a"}, Higher, 1, 1, nil)
	check([]string{"a", "broken"}, Higher, 0, -1, broken)
	check([]string{"no", "no"}, Higher, 0, -1, ErrNotApplicable)
	check([]string{" "}, Higher, 0, -1, ErrNotApplicable)
	check(nil, Lower, 0, -1, ErrNotApplicable)
}

// Every window is asked about, and named where there are several.
func TestEachWindow(t *testing.T) {
	texts := []string{strings.Repeat("A sentence of some length stands here. ", 20)}
	got, err := EachWindow(texts, func(text string) (int, error) {
		if len(text) > 300 {
			return 0, backend.ErrPromptTooLong
		}
		return len(text), nil
	})
	if err != nil || len(got) < 3 {
		t.Fatalf("%v, %v", got, err)
	}
	longest := Best(got, func(a, b int) bool { return a > b })
	for _, n := range got[:longest] {
		if n >= got[longest] {
			t.Errorf("%v: %d is not the first of the longest", got, longest)
		}
	}
	if WindowName(1, 3) != "window 2 of 3" || WindowName(0, 1) != "" {
		t.Error("windows are named", WindowName(1, 3), WindowName(0, 1))
	}
}
