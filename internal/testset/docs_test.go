package testset

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocs holds the tables of docs/testset.md to the rows that are made.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/testset.md")
	if err != nil {
		t.Fatal(err)
	}
	r := retriever(t, documents())
	_, rows := made(t, NewMaker(writer(t, good()), r, ARES, []Type{Single, Unanswerable}, 10), nil)
	_, pairs := made(t, NewMaker(writer(t, good()), r, WikiEval, []Type{Single}, 2), nil)
	rows = append(rows, Row{Kind: LostContext, Labels: map[string]int{contextRelevance: 0}})
	seen := map[Kind]bool{}
	for _, row := range rows {
		seen[row.Kind] = true
		cells := ""
		for _, dimension := range []string{contextRelevance, answerFaithfulness, answerRelevance} {
			if label, ok := row.Labels[dimension]; ok {
				cells += fmt.Sprintf(" %d |", label)
			} else {
				cells += " |"
			}
		}
		if !regexp.MustCompile("(?m)^\\| `" + string(row.Kind) + "` \\|[^|]*\\|" + regexp.QuoteMeta(cells) + "$").
			Match(page) {
			t.Errorf("the page does not say that %s has the labels %s", row.Kind, cells)
		}
	}
	for _, row := range pairs {
		seen[row.Kind] = true
		worse := ""
		if row.Worse != "" {
			worse = " `" + row.Worse + "`"
		}
		if !strings.Contains(string(page), "| `"+string(row.Kind)+"` |"+worse+" |") {
			t.Errorf("the page does not say that %s is worse in %q", row.Kind, row.Worse)
		}
	}
	if len(seen) != 11 {
		t.Errorf("%d kinds of rows were looked at, there are 11", len(seen))
	}
}
