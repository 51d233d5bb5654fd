package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A bundle is the files of a dataset, in their order: one, or those of a folder or of a pattern.
type bundle struct {
	name  string // what messages call all of them
	files []*source
}

// openBundle finds the files that path names: a file, a folder with all datasets in it, or a pattern such as
// "logs/*.jsonl".
func openBundle(ctx context.Context, path string) (*bundle, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		paths, err := inFolder(path)
		if err != nil {
			return nil, err
		}
		return ofPaths(ctx, path, paths)
	}
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?[") {
		paths, err := filepath.Glob(path)
		if err != nil {
			return nil, fmt.Errorf("the pattern %s: %w", path, err)
		}
		paths = slices.DeleteFunc(paths, func(p string) bool {
			info, err := os.Stat(p)
			return err != nil || info.IsDir()
		})
		if len(paths) == 0 {
			return nil, fmt.Errorf("no file fits the pattern %s", path)
		}
		return ofPaths(ctx, path, paths)
	}
	return ofPaths(ctx, path, []string{path})
}

func ofPaths(ctx context.Context, name string, paths []string) (*bundle, error) {
	b := &bundle{name: name}
	slices.Sort(paths)
	for _, path := range paths {
		s, err := openSource(ctx, path)
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		b.files = append(b.files, s)
	}
	if len(b.files) == 1 {
		b.name = b.files[0].name
	}
	return b, nil
}

// endings are those of files that are datasets, without .gz and .zst.
var endings = []string{".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".pq", ".xlsx", ".xlsm", ".eval",
	".trec", ".run"}

// split is how Hugging Face names a shard: the split first.
var split = regexp.MustCompile(`^(train|test|validation|valid|dev|val)(?:-\d{5}-of-\d{5}|_\d+|-\d+)?(?:-[0-9a-f]{16})?\.`)

// inFolder lists the datasets in a folder and those below it, hidden ones and Hugging Face's own descriptions apart. Splits are
// not one dataset: files of several are an error.
func inFolder(dir string) ([]string, error) {
	var paths []string
	splits := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case path != dir && strings.HasPrefix(name, "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || slices.Contains([]string{"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}, name):
			return nil
		}
		base := strings.ToLower(name)
		base = strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".zst")
		if slices.Contains(endings, filepath.Ext(base)) {
			paths = append(paths, path)
			if m := split.FindStringSubmatch(base); m != nil {
				splits[m[1]] = true
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(paths) == 0:
		return nil, fmt.Errorf("no dataset in the folder %s: no file ends in %s", dir, strings.Join(endings, ", "))
	case len(splits) > 1:
		var names []string
		for name := range splits {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("the folder %s holds the splits %s: choose one by a pattern, such as '%s'", dir,
			strings.Join(names, ", "), filepath.Join(filepath.Dir(paths[0]), names[0]+"-*"))
	}
	return paths, nil
}

// fileOf is the name of the file that a record is in.
func (b *bundle) fileOf(rec record) string { return b.files[rec.file].name }

// records yields those of all files, in order. The sums of the files that were read to their end are put into sums.
func (b *bundle) records(ctx context.Context, format string, sums []string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for i := range b.files {
			sum, err := b.file(ctx, i, format, yield)
			if err != nil && err != errStopped {
				yield(record{file: i}, err)
			}
			if err != nil {
				return
			}
			sums[i] = sum
		}
	}
}

var errStopped = errors.New("stopped by who reads")

// file yields the records of the i-th file, and returns the sum of its content. An error of a record has been yielded.
func (b *bundle) file(ctx context.Context, i int, format string, yield func(record, error) bool) (string, error) {
	f, err := b.files[i].open(format)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for rec, err := range f.records() {
		rec.file = i
		if !yield(rec, err) || err != nil {
			return "", errStopped
		}
	}
	return f.sum(ctx)
}

// sum is the hash of the whole: of the one file's content, or of the hashes of several, in their order. Files whose sums are
// not known yet are read.
func (b *bundle) sum(ctx context.Context, sums []string) (string, error) {
	h := sha256.New()
	for i, s := range b.files {
		if sums[i] == "" {
			f, _, err := s.openText()
			if err != nil {
				return "", err
			}
			sums[i], err = f.sum(ctx)
			f.Close()
			if err != nil {
				return "", fileError(s.name, 0, err)
			}
		}
		fmt.Fprintln(h, sums[i])
	}
	if len(b.files) == 1 {
		return sums[0], nil
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Close removes the copies that were made.
func (b *bundle) Close() error {
	var err error
	for _, s := range b.files {
		err = errors.Join(err, s.Close())
	}
	return err
}
