// Package index keeps what a page over a run asks for in one SQLite file beside none of the run's own: rows in pages,
// sorted by any score, filtered by scores, by slices of the dataset's metadata and by words (FTS5), whatever their number.
//
// An index is made from the run folder and the dataset, goes on as long as the run does, and can be thrown away at any
// time. Of a row it has three things: the line that a list shows (rows), the scores (scores: narrow, so that sorting and
// counting a million is a pass over little), and the sample itself, packed (bodies).
package index

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite" // the driver

	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/metrics"
)

const (
	version   = 2
	firstRows = 100                 // are listed before the dataset has been opened
	batchRows = 10_000              // are written at once
	pollEvery = time.Second         // how often a run is looked at for more rows
	Bins      = 20                  // of a histogram
	keepFor   = 30 * 24 * time.Hour // an index that is not used
)

// An Index is the SQLite file over one run. Its methods are safe for concurrent use.
type Index struct {
	run  *runs.Run
	data Opener

	db     *sql.DB
	path   string
	lock   *flock.Flock
	packer *zstd.Encoder
	opener *zstd.Decoder

	patience patience

	mu    sync.Mutex
	state State
}

// An Opener opens the dataset of a run.
type Opener func(ctx context.Context, run *runs.Run) (Data, error)

// Data is a dataset: its samples in order, and what closes it.
type Data struct {
	Samples iter.Seq2[*metrics.Sample, error]
	Close   func() error
}

// A State is how far an index is. What it holds is not changed any more: the next state has its own.
type State struct {
	Rows     int      `json:"rows"`   // indexed
	Next     int64    `json:"next"`   // the byte of the results file from which on they are not
	Caught   bool     `json:"caught"` // up with the run
	Finished bool     `json:"finished"`
	Problem  string   `json:"problem,omitempty"` // why it does not go on, or why texts are missing
	Counts   []Counts `json:"counts"`            // by metric
	Columns  []Column `json:"columns,omitempty"` // of the dataset's metadata
	Members  int      `json:"members,omitempty"` // values of columns that were ever numbered
}

// Counts are of one metric's results.
type Counts struct {
	Bins   [Bins]int `json:"bins"`
	Sum    float64   `json:"sum"`
	N      int       `json:"n"`
	Failed int       `json:"failed"`
	None   int       `json:"none"`            // not applicable, or not asked
	Drawn  bool      `json:"drawn,omitempty"` // it was asked about some rows only, which were not all as likely
}

// Open opens the index of a run in a folder, and makes it where there is none that fits. It stands still until [Index.Peek]
// and [Index.Follow].
func Open(run *runs.Run, folder string, data Opener) (*Index, error) {
	whole, err := filepath.Abs(run.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(whole))
	x := &Index{run: run, data: data, path: filepath.Join(folder, fmt.Sprintf("%x.db", sum[:8])),
		patience: patience{sorted: 30_000, tried: 4000}}
	x.lock = flock.New(x.path + ".lock")
	if ok, err := x.lock.TryLock(); err != nil || !ok { // another process shows the same run
		x.lock = nil
		f, err := os.CreateTemp(folder, "other-*.db")
		if err != nil {
			return nil, err
		}
		x.path = f.Name()
		f.Close()
	}
	x.packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(64<<10)) // errs on wrong options only
	x.opener, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err := x.open(); err != nil {
		x.remove()
		if err = x.open(); err != nil {
			x.Close()
			return nil, fmt.Errorf("the index of %s: %w", run.Dir, err)
		}
	}
	return x, nil
}

// identity is what the run must still be for what was indexed of it to hold.
func (x *Index) identity() string {
	return fmt.Sprint(version, " ", x.run.Manifest.Config.ID(), " ", x.run.Manifest.Started.Unix())
}

