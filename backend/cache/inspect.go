package cache

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/assay-eval/assay/backend"
)

// An Entry is a stored answer with the request that it answers, for people to read.
type Entry struct {
	Key      backend.Key `json:"-"`
	Op       string      `json:"op"` // "generate", "embed", "embed_tokens", "score", "rerank" or "label_tokens"
	Engine   string      `json:"engine"`
	Model    string      `json:"model"`
	Digest   string      `json:"digest"`
	Context  int         `json:"context"`
	Created  time.Time   `json:"created"`
	LastUsed time.Time   `json:"last_used"` // to within a week
	Size     int64       `json:"size"`      // bytes stored

	// Request is of a text to encode {"text"}, of a pair {"query", "text"}.
	Request json.RawMessage `json:"request"`

	// Answer is of an embedding {"dimensions", "vector"}, base64 of little-endian float32; of tokens {"tokens",
	// "dimensions", "vectors"}, likewise, one after the other; of a classification head [number, ...].
	Answer json.RawMessage `json:"answer"`
}

const selectEntries = `SELECT key, op, engine, m.model, digest, context, created, used, answer, request
	FROM answers a JOIN models m ON a.model = m.id `

// Entry finds the entry whose key begins with the given hexadecimal digits. It is an error if there is
// none, or more than one.
func (s *Store) Entry(ctx context.Context, prefix string) (*Entry, error) {
	lo, hi, err := keyRange(prefix)
	if err != nil {
		return nil, err
	}
	if err := s.Flush(); err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx, selectEntries+"WHERE key BETWEEN ? AND ? ORDER BY key LIMIT 2", lo, hi)
	if err != nil {
		return nil, ended(ctx, explain(s.path, err))
	}
	defer rows.Close()
	var entries []*Entry
	for rows.Next() {
		e, err := s.scan(rows)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	switch {
	case rows.Err() != nil:
		return nil, ended(ctx, explain(s.path, rows.Err()))
	case len(entries) == 0:
		return nil, fmt.Errorf("no answer with the key %s in %s", prefix, s.path)
	case len(entries) > 1:
		return nil, fmt.Errorf("more than one key begins with %s: give more digits", prefix)
	}
	return entries[0], nil
}

// keyRange returns the first and the last key that begin with the given digits.
func keyRange(prefix string) (lo, hi []byte, err error) {
	const digits = 2 * len(backend.Key{})
	if prefix == "" || len(prefix) > digits {
		return nil, nil, fmt.Errorf("%q is not the beginning of a key: it takes 1 to %d hexadecimal digits",
			prefix, digits)
	}
	lo, err = hex.DecodeString(prefix + strings.Repeat("0", digits-len(prefix)))
	if err != nil {
		return nil, nil, fmt.Errorf("%q is not the beginning of a key: it takes hexadecimal digits", prefix)
	}
	hi, err = hex.DecodeString(prefix + strings.Repeat("f", digits-len(prefix)))
	return lo, hi, err
}

// scan reads a row of selectEntries. An entry that is damaged gives errDamaged, wrapped.
func (s *Store) scan(rows *sql.Rows) (*Entry, error) {
	var e Entry
	var key, answer, request []byte
	var created, used int64
	err := rows.Scan(&key, &e.Op, &e.Engine, &e.Model, &e.Digest, &e.Context, &created, &used, &answer, &request)
	if err != nil {
		return nil, explain(s.path, err)
	}
	if len(key) != len(e.Key) {
		return nil, fmt.Errorf("%w: a key of %d bytes", errDamaged, len(key))
	}
	e.Key = backend.Key(key)
	e.Created, e.LastUsed = time.UnixMilli(created), time.UnixMilli(used)
	e.Size = int64(len(answer) + len(request))
	damaged := fmt.Errorf("%w: %v will be asked again when it is needed", errDamaged, e.Key)
	payload, err := s.packer.unpack(e.Key, partAnswer, answer)
	if err != nil {
		return nil, damaged
	}
	if e.Answer, err = readable(e.Op, payload); err != nil {
		return nil, damaged
	}
	if e.Request, err = s.packer.unpack(e.Key, partRequest, request); err != nil || !json.Valid(e.Request) {
		return nil, damaged
	}
	return &e, nil
}

// Stats describes a Store.
type Stats struct {
	Path    string  `json:"path"`
	Entries int64   `json:"entries"`
	Bytes   int64   `json:"bytes"` // on disk
	Groups  []Group `json:"groups"`

	// Since Open, in this process. Of an Encode each input counts as one.
	Hits    int64 `json:"hits"`
	Misses  int64 `json:"misses"`  // joined ones included
	Joined  int64 `json:"joined"`  // misses answered by an equal request in flight
	Damaged int64 `json:"damaged"` // entries found damaged, which counted as misses
	Dropped int64 `json:"dropped"` // answers that could not be kept

	// Since the file was made, by all processes that have ended, and this one.
	TotalHits   int64 `json:"total_hits"`
	TotalMisses int64 `json:"total_misses"`
}

