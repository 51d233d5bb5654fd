package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/internal/runs"
)

// An Against is what the scores by a metric are held against: those of another run by the same metric, or labels, or, where
// both are nil, those of another metric.
type Against struct {
	Run    *Index
	Metric int

	Labels    map[string]float64 // by sample
	Low, High float64            // the ends of their scale
}

// versus is what a query needs to hold scores against others.
type versus struct {
	source  string // of rows s, led by what the args are of
	args    []any
	other   string // the other score
	otherID string
	flipped string // whether the two lie on different sides of the middle
	order   string // those first, and then by how far they lie apart
}

// onScale is a score in SQL, brought to 0 for the worst and 1 for the best.
func onScale(expr string, m runs.Metric) string {
	if m.Max <= m.Min {
		return "0"
	}
	share := fmt.Sprintf("((%s - %.17g) / %.17g)", expr, m.Min, m.Max-m.Min)
	if m.LowerIsBetter {
		return "(1 - " + share + ")"
	}
	return share
}

// Flips reports whether two scores lie on different sides of the middle, between bad and good.
func Flips(a runs.Metric, x float64, b runs.Metric, y float64) bool {
	good := func(m runs.Metric, v float64) bool {
		share := m.Share(v)
		if m.LowerIsBetter {
			share = 1 - share
		}
		return share >= 0.5
	}
	return good(a, x) != good(b, y)
}

func (x *Index) versus(f *Filter) (*versus, error) {
	a, list := f.Against, x.Metrics()
	m := list[f.By]
	q := &versus{otherID: "0"}
	own, theirs := fmt.Sprintf("s.m%d", f.By), m
	switch {
	case a.Run != nil:
		place, err := a.Run.place(m.Name)
		if err != nil {
			return nil, err
		}
		c := x.where(f, atOnce)
		q.source = "scores s CROSS JOIN rows r ON r.id = s.id JOIN other.rows o ON o.sample = r.sample " +
			"JOIN other.scores os ON os.id = o.id WHERE " + c.text.String()
		q.args, q.other, q.otherID = c.args, fmt.Sprintf("os.m%d", place), "o.id"
	case a.Labels != nil:
		given, err := json.Marshal(a.Labels)
		if err != nil {
			return nil, err
		}
		c := x.where(f, atOnce)
		q.source = "json_each(?) j CROSS JOIN rows r ON r.sample = j.key JOIN scores s ON s.id = r.id WHERE " + c.text.String()
		q.args, q.other = append([]any{string(given)}, c.args...), "j.value"
		theirs = runs.Metric{Min: a.Low, Max: a.High}
	default:
		source, c := x.from(f)
		q.source, q.args = source+c.text.String(), c.args
		q.other, theirs = fmt.Sprintf("s.m%d", a.Metric), list[a.Metric]
	}
	before, after := onScale(q.other, theirs), onScale(own, m)
	q.flipped = fmt.Sprintf("((%s >= 0.5) <> (%s >= 0.5))", before, after)
	q.order = fmt.Sprintf("2 * %s + abs(%s - %s) DESC, s.id", q.flipped, after, before) // the distance is at most 1
	q.source += fmt.Sprintf(" AND %s IS NOT NULL AND %s IS NOT NULL", own, q.other)
	if f.Flipped {
		q.source += " AND " + q.flipped
	}
	return q, nil
}

// held is a page of the rows that a filter holds against something.
func (x *Index) held(ctx context.Context, f Filter, from int) ([]Row, error) {
	q, err := x.versus(&f)
	if err != nil {
		return nil, err
	}
	order, _ := f.order()
	if f.Sort == AsRun {
		order = q.order
	}
	conn, done, err := x.attached(ctx, f.Against)
	if err != nil {
		return nil, err
	}
	defer done()
	found, err := conn.QueryContext(ctx, "SELECT s.id, "+q.other+", "+q.otherID+" FROM "+q.source+" ORDER BY "+order+
		" LIMIT ? OFFSET ?", append(q.args, PageRows+1, from)...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var ids, others []int
	var scores []sql.NullFloat64
	for found.Next() {
		var id, other int
		var score sql.NullFloat64
		if err := found.Scan(&id, &score, &other); err != nil {
			return nil, err
		}
		ids, others, scores = append(ids, id), append(others, other), append(scores, score)
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	rows, err := x.rows(ctx, ids)
	for i := range rows {
		rows[i].Other, rows[i].OtherID = scores[i], others[i]
	}
	return rows, err
}

// tallyHeld is [Index.Tally] of rows that are held against something.
func (x *Index) tallyHeld(ctx context.Context, f Filter, each func(scores []sql.NullFloat64)) (*Tally, error) {
	q, err := x.versus(&f)
	if err != nil {
		return nil, err
	}
	conn, done, err := x.attached(ctx, f.Against)
	if err != nil {
		return nil, err
	}
	defer done()
	return x.tally(ctx, conn, "SELECT s.id"+x.columns()+" FROM "+q.source+" LIMIT ?", append(q.args, MostCounted+1), each)
}

// attached is a connection to the index that sees another run's, too, until it is done.
func (x *Index) attached(ctx context.Context, a *Against) (conn *sql.Conn, done func(), err error) {
	if conn, err = x.db.Conn(ctx); err != nil {
		return nil, nil, err
	}
	if a == nil || a.Run == nil {
		return conn, func() { conn.Close() }, nil
	}
	if _, err = conn.ExecContext(ctx, "ATTACH ? AS other", a.Run.path); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, func() {
		conn.ExecContext(context.WithoutCancel(ctx), "DETACH other")
		conn.Close()
	}, nil
}

// place is that of a metric in the columns of an index.
func (x *Index) place(name string) (int, error) {
	for i, m := range x.Metrics() {
		if m.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s has no metric %q: it has %s", x.Run().Dir, name,
		strings.Join(x.Run().Manifest.Names(), ", "))
}
