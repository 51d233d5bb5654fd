package library

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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

// TestCores lets passes compute side by side whose threads fit, and no others.
func TestCores(t *testing.T) {
	cores := process.cores().n
	var mu sync.Mutex
	busy, most := 0, 0
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			n := i%(cores+2) + 1 // more than there are, too
			done := Cores(n)
			defer done()
			mu.Lock()
			busy += min(n, cores)
			most = max(most, busy)
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			busy -= min(n, cores)
			mu.Unlock()
		})
	}
	all.Wait()
	if most > cores {
		t.Errorf("%d of %d cores in use", most, cores)
	}
	done := Cores(cores - 1)
	other := make(chan struct{})
	go func() { Cores(1)(); close(other) }()
	if cores > 1 {
		<-other // it does not wait
	}
	done()
}
