package models

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/assay-eval/assay/models/head"
)

// Verify reads a model of the home folder, or of Ollama's store, whole and reports whether it is still what was
// imported, or what Ollama fetched.
func Verify(home, name string) error {
	m, err := Find(home, name)
	if err != nil {
		return err
	}
	if m.Record == nil {
		return fmt.Errorf("model %s has no record to compare with: import it with: assay models import --name NAME %s",
			name, m.Path)
	}
	if m.Record.Files != nil {
		return m.Record.verify(m.Path)
	}
	if _, _, err := Check(m.Path); err != nil {
		return err
	}
	if m.Record.Head != "" {
		digest, err := hashFile(head.Path(m.Path))
		if err != nil || digest != m.Record.Head {
			return fmt.Errorf("the classification head of model %s is gone or has changed since it was imported: "+
				"import it again", name)
		}
	}
	digest, err := hashFile(m.Path)
	if err != nil {
		return err
	}
	switch {
	case digest != m.Record.Digest && m.Store == "ollama":
		return fmt.Errorf("model %s is damaged: its digest is %s and should be %s; run ollama pull again",
			name, digest, m.Record.Digest)
	case digest != m.Record.Digest:
		return fmt.Errorf("model %s has changed since it was imported: its digest is %s and was %s; import it again",
			name, digest, m.Record.Digest)
	}
	return nil
}

// Remove deletes a model of the home folder with its record and its head. What is Ollama's is not touched.
func Remove(home, name string) error {
	if name, ok := strings.CutPrefix(name, ollamaPrefix); ok {
		return fmt.Errorf("%s is Ollama's: remove it with: ollama rm %s", name, name)
	}
	if err := CheckName(name); err != nil {
		return err
	}
	_, err := os.Lstat(modelPath(home, name))
	if errors.Is(err, os.ErrNotExist) {
		_, err = os.Lstat(folderPath(home, name))
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no model %q: %s", name, have(home))
	}
	if err != nil {
		return err
	}
	return remove(home, name)
}
