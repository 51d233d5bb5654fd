package models

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"
)

// Home returns the folder that holds models, engines and caches: $ASSAY_HOME, or assay in the user's
// data folder. It need not exist yet.
func Home() (string, error) {
	if dir := os.Getenv("ASSAY_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	if !filepath.IsAbs(xdg.DataHome) {
		return "", errors.New("this user has no data folder: set ASSAY_HOME to a folder for models and caches")
	}
	return filepath.Join(xdg.DataHome, "assay"), nil
}

// A Record says where a model of the home folder came from.
type Record struct {
	Name     string    `json:"name"`
	Digest   string    `json:"digest"` // "sha256:" and 64 hex digits
	Size     int64     `json:"size"`   // bytes
	Source   string    `json:"source,omitempty"`
	Licence  string    `json:"licence,omitempty"`
	Note     string    `json:"note,omitempty"`     // what was assumed or done on the way
	Tuned    string    `json:"tuned,omitempty"`    // the digest of the model that this one was requantised from
	Measured []Speed   `json:"measured,omitempty"` // why a tuned model is as it is
	Imported time.Time `json:"imported"`
}

// A Speed is what was measured of one file of weights.
type Speed struct {
	Weights   string  `json:"weights"`                  // their type: "Q4_0"
	Size      int64   `json:"size"`                     // bytes
	Sequences int     `json:"sequences"`                // that were written at once
	Prompt    float64 `json:"prompt_tokens_per_second"` // read
	Reply     float64 `json:"reply_tokens_per_second"`  // written, in all sequences together
	Calls     float64 `json:"calls_per_minute"`         // of an evaluation, which reads more than it writes
}

// A Model is a model file that can be named.
type Model struct {
	Name    string  // of the home folder, or the file's own without .gguf
	Path    string  // of the file
	Record  *Record // nil for a file that was not imported
	Err     error   // why the record cannot be read, where there is one, or the model not be used
	Store   string  // "ollama" for a model that is Ollama's; "" for others
	Warning string  // what the user should know before using it
}

var nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckName reports a name that no model of the home folder can have. Names become file names.
func CheckName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case !nameRE.MatchString(name) || strings.HasSuffix(name, "."):
		return fmt.Errorf("%.80q cannot be a model's name: use up to 64 letters, digits, dots, dashes and underscores", name)
	case strings.HasSuffix(lower, ".gguf") || strings.HasSuffix(lower, ".json"):
		return fmt.Errorf("%q cannot be a model's name: leave out the %s", name, filepath.Ext(name))
	case !filepath.IsLocal(name):
		return fmt.Errorf("%q cannot be a model's name on this system", name)
	}
	return nil
}

func modelPath(home, name string) string  { return filepath.Join(home, "models", name+".gguf") }
func recordPath(home, name string) string { return filepath.Join(home, "models", name+".json") }

// List returns the models of the home folder, sorted by name. There may be none.
func List(home string) ([]Model, error) {
	entries, err := os.ReadDir(filepath.Join(home, "models"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []Model
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".gguf")
		if !ok || CheckName(name) != nil {
			continue
		}
		m := Model{Name: name, Path: modelPath(home, name)}
		m.Record, m.Err = readRecord(home, name)
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

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
	fi, err := os.Stat(ref)
	switch {
	case err == nil && fi.IsDir():
		return nil, fmt.Errorf("%s is a folder, not a model: name a .gguf file, "+
			"or turn a folder of safetensors into a model with: assay models import --name NAME %s", ref, ref)
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

// readRecord reads a model's record; nil if it has none.
func readRecord(home, name string) (*Record, error) {
	path := recordPath(home, name)
	data, err := readJSON(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s is damaged (%v): remove the model and import it again", path, err)
	}
	return r, nil
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
