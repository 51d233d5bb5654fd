package models

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assay-eval/assay/models/gguf"
	"github.com/assay-eval/assay/models/head"
)

// Import brings a model into the home folder under rec.Name: one GGUF file; one GGUF file in several
// parts, in order, as they are cut for transport; or a folder with safetensors, config.json and
// tokenizer.json, which is converted (see [gguf.Convert]). The files named are left alone.
//
// Where rec.Digest is given the result must have it; Import fills it in, with the size and the time.
// The model is checked as by [Check] and takes its name only when it is whole; a model of that name is
// replaced.
func Import(ctx context.Context, home string, rec Record, files ...string) (*Model, error) {
	return importModel(ctx, home, rec, nil, files)
}

// ImportWithHead is [Import] of a GGUF file together with the classification head of the Hugging Face folder that it
// was made of: see [gguf.ReadHead]. The head comes to lie in a file beside the model.
func ImportWithHead(ctx context.Context, home string, rec Record, folder string, files ...string) (*Model, error) {
	h, err := gguf.ReadHead(folder)
	if err != nil {
		return nil, err
	}
	return importModel(ctx, home, rec, h, files)
}

func importModel(ctx context.Context, home string, rec Record, h *head.Head, files []string) (*Model, error) {
	if len(files) == 0 {
		return nil, errors.New("no file to import: name a .gguf file, its parts in order, or a folder")
	}
	if fi, err := os.Stat(files[0]); err == nil && fi.IsDir() {
		if len(files) > 1 || h != nil {
			return nil, fmt.Errorf("%s is a folder: import one folder at a time, or a .gguf file with the head of a folder",
				files[0])
		}
		return create(home, rec, &h, func(path string, rec *Record) error {
			return writeTo(path, func(w io.Writer) error {
				note, found, err := gguf.Convert(w, files[0], rec.Name)
				h, rec.Note = found, strings.Trim(rec.Note+"; "+note, "; ")
				return err
			})
		})
	}
	return create(home, rec, &h, func(path string, _ *Record) error {
		return writeTo(path, func(w io.Writer) error { return concatenate(ctx, w, files) })
	})
}

// Create adds a model that write makes, at the path that it is given: a temporary one, which is checked,
// hashed and then renamed. It may add to the record, a copy of rec. See [Import] for the rest.
func Create(home string, rec Record, write func(path string, rec *Record) error) (*Model, error) {
	return create(home, rec, new(*head.Head), write)
}

// create is Create of a model with a head of its own, if there is one when it is written.
func create(home string, rec Record, h **head.Head, write func(path string, rec *Record) error) (*Model, error) {
	if err := CheckName(rec.Name); err != nil {
		return nil, err
	}
	if rec.Digest != "" {
		if err := checkDigest(rec.Digest); err != nil {
			return nil, err
		}
	}
	path := modelPath(home, rec.Name)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	sweep(dir)
	part, err := os.CreateTemp(dir, "."+rec.Name+"-*.part")
	if err != nil {
		return nil, err
	}
	part.Close()
	defer os.Remove(part.Name()) // fails once it is renamed
	if err := write(part.Name(), &rec); err != nil {
		return nil, fmt.Errorf("model %s: %w", rec.Name, err)
	}
	if err := seal(part.Name(), &rec, *h); err != nil {
		return nil, fmt.Errorf("model %s: %w", rec.Name, err)
	}
	var headData []byte
	if *h != nil {
		if headData, err = (*h).Encode(); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(headData)
		rec.Head = sum256(sum[:])
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return nil, err
	}
	// The record goes first from the old model and comes last to the new one, so that whatever record
	// lies beside a model is its own. So with the head.
	for _, old := range []string{recordPath(home, rec.Name), head.Path(path)} {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if err := os.RemoveAll(folderPath(home, rec.Name)); err != nil {
		return nil, err
	}
	if err := os.Rename(part.Name(), path); err != nil {
		return nil, err
	}
	if *h != nil {
		if err := writeFile(head.Path(path), headData); err != nil {
			return nil, err
		}
	}
	if err := writeFile(recordPath(home, rec.Name), append(data, '\n')); err != nil {
		return nil, err
	}
	if memo, err := newMemo(path); err == nil {
		memo.Digest = rec.Digest
		memo.write(home)
	}
	return &Model{Name: rec.Name, Path: path, Record: &rec}, nil
}

// seal checks what was written, with the head that it is to have, and completes its record.
func seal(path string, rec *Record, h *head.Head) error {
	info, err := gguf.Check(path)
	if err != nil {
		return err
	}
	switch {
	case h != nil:
		if err := fits(h, info); err != nil {
			return err
		}
	case info.Misread != "":
		return errors.New(info.Misread)
	case info.Doubt != "":
		rec.Note = strings.TrimPrefix(rec.Note+"; "+info.Doubt, "; ")
	}
	digest, err := hashFile(path)
	if err != nil {
		return err
	}
	if rec.Digest != "" && rec.Digest != digest {
		return fmt.Errorf("its digest is %s and should be %s: the files are damaged, incomplete or others; fetch "+
			"them again",
			digest, rec.Digest)
	}
	rec.Digest, rec.Size, rec.Imported = digest, info.Size, time.Now().UTC().Truncate(time.Second)
	if rec.Licence == "" {
		rec.Licence = info.Licence
	}
	return os.Chmod(path, 0o644)
}

// writeTo writes an existing file through to the disk.
func writeTo(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// concatenate copies files one after another.
func concatenate(ctx context.Context, w io.Writer, files []string) error {
	for i, name := range files {
		if err := checkPart(i, files); err != nil {
			return err
		}
		if err := copyFile(ctx, w, name); err != nil {
			return fmt.Errorf("copying %s: %w", name, err)
		}
	}
	return nil
}

// checkPart reports a further part that is the start of a GGUF file.
func checkPart(i int, files []string) error {
	if i == 0 || !startsGGUF(files[i]) {
		return nil
	}
	if !startsGGUF(files[0]) {
		return fmt.Errorf("the parts are in the wrong order: the model starts with %s", files[i])
	}
	return fmt.Errorf("%s is a GGUF file of its own, not a further part of %s: import one model at a time; "+
		"a model that llama.cpp split is used where it lies, by its first file", files[i], files[0])
}

func startsGGUF(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, 4)
	_, err = io.ReadFull(f, start)
	return err == nil && string(start) == "GGUF"
}

func copyFile(ctx context.Context, w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for buf := make([]byte, 1<<20); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Read(buf)
		if _, writeErr := w.Write(buf[:n]); writeErr != nil {
			return writeErr
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
