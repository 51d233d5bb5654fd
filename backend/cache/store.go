package cache

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assay-eval/assay/backend"
)

const (
	sqliteMagic   = "SQLite format 3\x00"
	applicationID = 0x61737361 // "assa": marks an SQLite file as ours
	schemaVersion = 1

	busyTimeout = 10 * time.Second // how long one process waits for another's write

	// touchAge is how far the time of an entry's last use may lag behind, so that hits seldom write.
	touchAge = 7 * 24 * time.Hour
)

// The answer stands before the request, since SQLite need not read what stands behind the columns it is
// asked for.
const schema = `
CREATE TABLE models (
	id      INTEGER PRIMARY KEY,
	engine  TEXT NOT NULL,
	model   TEXT NOT NULL,
	digest  TEXT NOT NULL,
	context INTEGER NOT NULL,
	UNIQUE (engine, model, digest, context)
);
CREATE TABLE answers (
	key     BLOB PRIMARY KEY NOT NULL,
	op      TEXT NOT NULL,
	model   INTEGER NOT NULL REFERENCES models (id),
	created INTEGER NOT NULL,
	used    INTEGER NOT NULL,
	answer  BLOB NOT NULL,
	request BLOB NOT NULL
);
CREATE INDEX answers_used ON answers (used);
CREATE TABLE counters (name TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL);
`

// A Store is a file of answers. Any number of processes may have it open. Its methods are safe for
// concurrent use.
type Store struct {
	path    string
	db      *sql.DB
	packer  *packer
	warn    func(error)
	readers chan *reader // nil elements have yet to be opened

	hits, misses, joined, damaged, dropped atomic.Int64

	readWarned sync.Once

	mu      sync.RWMutex
	closed  bool
	pending map[backend.Key]*entry // not yet in the file
	touched map[backend.Key]bool   // used again after touchAge
	size    int                    // bytes of pending

	dirty   chan struct{} // there is something to write
	full    chan struct{} // there is a batch to write
	flushes chan chan error
	quit    chan struct{}
	stopped chan error // the outcome of the last write
	writer  writer
}

// An entry is an answer on its way into the file.
type entry struct {
	key             backend.Key
	op              string
	info            backend.Info
	created         time.Time
	answer, request []byte // packed
}

func (e *entry) size() int { return len(e.answer) + len(e.request) + 128 }

// A reader is a connection with its prepared query. That is the driver's own: most of a run from the cache is spent
// here, and by way of database/sql it takes a fifth longer as a whole.
type reader struct {
	conn *sql.Conn
	get  statement
}

// A statement of the driver's.
type statement interface {
	driver.Stmt
	driver.StmtQueryContext
}

// Open opens the file at path, creating it and its folder if need be. Trouble that does not end a run (a
// full disk, a damaged page) is told to warn, once for each kind, while the run goes on; warn may be nil.
// A file that is not ours, or too damaged to open, is left as it is and the error says what to do.
func Open(path string, warn func(error)) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("cache: %v", err)
	}
	if err := checkFile(path); err != nil {
		return nil, err
	}
	packer, err := newPacker()
	if err != nil {
		return nil, err
	}
	db, err := openDB(path)
	if err != nil {
		return nil, explain(path, err)
	}
	if warn == nil {
		warn = func(error) {}
	}
	s := &Store{
		path:    path,
		db:      db,
		packer:  packer,
		warn:    warn,
		readers: make(chan *reader, max(2, runtime.GOMAXPROCS(0))),
		pending: map[backend.Key]*entry{},
		touched: map[backend.Key]bool{},
		dirty:   make(chan struct{}, 1),
		full:    make(chan struct{}, 1),
		flushes: make(chan chan error),
		quit:    make(chan struct{}),
		stopped: make(chan error, 1),
	}
	for range cap(s.readers) {
		s.readers <- nil
	}
	go s.write()
	return s, nil
}

// checkFile looks at a file before SQLite may change anything in it.
func checkFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cache: %v", err)
	}
	defer f.Close()
	head := make([]byte, 100)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("cache: %v", err)
	}
	switch {
	case n == 0:
		return nil // SQLite's idea of an empty database
	case n < len(head) || !strings.HasPrefix(string(head), sqliteMagic):
		return foreign(path)
	}
	// Zero is what SQLite writes before we do.
	if id := binary.BigEndian.Uint32(head[68:]); id != 0 && id != applicationID {
		return foreign(path)
	}
	return nil
}

func foreign(path string) error {
	return fmt.Errorf("%s is not a cache of assay: move it away, or name another file", path)
}

// explain turns an error of SQLite into one that says what to do.
func explain(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s is damaged (%v): move it away, and a new one will be made", path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("%s cannot be written (%v): check its permissions, name another file, or turn the cache off",
			path, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%s cannot grow (%v): free space on its disk, prune it, or turn the cache off", path, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%s is locked by another process (%v)", path, err)
	}
	return fmt.Errorf("%s: %v", path, err)
}

