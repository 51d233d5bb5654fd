package llama

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
)

// fromEnv returns the value of an environment variable that names something the tests need.
func fromEnv(t testing.TB, name, what string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skipf("%s does not name %s: run make test", name, what)
	}
	return value
}

func testLib(t testing.TB) string {
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

// BenchmarkJudge asks 24 questions that share some 400 tokens, for replies of up to 100.
func BenchmarkJudge(b *testing.B) {
	lib, path := os.Getenv("ASSAY_TEST_LIB"), os.Getenv("ASSAY_TEST_JUDGE")
	if lib == "" || path == "" {
		b.Skip("ASSAY_TEST_LIB and ASSAY_TEST_JUDGE do not name libraries and a model")
	}
	e, err := Open(b.Context(), Options{Lib: lib, Model: path, Digest: "sha256:", Log: b.Logf})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	stem := strings.Repeat("The harbour was built of grey stone in the last century, and its lighthouse still stands. ",
		20)
	for round := 0; b.Loop(); round++ {
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				_, err := e.Generate(b.Context(), &backend.GenerateRequest{
					Messages: say("user",
						fmt.Sprintf("%d. %s\nTell a long story about this harbour and %d ships.", round, stem, i)),
					MaxTokens: 100,
				})
				if err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	s := e.Stats()
	b.ReportMetric(float64(s.OutputTokens)/b.Elapsed().Seconds(), "tok/s")
	b.ReportMetric(float64(s.PromptComputed)/float64(s.PromptTokens), "computed/asked")
	b.ReportMetric(s.Packing(), "packing")
	b.Logf("%+v in %v", s, b.Elapsed())
}

// BenchmarkEmbed embeds short sentences.
func BenchmarkEmbed(b *testing.B) {
	lib, path := os.Getenv("ASSAY_TEST_LIB"), os.Getenv("ASSAY_TEST_EMBED")
	if lib == "" || path == "" {
		b.Skip("ASSAY_TEST_LIB and ASSAY_TEST_EMBED do not name libraries and a model")
	}
	e, err := Open(b.Context(), Options{Lib: lib, Model: path, Digest: "sha256:", Log: b.Logf})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = fmt.Sprintf("The %dth ship of the fleet lay in the harbour for %d days that winter.", i, 3*i)
	}
	for b.Loop() {
		if _, err := backend.Embed(b.Context(), e, texts); err != nil {
			b.Fatal(err)
		}
	}
	s := e.Stats()
	b.ReportMetric(float64(s.Texts)/b.Elapsed().Seconds(), "texts/s")
	b.ReportMetric(float64(s.TextTokens)/b.Elapsed().Seconds(), "tok/s")
}
