package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/study"
	"github.com/assay-eval/assay/tokenize"
)

// mostCompared bounds the rows of two runs whose difference is computed while someone waits.
const mostCompared = 100_000

// compared is a page of the rows that two runs share, with the other's scores of a metric: those first that one run has
// in the upper half of the range and the other in the lower, then by how far the scores lie apart.
func (x *index) compared(ctx context.Context, other *index, f filter, from int) ([]listed, error) {
	m := x.metrics()[f.By]
	theirs, err := other.place(m.Name)
	if err != nil {
		return nil, err
	}
	conn, err := x.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "ATTACH ? AS other", other.path); err != nil {
		return nil, err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "DETACH other")
	where, args := f.where()
	own, middle := fmt.Sprintf("r.m%d", f.By), (m.Min+m.Max)/2
	query := fmt.Sprintf(`SELECT %s, o.m%d, o.id FROM rows r JOIN other.rows o ON o.sample = r.sample
		WHERE %s ORDER BY (%s >= ?) <> (o.m%d >= ?) DESC, abs(%s - o.m%d) DESC, r.id LIMIT ? OFFSET ?`,
		x.columns(), theirs, where, own, theirs, own, theirs)
	rows, err := conn.QueryContext(ctx, query, append(args, middle, middle, pageRows+1, from)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []listed
	for rows.Next() {
		var score sql.NullFloat64
		var id int
		l, err := x.scan(rows, &score, &id)
		if err != nil {
			return nil, err
		}
		l.Other, l.OtherID = score, id
		list = append(list, l)
	}
	return list, rows.Err()
}

// place is that of a metric in the columns of an index.
func (x *index) place(name string) (int, error) {
	for i, m := range x.metrics() {
		if m.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s has no metric %q: it has %s", x.current().Dir, name,
		strings.Join(x.current().Manifest.Names(), ", "))
}

// chance says in a sentence how far two runs differ in a metric, and whether that may be chance.
func (x *index) chance(ctx context.Context, other *index, metric string) (string, error) {
	if x.now().Rows > mostCompared || other.now().Rows > mostCompared {
		return fmt.Sprintf("More than %d rows: assay compare says whether the difference is real.", mostCompared), nil
	}
	base, errBase := runs.LoadScores(ctx, other.current().Dir)
	run, errRun := runs.LoadScores(ctx, x.current().Dir)
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