// A Group is the entries of one operation of one model.
type Group struct {
	Op      string `json:"op"`
	Engine  string `json:"engine"`
	Model   string `json:"model"`
	Digest  string `json:"digest"`
	Context int    `json:"context"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"` // of requests and answers, compressed
}

// Stats counts what the file holds. It reads all of its index.
func (s *Store) Stats(ctx context.Context) (*Stats, error) {
	if err := s.Flush(); err != nil {
		return nil, err
	}
	st := &Stats{
		Path: s.path,
		Hits: s.hits.Load(), Misses: s.misses.Load(), Joined: s.joined.Load(),
		Damaged: s.damaged.Load(), Dropped: s.dropped.Load(),
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.path + suffix); err == nil {
			st.Bytes += info.Size()
		}
	}
	rows, err := s.db.QueryContext(ctx, `SELECT op, engine, m.model, digest, context, count(*),
			sum(length(answer) + length(request))
		FROM answers a JOIN models m ON a.model = m.id GROUP BY m.id, op ORDER BY m.model, op, m.id`)
	if err != nil {
		return nil, ended(ctx, explain(s.path, err))
	}
	defer rows.Close()
	for rows.Next() {
		var g Group
		if err := rows.Scan(&g.Op, &g.Engine, &g.Model, &g.Digest, &g.Context, &g.Entries, &g.Bytes); err != nil {
			return nil, explain(s.path, err)
		}
		st.Entries += g.Entries
		st.Groups = append(st.Groups, g)
	}
	if err := rows.Err(); err != nil {
		return nil, ended(ctx, explain(s.path, err))
	}
	for name, total := range map[string]*int64{"hits": &st.TotalHits, "misses": &st.TotalMisses} {
		err := s.db.QueryRow("SELECT n FROM counters WHERE name = ?", name).Scan(total)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, explain(s.path, err)
		}
	}
	return st, nil
}

// Check reads the whole file and reports damage to its structure.
func (s *Store) Check() error {
	var verdict string
	if err := s.db.QueryRow("PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return explain(s.path, err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%s is damaged (%s): move it away, and a new one will be made", s.path, verdict)
	}
	return nil
}

// ended is the context's error where that is why something failed, and err otherwise.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Pruned says what Prune removed.
type Pruned struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"` // that the file became smaller by
}

// Prune removes the entries that were last used longer ago than olderThan, and then the least recently
// used ones until the file has at most maxBytes. Zero means no limit. Last uses are known to within a week. What was
// removed before ctx ends stays removed.
func (s *Store) Prune(ctx context.Context, olderThan time.Duration, maxBytes int64) (Pruned, error) {
	var p Pruned
	if err := s.Flush(); err != nil {
		return p, err
	}
	before, err := s.bytes()
	if err != nil {
		return p, err
	}
	if olderThan > 0 {
		if err := s.remove(ctx, &p, "used < ?", time.Now().Add(-olderThan).UnixMilli()); err != nil {
			return p, err
		}
	}
	for maxBytes > 0 {
		size, err := s.bytes()
		if err != nil {
			return p, err
		}
		if size <= maxBytes {
			break
		}
		removed := p.Entries
		if err := s.remove(ctx, &p, oldest, size-maxBytes); err != nil {
			return p, err
		}
		if p.Entries == removed {
			break // what is left is the empty tables
		}
	}
	if err := s.shrink(ctx); err != nil {
		return p, ended(ctx, explain(s.path, err))
	}
	after, err := s.bytes()
	p.Bytes = before - after
	return p, err
}

// shrink gives the file's free pages back to the disk.
func (s *Store) shrink(ctx context.Context) error {
	rows, err := s.db.QueryContext(ctx, "PRAGMA incremental_vacuum")
	if err != nil {
		return err
	}
	for rows.Next() { // each step frees a page
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// oldest selects the least recently used entries that take about as many bytes as its parameter says.
const oldest = `rowid IN (SELECT id FROM (
	SELECT rowid AS id, sum(length(answer) + length(request) + 100) OVER (ORDER BY used, rowid)
		- length(answer) - length(request) - 100 AS before FROM answers)
	WHERE before < ?)`

// remove deletes the answers that a condition holds for, and counts them.
func (s *Store) remove(ctx context.Context, p *Pruned, condition string, arg any) error {
	result, err := s.db.ExecContext(ctx, "DELETE FROM answers WHERE "+condition, arg)
	if err != nil {
		return ended(ctx, explain(s.path, err))
	}
	n, err := result.RowsAffected()
	p.Entries += n
	return err
}

// bytes is the size of the file's pages in use.
func (s *Store) bytes() (int64, error) {
	var n int64
	err := s.db.QueryRow(`SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&n)
	if err != nil {
		return 0, explain(s.path, err)
	}
	return n, nil
}
