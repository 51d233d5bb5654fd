package models

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxJSON bounds the records of the home folder; real ones are below a few kilobytes.
const maxJSON = 1 << 20

// readJSON reads a file of bounded size.
func readJSON(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if fi.Size() > maxJSON {
		return nil, fmt.Errorf("%s has %d bytes, more than any such file: is it the right one?", path, fi.Size())
	}
	return os.ReadFile(path)
}

// writeFile writes a small file so that it is there whole or not at all.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// sweep removes what interrupted imports left more than a day ago.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".part") &&
			time.Since(fi.ModTime()) > 24*time.Hour {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}
