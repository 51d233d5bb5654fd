package models

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find resolves a name of the home folder, the path of a model file, or ollama:NAME[:TAG] for a model of Ollama's
// store, which is used where it lies. Its error lists what there is.
func Find(home, ref string) (*Model, error) {
	if name, ok := strings.CutPrefix(ref, ollamaPrefix); ok {
		return findOllama(name)
	}
	if CheckName(ref) == nil {
		if fi, err := os.Stat(modelPath(home, ref)); err == nil && fi.Mode().IsRegular() {
			record, err := readRecord(home, ref)
			if err != nil {
				return nil, err
			}
			return &Model{Name: ref, Path: modelPath(home, ref), Record: record}, nil
		}
	}
	if CheckName(ref) == nil {
		if fi, err := os.Stat(folderPath(home, ref)); err == nil && fi.IsDir() {
			record, err := readRecord(home, ref)
			return &Model{Name: ref, Path: folderPath(home, ref), Record: record}, err
		}
	}
	fi, err := os.Stat(ref)
	switch {
	case err == nil && fi.IsDir():
		return nil, fmt.Errorf("%s is a folder, not a model: name a .gguf file, "+
			"or an .onnx file, or turn a folder of safetensors into a model with: assay models import --name NAME %s", ref, ref)
	case err == nil:
		name := strings.TrimSuffix(filepath.Base(ref), ".gguf")
		return &Model{Name: name, Path: ref}, nil
	case strings.HasSuffix(ref, ".gguf") || strings.ContainsAny(ref, `/\`):
		return nil, fmt.Errorf("there is no file %s", ref)
	}
	return nil, fmt.Errorf("there is no model %q: %s", ref, have(home))
}

// have says which models there are and how to get more.
func have(home string) string {
	list, err := List(home)
	if err != nil {
		return err.Error()
	}
	if len(list) == 0 {
		return "there is none yet; fetch the standard ones with scripts/setup.sh, " +
			"or add a file with: assay models import --name NAME FILE.gguf"
	}
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	return "have " + strings.Join(names, ", ") +
		"; add one with: assay models import --name NAME FILE.gguf, or name a .gguf file by its path"
}

// List returns the models of the home folder, sorted by name. There may be none.
func List(home string) ([]Model, error) {
	entries, err := os.ReadDir(filepath.Join(home, "models"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []Model
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".gguf")
		m := Model{Name: name, Path: modelPath(home, name)}
		if e.IsDir() {
			m = Model{Name: e.Name(), Path: folderPath(home, e.Name())}
			name, ok = e.Name(), true
		}
		if !ok || CheckName(name) != nil {
			continue
		}
		m.Record, m.Err = readRecord(home, name)
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}
