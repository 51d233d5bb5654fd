package runs

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/internal/parquet"
	"github.com/gofrs/flock"
)

// A Journal keeps the work on an output file until it is whole. While it goes on, the finished pieces stand in
// FILE.part, one JSON value a line after a first line that says what the work is; a line that was torn when the
// process was killed is forgotten, and one that was damaged is with all that come after it. [Journal.Finish] writes
// FILE, as Parquet if its name ends so, and, in FILE.about.json, how it came about.
type Journal struct {
	Kept   []json.RawMessage // the pieces of an earlier attempt, in order
	Forgot int               // whole lines of it, from the first on that is damaged
	Done   bool              // FILE is there already, as the very same work left it

	out    string
	config json.RawMessage
	part   *os.File
	lock   *flock.Flock
}

// An ExistsError says that a file is there which is another result.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s holds the result of something else: other documents, models, prompts or settings, or it "+
		"was changed since", e.Path)
}

// An About is the content of FILE.about.json.
type About struct {
	Config json.RawMessage `json:"config"` // everything that the result depends on
	SHA256 string          `json:"sha256"` // of the file
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
		if j.Done = j.made(out); j.Done {
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

// hold takes the lock. Should another process remove the file just then, having finished, a new one is locked.
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
		mine, err := lock.Stat()
		if there, e := os.Stat(j.out + lockSuffix); err == nil && e == nil && os.SameFile(mine, there) {
			j.lock = lock
			return nil
		}
		if err := lock.Unlock(); err != nil {
			return err
		}
	}
}

// made reports whether the file came about as this journal's will, and is as it was then. What stands beside it says
// so; a process that was killed between writing the two leaves an old file beside a new account, whose digest differs.
func (j *Journal) made(path string) bool {
	b, err := os.ReadFile(path + aboutSuffix)
	if err != nil {
		return false
	}
	var about struct {
		Config json.RawMessage
		SHA256 string
	}
	if json.Unmarshal(b, &about) != nil || !j.is(about.Config) {
		return false
	}
	content, err := os.ReadFile(path)
	return err == nil && about.SHA256 == digest(content)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
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
		if errors.Is(err, io.EOF) {
			break // torn, or the end
		}
		if err != nil {
			return err
		}
		if first && !j.is(line) {
			return &ExistsError{j.out + partSuffix}
		}
		if !json.Valid(line) {
			rest, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			j.Forgot = 1 + bytes.Count(rest, []byte("\n"))
			break
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

// Pieces are the pieces of an earlier attempt as values of their type.
func Pieces[T any](j *Journal) ([]T, error) {
	list := make([]T, len(j.Kept))
	for i, piece := range j.Kept {
		if err := json.Unmarshal(piece, &list[i]); err != nil {
			return nil, fmt.Errorf("%s%s: %v", j.out, partSuffix, err)
		}
	}
	return list, nil
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

// Finish writes the file with one row a line, or as Parquet if its name ends so, and the report beside it, and
// removes the journal. Each file takes its name only when it is whole.
func (j *Journal) Finish(rows []any, report any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, row := range rows {
		if err := e.Encode(row); err != nil {
			return err
		}
	}
	if isParquet(j.out) {
		lines := slices.Collect(bytes.Lines(b.Bytes()))
		b = bytes.Buffer{}
		if err := parquet.Write(&b, each(lines), "relevance", "rubrics"); err != nil {
			return fmt.Errorf("%s: %w", j.out, err)
		}
	}
	about, err := json.MarshalIndent(About{j.config, digest(b.Bytes()), report}, "", "  ")
	if err != nil {
		return err
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

// isParquet reports whether a file is to be Parquet.
func isParquet(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".parquet" || ext == ".pq"
}

// each yields lines as rows for Parquet.
func each(lines [][]byte) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, line := range lines {
			if !yield(line, nil) {
				return
			}
		}
	}
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
