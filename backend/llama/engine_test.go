package llama

import (
	"os"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// fromEnv returns the value of an environment variable that names something the tests need.
func fromEnv(t *testing.T, name, what string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skipf("%s does not name %s: run make test", name, what)
	}
	return value
}

func testLib(t *testing.T) string {
	t.Helper()
	return fromEnv(t, "ASSAY_TEST_LIB", "llama.cpp's libraries")
}

// open opens an engine that is closed when the test ends.
func open(t *testing.T, o Options) *Engine {
	t.Helper()
	o.Lib = testLib(t)
	o.Log = t.Logf
	if o.Digest == "" {
		o.Digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	}
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestJudgeConforms(t *testing.T) {
	path := fromEnv(t, "ASSAY_TEST_JUDGE", "a TinyLlama GGUF")
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return open(t, Options{Model: path, Slots: 8}) },
	})
}

func TestEmbedderConforms(t *testing.T) {
	path := fromEnv(t, "ASSAY_TEST_EMBED", "the MiniLM GGUF")
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return open(t, Options{Model: path}) },
	})
}

func TestTinyConforms(t *testing.T) {
	testLib(t)
	path := tinyModel{template: plainTemplate}.write(t)
	backendtest.Run(t, backendtest.Config{
		Open: func(t *testing.T) backend.Backend { return open(t, Options{Model: path, Slots: 4}) },
	})
}
