package gate

import "testing"

func TestFailures(t *testing.T) {
	check := func(text string, failed, all int, want bool) {
		t.Helper()
		l, err := ParseFailures(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := l.Crossed(failed, all); got != want {
			t.Errorf("%q: %d of %d failed: crossed = %v", text, failed, all, got)
		}
	}
	check("", 9, 9, false)
	check("0", 0, 9, false)
	check("0", 1, 9, true)
	check("3", 3, 9, false)
	check("50%", 5, 10, false)
	check("50%", 6, 10, true)
	check("0%", 0, 0, false)
	for _, text := range []string{"-1", "101%", "x", "%", "1.5", "NaN%"} {
		if _, err := ParseFailures(text); err == nil {
			t.Errorf("%q was taken for a limit", text)
		}
	}
}
