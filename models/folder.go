package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assay-eval/assay/models/head"
)

// A File is one of a model that is a folder.
type File struct {
	Path   string `json:"path"` // below the folder, with slashes
	Digest string `json:"digest"`
}

func folderPath(home, name string) string { return filepath.Join(home, "models", name) }

// ImportFolder brings a model that is a folder, such as one in ONNX, into the home folder under rec.Name. It copies the
// files that are named by their paths below the folder, and has the copy checked, which tells the model's digest. See
// [Import] for the rest.
func ImportFolder(ctx context.Context, home string, rec Record, folder string, files []string,
	check func(folder string) (digest string, err error)) (*Model, error) {
	if err := CheckName(rec.Name); err != nil {
		return nil, err
	}
	dir := filepath.Join(home, "models")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	sweep(dir)
	part, err := os.MkdirTemp(dir, "."+rec.Name+"-*.part")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(part) // finds nothing once it is renamed
	for _, name := range files {
		if err := rec.copy(ctx, part, folder, name); err != nil {
			return nil, fmt.Errorf("model %s: %w", rec.Name, err)
		}
	}
	digest, err := check(part)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", rec.Name, err)
	}
	if rec.Digest != "" && rec.Digest != digest {
		return nil, fmt.Errorf("model %s: its digest is %s and should be %s: its files are damaged, or others",
			rec.Name, digest, rec.Digest)
	}
	rec.Digest, rec.Imported = digest, time.Now().UTC().Truncate(time.Second)
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return nil, err
	}
	// As in Import: whatever record lies beside a model is its own.
	if err := remove(home, rec.Name); err != nil {
		return nil, err
	}
	path := folderPath(home, rec.Name)
	if err := os.Rename(part, path); err != nil {
		return nil, err
	}
	return &Model{Name: rec.Name, Path: path, Record: &rec}, writeFile(recordPath(home, rec.Name), append(data, '\n'))
}

// copy copies a file into a new folder and takes it up.
func (r *Record) copy(ctx context.Context, to, from, name string) error {
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) {
		return fmt.Errorf("%.200q is not the path of a file in its folder", name)
	}
	path := filepath.Join(to, local)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		return err
	}
	err := writeTo(path, func(w io.Writer) error { return copyFile(ctx, w, filepath.Join(from, local)) })
	if err != nil {
		return err
	}
	digest, err := hashFile(path)
	if err != nil {
		return err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	r.Size += fi.Size()
	r.Files = append(r.Files, File{name, digest})
	return nil
}

// verify reports a folder that is not what was imported.
func (r *Record) verify(folder string) error {
	changed := func(what string) error {
		return fmt.Errorf("model %s has changed since it was imported: %s; import it again", r.Name, what)
	}
	for _, f := range r.Files {
		digest, err := hashFile(filepath.Join(folder, filepath.FromSlash(f.Path)))
		if errors.Is(err, fs.ErrNotExist) {
			return changed(f.Path + " is gone")
		}
		if err != nil {
			return err
		}
		if digest != f.Digest {
			return changed(f.Path + " is another")
		}
	}
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if !slices.ContainsFunc(r.Files, func(f File) bool { return f.Path == name }) {
			return changed(name + " was not there")
		}
		return nil
	})
}

// remove deletes whatever there is of a model, its record first.
func remove(home, name string) error {
	for _, path := range []string{recordPath(home, name), head.Path(modelPath(home, name)), modelPath(home, name)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.RemoveAll(folderPath(home, name))
}
