package testset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gofrs/flock"
)

// A Journal keeps the work on an output file until it is whole. While it goes on, the finished pieces stand in
// FILE.part, one JSON value a line after a first line that says what the work is; a line that was torn when the
// process was killed is forgotten. [Journal.Finish] writes FILE and, in FILE.about.json, how it came about.
type Journal struct {
	Kept []json.RawMessage // the pieces of an earlier attempt, in order
	Done bool              // FILE is there already, and is the result of the very same work

	out    string
	config json.RawMessage
	part   *os.File
	lock   *flock.Flock
}

// An ExistsError says that a file is there which is another result.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s holds the result of something else: other documents, models, prompts or settings", e.Path)
}

// An About is the content of FILE.about.json.
type About struct {
	Config json.RawMessage `json:"config"` // everything that the result depends on
	Report any             `json:"report"`
}

const (
	partSuffix  = ".part"
	aboutSuffix = ".about.json"
	lockSuffix  = ".lock"
)

// OpenJournal begins the work on a file, or goes on with it. Config is everything that the result depends on. If
// the file or its journal is there with another config, that is an *ExistsError, unless it may be overwritten.
func OpenJournal(out string, config any, overwrite bool) (_ *Journal, err error) {
	j := &Journal{out: out}
	if j.config, err = json.Marshal(config); err != nil {
		return nil, err
	}
	if err := j.hold(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	if _, err := os.Lstat(out); err == nil {
		if j.Done = j.same(out + aboutSuffix); j.Done {
			return j, nil
		} else if !overwrite {
			return nil, &ExistsError{out}
		}
	}
	if j.part, err = os.OpenFile(out+partSuffix, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, err
	}
	err = j.resume()
	if errors.As(err, new(*ExistsError)) && overwrite {
		if err = j.part.Truncate(0); err == nil {
			err = j.resume()
		}
	}
	return j, err
}

// hold takes the lock. Should another process remove the file just then, having finished, it is locked anew.
func (j *Journal) hold() error {
	for {
		lock := flock.New(j.out + lockSuffix)
		locked, err := lock.TryLock()
		if err != nil {
			return fmt.Errorf("cannot lock %s: %v", j.out, err)
		}
		if !locked {
			return fmt.Errorf("another process is writing %s", j.out)
		}
		if _, err := os.Stat(j.out + lockSuffix); err == nil {
			j.lock = lock
			return nil
		}
		if err := lock.Unlock(); err != nil {
			return err
		}
	}
}

// same reports whether the file at path says that it came about as this journal's will.
func (j *Journal) same(path string) bool {
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var about struct{ Config json.RawMessage }
	return json.Unmarshal(b, &about) == nil && j.is(about.Config)
}

func (j *Journal) is(config json.RawMessage) bool {
	var b bytes.Buffer
	return json.Compact(&b, config) == nil && bytes.Equal(b.Bytes(), j.config)
}

// resume reads what there is, and makes the file end with its last whole line.
func (j *Journal) resume() error {
	if _, err := j.part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReader(j.part)
	end := int64(0)
	for first := true; ; first = false {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) || err == nil && !json.Valid(line) {
			break // torn
		}
		if err != nil {
			return err
		}
		if first && !j.is(line) {
			return &ExistsError{j.out + partSuffix}
		}
		if !first {
			j.Kept = append(j.Kept, json.RawMessage(bytes.TrimSpace(line)))
		}
		end += int64(len(line))
	}
	if err := j.part.Truncate(end); err != nil {
		return err
	}
	if _, err := j.part.Seek(end, io.SeekStart); err != nil {
		return err
	}
	if end == 0 {
		return j.add(j.config)
	}
	return nil
}

// Add keeps one piece.
func (j *Journal) Add(piece any) error {
	b, err := json.Marshal(piece)
	if err != nil {
		return err
	}
	return j.add(b)
}

func (j *Journal) add(line []byte) error {
	_, err := j.part.Write(append(line[:len(line):len(line)], '\n'))
	return err
}

// Finish writes the file with one row a line, and the report beside it, and removes the journal. Each file takes
// its name only when it is whole.
func (j *Journal) Finish(rows []any, report any) error {
	about, err := json.MarshalIndent(About{j.config, report}, "", "  ")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, row := range rows {
		if err := e.Encode(row); err != nil {
			return err
		}
	}
	if err := replace(j.out+aboutSuffix, append(about, '\n')); err != nil {
		return err
	}
	if err := replace(j.out, b.Bytes()); err != nil {
		return err
	}
	if err := j.part.Close(); err != nil {
		return err
	}
	j.part = nil
	return os.Remove(j.out + partSuffix)
}

// replace writes a file under another name and gives it its own when it is whole.
func replace(path string, content []byte) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Close lets go of the files. What was added is kept for the next attempt.
func (j *Journal) Close() error {
	var errs []error
	if j.part != nil {
		errs = append(errs, j.part.Close())
		j.part = nil
	}
	if j.lock != nil {
		os.Remove(j.out + lockSuffix) // where an open file cannot be removed, it stays, and does no harm
		errs = append(errs, j.lock.Unlock())
		j.lock = nil
	}
	return errors.Join(errs...)
}
