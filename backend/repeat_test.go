package backend

import (
	"strings"
	"testing"
)

func TestRepeats(t *testing.T) {
	const long = "The ferry sails from May to September, and a return ticket costs 14 euros.\n"
	const short = "It sails from May on.\n\n\n"
	check := func(text string, want bool) {
		t.Helper()
		if got := Repeats([]byte(text)); got != want {
			t.Errorf("Repeats(%q) = %v", text, got)
		}
	}
	check("", false)
	check(long, false)
	check(long+long, true)
	check("Before. "+long+long, true)
	check(long+"Between. "+long, false)
	check(long+long+"After.", false)
	check(short+short, false)
	check("x"+short+short+short, true)
	check(strings.Repeat("Yes\n", 5), false)
	check("1. Verdict: Yes\n2. Verdict: Yes\n3. Verdict: Yes\n4. Verdict: Yes\n", false)
}
