package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/internal/stats"
	"github.com/assay-eval/assay/metrics"
)

const (
	PageRows    = 50     // of a list
	MostCounted = 10_000 // rows of a search or filter that are counted
)

// patience is how long a list is looked for in which way.
type patience struct {
	sorted int // hits of a search that are sorted as they are; of more, the first are found in order
	tried  int // rows that are tried in their order before all hits are sorted after all
}

// A Filter says which rows are listed, and in which order. Its zero value is all rows, as in the run.
type Filter struct {
	Words   string   // searched: see [match]
	Ranges  []Range  // all of which hold
	Slices  []Slice  // all of which hold
	Failed  bool     // rows with a failed metric only
	Without []string // samples that are left out

	By   int  // the metric by which rows are sorted
	Sort Sort // how

	// Against is what the rows' scores by that metric are held against: only rows that have both are listed, and
	// unless they are sorted by the score, those come first that the two put on different sides of the middle, then by how
	// far they lie apart.
	Against *Against
	Flipped bool // only rows on different sides of the middle
}

// A Sort is an order of rows.
type Sort string

// The orders.
const (
	AsRun Sort = ""
	Low   Sort = "low"  // the lowest score first
	High  Sort = "high" // the highest score first
)

// A Range holds a metric's score: Lo <= score < Hi, or <= Hi where that is the end of the range.
type Range struct {
	Metric int
	Lo, Hi float64
	Last   bool
}

// A Slice holds rows that have a value in a column.
type Slice struct{ Column, Value string }

// A Row is a row of the list.
type Row struct {
	ID               int
	Sample           string
	Question, Answer string
	Failed           int
	Scores           []sql.NullFloat64 // by metric
	Other            sql.NullFloat64   // what the score is held against
	OtherID          int               // the row in the other run
}

// All reports whether all rows pass.
func (f *Filter) All() bool {
	return match(f.Words) == "" && len(f.Ranges) == 0 && len(f.Slices) == 0 && !f.Failed && len(f.Without) == 0 && f.Against == nil
}

// A clause is a condition in SQL with what stands for its question marks.
type clause struct {
	text strings.Builder
	args []any
}

func (c *clause) and(text string, args ...any) {
	c.text.WriteString(" AND " + text)
	c.args = append(c.args, args...)
}

// How a condition is asked for: a row at a time, which suits few rows, or of all rows at once, or not at all, since the
// rows come from what meets it.
type way int

const (
	byRow way = iota
	atOnce
	leading
)

// where is the condition of a filter over scores s.
func (x *Index) where(f *Filter, words way) *clause {
	c := &clause{}
	c.text.WriteString("1")
	switch m := match(f.Words); {
	case m == "" || words == leading:
	case words == byRow:
		c.and("EXISTS (SELECT 1 FROM words WHERE words MATCH ? AND rowid = s.id)", m)
	default:
		c.and("s.id IN (SELECT rowid FROM words WHERE words MATCH ?)", m)
	}
	for _, b := range f.Ranges {
		op := "<"
		if b.Last {
			op = "<="
		}
		c.and(fmt.Sprintf("s.m%d >= ? AND s.m%d %s ?", b.Metric, b.Metric, op), b.Lo, b.Hi)
	}
	for _, v := range x.slices(f) {
		c.and("EXISTS (SELECT 1 FROM members WHERE value = ? AND id = s.id)", v.ID)
	}
	if f.Failed {
		c.and("s.failed > 0")
	}
	if len(f.Without) > 0 {
		list, _ := json.Marshal(f.Without) // strings
		c.and("s.id NOT IN (SELECT id FROM rows WHERE sample IN (SELECT value FROM json_each(?)))", string(list))
	}
	return c
}

// slices are the values that a filter's slices name, the rarest first; one that no row has is the zero Value.
func (x *Index) slices(f *Filter) []Value {
	state := x.Now()
	var list []Value
	for _, slice := range f.Slices {
		var v Value
		if column := state.Column(slice.Column); column != nil {
			if found := column.Value(slice.Value); found != nil {
				v = *found
			}
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b Value) int { return a.N - b.N })
	return list
}

// from is where the rows of a filter come from: its words, or its rarest slice, or all of them.
func (x *Index) from(f *Filter) (source string, c *clause) {
	if m := match(f.Words); m != "" {
		c = x.where(f, leading)
		c.args = append([]any{m}, c.args...)
		return "words CROSS JOIN scores s ON s.id = words.rowid WHERE words MATCH ? AND ", c
	}
	c = x.where(f, byRow)
	if list := x.slices(f); len(list) > 0 {
		c.args = append([]any{list[0].ID}, c.args...)
		return "members v CROSS JOIN scores s ON s.id = v.id WHERE v.value = ? AND ", c
	}
	return "scores s WHERE ", c
}

