package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A Model is a model file, or folder, that can be named.
type Model struct {
	Name    string  // of the home folder, or the file's own without .gguf
	Path    string  // of the file, or of the folder of a model in ONNX
	Record  *Record // nil for a file that was not imported
	Err     error   // why the record cannot be read, where there is one, or the model not be used
	Store   string  // "ollama" for a model that is Ollama's; "" for others
	Warning string  // what the user should know before using it
}

// A Record says where a model of the home folder came from.
type Record struct {
	Name     string    `json:"name"`
	Digest   string    `json:"digest"`          // "sha256:" and 64 hex digits
	Size     int64     `json:"size"`            // bytes
	Head     string    `json:"head,omitempty"`  // the digest of its classification head, where that is in a file beside it
	Files    []File    `json:"files,omitempty"` // of a model that is a folder: all; Digest is then one of all
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
	Sequences int     `json:"sequences"`                // decoded in parallel
	Prompt    float64 `json:"prompt_tokens_per_second"` // prefill
	Reply     float64 `json:"reply_tokens_per_second"`  // decode, all sequences together
	Calls     float64 `json:"calls_per_minute"`         // of an evaluation: more prompt tokens than completion tokens
}

var nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckName reports a name that no model of the home folder can have. Names become file names.
func CheckName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case !nameRE.MatchString(name) || strings.HasSuffix(name, "."):
		return fmt.Errorf("%.80q cannot be a model's name: use up to 64 letters, digits, dots, dashes and underscores",
			name)
	case strings.HasSuffix(lower, ".gguf") || strings.HasSuffix(lower, ".json") || strings.HasSuffix(lower, ".head"):
		return fmt.Errorf("%q cannot be a model's name: leave out the %s", name, filepath.Ext(name))
	case !filepath.IsLocal(name):
		return fmt.Errorf("%q cannot be a model's name on this system", name)
	}
	return nil
}

func modelPath(home, name string) string  { return filepath.Join(home, "models", name+".gguf") }
func recordPath(home, name string) string { return filepath.Join(home, "models", name+".json") }

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
