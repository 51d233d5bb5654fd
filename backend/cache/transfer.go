package cache

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/assay-eval/assay/backend"
	"github.com/klauspost/compress/zstd"
)

// An export is a zstd stream of lines of JSON: a transferHead, a transferLine for each entry, and a
// transferTail, which shows that nothing is missing.
type (
	transferHead struct {
		Format  string `json:"format"` // transferFormat
		Version int    `json:"version"`
	}
	transferLine struct {
		Key     string          `json:"key"`
		Op      string          `json:"op"`
		Engine  string          `json:"engine"`
		Model   string          `json:"model"`
		Digest  string          `json:"digest"`
		Context int             `json:"context"`
		Created time.Time       `json:"created"`
		Request json.RawMessage `json:"request"`
		Answer  json.RawMessage `json:"answer"`
	}
	transferTail struct {
		Entries *int `json:"entries"`
	}
)

const (
	transferFormat  = "assay answers"
	transferVersion = 1
	maxLine         = 2*maxPayload + 1<<16 // bytes
	maxBatch        = 8 << 20              // bytes of packed entries that are inserted at once
)

// Export writes all entries to w, in the order of their keys, and returns how many. Damaged ones are
// left out.
func (s *Store) Export(ctx context.Context, w io.Writer) (entries int, err error) {
	if err := s.Flush(); err != nil {
		return 0, err
	}
	z, err := zstd.NewWriter(w)
	if err != nil {
		return 0, err
	}
	defer z.Close()
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(transferHead{transferFormat, transferVersion}); err != nil {
		return 0, err
	}
	rows, err := s.db.QueryContext(ctx, selectEntries+"ORDER BY key")
	if err != nil {
		return 0, ended(ctx, explain(s.path, err))
	}
	defer rows.Close()
	for rows.Next() {
		e, err := s.scan(rows)
		if errors.Is(err, errDamaged) {
			s.damaged.Add(1)
			continue
		}
		if err != nil {
			return entries, ended(ctx, err)
		}
		info := backend.Info{Engine: e.Engine, Model: e.Model, Digest: e.Digest, Context: e.Context}
		if key, err := recordKey(info, e.Op, e.Request); err != nil || key != e.Key {
			s.damaged.Add(1) // Import would refuse it, and all that follows
			continue
		}
		line := transferLine{e.Key.String(), e.Op, e.Engine, e.Model, e.Digest, e.Context, e.Created.UTC(),
			e.Request, e.Answer}
		if err := enc.Encode(line); err != nil {
			return entries, err
		}
		entries++
	}
	if err := rows.Err(); err != nil {
		return entries, ended(ctx, explain(s.path, err))
	}
	if err := enc.Encode(transferTail{&entries}); err != nil {
		return entries, err
	}
	return entries, z.Close()
}

// Imported says what Import did.
type Imported struct {
	Added   int `json:"added"`
	Present int `json:"present"` // already in the store, and left as they were
}

// Import adds the entries of an export. Each is checked: its key must be that of its request, and its
// answer one that an engine may give. Import cannot know that the engine did give it, so take exports
// only from those whose results you would trust. An error ends it, as ctx does; what came before is kept.
func (s *Store) Import(ctx context.Context, r io.Reader) (Imported, error) {
	var done Imported
	err := s.packer.readExport(r, func(batch []*entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.insert(batch, &done); err != nil {
			return explain(s.path, err)
		}
		return nil
	})
	return done, ended(ctx, err)
}

// IsStore reports whether a file that begins with head is one of SQLite, which can only be merged ([Store.Merge]).
func IsStore(head []byte) bool { return bytes.HasPrefix(head, []byte(sqliteMagic)) }

// Merge adds the entries of another cache, a file to which nothing writes at the time. All that [Store.Import] says holds
// for them.
func (s *Store) Merge(ctx context.Context, path string) (done Imported, err error) {
	other, err := Open(path, nil)
	if err != nil {
		return done, err
	}
	defer other.Close()
	r, w := io.Pipe()
	var exporting sync.WaitGroup
	exporting.Go(func() {
		_, err := other.Export(ctx, w)
		w.CloseWithError(err)
	})
	done, err = s.Import(ctx, r)
	r.Close() // should the import have ended before the export
	exporting.Wait()
	return done, err
}

