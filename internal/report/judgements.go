package report

import (
	"fmt"

	"github.com/assay-eval/assay/internal/study"
)

// judgedAgreement tells how far a judge's relevance judgements agree with people's.
func judgedAgreement(a *study.JudgedAgreement) []section {
	t := section{header: []string{"passages", "queries", "same grade", "kappa", "weighted kappa",
		fmt.Sprintf("kappa of grade >= %d", a.Relevant)}}
	t.rows = [][]any{{a.N, a.Queries, estimate{a.Exact}, estimate{a.Kappa}, estimate{a.Weighted}, estimate{a.Binary}}}
	counts := section{header: []string{"people's grade"}}
	for _, g := range a.Grades {
		counts.header = append(counts.header, fmt.Sprintf("judge's %d", g))
	}
	for i, g := range a.Grades {
		row := []any{g}
		for _, n := range a.Counts[i] {
			row = append(row, n)
		}
		counts.rows = append(counts.rows, row)
	}
	notes := []string{fmt.Sprintf("%d passages that the judge graded were judged by nobody, and %d that people judged "+
		"were not retrieved", a.OnlyHere, a.OnlyThem)}
	return []section{t, counts, {notes: append(notes, a.Warnings...)}}
}
