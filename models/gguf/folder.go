package gguf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxJSON bounds the tokenizer.json and config.json of a model; real ones are below 20 MB.
const maxJSON = 64 << 20

// parseFile reads a file and parses it; its errors name the file.
func parseFile[T any](path string, parse func([]byte) (T, error)) (T, error) {
	var v T
	data, err := readJSON(path)
	if err != nil {
		return v, err
	}
	v, err = parse(data)
	if err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

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

// openSafetensors opens the one safetensors file of a folder.
func openSafetensors(dir string) (*os.File, map[string]*safetensor, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".safetensors") {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	if len(names) != 1 {
		return nil, nil, fmt.Errorf("%s has %d safetensors files; exactly one is converted", dir, len(names))
	}
	return openSafetensorsFile(names[0])
}

// openSafetensorsFile opens a safetensors file and reads its header.
func openSafetensorsFile(name string) (*os.File, map[string]*safetensor, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	tensors, err := readSafetensors(f, fi.Size())
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, tensors, nil
}
