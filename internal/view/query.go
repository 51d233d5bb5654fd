package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

const (
	pageRows    = 50
	mostCounted = 20_000 // rows of a search or filter that are counted for histograms
)

// A filter says which rows are listed, and in which order.
type filter struct {
	Words   string   // searched
	Ranges  []bound  // all of which hold
	Failed  bool     // rows with a failed metric only
	Without []string // samples that are left out: those that have a label

	By   int    // the metric by which rows are sorted
	Sort string // "": as in the run; "low", "high": by the score; "change": by how far two runs differ
}

// A bound holds a metric's score: Lo <= score < Hi, or <= Hi where that is the end of the range.
type bound struct {
	Metric int
	Lo, Hi float64
	Last   bool
}

// A listed is a row of the list.
type listed struct {
	ID               int
	Sample           string
	Question, Answer string
	Failed           int
	Scores           []sql.NullFloat64 // by metric
	Other            sql.NullFloat64   // the compared run's, by the metric that is compared
	OtherID          int
}

// where is the condition of a filter in SQL, over rows r.
func (f *filter) where() (string, []any) {
	cond, args := []string{"1"}, []any{}
	if m := match(f.Words); m != "" {
		cond, args = append(cond, "r.id IN (SELECT rowid FROM words WHERE words MATCH ?)"), append(args, m)
	}
	for _, b := range f.Ranges {
		op := "<"
		if b.Last {
			op = "<="
		}
		cond = append(cond, fmt.Sprintf("r.m%d >= ? AND r.m%d %s ?", b.Metric, b.Metric, op))
		args = append(args, b.Lo, b.Hi)
	}
	if f.Failed {
		cond = append(cond, "r.failed > 0")
	}
	if len(f.Without) > 0 {
		list, _ := json.Marshal(f.Without) // strings
		cond, args = append(cond, "r.sample NOT IN (SELECT value FROM json_each(?))"), append(args, string(list))
	}
	return strings.Join(cond, " AND "), args
}

// columns lists the columns of a listed row.
func (x *index) columns() string {
	var b strings.Builder
	b.WriteString("r.id, r.sample, r.question, r.answer, r.failed")
	for i := range x.metrics() {
		fmt.Fprintf(&b, ", r.m%d", i)
	}
	return b.String()
}

// scan reads a row of columns, and then more.
func (x *index) scan(rows *sql.Rows, more ...any) (listed, error) {
	l := listed{Scores: make([]sql.NullFloat64, len(x.metrics()))}
	into := []any{&l.ID, &l.Sample, &l.Question, &l.Answer, &l.Failed}
	for i := range l.Scores {
		into = append(into, &l.Scores[i])
	}
	return l, rows.Scan(append(into, more...)...)
}

// list is a page of the rows that pass a filter, from the given one on, and one more if there is one.
func (x *index) list(ctx context.Context, f filter, from int) ([]listed, error) {
	where, args := f.where()
	order := "r.id"
	switch f.Sort {
	case "low":
		where, order = where+fmt.Sprintf(" AND r.m%d IS NOT NULL", f.By), fmt.Sprintf("r.m%d", f.By)
	case "high":
		where, order = where+fmt.Sprintf(" AND r.m%d IS NOT NULL", f.By), fmt.Sprintf("r.m%d DESC", f.By)
	}
	if f.Sort == "" && match(f.Words) != "" { // the words say where to begin: they are in the rows' order
		where = strings.Replace(where, "r.id IN (SELECT rowid FROM words WHERE words MATCH ?)", "words MATCH ?", 1)
		return x.rows(ctx, "SELECT "+x.columns()+" FROM words JOIN rows r ON r.id = words.rowid WHERE "+where+
			" ORDER BY words.rowid LIMIT ? OFFSET ?", append(args, pageRows+1, from)...)
	}
	return x.rows(ctx, "SELECT "+x.columns()+" FROM rows r WHERE "+where+" ORDER BY "+order+" LIMIT ? OFFSET ?",
		append(args, pageRows+1, from)...)
}

func (x *index) rows(ctx context.Context, query string, args ...any) ([]listed, error) {
	rows, err := x.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []listed
	for rows.Next() {
		l, err := x.scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, rows.Err()
}

// tally counts the scores of the rows that pass a filter, of the first 20,000 if there are more.
func (x *index) tally(ctx context.Context, f filter) (of []counts, rows int, more bool, err error) {
	where, args := f.where()
	var columns []string
	for i := range x.metrics() {
		columns = append(columns, fmt.Sprintf("r.m%d", i))
	}
	found, err := x.db.QueryContext(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM rows r WHERE "+where+" LIMIT ?",
		append(args, mostCounted+1)...)
	if err != nil {
		return nil, 0, false, err
	}
	defer found.Close()
	of = make([]counts, len(columns))
	scores := make([]sql.NullFloat64, len(columns))
	into := make([]any, len(columns))
	for i := range scores {
		into[i] = &scores[i]
	}
	for found.Next() {
		if rows == mostCounted {
			return of, rows, true, nil
		}
		if err := found.Scan(into...); err != nil {
			return nil, 0, false, err
		}
		rows++
		for i, v := range scores {
			if v.Valid {
				of[i].add(metrics.Result{Score: &metrics.Score{Value: v.Float64}}, x.metrics()[i])
			}
		}
	}
	return of, rows, false, found.Err()
}

// errNoRow says that a run has no such row.
var errNoRow = errors.New("no such row")

// sample reads a row: the sample, nil where its text is not known, and its results from the run folder.
func (x *index) sample(ctx context.Context, id int) (*metrics.Sample, []metrics.Result, error) {
	var start int64
	var body []byte
	err := x.db.QueryRowContext(ctx,
		"SELECT r.start, b.body FROM rows r LEFT JOIN bodies b ON b.id = r.id WHERE r.id = ?", id).Scan(&start, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, errNoRow
	}
	if err != nil {
		return nil, nil, err
	}
	row, err := x.current().Row(ctx, start)
	if err != nil {
		return nil, nil, err
	}
	if body == nil {
		return nil, row.Results, nil
	}
	text, err := x.opener.DecodeAll(body, nil)
	if err != nil {
		return nil, nil, err
	}
	var s metrics.Sample
	return &s, row.Results, json.Unmarshal(text, &s)
}

// find is the row of a sample.
func (x *index) find(ctx context.Context, sample string) (int, error) {
	var id int
	err := x.db.QueryRowContext(ctx, "SELECT id FROM rows WHERE sample = ?", sample).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errNoRow
	}
	return id, err
}

// current is the run as its manifest was when it was last looked at.
func (x *index) current() *runs.Run {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.run
}

// metrics are those of the run. They stay the same as long as the index does.
func (x *index) metrics() []runs.Metric { return x.current().Manifest.Config.Metrics }
