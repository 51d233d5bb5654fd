package gollama

import (
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/assay-eval/assay/models/gguf"
)

var toyTensor = gguf.TensorSource{Name: "token_embd.weight", Type: gguf.F32, Shape: []int64{32, 260},
	Write: func(w io.Writer) error {
		_, err := w.Write(make([]byte, 4*32*260))
		return err
	}}

func nan() float64 { return math.NaN() }

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(map[string]any)
		want  string // in the error; "": none
	}{
		"good":              {nil, ""},
		"falcon":            {func(f map[string]any) { rename(f, "falcon") }, ""},
		"newer model":       {func(f map[string]any) { rename(f, "qwen2") }, `architecture "qwen2"`},
		"another tokenizer": {func(f map[string]any) { f["tokenizer.ggml.model"] = "plamo2" }, `tokenizer is "plamo2"`},
		"stretched": {func(f map[string]any) {
			f["llama.rope.scaling.type"], f["llama.rope.scaling.factor"] = "yarn", float32(4)
		}, `"yarn"`},
		"rope base":  {func(f map[string]any) { f["llama.rope.freq_base"] = float32(-1) }, "rope base"},
		"rope scale": {func(f map[string]any) { f["llama.rope.scale_linear"] = float32(0) }, "scale"},
		"long token": {func(f map[string]any) {
			f["tokenizer.ggml.tokens"], _ = toyVocabulary(longestWord + 1)
		}, "4097 bytes"},
	} {
		_, err := check(toyFile(t, test.spoil))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), "use package backend/llama")):
			t.Errorf("%s: error %v, want one with %q and what to do", name, err, test.want)
		}
	}
}

// rename makes a model one of another architecture.
func rename(fields map[string]any, arch string) {
	for key, value := range fields {
		if rest, ok := strings.CutPrefix(key, "llama."); ok {
			fields[arch+"."+rest] = value
		}
	}
	fields["general.architecture"] = arch
}

// TestVersion checks the version that nearly all files of today have.
func TestVersion(t *testing.T) {
	path := toyFile(t, nil)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[4] = 3
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Options{Model: path})
	if err == nil || !strings.Contains(err.Error(), "version 3") || !strings.Contains(err.Error(), "backend/llama") {
		t.Errorf("GGUF version 3: error %v", err)
	}
}

func TestTensorType(t *testing.T) {
	file := &gguf.Header{Version: ggufVersion}
	info := &gguf.Info{Architecture: "llama", Width: 1}
	file.Tensors = []gguf.Tensor{{Name: "output.weight", Type: lastType + 1}}
	if err := readable(file, info); err == nil {
		t.Error("a tensor of a later type passes")
	}
}

func TestRope(t *testing.T) {
	for name, test := range map[string]struct {
		spoil       func(map[string]any)
		base, scale float64
	}{
		"none given":  {nil, 10000, 1},
		"base":        {func(f map[string]any) { f["llama.rope.freq_base"] = float32(1e6) }, 1e6, 1},
		"linear, old": {func(f map[string]any) { f["llama.rope.scale_linear"] = float32(4) }, 10000, 0.25},
		"linear, new": {func(f map[string]any) {
			f["llama.rope.scaling.type"], f["llama.rope.scaling.factor"] = "linear", float32(8)
		}, 10000, 0.125},
		"no stretcher": {func(f map[string]any) { f["llama.rope.scaling.type"] = "none" }, 10000, 1},
	} {
		file, err := check(toyFile(t, test.spoil))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s, err := Options{}.setup(file)
		if err != nil || s.ropeBase != test.base || s.ropeScale != test.scale {
			t.Errorf("%s: %v and %v, %v; want %v and %v", name, s.ropeBase, s.ropeScale, err, test.base, test.scale)
		}
	}
}

func TestOptions(t *testing.T) {
	file, err := check(toyFile(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		o    Options
		want int // tokens; 0: an error
	}{
		{Options{}, 1024},
		{Options{Context: 100, Threads: 3}, 100},
		{Options{Context: 1025}, 0},
		{Options{Context: -1}, 0},
		{Options{Threads: -1}, 0},
	} {
		s, err := test.o.setup(file)
		if (err != nil) != (test.want == 0) {
			t.Errorf("%+v: error %v", test.o, err)
		}
		if err == nil && (test.o.info(s).Context != test.want || s.context != test.want+spare || s.threads < 1) {
			t.Errorf("%+v: %+v", test.o, s)
		}
	}
}
