package dataset

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/metrics"
)

// qrels are judgements: which passages are of use for which query.
type qrels struct {
	name   string
	sum    string // SHA-256 of the content, decompressed
	grades map[string]map[string]int
	order  []string // the queries, as they first appear
	n      int
}

// What a file of judgements may hold: all of it is kept in memory.
const (
	maxJudgements = 1 << 24
	maxGrade      = 127 // as in trec_eval
)

// readQrels reads a file of judgements: TREC's (query, iteration, passage, grade), or BEIR's, which has a line
// of headings and no iteration. A line that is wrong makes the whole file useless: its errors are of Open.
func readQrels(ctx context.Context, path string) (*qrels, error) {
	src, err := openSource(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("--qrels: %w", err)
	}
	defer src.Close()
	f, _, err := src.openText()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	q := &qrels{name: src.name, grades: map[string]map[string]int{}}
	if err := q.read(ctx, f.Reader.(*bufio.Reader)); err != nil {
		return nil, err
	}
	if q.n == 0 {
		return nil, fmt.Errorf("%s is empty: it has no judgements", q.name)
	}
	if q.sum, err = f.sum(ctx); err != nil {
		return nil, fileError(q.name, 0, err)
	}
	return q, nil
}

func (q *qrels) read(ctx context.Context, r *bufio.Reader) error {
	var buf []byte
	beir := false
	for n := 1; ; n++ {
		b, err := readLine(r, buf[:0])
		buf = b
		if n%4096 == 0 && err == nil {
			err = ctx.Err()
		}
		if err != nil && err != io.EOF {
			return fileError(q.name, n, err)
		}
		fields := trecLine(b)
		switch {
		case fields == nil:
		case q.n == 0 && !beir && len(fields) == 3 && string(fields[0]) == "query-id":
			beir = true
		default:
			if wrong := q.add(fields, beir); wrong != nil {
				return fileError(q.name, n, wrong)
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// add takes in a line.
func (q *qrels) add(fields [][]byte, beir bool) error {
	switch {
	case beir && len(fields) != 3:
		return fmt.Errorf("want 3 fields, query passage grade, have %d", len(fields))
	case beir:
		fields = slices.Insert(fields, 1, nil)
	case len(fields) != 4:
		return fmt.Errorf("want 4 fields, query iteration passage grade, have %d", len(fields))
	}
	if !utf8.Valid(fields[0]) || !utf8.Valid(fields[2]) {
		return errors.New("not UTF-8")
	}
	query, id := string(fields[0]), string(fields[2])
	grade, err := strconv.Atoi(string(fields[3]))
	if err != nil || grade < -maxGrade || grade > maxGrade {
		return fmt.Errorf("want a whole number up to %d as the grade, have %.60q", maxGrade, fields[3])
	}
	grades := q.grades[query]
	if grades == nil {
		grades = map[string]int{}
		q.grades[query] = grades
		q.order = append(q.order, query)
	}
	if _, twice := grades[id]; twice {
		return fmt.Errorf("the passage %.60q is judged for query %.60q a second time", id, query)
	}
	if q.n++; q.n > maxJudgements {
		return fmt.Errorf("more than %d judgements", maxJudgements)
	}
	grades[id] = grade
	return nil
}

// judge gives a sample its judgements; without any it stays as it is. The map is shared by all who read it.
func (q *qrels) judge(s *metrics.Sample) error {
	grades, judged := q.grades[s.ID]
	if judged && s.Relevance != nil {
		return fmt.Errorf("the row has judgements of its own, and %s has some for its id too: leave one of them out",
			q.name)
	}
	if judged {
		s.Relevance = grades
	}
	return nil
}

// nothingFound is a sample for a query for which nothing was retrieved.
func (q *qrels) nothingFound(id string) *metrics.Sample {
	return &metrics.Sample{ID: id, ContextIDs: []string{}, Relevance: q.grades[id]}
}

// A judgedCount compares the queries of a dataset with those that were judged. A nil one counts nothing.
type judgedCount struct {
	qrels    *qrels
	found    map[string]bool // the judged queries that the dataset has
	rows     int
	unjudged int
	without  []string // the first of those
}

func newJudgedCount(q *qrels) *judgedCount {
	if q == nil {
		return nil
	}
	return &judgedCount{qrels: q, found: map[string]bool{}}
}

func (c *judgedCount) see(s *metrics.Sample) {
	if c == nil {
		return
	}
	c.rows++
	if _, judged := c.qrels.grades[s.ID]; judged {
		c.found[s.ID] = true
		return
	}
	if c.unjudged++; len(c.without) < mostNamed {
		c.without = append(c.without, s.ID)
	}
}

// compare returns the queries to add if the dataset is to be completed, and notes on all that have no
// counterpart. What a limit kept from being read is not missed: whole says that there was none.
func (c *judgedCount) compare(dataset string, complete, whole bool) (add, notes []string, err error) {
	if len(c.found) == 0 && c.rows > 0 && !complete {
		return nil, nil, fmt.Errorf("no query of %s is judged in %s: are the ids the same? The one has %.60q, the "+
			"other %.60q",
			dataset, c.qrels.name, c.without[0], c.qrels.order[0])
	}
	if c.unjudged > 0 {
		notes = append(notes, fmt.Sprintf("no judgements for %s, to which no measure of retrieval applies: %s",
			plural(c.unjudged), some(c.without, c.unjudged)))
	}
	if !whole {
		return nil, notes, nil
	}
	absent := slices.DeleteFunc(slices.Clone(c.qrels.order), func(id string) bool { return c.found[id] })
	if len(absent) == 0 {
		return nil, notes, nil
	}
	missing := fmt.Sprintf("%s judged and not in the dataset", plural(len(absent)))
	if complete {
		return absent, append(notes,
			fmt.Sprintf("%s, scored as if nothing had been retrieved: %s", missing, some(absent, len(absent)))), nil
	}
	return nil, append(notes, fmt.Sprintf("%s, left out (--complete scores them as if nothing had been retrieved): %s",
		missing, some(absent, len(absent)))), nil
}

// mostNamed is how many ids a note names.
const mostNamed = 5

// some names the first ids of n, each by its beginning.
func some(ids []string, n int) string {
	var names []string
	for _, id := range ids[:min(len(ids), mostNamed)] {
		names = append(names, fmt.Sprintf("%.60s", id))
	}
	text := strings.Join(names, ", ")
	if more := n - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func plural(queries int) string {
	if queries == 1 {
		return "1 query"
	}
	return fmt.Sprintf("%d queries", queries)
}

// ReadQrels reads a file of relevance judgements, in TREC's or BEIR's form: the grade of each judged passage, by query
// and passage.
func ReadQrels(ctx context.Context, path string) (map[string]map[string]int, error) {
	q, err := readQrels(ctx, path)
	if err != nil {
		return nil, err
	}
	return q.grades, nil
}
