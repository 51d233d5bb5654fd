package cache

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/assay-eval/assay/backend"
)

const (
	batchEntries = 256                    // are written at once, and
	batchDelay   = 100 * time.Millisecond // is the longest that an entry waits for others
	retryDelay   = 5 * time.Second        // after a write that failed
	maxPending   = 256 << 20              // bytes kept in memory while the file cannot be written
)

// A writer is the state of the goroutine that writes.
type writer struct {
	models             map[backend.Identity]int64 // ids of rows of models, by the columns of models
	hits, misses       int64                      // that the file has been told
	failing            bool                       // the last write failed
	batch              []*entry
	touched            []backend.Key
	newHits, newMisses int64
}

// put stores an answer soon. It does not wait for the disk.
func (s *Store) put(e *entry) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	if old := s.pending[e.key]; old != nil {
		s.size -= old.size()
	}
	if s.size+e.size() > maxPending {
		// Only when nothing could be written for long. The caller has its answer all the same.
		s.dropped.Add(1)
		s.mu.Unlock()
		return
	}
	s.pending[e.key] = e
	s.size += e.size()
	n := len(s.pending)
	s.mu.Unlock()
	signal(s.dirty)
	if n >= batchEntries {
		signal(s.full)
	}
}

// touch notes that an entry was used.
func (s *Store) touch(key backend.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.touched[key] = true
		signal(s.dirty)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Flush returns when all answers given so far are in the file, or with the reason why they cannot be.
func (s *Store) Flush() error {
	done := make(chan error, 1)
	select {
	case s.flushes <- done:
		return <-done
	case <-s.quit:
		return nil // Close writes them
	}
}

// write is the goroutine that writes: it gathers entries for a while, or until there are many.
func (s *Store) write() {
	var delay <-chan time.Time // nil: nothing to write
	retry := func(err error) <-chan time.Time {
		if err == nil {
			return nil
		}
		return time.After(retryDelay)
	}
	for {
		select {
		case <-s.dirty:
			if delay == nil {
				delay = time.After(batchDelay)
			}
		case <-s.full:
			if !s.writer.failing {
				delay = retry(s.writeBatch())
			}
		case <-delay:
			delay = retry(s.writeBatch())
		case done := <-s.flushes:
			err := s.writeBatch()
			delay = retry(err)
			done <- err
		case <-s.quit:
			s.stopped <- s.lastBatch()
			return
		}
	}
}

// lastBatch writes what is left when the Store closes.
func (s *Store) lastBatch() error {
	err := s.writeBatch()
	s.mu.RLock()
	lost := len(s.pending) + int(s.dropped.Load())
	s.mu.RUnlock()
	if lost > 0 {
		return fmt.Errorf("%d answers could not be kept: %w", lost, err)
	}
	return err
}

// writeBatch writes all that is pending, in one transaction. On an error it stays pending.
func (s *Store) writeBatch() error {
	w := &s.writer
	s.mu.RLock()
	w.batch = w.batch[:0]
	for _, e := range s.pending {
		w.batch = append(w.batch, e)
	}
	w.touched = w.touched[:0]
	for key := range s.touched {
		w.touched = append(w.touched, key)
	}
	s.mu.RUnlock()
	w.newHits, w.newMisses = s.hits.Load()-w.hits, s.misses.Load()-w.misses
	if len(w.batch)+len(w.touched) == 0 && w.newHits+w.newMisses == 0 {
		return nil
	}
	if err := s.transact(w.writeAll); err != nil {
		w.models = nil // their rows may have been rolled back
		err = explain(s.path, err)
		if !w.failing {
			s.warn(fmt.Errorf("cache: answers are kept in memory for now: %w", err))
		}
		w.failing = true
		return err
	}
	w.failing = false
	w.hits += w.newHits
	w.misses += w.newMisses
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range w.batch {
		if s.pending[e.key] == e { // and not a newer answer
			delete(s.pending, e.key)
			s.size -= e.size()
		}
	}
	for _, key := range w.touched {
		delete(s.touched, key)
	}
	clear(w.batch)
	return nil
}

// transact runs do in a transaction that takes the write lock at once.
func (s *Store) transact(do func(*sql.Tx) error) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (w *writer) writeAll(tx *sql.Tx) error {
	insert, err := tx.Prepare(insertAnswer + replaceAnswer)
	if err != nil {
		return err
	}
	defer insert.Close()
	if w.models == nil {
		w.models = map[backend.Identity]int64{}
	}
	for _, e := range w.batch {
		id, err := modelID(tx, w.models, e.info)
		if err != nil {
			return err
		}
		created := e.created.UnixMilli()
		if _, err := insert.Exec(e.key[:], e.op, id, created, created, e.answer, e.request); err != nil {
			return err
		}
	}
	now := time.Now().UnixMilli()
	for _, key := range w.touched {
		if _, err := tx.Exec("UPDATE answers SET used = ? WHERE key = ?", now, key[:]); err != nil {
			return err
		}
	}
	for name, n := range map[string]int64{"hits": w.newHits, "misses": w.newMisses} {
		const add = "INSERT INTO counters VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
		if _, err := tx.Exec(add, name, n); err != nil {
			return err
		}
	}
	return nil
}

const (
	insertAnswer  = "INSERT INTO answers (key, op, model, created, used, answer, request) VALUES (?, ?, ?, ?, ?, ?, ?)"
	replaceAnswer = ` ON CONFLICT DO UPDATE SET op = excluded.op, model = excluded.model, created = excluded.created,
		used = excluded.used, answer = excluded.answer, request = excluded.request`
	keepAnswer = " ON CONFLICT DO NOTHING"
)

// modelID returns the id of the row of models for info, making it if need be. It remembers ids in known.
func modelID(tx *sql.Tx, known map[backend.Identity]int64, info backend.Info) (int64, error) {
	model := info.Identity()
	if id, ok := known[model]; ok {
		return id, nil
	}
	args := []any{model.Engine, model.Name, model.Digest, model.Context}
	_, err := tx.Exec(`INSERT INTO models (engine, model, digest, context) VALUES (?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, args...)
	if err != nil {
		return 0, err
	}
	var id int64
	err = tx.QueryRow(`SELECT id FROM models
		WHERE engine = ? AND model = ? AND digest = ? AND context = ?`, args...).Scan(&id)
	if err != nil {
		return 0, err
	}
	known[model] = id
	return id, nil
}