func (x *Index) open() error {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "journal_mode(wal)", "synchronous(off)",
		"cache_size(-4000)", "temp_store(file)"}}
	path := filepath.ToSlash(x.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(4)
	x.db = db
	var identity, saved string
	err = db.QueryRow("SELECT identity, state FROM meta").Scan(&identity, &saved)
	var s State
	if err == nil && identity == x.identity() && json.Unmarshal([]byte(saved), &s) == nil &&
		len(s.Counts) == len(x.run.Manifest.Config.Metrics) && s.Next <= x.size() {
		s.Caught, s.Problem = false, ""
		x.state = s
		return nil
	}
	return x.create()
}

// size is the length of the results file; 0 if there is none.
func (x *Index) size() int64 {
	info, err := os.Stat(filepath.Join(x.run.Dir, "results.jsonl"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// create makes the tables anew.
func (x *Index) create() error {
	var columns strings.Builder
	for i := range x.run.Manifest.Config.Metrics {
		fmt.Fprintf(&columns, ", m%d REAL", i)
	}
	x.set(State{Counts: make([]Counts, len(x.run.Manifest.Config.Metrics))})
	_, err := x.db.Exec(`DROP TABLE IF EXISTS meta; DROP TABLE IF EXISTS rows; DROP TABLE IF EXISTS scores; DROP TABLE IF EXISTS bodies;
		DROP TABLE IF EXISTS members; DROP TABLE IF EXISTS words;
		CREATE TABLE meta (identity TEXT, state TEXT);
		CREATE TABLE rows (id INTEGER PRIMARY KEY, sample TEXT, grp TEXT, start INTEGER, question TEXT, answer TEXT);
		CREATE TABLE scores (id INTEGER PRIMARY KEY, failed INTEGER` + columns.String() + `);
		CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB);
		CREATE TABLE members (value INTEGER, id INTEGER, PRIMARY KEY (value, id)) WITHOUT ROWID; -- which rows have a value of a column
		CREATE VIRTUAL TABLE words USING fts5(id, question, answer, contexts, reasons, content='', tokenize='unicode61 remove_diacritics 2');
		INSERT INTO words (words, rank) VALUES ('hashsize', 16777216); -- bytes of words in memory before they are written
		INSERT INTO meta VALUES ('', '')`)
	return err
}

// Close ends the use of the index.
func (x *Index) Close() error {
	var err error
	if x.db != nil {
		err = x.db.Close()
	}
	if x.lock == nil {
		x.remove()
		return err
	}
	return errors.Join(err, x.lock.Unlock())
}

// remove deletes the files of an index that is of no use.
func (x *Index) remove() {
	if x.db != nil {
		x.db.Close()
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		os.Remove(x.path + end)
	}
}

// Sweep deletes the indexes in a folder that nobody used for long.
func Sweep(folder string, now time.Time) {
	list, _ := filepath.Glob(filepath.Join(folder, "*.db*"))
	for _, path := range list {
		if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > keepFor {
			os.Remove(path)
		}
	}
}

// Now is how far the index is.
func (x *Index) Now() State {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state
}

func (x *Index) set(s State) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state = s
}

// Peek indexes the first rows of a new index without their texts, so that there is something to show.
func (x *Index) Peek(ctx context.Context) {
	os.Chtimes(x.path, time.Time{}, time.Now()) // it is used
	if x.Now().Rows > 0 {
		return
	}
	if _, err := x.write(ctx, nil, firstRows); err != nil {
		x.problem(err)
	}
}

func (x *Index) problem(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state.Problem = err.Error()
}

// Caught waits until the index has caught up with its run once, or cannot.
func (x *Index) Caught(ctx context.Context) {
	for ctx.Err() == nil {
		if s := x.Now(); s.Caught || s.Problem != "" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Follow indexes the run until ctx ends: what there is of it, and what comes.
func (x *Index) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		again, err := x.chase(ctx)
		if err != nil && ctx.Err() == nil {
			x.problem(err)
		}
		if !again || err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(pollEvery):
			}
		}
	}
}