// order is the order of a filter in SQL, and the condition without which there is none.
func (f *Filter) order() (text, needs string) {
	m := fmt.Sprintf("s.m%d", f.By)
	switch f.Sort {
	case Low:
		return m + ", s.id", " AND " + m + " IS NOT NULL"
	case High:
		return m + " DESC, s.id DESC", " AND " + m + " IS NOT NULL"
	}
	return "s.id", ""
}

// List is a page of the rows that pass a filter, from the given one on, and one more if there is one.
//
// The rows that pass a filter are found and then sorted where they are few. Where they are many, they are tried in the
// order of the list instead, which fills a page after few; only where those that pass lie far down, as of a word that the
// lowest scores never have, all hits are sorted after all.
func (x *Index) List(ctx context.Context, f Filter, from int) ([]Row, error) {
	if f.Against != nil {
		return x.held(ctx, f, from)
	}
	var ids []int
	many, err := x.many(ctx, &f)
	if err == nil && many {
		ids, err = x.tried(ctx, f, from)
	}
	if err == nil && ids == nil {
		ids, err = x.hits(ctx, f, from)
	}
	if err != nil {
		return nil, err
	}
	return x.rows(ctx, ids)
}

// many reports whether what a filter looks for, by words and slices, is in so many rows that a page is sooner filled by
// trying them in their order.
func (x *Index) many(ctx context.Context, f *Filter) (bool, error) {
	if list := x.slices(f); len(list) > 0 && list[0].N <= x.patience.sorted {
		return false, nil
	}
	m := match(f.Words)
	if m == "" || f.Sort == AsRun { // words are found in the rows' order
		return m == "" && !f.All(), nil
	}
	var n int
	err := x.db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)", m, x.patience.sorted+1).Scan(&n)
	return n > x.patience.sorted, err
}

// tried goes through the rows in their order and tries each. It gives up, with nil, after some thousands.
func (x *Index) tried(ctx context.Context, f Filter, from int) ([]int, error) {
	order, needs := f.order()
	c := x.where(&f, byRow)
	most := x.patience.tried + 20*from
	query := "SELECT s.id FROM (SELECT * FROM scores s WHERE 1" + needs + " ORDER BY " + order + " LIMIT ?) s WHERE " +
		c.text.String() + " LIMIT ? OFFSET ?"
	ids, err := idsOf(ctx, x.db, query, append(append([]any{most}, c.args...), PageRows+1, from)...)
	if err != nil || len(ids) <= PageRows && x.Now().Rows > most {
		return nil, err
	}
	if ids == nil {
		ids = []int{}
	}
	return ids, nil
}

// hits finds all rows that pass, and sorts them.
func (x *Index) hits(ctx context.Context, f Filter, from int) ([]int, error) {
	order, needs := f.order()
	source, c := x.from(&f)
	if f.Sort == AsRun && match(f.Words) != "" {
		order = "words.rowid"
	}
	return idsOf(ctx, x.db, "SELECT s.id FROM "+source+c.text.String()+needs+" ORDER BY "+order+" LIMIT ? OFFSET ?",
		append(c.args, PageRows+1, from)...)
}

// A querier is the index, or one connection to it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func idsOf(ctx context.Context, db querier, query string, args ...any) ([]int, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	return list, rows.Err()
}

// rows are the rows of a list, in its order.
func (x *Index) rows(ctx context.Context, ids []int) ([]Row, error) {
	list, _ := json.Marshal(ids) // numbers
	place := map[int]int{}
	for i, id := range ids {
		place[id] = i
	}
	found, err := x.db.QueryContext(ctx, "SELECT r.id, r.sample, r.question, r.answer, s.failed"+x.columns()+
		" FROM json_each(?) j JOIN rows r ON r.id = j.value JOIN scores s ON s.id = r.id", string(list))
	if err != nil {
		return nil, err
	}
	defer found.Close()
	rows := make([]Row, len(ids))
	for found.Next() {
		l := Row{Scores: make([]sql.NullFloat64, len(x.Metrics()))}
		into := []any{&l.ID, &l.Sample, &l.Question, &l.Answer, &l.Failed}
		for i := range l.Scores {
			into = append(into, &l.Scores[i])
		}
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		rows[place[l.ID]] = l
	}
	return rows, found.Err()
}

// columns lists the columns of scores.
func (x *Index) columns() string {
	var b strings.Builder
	for i := range x.Metrics() {
		fmt.Fprintf(&b, ", s.m%d", i)
	}
	return b.String()
}

