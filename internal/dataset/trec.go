package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// trecFields are the fields of a line of a run, as TREC has them. What follows them is not looked at.
const trecFields = "query Q0 passage rank score tag"

// readTREC reads a TREC run: a record for each query, with the passages retrieved for it. They are ordered as
// trec_eval orders them, by score and, where scores are equal, by id, both the highest first; the rank that is
// written does not count. The lines of a query must stand together.
func readTREC(r *bufio.Reader) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		var buf []byte
		var q *retrieved
		for n := 1; ; n++ {
			b, err := readLine(r, buf[:0])
			buf = b
			if err != nil && err != io.EOF && err != errTooLong {
				yield(record{line: n}, err)
				return
			}
			fields := trecLine(b)
			if q != nil && (err == errTooLong || len(fields) > 0 && string(fields[0]) != q.query) {
				if !yield(q.record(), nil) {
					return
				}
				q = nil
			}
			switch {
			case err == errTooLong:
				if !yield(record{line: n, err: err}, nil) {
					return
				}
			case len(fields) > 0:
				if q == nil {
					q = &retrieved{query: string(fields[0]), line: n, first: map[string]int{}}
				}
				q.add(n, fields)
			}
			if err == io.EOF {
				if q != nil {
					yield(q.record(), nil)
				}
				return
			}
		}
	}
}

// retrieved is what a run has for a query.
type retrieved struct {
	query    string
	line     int // the first of its lines or, if there is an error, the one that it is on
	err      error
	passages []scored
	first    map[string]int // passage to the line it stands on
	size     int            // bytes
}

type scored struct {
	id    string
	score float64
}

// add takes in a line. After an error the query's further lines are passed over.
func (q *retrieved) add(line int, fields [][]byte) {
	if q.err != nil {
		return
	}
	id, score, err := parseTREC(fields)
	if err == nil && q.first[id] > 0 {
		err = fmt.Errorf("the passage %.60q was retrieved for query %.60q before: on line %d", id, q.query, q.first[id])
	}
	if q.size += len(id) + 64; err == nil && q.size > maxRecord {
		err = fmt.Errorf("the passages of query %.60q take more than %d MiB", q.query, maxRecord>>20)
	}
	if err != nil {
		q.line, q.err, q.passages, q.first = line, err, nil, nil
		return
	}
	q.first[id] = line
	q.passages = append(q.passages, scored{id, score})
}

func parseTREC(fields [][]byte) (id string, score float64, err error) {
	if len(fields) < 6 {
		return "", 0, fmt.Errorf("want 6 fields, %s, have %d", trecFields, len(fields))
	}
	if !utf8.Valid(fields[0]) || !utf8.Valid(fields[2]) {
		return "", 0, errors.New("not UTF-8")
	}
	score, err = strconv.ParseFloat(string(fields[4]), 64)
	if err != nil || math.IsNaN(score) || math.IsInf(score, 0) {
		return "", 0, fmt.Errorf("want a score as the fifth field, have %.60q", fields[4])
	}
	return string(fields[2]), score, nil
}

func (q *retrieved) record() record {
	if q.err != nil {
		return record{line: q.line, err: q.err}
	}
	slices.SortFunc(q.passages, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(b.id, a.id))
	})
	ids := make([]string, len(q.passages))
	for i, p := range q.passages {
		ids[i] = p.id
	}
	list, err := json.Marshal(ids)
	if err != nil {
		panic(err) // unreachable: strings
	}
	return record{line: q.line, cells: []cell{
		{column: "id", value: []byte(q.query), text: true},
		{column: "context_ids", value: list},
	}}
}

// looksTREC reports whether content starts with a line of a TREC run.
func looksTREC(start []byte) bool {
	for line := range bytes.Lines(start) {
		if fields := trecLine(line); fields != nil {
			_, _, err := parseTREC(fields)
			return err == nil && bytes.EqualFold(fields[1], []byte("Q0"))
		}
	}
	return false
}

// trecLine cuts a line into fields at white space, as trec_eval does: an id may hold a no-break space. A blank
// line and a comment have none.
func trecLine(line []byte) [][]byte {
	fields := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' })
	if len(fields) == 0 || fields[0][0] == '#' {
		return nil
	}
	return fields
}
