package llama

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend/llama/library"
	"github.com/assay-eval/assay/models/gguf"
)

// Quantize writes the model in one GGUF file to another with weights of another type, "q4_0" or "q8_0":
// those that processors compute fastest. A model that is quantised already is quantised again, which cannot
// make it better, but a 2-bit model several times as fast. The result appears under its name only when it is whole.
//
// llama.cpp cannot be stopped in the middle. When ctx ends, Quantize returns at once and removes what there
// is of the result, and a thread goes on for nothing until it is done.
func Quantize(ctx context.Context, lib, in, out, ftype string) error {
	types := map[string]llama.Ftype{"q4_0": llama.FtypeMostlyQ4_0, "q8_0": llama.FtypeMostlyQ8_0}
	t, ok := types[strings.ToLower(ftype)]
	if !ok {
		return fmt.Errorf("cannot quantise to %q: choose q4_0, which is smaller and faster, or q8_0, which is closer "+
			"to the original", ftype)
	}
	if _, err := gguf.Check(in); err != nil {
		return err
	}
	if _, err := library.Load(lib); err != nil {
		return err
	}
	// A folder of its own: once that is removed, a thread that still goes on can make no file any more.
	dir, err := os.MkdirTemp(filepath.Dir(out), "."+filepath.Base(out)+"-*.part")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, filepath.Base(out))
	done := make(chan error, 1)
	go func() { done <- quantize(ctx, in, part, t) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if _, err := gguf.Check(part); err != nil {
		return fmt.Errorf("the quantised model is not whole (is the disk full?): %w", err)
	}
	if err := os.Chmod(part, 0o644); err != nil {
		return err
	}
	return os.Rename(part, out)
}

// quantize has llama.cpp write the file, which takes every core.
func quantize(ctx context.Context, in, out string, t llama.Ftype) error {
	defer library.Cores(library.Physical())()
	if err := ctx.Err(); err != nil {
		return err
	}
	params := llama.ModelQuantizeDefaultParams()
	params.Ftype = t
	params.AllowRequantize = 1
	params.NThread = int32(library.Physical())
	if code := llama.ModelQuantize(in, out, &params); code != 0 {
		return fmt.Errorf("llama.cpp cannot quantise %s%s", in, library.Complaints())
	}
	return nil
}