// A Tally counts the rows that pass a filter, in their order.
type Tally struct {
	Rows   int
	More   bool     // there are more than were counted
	Counts []Counts // by metric
}

// Tally counts the rows that pass a filter, and their scores: of the first 10,000 if there are more, and of every so
// many where all pass. Each, unless it is nil, is told the scores of each row that is counted, by metric.
func (x *Index) Tally(ctx context.Context, f Filter, each func(scores []sql.NullFloat64)) (*Tally, error) {
	if f.Against != nil {
		return x.tallyHeld(ctx, f, each)
	}
	source, c := x.from(&f)
	if rows := x.Now().Rows; f.All() && rows > MostCounted {
		c.and("s.id % ? = 0", rows/MostCounted+1)
	}
	return x.tally(ctx, x.db, "SELECT s.id"+x.columns()+" FROM "+source+c.text.String()+" LIMIT ?", append(c.args, MostCounted+1), each)
}

func (x *Index) tally(ctx context.Context, db querier, query string, args []any, each func(scores []sql.NullFloat64)) (*Tally, error) {
	found, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	list := x.Metrics()
	t := &Tally{Counts: make([]Counts, len(list))}
	scores := make([]sql.NullFloat64, len(list))
	var id int
	into := []any{&id}
	for i := range scores {
		into = append(into, &scores[i])
	}
	for found.Next() {
		if t.Rows == MostCounted {
			t.More = true
			return t, nil
		}
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		t.Rows++
		for i, v := range scores {
			if v.Valid {
				t.Counts[i].score(v.Float64, list[i])
			}
		}
		if each != nil {
			each(scores)
		}
	}
	return t, found.Err()
}

// ErrNoRow says that a run has no such row.
var ErrNoRow = errors.New("no such row")

// Sample reads a row: the sample, nil where its text is not known, and its results from the run folder.
func (x *Index) Sample(ctx context.Context, id int) (*metrics.Sample, []metrics.Result, error) {
	var start int64
	var body []byte
	err := x.db.QueryRowContext(ctx,
		"SELECT r.start, b.body FROM rows r LEFT JOIN bodies b ON b.id = r.id WHERE r.id = ?", id).Scan(&start, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, ErrNoRow
	}
	if err != nil {
		return nil, nil, err
	}
	row, err := x.Run().Row(ctx, start)
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

// Find is the row of a sample.
func (x *Index) Find(ctx context.Context, sample string) (int, error) {
	var id int
	err := x.db.QueryRowContext(ctx, "SELECT id FROM rows WHERE sample = ?", sample).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrNoRow
	}
	return id, err
}

// Passing are the rows that pass a filter, in the run's order, at most so many; more says that there are others.
func (x *Index) Passing(ctx context.Context, f Filter, most int) (ids []int, more bool, err error) {
	source, c := x.from(&f)
	if f.Against != nil {
		q, err := x.versus(&f)
		if err != nil {
			return nil, false, err
		}
		source, c = q.source, &clause{args: q.args}
	}
	conn, done, err := x.attached(ctx, f.Against)
	if err != nil {
		return nil, false, err
	}
	defer done()
	ids, err = idsOf(ctx, conn, "SELECT s.id FROM "+source+c.text.String()+" ORDER BY s.id LIMIT ?", append(c.args, most+1)...)
	return ids[:min(len(ids), most)], len(ids) > most, err
}

// Scores are those by one metric, with the groups of their rows: of the samples that are named, or, with nil, of all.
func (x *Index) Scores(ctx context.Context, metric int, samples []string) (*runs.Scores, error) {
	m := x.Metrics()[metric]
	s := &runs.Scores{Run: x.Run(), Group: map[string]string{}, Of: map[string]map[string]float64{m.Name: {}},
		Surveys: map[string]*stats.Survey{}}
	if x.Now().Counts[metric].Drawn {
		s.Surveys[m.Name] = &stats.Survey{}
	}
	query, args := fmt.Sprintf("SELECT r.sample, r.grp, s.m%d FROM rows r JOIN scores s ON s.id = r.id", metric), []any{}
	if samples != nil {
		list, _ := json.Marshal(samples) // strings
		query, args = query+" WHERE r.sample IN (SELECT value FROM json_each(?))", []any{string(list)}
	}
	found, err := x.db.QueryContext(ctx, query+" ORDER BY r.id", args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var id, group string
		var score sql.NullFloat64
		if err := found.Scan(&id, &group, &score); err != nil {
			return nil, err
		}
		s.Samples = append(s.Samples, id)
		if group != "" {
			s.Group[id] = group
		}
		if score.Valid {
			s.Of[m.Name][id] = score.Float64
		}
	}
	return s, found.Err()
}