// dsn names a database with settings, in the form the driver takes.
func dsn(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := url.Values{"_txlock": {"immediate"}}
	for _, p := range append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, pragmas...) {
		query.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// openDB opens the database and makes its tables if it is new. It tries again while another process
// that does the same is in the way, since SQLite does not wait when the journal's mode changes.
func openDB(path string) (*sql.DB, error) {
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		db, err := openOnce(path)
		var e *sqlite.Error
		busy := errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
		if !busy || time.Since(start) > busyTimeout {
			return db, err
		}
	}
}

func openOnce(path string) (*sql.DB, error) {
	// Looked at with no settings first: WAL mode would already change a foreign file.
	isNew, err := look(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path, "auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(normal)"))
	if err != nil {
		return nil, err
	}
	if isNew {
		err = create(db)
	} else {
		err = db.Ping()
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// look reports whether the database has yet to be made, and an error if it is not ours.
func look(path string) (isNew bool, err error) {
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return false, err
	}
	defer db.Close()
	// One transaction, hence one state, even while another process makes the tables.
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN DEFERRED"); err != nil {
		return false, err
	}
	var id, version, tables int
	if err := db.QueryRow("SELECT application_id FROM pragma_application_id").Scan(&id); err != nil {
		return false, err
	}
	if err := db.QueryRow("SELECT user_version FROM pragma_user_version").Scan(&version); err != nil {
		return false, err
	}
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return false, err
	}
	switch {
	case id == 0 && version == 0 && tables == 0:
		return true, nil
	case id != applicationID:
		return false, foreign(path)
	case version > schemaVersion:
		return false, fmt.Errorf("%s was written by a newer assay: upgrade assay, or name another file", path)
	case version < schemaVersion:
		return false, foreign(path)
	}
	return false, nil
}

// create makes the tables, unless another process has just done so.
func create(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var version int
	if err := tx.QueryRow("SELECT user_version FROM pragma_user_version").Scan(&version); err != nil {
		return err
	}
	if version == 0 {
		marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion)
		if _, err := tx.Exec(schema + marks); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// A found is an answer that the store has.
type found struct {
	payload []byte
	created time.Time
}

// get looks an answer up. Whatever is wrong with it, it is then absent.
func (s *Store) get(key backend.Key) (found, bool) {
	s.mu.RLock()
	e := s.pending[key]
	s.mu.RUnlock()
	value, f, used := []byte(nil), found{}, time.Time{}
	if e != nil {
		value, f.created, used = e.answer, e.created, e.created
	} else {
		row, err := s.read(key)
		if errors.Is(err, sql.ErrNoRows) {
			return found{}, false
		}
		if err != nil {
			s.readWarned.Do(func() { s.warn(fmt.Errorf("cache: %w", explain(s.path, err))) })
			return found{}, false
		}
		value, f.created, used = row.answer, time.UnixMilli(row.created), time.UnixMilli(row.used)
	}
	var err error
	if f.payload, err = s.packer.unpack(key, partAnswer, value); err != nil {
		s.damaged.Add(1)
		return found{}, false
	}
	if time.Since(used) > touchAge {
		s.touch(key)
	}
	return f, true
}

// A stored row of answers.
type stored struct {
	answer        []byte
	created, used int64
}

// read fetches one row of answers on a connection of its own.
func (s *Store) read(key backend.Key) (row stored, err error) {
	r := <-s.readers
	defer func() { s.readers <- r }()
	if r == nil {
		if r, err = s.openReader(); err != nil {
			return row, err
		}
	}
	err = r.conn.Raw(func(any) error { return r.read(key, &row) })
	return row, err
}

func (r *reader) read(key backend.Key, row *stored) error {
	rows, err := r.get.QueryContext(context.Background(), []driver.NamedValue{{Ordinal: 1, Value: key[:]}})
	if err != nil {
		return err
	}
	defer rows.Close()
	var values [3]driver.Value
	if err := rows.Next(values[:]); errors.Is(err, io.EOF) {
		return sql.ErrNoRows
	} else if err != nil {
		return err
	}
	row.answer, _ = values[0].([]byte) // what is of another type is damaged: its checksum will not hold
	row.created, _ = values[1].(int64)
	row.used, _ = values[2].(int64)
	return nil
}

func (s *Store) openReader() (*reader, error) {
	ctx := context.Background()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	r := &reader{conn: conn}
	err = conn.Raw(func(c any) error {
		const query = "SELECT answer, created, used FROM answers WHERE key = ?"
		s, err := c.(driver.ConnPrepareContext).PrepareContext(ctx, query)
		if err == nil {
			r.get = s.(statement)
		}
		return err
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	return r, nil
}

// Close writes what is still to be written and closes the file. The error says how many answers could not
// be kept, and why. Closing twice is harmless.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.quit)
	err := <-s.stopped
	for range cap(s.readers) {
		if r := <-s.readers; r != nil {
			r.get.Close()
			r.conn.Close()
		}
	}
	if cerr := s.db.Close(); err == nil && cerr != nil {
		err = explain(s.path, cerr)
	}
	return err
}
