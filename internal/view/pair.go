package view

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/internal/view/index"
	"github.com/assay-eval/assay/tokenize"
)

// mostCompared bounds the rows of two runs whose difference is computed while someone waits.
const mostCompared = 100_000

// chance says in a sentence how far two runs differ in a metric, and whether that may be chance.
func chance(ctx context.Context, x, other *index.Index, metric string) (string, error) {
	if x.Now().Rows > mostCompared || other.Now().Rows > mostCompared {
		return fmt.Sprintf("More than %d rows: assay compare says whether the difference is real.", mostCompared), nil
	}
	base, errBase := runs.LoadScores(ctx, other.Run().Dir)
	run, errRun := runs.LoadScores(ctx, x.Run().Dir)
	if err := errors.Join(errBase, errRun); err != nil {
		return "", err
	}
	c, err := study.Compare(ctx, base, []*runs.Scores{run}, study.CompareOptions{Metrics: []string{metric}, Power: 0.8})
	if err != nil {
		return "", err
	}
	d := c.Metrics[0]
	if d.N == 0 {
		return "No row has a score in both runs.", nil
	}
	text := fmt.Sprintf("The mean of %d rows goes from %.3f to %.3f: a difference of %+.3f", d.N, d.BaselineMean, d.Mean,
		d.Difference)
	if d.Lo != nil && d.Hi != nil {
		text += fmt.Sprintf(" (95%% interval %+.3f to %+.3f)", *d.Lo, *d.Hi)
	}
	text += fmt.Sprintf(", p = %.3g. ", d.P)
	if d.P < 0.05 {
		return text + "Chance alone would rarely make so large a difference.", nil
	}
	return text + "So large a difference may well be chance.", nil
}

// A change is a stretch of a text that another text has, lacks or adds.
type change struct {
	Kind string // "same", "gone", "new"
	Text string
}

// mostDiffed bounds the words of a text that are held against another's.
const mostDiffed = 1500

// changes cuts two texts into what they share, by words, and what only one has. Texts that are too long for that are one
// change.
func changes(before, after string) []change {
	a, b := strings.Fields(before), strings.Fields(after)
	if len(a) > mostDiffed || len(b) > mostDiffed {
		return []change{{"gone", before}, {"new", after}}
	}
	x, y := normalized(a), normalized(b)
	common := make([][]int16, len(a)+1) // of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var list []change
	add := func(kind, word string) {
		if n := len(list); n > 0 && list[n-1].Kind == kind {
			list[n-1].Text += " " + word
			return
		}
		list = append(list, change{kind, word})
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && x[i] == y[j]:
			add("same", b[j])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			add("gone", a[i])
			i++
		default:
			add("new", b[j])
			j++
		}
	}
	return list
}

// normalized are words without what does not make them others.
func normalized(words []string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		if list[i] = tokenize.Normalize(w); list[i] == "" {
			list[i] = w
		}
	}
	return list
}
