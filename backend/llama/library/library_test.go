package library

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-eval/assay/models"
)

func TestLoadRefuses(t *testing.T) {
	var p state
	dir := t.TempDir()
	if err := p.load(dir); err == nil || !strings.Contains(err.Error(), "no library") {
		t.Errorf("an empty folder: %v", err)
	}
	for _, name := range []string{"libggml.so", "ggml.dll", "libggml.dylib"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("not a library"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.load(dir); err == nil || !strings.Contains(err.Error(), models.EngineVersion) {
		t.Errorf("a folder with some of the files: %v", err)
	}
	if p.lib.Dir != "" || p.broken != nil {
		t.Error("nothing was loaded, and yet it cannot be tried again")
	}
}

func TestVersion(t *testing.T) {
	dir := os.Getenv("ASSAY_TEST_LIB")
	if dir == "" {
		t.Skip("ASSAY_TEST_LIB names no llama.cpp libraries: run make test")
	}
	lib, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir)
	if err != nil || again.String() != lib.String() {
		t.Errorf("loaded again: %v, %v", again, err)
	}
	if lib.Version != models.EngineVersion || !strings.HasPrefix(lib.String(), "llama.cpp "+models.EngineVersion) {
		t.Errorf("loaded %v, want version %s", lib, models.EngineVersion)
	}
	t.Log(lib)
}