// chase indexes the run as long as it is the same. Again says that it is not, and was begun anew.
func (x *Index) chase(ctx context.Context) (again bool, err error) {
	texts := &texts{passed: map[string]*metrics.Sample{}, open: func() (Data, error) { return x.data(ctx, x.run) }}
	defer texts.close()
	if s := x.Now(); s.Next == 0 && s.Rows > 0 { // the first look had no texts
		texts.ready()
		if err := x.create(); err != nil {
			return false, err
		}
	}
	for ctx.Err() == nil {
		n, err := x.write(ctx, texts, batchRows)
		if err != nil {
			return false, err
		}
		if n > 0 {
			continue
		}
		if err := x.arrange(ctx, texts.problem); err != nil {
			return false, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
		now, err := runs.Open(x.run.Dir)
		if err != nil {
			return false, err
		}
		was := x.identity()
		x.mu.Lock()
		x.run = now
		x.mu.Unlock()
		if x.identity() != was || x.size() < x.Now().Next {
			return true, x.create()
		}
	}
	return false, nil
}

// arrange makes what sorting needs, once the index has caught up with the run.
func (x *Index) arrange(ctx context.Context, problem error) error {
	s := x.Now()
	if s.Caught {
		s.Finished = x.run.Manifest.Finished != nil
		x.set(s)
		return nil
	}
	if _, err := x.db.ExecContext(ctx, "CREATE INDEX IF NOT EXISTS by_sample ON rows (sample)"); err != nil {
		return err
	}
	if _, err := x.db.ExecContext(ctx, "CREATE INDEX IF NOT EXISTS by_failed ON scores (id) WHERE failed > 0"); err != nil {
		return err
	}
	for i := range x.run.Manifest.Config.Metrics {
		if _, err := x.db.ExecContext(ctx, fmt.Sprintf("CREATE INDEX IF NOT EXISTS by_m%d ON scores (m%d)", i, i)); err != nil {
			return err
		}
	}
	s.Caught, s.Finished = true, x.run.Manifest.Finished != nil
	if problem != nil {
		s.Problem = problem.Error()
	}
	x.set(s)
	return nil
}

// write indexes the next rows, at most so many, and returns how many there were. Without texts it is a first look only.
func (x *Index) write(ctx context.Context, texts *texts, most int) (int, error) {
	s := x.Now()
	s.Counts, s.Columns = slices.Clone(s.Counts), cloneColumns(s.Columns)
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // of no effect once it is committed
	w, err := x.inserts(ctx, tx)
	if err != nil {
		return 0, err
	}
	n, next := 0, s.Next
	for row, err := range x.run.Rows(ctx, s.Next) {
		if err != nil {
			return 0, err
		}
		if !row.Whole {
			break
		}
		var sample *metrics.Sample
		if texts != nil {
			if sample, err = texts.find(row.Results[0].Sample); err != nil {
				return 0, err
			}
		}
		if err := w.row(ctx, s.Rows+n+1, row, sample, &s); err != nil {
			return 0, err
		}
		next = row.End
		if n++; n == most {
			break
		}
	}
	s.Rows += n
	if texts != nil {
		s.Next = next
	}
	if n == 0 {
		return 0, nil
	}
	s.Caught = s.Caught && n < most // a few rows more leave it sorted
	saved, err := json.Marshal(s)
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE meta SET identity = ?, state = ?", x.identity(), string(saved)); err != nil {
		return 0, err
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	x.set(s)
	return n, nil
}

// Path is that of the SQLite file.
func (x *Index) Path() string { return x.path }

// Run is the run as its manifest was when it was last looked at.
func (x *Index) Run() *runs.Run {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.run
}

// Metrics are those of the run. They stay the same as long as the index does.
func (x *Index) Metrics() []runs.Metric { return x.Run().Manifest.Config.Metrics }
