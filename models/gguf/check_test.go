package gguf

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func writeFileForTest(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckSaysWhatAFileIs(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ name, data, want string }{
		{"empty", "", "empty"},
		{"safetensors", "\x10\x00\x00\x00\x00\x00\x00\x00{\"a\":{}}", "safetensors"},
		{"zip", "PK\x03\x04....", "zip archive"},
		{"pickle", "\x80\x02}q\x00", "pickle"},
		{"gzip", "\x1f\x8b\x08", "compressed"},
		{"page", "\n<!DOCTYPE html><html><title>404", "web page"},
		{"lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "git-lfs pointer"},
		{"json", `{"error":"not found"}`, "JSON"},
		{"ggml", "lmgg\x01\x00\x00\x00", "older GGML"},
		{"zeros", strings.Repeat("\x00", 4096), "all zeros"},
		{"start", "GG", "truncated"},
		{"text", "hello, world", "hello, world"},
		{"gguf", "GGUF\x03\x00", "truncated"},
	} {
		path := writeFileForTest(t, filepath.Join(dir, test.name), []byte(test.data))
		_, err := Check(path)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error is %v, want one with %q and the path", test.name, err, test.want)
		}
	}
	if _, err := Check(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: error is %v", err)
	}
	if _, err := Check(filepath.Join(dir, "absent")); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("no file: error is %v", err)
	}
}

func TestCheckForeseesRefusals(t *testing.T) {
	dir := t.TempDir()
	model := func(fields []Field, tensors []TensorSource) string {
		return writeFileForTest(t, filepath.Join(dir, "m.gguf"), encode(t, fields, tensors))
	}
	check := func(path, want string) {
		t.Helper()
		_, err := Check(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	arch := func(name string) []Field { return []Field{{"general.architecture", name}} }
	check(model(sampleFields(), sampleTensors()), "")
	check(model(nil, sampleTensors()), "names no architecture")
	check(model(arch("clip"), sampleTensors()), "vision encoder")
	check(model(arch("llamb"), sampleTensors()), "llama, llama-embed, llama4 among others")
	check(model(arch("zzz"), sampleTensors()), "llama, qwen3")
	check(model(arch("llama"), nil), "no weights")

	// The sample with one field changed or added.
	with := func(key string, value any) string {
		fields := sampleFields()
		for i := range fields {
			if fields[i].Key == key {
				fields[i].Value = value
				return model(fields, sampleTensors())
			}
		}
		return model(append(fields, Field{key, value}), sampleTensors())
	}
	check(with("llama.block_count", uint32(0)), "claims 0 layers")
	check(with("llama.block_count", uint32(513)), "claims 513 layers")
	check(with("llama.block_count", int32(-1)), "claims 0 layers")
	check(with("llama.nextn_predict_layers", uint32(3)), "multi-token prediction")
	check(with("llama.expert_count", uint32(8)), "0 of 8 experts")
	check(with("llama.expert_used_count", uint32(2)), "2 of 0 experts")
	check(with("llama.expert_group_count", uint32(2)), "in 2 groups")
	check(with("llama.rope.scaling.type", "cubic"), "RoPE scaling")
	check(with("llama.rope.scaling.type", "yarn"), "")
	check(with("tokenizer.ggml.model", "none"), "no tokenizer")
	check(with("tokenizer.ggml.model", "words"), `tokenizer is "words"`)
	check(with("tokenizer.ggml.tokens", []string{"a", "b", "a"}), "there twice")
	check(with("tokenizer.ggml.tokens", []string{"[EMPTY_1]", ""}), "there twice")
	check(with("tokenizer.ggml.tokens", []int32{1}), "not a list of tokens")

	// Two tensors whose data lie in the other order: within the file, but not as ggml reads them.
	data := header(uint32(3), uint64(2), uint64(1), "general.architecture", uint32(8), "llama",
		"a", uint32(1), uint64(8), uint32(0), uint64(32), "b", uint32(1), uint64(8), uint32(0), uint64(0))
	check(writeFileForTest(t, filepath.Join(dir, "m.gguf"), append(data, make([]byte, 200)...)),
		"llama.cpp expects it at 0")
}

func TestSplitFiles(t *testing.T) {
	check := func(path string, want ...string) {
		t.Helper()
		if got := SplitFiles(path); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	check("a/m-00001-of-00003.gguf", "a/m-00001-of-00003.gguf", "a/m-00002-of-00003.gguf", "a/m-00003-of-00003.gguf")
	for _, one := range []string{
		"m-00002-of-00003.gguf", "m-00001-of-x0003.gguf", "-00001-of-00003.gguf", "m-00001-of-00001.gguf",
		"m-00001-of--0003.gguf", "m-00001-of-00000.gguf", "m.gguf", "",
	} {
		check(one, one)
	}
}

func TestCheckSplitModels(t *testing.T) {
	dir := t.TempDir()
	part := func(name string, no uint16) string {
		fields := append(sampleFields(), Field{"split.no", no}, Field{"split.count", uint16(2)})
		return writeFileForTest(t, filepath.Join(dir, name), encode(t, fields, sampleTensors()))
	}
	check := func(path, want string) {
		t.Helper()
		if _, err := Check(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	first := part("m-00001-of-00002.gguf", 0)
	check(first, "part 2 of 2")
	second := part("m-00002-of-00002.gguf", 1)
	check(second, "name the first, m-00001-of-00002.gguf")
	check(part("other.gguf", 0), "give the parts their names back")
	info, err := Check(first)
	if err != nil {
		t.Fatal(err)
	}
	one, err := Inspect(second)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size != 2*one.Size || info.Parameters != 2*one.Parameters {
		t.Errorf("two parts of %d bytes and %d parameters count as %d and %d",
			one.Size, one.Parameters, info.Size, info.Parameters)
	}
}

func TestArchitectures(t *testing.T) {
	if !slices.IsSorted(architectures) || len(slices.Compact(slices.Clone(architectures))) != len(architectures) {
		t.Error("the list is not sorted or has a name twice")
	}
	for _, name := range []string{"llama", "bert", "t5", "qwen2", "gemma3", "nomic-bert", "rwkv7"} {
		if !slices.Contains(architectures, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestTensorTypes(t *testing.T) {
	for _, test := range []struct {
		t     TensorType
		shape []int64
		want  int64
	}{
		{F32, []int64{3, 5}, 60},
		{F16, nil, 2},
		{Q8_0, []int64{64, 2}, 4 * 34},
		{2, []int64{32}, 18},
		{16, []int64{256, 3}, 198},
		{F32, []int64{0, 5}, 0},
	} {
		if got, err := test.t.bytes(test.shape); err != nil || got != test.want {
			t.Errorf("%v of %v takes %d, %v; want %d", test.t, test.shape, got, err, test.want)
		}
	}
	names := fmt.Sprint(TensorType(2), TensorType(16), TensorType(4), TensorType(99))
	if names != "Q4_0 IQ2_XXS type 4 type 99" {
		t.Errorf("names are %s", names)
	}
}
