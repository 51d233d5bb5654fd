package llama

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assay-eval/assay/backend/llama/library"
	"github.com/assay-eval/assay/models/gguf"
)

// TestQuantize requantises a model, and another while the user loses patience.
func TestQuantize(t *testing.T) {
	lib, in, dir := testLib(t), tinyModel{}.write(t), t.TempDir()
	out := filepath.Join(dir, "out.gguf")
	for kind, want := range map[string]string{"q8_0": "Q8_0", "Q4_0": "Q4_0"} {
		if err := Quantize(t.Context(), lib, in, out, kind); err != nil {
			t.Fatal(err)
		}
		if info, err := gguf.Check(out); err != nil || info.Quantisation != want {
			t.Errorf("%s became %+v, %v", kind, info, err)
		}
	}
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	done := library.Cores(library.Physical()) // so that it is certain to be in the middle
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := Quantize(ctx, lib, in, out, "q4_0")
	done()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("interrupted: error is %v", err)
	}
	done = library.Cores(library.Physical()) // once the other thread is done with it
	left, err := os.ReadDir(dir)
	done()
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
