package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assay-eval/assay/models/gguf"
	"github.com/assay-eval/assay/models/head"
)

// Digest returns the SHA-256 of a model's weights as "sha256:" and 64 hex digits. A file that was hashed
// before and has the same size and time of modification is not read again: what it hashed to is kept in
// the home folder. For a model split over several files, or with a classification head in a file of its own, it is a hash
// over the digests of all.
func Digest(path string) (string, error) {
	home, err := Home()
	if err != nil {
		home = "" // nothing is kept, and every call reads the file
	}
	files := gguf.SplitFiles(path)
	if _, err := os.Stat(head.Path(path)); err == nil {
		files = append(files, head.Path(path))
	}
	if len(files) == 1 {
		return fileDigest(home, path)
	}
	h := sha256.New()
	for _, file := range files {
		d, err := fileDigest(home, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, d)
	}
	return sum256(h.Sum(nil)), nil
}

// A digestMemo is what one file hashed to.
type digestMemo struct {
	Path   string    `json:"path"`
	Size   int64     `json:"size"`
	Time   time.Time `json:"time"`
	Digest string    `json:"digest"`
}

// fileDigest hashes a file, or recalls what it hashed to.
func fileDigest(home, path string) (string, error) {
	memo, err := newMemo(path)
	if err != nil {
		return "", err
	}
	if old, ok := readMemo(home, memo.Path); ok && old.Size == memo.Size && old.Time.Equal(memo.Time) {
		return old.Digest, nil
	}
	started := time.Now()
	if memo.Digest, err = hashFile(path); err != nil {
		return "", err
	}
	// A file changed within the grain of its time stamp could change again unseen; such a hash is not kept.
	if started.Sub(memo.Time) > 2*time.Second {
		memo.write(home)
	}
	return memo.Digest, nil
}

// newMemo describes a file, its digest left empty.
func newMemo(path string) (digestMemo, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return digestMemo{}, err
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return digestMemo{}, err
	}
	return digestMemo{Path: abs, Size: fi.Size(), Time: fi.ModTime().UTC()}, nil
}

// memoPath is where the digest of the file at an absolute path is kept.
func memoPath(home, abs string) string {
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(home, "cache", "digests", hex.EncodeToString(sum[:12])+".json")
}

func readMemo(home, abs string) (digestMemo, bool) {
	var memo digestMemo
	if home == "" {
		return memo, false
	}
	data, err := readJSON(memoPath(home, abs))
	if err != nil || json.Unmarshal(data, &memo) != nil {
		return memo, false
	}
	return memo, memo.Path == abs && checkDigest(memo.Digest) == nil
}

// write keeps the memo. Where that fails the file is hashed again next time, and nothing else is lost.
func (m *digestMemo) write(home string) {
	path := memoPath(home, m.Path)
	data, err := json.Marshal(m)
	if home != "" && err == nil && os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		writeFile(path, data)
	}
}

// hashFile reads a whole file.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, onlyReader{f}, make([]byte, 1<<20)); err != nil {
		return "", err
	}
	return sum256(h.Sum(nil)), nil
}

// onlyReader hides all but Read, so that io.CopyBuffer uses its buffer.
type onlyReader struct{ io.Reader }

func sum256(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// checkDigest reports what is no digest.
func checkDigest(digest string) error {
	digits, ok := strings.CutPrefix(digest, "sha256:")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != sha256.Size || strings.ToLower(digits) != digits {
		return fmt.Errorf("%.100q is not a digest: it takes sha256: and 64 lower-case hexadecimal digits", digest)
	}
	return nil
}
