package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/assay-eval/assay/internal/dataset"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

const (
	mostListed  = 200     // characters of a text in the list
	mostIndexed = 1 << 20 // bytes of a text that can be found by its words
)

func isRowError(err error) bool { return errors.As(err, new(*dataset.RowError)) }

// A writer writes rows to the tables of an index.
type writer struct {
	x                                  *Index
	rows, scores, body, search, member *sql.Stmt
	drop                               *sql.Stmt      // the rows of a value
	place                              map[string]int // of a metric
}

func (x *Index) inserts(ctx context.Context, tx *sql.Tx) (*writer, error) {
	w := &writer{x: x, place: map[string]int{}}
	for i, m := range x.run.Manifest.Config.Metrics {
		w.place[m.Name] = i
	}
	var all error
	for _, p := range []struct {
		into  **sql.Stmt
		query string
	}{
		{&w.rows, "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)"},
		{&w.scores, "INSERT INTO scores VALUES (?, ?" + strings.Repeat(", ?", len(w.place)) + ")"},
		{&w.body, "INSERT INTO bodies VALUES (?, ?)"},
		{&w.search, "INSERT INTO words (rowid, id, question, answer, contexts, reasons) VALUES (?, ?, ?, ?, ?, ?)"},
		{&w.member, "INSERT INTO members VALUES (?, ?)"},
		{&w.drop, "DELETE FROM members WHERE value = ?"},
	} {
		var err error
		*p.into, err = tx.PrepareContext(ctx, p.query)
		all = errors.Join(all, err)
	}
	return w, all
}

// row writes one row, and counts its results and the values of its columns in the state.
func (w *writer) row(ctx context.Context, id int, row runs.Row, sample *metrics.Sample, s *State) error {
	name := row.Results[0].Sample
	scores := make([]any, len(w.place))
	failed := 0
	var reasons strings.Builder
	for _, r := range row.Results {
		i, known := w.place[r.Metric]
		if !known {
			return fmt.Errorf("sample %q: the results have a metric %q that run.json does not", name, r.Metric)
		}
		failed += s.Counts[i].add(r, w.x.run.Manifest.Config.Metrics[i])
		fmt.Fprintln(&reasons, r.Error)
		if r.Score == nil {
			continue
		}
		scores[i] = r.Score.Value
		for _, f := range r.Score.Because {
			if f.Verdict != nil || f.Reason != "" {
				fmt.Fprintln(&reasons, f.Text)
				fmt.Fprintln(&reasons, f.Reason)
			}
		}
	}
	known := sample != nil
	if !known {
		sample = &metrics.Sample{}
	}
	if _, err := w.rows.ExecContext(ctx, id, name, row.Results[0].Group, row.Start, head(sample.Question),
		head(sample.Answer)); err != nil {
		return err
	}
	if _, err := w.scores.ExecContext(ctx, append([]any{id, failed}, scores...)...); err != nil {
		return err
	}
	if known {
		body, err := json.Marshal(sample)
		if err != nil {
			return err
		}
		if _, err := w.body.ExecContext(ctx, id, w.x.packer.EncodeAll(body, nil)); err != nil {
			return err
		}
		if err := w.values(ctx, id, sample, s); err != nil {
			return err
		}
	}
	_, err := w.search.ExecContext(ctx, id, spaced(name), spaced(sample.Question), spaced(sample.Answer),
		spaced(strings.Join(sample.Contexts, "\n")), spaced(reasons.String()))
	return err
}

// add counts a result, and returns 1 if it is a failure.
func (c *Counts) add(r metrics.Result, m runs.Metric) int {
	c.Drawn = c.Drawn || r.Drawn != nil
	switch {
	case r.Score != nil:
		c.score(r.Score.Value, m)
	case r.Kind == metrics.NotApplicable || r.Kind == metrics.NotAsked:
		c.None++
	default:
		c.Failed++
		return 1
	}
	return 0
}

// score counts a score.
func (c *Counts) score(v float64, m runs.Metric) {
	c.N++
	c.Sum += v
	c.Bins[Bin(m, v)]++
}

// Bin is the bar of a histogram in which a score is counted.
func Bin(m runs.Metric, v float64) int { return min(int(m.Share(v)*Bins), Bins-1) }

// Mean of the scores; false where there are none.
func (c *Counts) Mean() (float64, bool) {
	if c.N == 0 || math.IsInf(c.Sum, 0) || math.IsNaN(c.Sum) {
		return 0, false
	}
	return c.Sum / float64(c.N), true
}

// head is the beginning of a text, in one line.
func head(text string) string {
	if len(text) > 8*mostListed {
		text = text[:8*mostListed]
	}
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if len(runes) > mostListed {
		return string(runes[:mostListed]) + "…"
	}
	return string(runes)
}

// spaced sets the characters of scripts without spaces apart, so that each is a word that can be found.
func spaced(text string) string {
	if len(text) > mostIndexed {
		text = strings.ToValidUTF8(text[:mostIndexed], "")
	}
	if !strings.ContainsFunc(text, unspaced) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unspaced(r) {
			b.WriteRune(' ')
			b.WriteRune(r)
			b.WriteRune(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unspaced reports whether a character is of a script that is written without spaces.
func unspaced(r rune) bool {
	return r > 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}

// match is what was typed as a query of SQLite's FTS5; "" if nothing is looked for. Rows have all the words: word* the
// beginning of one, "words in quotation marks" as they stand, -word not at all, and answer:word in the answer.
func match(typed string) string {
	var want, not []string
	for _, term := range terms(typed) {
		field, text, ok := strings.Cut(term.text, ":")
		column := ""
		switch {
		case ok && !term.quoted && text != "" && (field == "id" || field == "question" || field == "answer" || field == "contexts" ||
			field == "reasons"):
			column = "{" + field + "} : "
		default:
			text = term.text
		}
		text, begins := strings.CutSuffix(text, "*")
		text = strings.Join(strings.Fields(spaced(strings.ReplaceAll(text, `"`, " "))), " ")
		if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			continue
		}
		query := column + `"` + text + `"`
		if begins && !term.quoted {
			query += " *"
		}
		if term.not {
			not = append(not, query)
		} else {
			want = append(want, query)
		}
	}
	if len(want) == 0 {
		return "" // FTS5 cannot be asked for what is not there alone
	}
	query := strings.Join(want, " AND ")
	for _, n := range not {
		query = "(" + query + ") NOT " + n
	}
	return query
}

// A term is a word, or several in quotation marks.
type term struct {
	text        string
	quoted, not bool
}

// terms cuts what was typed, at most 20 of them.
func terms(typed string) []term {
	var list []term
	for rest := strings.TrimSpace(strings.ReplaceAll(typed, "\x00", " ")); rest != "" && len(list) < 20; rest = strings.TrimSpace(rest) {
		var t term
		if after, ok := strings.CutPrefix(rest, "-"); ok {
			t.not, rest = true, after
		}
		if after, ok := strings.CutPrefix(rest, `"`); ok {
			t.quoted = true
			t.text, rest, _ = strings.Cut(after, `"`)
		} else {
			end := strings.IndexFunc(rest, unicode.IsSpace)
			if end < 0 {
				end = len(rest)
			}
			t.text, rest = rest[:end], rest[end:]
		}
		list = append(list, t)
	}
	return list
}
