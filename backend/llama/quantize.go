package llama

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/models"
)

// Quantize writes the model in one GGUF file to another with weights of another type, "q4_0" or "q8_0":
// those that processors compute fastest. A model that is quantised already is quantised again, which cannot
// make it better, but a 2-bit model several times as fast. The result appears under its name only when it is whole.
func Quantize(lib, in, out, ftype string) error {
	types := map[string]llama.Ftype{"q4_0": llama.FtypeMostlyQ4_0, "q8_0": llama.FtypeMostlyQ8_0}
	t, ok := types[strings.ToLower(ftype)]
	if !ok {
		return fmt.Errorf("cannot quantise to %q: choose q4_0, which is smaller and faster, or q8_0, which is closer to the original", ftype)
	}
	if _, err := models.Check(in); err != nil {
		return err
	}
	if _, err := Load(lib); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+"-*.part")
	if err != nil {
		return err
	}
	part.Close()
	defer os.Remove(part.Name()) // fails once it is renamed
	params := llama.ModelQuantizeDefaultParams()
	params.Ftype = t
	params.AllowRequantize = 1
	params.NThread = int32(physicalCores())
	process.compute.Lock()
	code := llama.ModelQuantize(in, part.Name(), &params)
	process.compute.Unlock()
	if code != 0 {
		return fmt.Errorf("llama.cpp cannot quantise %s%s", in, process.log.said())
	}
	if _, err := models.Check(part.Name()); err != nil {
		return fmt.Errorf("the quantised model is not whole (is the disk full?): %w", err)
	}
	if err := os.Chmod(part.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(part.Name(), out)
}
