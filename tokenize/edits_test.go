package tokenize

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEditDistance(t *testing.T) {
	check := func(a, b string, want int) {
		t.Helper()
		if got, err := Edits([]rune(a), []rune(b)); got != want || err != nil {
			t.Errorf("%q to %q: %d, %v; want %d", a, b, got, err, want)
		}
	}
	check("kitten", "sitting", 3)
	check("Saturday", "Sunday", 3)
	check("flaw", "lawn", 2)
	check("", "abc", 3)
	check("", "", 0)
	check("größe", "grosse", 3)
	check(strings.Repeat("ab", 500), strings.Repeat("ba", 500), 2)
	check(strings.Repeat("a", 1000), strings.Repeat("b", 1300), 1300)

	// Too long, unless what differs is short.
	long := strings.Repeat("abcdefgh", 1<<17)
	if _, err := Edits([]rune("x"+long), []rune(long+"y")); err == nil {
		t.Errorf("texts of a million characters: %v", err)
	}
	check(long+"x"+long, long+"yz"+long, 2)
}

// plainEdits is the distance by the usual table, row by row.
func plainEdits(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			here := diagonal
			if x != y {
				here = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], here
		}
	}
	return row[len(b)]
}

// Texts of every length around those at which the table is cut.
func TestEditBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	text := func(n int) []rune {
		list := make([]rune, n)
		for i := range list {
			list[i] = []rune("abé日")[rng.IntN(4)]
		}
		return list
	}
	for _, n := range []int{1, 2, 31, 63, 64, 65, 127, 128, 129, 200} {
		for _, m := range []int{1, 3, 62, 63, 64, 65, 66, 128, 191, 192, 193} {
			a, b := text(n), text(m)
			if got, err := Edits(a, b); got != plainEdits(a, b) || err != nil {
				t.Errorf("%q to %q: %d, %v; want %d", string(a), string(b), got, err, plainEdits(a, b))
			}
		}
	}
}

// The distance is a metric, and that of the usual table.
func FuzzEdits(f *testing.F) {
	f.Add("abcd", "ab", "x")
	f.Add("", "é", "e")
	f.Add(strings.Repeat("ab", 40), strings.Repeat("ba", 33), strings.Repeat("a", 70))
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if len(a)+len(b)+len(c) > 600 || !utf8.ValidString(a+" "+b+" "+c) {
			return
		}
		distance := func(a, b string) int {
			n, err := Edits([]rune(a), []rune(b))
			if want := plainEdits([]rune(a), []rune(b)); n != want || err != nil {
				t.Fatalf("%q to %q: %d, %v; want %d", a, b, n, err, want)
			}
			return n
		}
		ab := distance(a, b)
		if ab != distance(b, a) || (ab == 0) != (a == b) || ab > distance(a, c)+distance(c, b) {
			t.Errorf("%q to %q: %d", a, b, ab)
		}
	})
}
