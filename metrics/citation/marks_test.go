package citation

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/assay-eval/assay/tokenize"
)

// TestParse reads the common forms of marks, and what only looks like one.
func TestParse(t *testing.T) {
	ids := []string{"a", "doc-7", "x.pdf#2", "d"}
	check := func(answer string, want ...string) {
		t.Helper()
		var got []string
		for _, s := range Parse(answer, 4, ids) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %v %s", s.Text, s.Cites, strings.Join(s.Unknown, ";"))))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", answer, got, want)
		}
	}
	// Brackets.
	check("The ferry costs 14 euros [1].", "The ferry costs 14 euros. [1]")
	check("The ferry costs 14 euros. [1] It sails daily. [2]", "The ferry costs 14 euros. [1]", "It sails daily. [2]")
	check("The ferry costs 14 euros.[1][2] It sails daily [3, 4].", "The ferry costs 14 euros. [1 2]", "It sails daily. [3 4]")
	check("It costs 14 euros [2-4] and [2] sails.", "It costs 14 euros and sails. [2 3 4]")
	check("It costs 14 euros [1; 3].", "It costs 14 euros. [1 3]")
	check("It costs 14 euros[^1].", "It costs 14 euros. [1]")
	check("It costs 14 euros [Source 2] [Doc 3].", "It costs 14 euros. [2 3]")
	check("It costs 14 euros [source 1, source 2].", "It costs 14 euros. [1 2]")
	check("It costs 14 euros [doc-7].", "It costs 14 euros. [2]")
	check("It costs 14 euros [doc-7, x.pdf#2].", "It costs 14 euros. [2 3]")
	check("It costs 14 euros【1】【2†source】。", "It costs 14 euros。 [1 2]")
	check("渡轮票价14欧元[1]。每天开航[2]。", "渡轮票价14欧元。 [1]", "每天开航。 [2]")
	check("It costs 14 euros [1](https://example.org/a).", "It costs 14 euros. [1]")
	// Of a context that there is not.
	check("It costs 14 euros [7].", "It costs 14 euros. [] 7")
	check("It costs 14 euros [0][1].", "It costs 14 euros. [1] 0")
	// Round brackets, superscripts, words.
	check("It costs 14 euros (1).", "It costs 14 euros. [1]")
	check("It costs 14 euros (1, 3). It was built (1871).", "It costs 14 euros. [1 3]", "It was built (1871). []")
	check("(1) First.\n(2) Second.", "(1) First. []", "(2) Second. []")
	check("It costs 14 euros (Source 2).", "It costs 14 euros. [2]")
	check("It costs 14 euros.¹ It sails daily.²⁻³", "It costs 14 euros. [1]", "It sails daily. [2 3]")
	check("It covers 3 km² or 10² acres and x².", "It covers 3 km² or 10² acres and x². []")
	check("According to Source 1, it costs 14 euros.", "According to Source 1, it costs 14 euros. [1]")
	check("As documents 1 and 3 say, it sails.", "As documents 1 and 3 say, it sails. [1 3]")
	check("Source 1.5 is no source, nor is source 1871.", "Source 1.5 is no source, nor is source 1871. []")
	check("In Quelle 2 steht der Preis.", "In Quelle 2 steht der Preis. [2]")
	// A mark that begins a line belongs to it.
	check("It sails.\n[2] says that it costs 14 euros.", "It sails. []", "says that it costs 14 euros. [2]")
	check("- [1][2] It sails.", "- It sails. [1 2]")
	// Each once, in order; what is no mark stays.
	check("It [1] sails [1][3] daily [see below] [TODO].", "It sails daily [see below] [TODO]. [1 3]")
	// Lists of sources are no statements.
	check("It sails [1].\n\nReferences:\n[1] The ferry's page\n[2] A book", "It sails. [1]")
	check("It sails [1].\n\n**Sources**\n1. The ferry's page\n2. A book\n", "It sails. [1]")
	check("It sails[^1].\n\n[^1]: The ferry's page.", "It sails. [1]")
	check("Sources:\nIt sails [1].", "Sources: []", "It sails. [1]")
	check("")
	check("[1]")
}

// FuzzParse holds the reader to its promises: numbers of contexts only, each once, and statements of what the answer says.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"A [1][2] b.", "【1†x】", "(1)", "a¹²", "Source 1 and 2", "References:\n[1] a", "[1-9999]", "[[[1", "\xff[1]"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, answer string, n int) {
		n = min(max(n, 0), 50)
		for _, s := range Parse(answer, n, []string{"id", "1"}) {
			seen := map[int]bool{}
			for _, c := range s.Cites {
				if c < 1 || c > n || seen[c] {
					t.Fatalf("%q cites %v of %d", answer, s.Cites, n)
				}
				seen[c] = true
			}
			if !tokenize.HasWords(s.Text) {
				t.Fatalf("%q has the statement %q", answer, s.Text)
			}
			if utf8.ValidString(answer) && !utf8.ValidString(s.Text) {
				t.Fatalf("%q was cut within a character: %q", answer, s.Text)
			}
		}
	})
}