// readExport calls each for the entries of an export, some at a time. Those before an error are among them.
func (p *packer) readExport(r io.Reader, each func(batch []*entry) error) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return err
	}
	defer z.Close()
	in := &lineReader{r: bufio.NewReaderSize(z, 1<<16)}
	var head transferHead
	line, err := in.next()
	if err != nil || unmarshal(line, &head) != nil || head.Format != transferFormat {
		return errors.New("this is no export of assay's cache")
	}
	if head.Version != transferVersion {
		return fmt.Errorf("this export has version %d, and this assay reads %d: upgrade the older of the two",
			head.Version, transferVersion)
	}
	for {
		batch, last, err := p.readBatch(in)
		if len(batch) > 0 {
			if err := each(batch); err != nil {
				return err
			}
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", in.n, err)
		}
		if last {
			return nil
		}
	}
}

// readBatch reads up to batchEntries entries, and reports whether the export ended with them.
func (p *packer) readBatch(in *lineReader) (batch []*entry, last bool, err error) {
	for size := 0; len(batch) < batchEntries && size < maxBatch; size += batch[len(batch)-1].size() {
		line, err := in.next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return batch, false, errors.New("the export ends in the middle: fetch it again")
		}
		if err != nil {
			return batch, false, err
		}
		var tail transferTail
		if unmarshal(line, &tail) == nil && tail.Entries != nil {
			if *tail.Entries != in.n-2 {
				return batch, false, fmt.Errorf("the export has %d entries, and claims %d", in.n-2, *tail.Entries)
			}
			return batch, true, nil
		}
		e, err := p.parseLine(line)
		if err != nil {
			return batch, false, err
		}
		batch = append(batch, e)
	}
	return batch, false, nil
}

// parseLine checks one exported entry.
func (p *packer) parseLine(data []byte) (*entry, error) {
	var line transferLine
	if err := unmarshal(data, &line); err != nil {
		return nil, err
	}
	key, err := backend.ParseKey(line.Key)
	if err != nil {
		return nil, err
	}
	info := backend.Info{Engine: line.Engine, Model: line.Model, Digest: line.Digest, Context: line.Context}
	if err := checkInfo(info); err != nil {
		return nil, err
	}
	if want, err := recordKey(info, line.Op, line.Request); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	} else if key != want {
		return nil, fmt.Errorf("the key of this request is %v, not %v", want, key)
	}
	answer, err := payload(line.Op, line.Answer)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	created := line.Created
	if now := time.Now(); created.After(now) || created.Before(time.UnixMilli(0)) {
		created = now
	}
	return &entry{
		key: key, op: line.Op, info: info, created: created,
		answer:  p.pack(key, partAnswer, answer),
		request: p.pack(key, partRequest, line.Request),
	}, nil
}

// insert adds entries that are not there yet, and counts both kinds.
func (s *Store) insert(batch []*entry, done *Imported) error {
	added := 0
	err := s.transact(func(tx *sql.Tx) error {
		insert, err := tx.Prepare(insertAnswer + keepAnswer)
		if err != nil {
			return err
		}
		defer insert.Close()
		models := map[backend.Identity]int64{}
		now := time.Now().UnixMilli()
		for _, e := range batch {
			id, err := modelID(tx, models, e.info)
			if err != nil {
				return err
			}
			result, err := insert.Exec(e.key[:], e.op, id, e.created.UnixMilli(), now, e.answer, e.request)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			added += int(n)
		}
		return nil
	})
	if err == nil {
		done.Added += added
		done.Present += len(batch) - added
	}
	return err
}

// A lineReader reads lines of bounded length and counts them.
type lineReader struct {
	r   *bufio.Reader
	buf []byte
	n   int
}

// next returns the next line, without its end. It is valid until the next call. A last line that has no
// end gives io.ErrUnexpectedEOF.
func (l *lineReader) next() ([]byte, error) {
	l.n++
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf[:len(l.buf)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if err == io.EOF && len(l.buf) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		case len(l.buf) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
	}
}
