package models

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-eval/assay/models/gguf"
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

// tinyModel is the smallest file that gguf.Check passes for a language model, with more fields.
func tinyModel(t *testing.T, more ...gguf.Field) []byte {
	t.Helper()
	var b bytes.Buffer
	err := gguf.Write(&b, append([]gguf.Field{
		{Key: "general.architecture", Value: "llama"}, {Key: "llama.block_count", Value: uint32(1)},
		{Key: "tokenizer.ggml.model", Value: "gpt2"}, {Key: "tokenizer.ggml.tokens", Value: []string{"a", "b"}},
	}, more...), []gguf.TensorSource{zeroTensor("token_embd.weight", 64, 2)})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zeroTensor(name string, shape ...int64) gguf.TensorSource {
	n := int64(4)
	for _, d := range shape {
		n *= d
	}
	return gguf.TensorSource{Name: name, Type: gguf.F32, Shape: shape, Write: func(w io.Writer) error {
		_, err := w.Write(make([]byte, n))
		return err
	}}
}

// writeBertFolder writes a BERT model of one layer as safetensors. Its weights are zero.
func writeBertFolder(t *testing.T, dir string) {
	t.Helper()
	const width, vocabulary = 4, 4
	header, end := map[string]any{}, 0
	tensor := func(name string, shape ...int) {
		n := 4
		for _, d := range shape {
			n *= d
		}
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": [2]int{end, end + n}}
		end += n
	}
	tensor("embeddings.word_embeddings.weight", vocabulary, width)
	tensor("embeddings.token_type_embeddings.weight", 2, width)
	tensor("embeddings.position_embeddings.weight", 8, width)
	for _, matrix := range []string{"attention.self.query", "attention.self.key", "attention.self.value",
		"attention.output.dense", "intermediate.dense", "output.dense"} {
		tensor("encoder.layer.0."+matrix+".weight", width, width)
		tensor("encoder.layer.0."+matrix+".bias", width)
	}
	for _, norm := range []string{"embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"} {
		tensor(norm+".LayerNorm.weight", width)
		tensor(norm+".LayerNorm.bias", width)
	}
	write := func(name, text string) { writeFileForTest(t, filepath.Join(dir, name), []byte(text)) }
	write("config.json", `{"model_type":"bert","hidden_act":"gelu","hidden_size":4,"intermediate_size":4,`+
		`"num_hidden_layers":1,"num_attention_heads":2,"max_position_embeddings":8,"type_vocab_size":2,`+
		`"layer_norm_eps":1e-12,"vocab_size":4}`)
	write("tokenizer.json", `{"model":{"type":"WordPiece","continuing_subword_prefix":"##",`+
		`"vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3}},`+
		`"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"}}`)
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	write("model.safetensors", string(append(append(file, head...), make([]byte, end)...)))
}

// testHome is an empty home folder, which is also what Home returns.
func testHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("ASSAY_HOME", home)
	if got, err := Home(); err != nil || got != home {
		t.Fatalf("home is %s, %v; want %s", got, err, home)
	}
	return home
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// wantNoTraces checks that nothing but the named files is in the home's models folder.
func wantNoTraces(t *testing.T, home string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(home, "models"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the models folder holds %q, want %q", got, want)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
}

func TestImport(t *testing.T) {
	home, dir, ctx := testHome(t), t.TempDir(), t.Context()
	data := tinyModel(t, gguf.Field{Key: "general.license", Value: "mit"})
	whole := writeFileForTest(t, filepath.Join(dir, "whole.gguf"), data)
	part1 := writeFileForTest(t, filepath.Join(dir, "1"), data[:700])
	part2 := writeFileForTest(t, filepath.Join(dir, "2"), data[700:])

	m, err := Import(ctx, home, Record{Name: "tiny", Digest: digestOf(data), Source: "here"}, part1, part2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(m.Path)
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("the parts became %d bytes, %v; want the %d of the whole", len(got), err, len(data))
	}
	wantNoTraces(t, home, "tiny.gguf", "tiny.json")

	found, err := Find(home, "tiny")
	if err != nil {
		t.Fatal(err)
	}
	r := found.Record
	if found.Path != m.Path || r == nil || r.Digest != digestOf(data) || r.Size != int64(len(data)) ||
		r.Source != "here" ||
		r.Licence != "mit" || r.Imported.IsZero() {
		t.Errorf("found %+v with record %+v", found, r)
	}
	if err := Verify(home, "tiny"); err != nil {
		t.Error(err)
	}

	// What goes wrong leaves the model that was there, and nothing else.
	check := func(want string, rec Record, files ...string) {
		t.Helper()
		_, err := Import(ctx, home, rec, files...)
		wantError(t, err, want)
		wantNoTraces(t, home, "tiny.gguf", "tiny.json")
	}
	tiny := Record{Name: "tiny"}
	check("no file to import", tiny)
	check("truncated", tiny, part1)
	check("wrong order", tiny, part2, part1)
	check("not a GGUF file", tiny, part2)
	check("GGUF file of its own", tiny, whole, whole)
	check("should be "+digestOf(nil), Record{Name: "tiny", Digest: digestOf(nil)}, whole)
	check("is not a digest", Record{Name: "tiny", Digest: "sha256:12"}, whole)
	check("cannot be a model's name", Record{Name: "../tiny"}, whole)
	check("no such file", tiny, whole+"x")
	check("config.json", tiny, dir)
	if err := Verify(home, "tiny"); err != nil {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Import(cancelled, home, tiny, whole); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error is %v", err)
	}
	wantNoTraces(t, home, "tiny.gguf", "tiny.json")

	data[len(data)-40] ^= 1
	writeFileForTest(t, m.Path, data)
	wantError(t, Verify(home, "tiny"), "has changed since")
	if _, err := Import(ctx, home, tiny, whole); err != nil { // replaces it
		t.Fatal(err)
	}
	if err := Verify(home, "tiny"); err != nil {
		t.Error(err)
	}
	if err := Remove(home, "tiny"); err != nil {
		t.Error(err)
	}
	wantNoTraces(t, home)
	wantError(t, Remove(home, "tiny"), "there is no model")
	wantError(t, Remove(home, "../tiny"), "cannot be a model's name")
}

func TestImportConverts(t *testing.T) {
	home, dir := testHome(t), t.TempDir()
	writeBertFolder(t, dir)
	m, err := Import(t.Context(), home, Record{Name: "bert"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := gguf.Check(m.Path)
	if err != nil || info.Architecture != "bert" || info.Name != "bert" {
		t.Errorf("converted to %+v, %v", info, err)
	}
	first := m.Record.Digest
	if m, err = Import(t.Context(), home, Record{Name: "bert"}, dir); err != nil || m.Record.Digest != first {
		t.Errorf("converted again to %v, %v; want the same bytes", m, err)
	}
}

func TestImportSweeps(t *testing.T) {
	home := testHome(t)
	old := writeFileForTest(t, filepath.Join(home, "models", ".gone-1.part"), []byte("x"))
	day := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, day, day); err != nil {
		t.Fatal(err)
	}
	writeFileForTest(t, filepath.Join(home, "models", ".now-1.part"), []byte("x"))
	path := writeFileForTest(t, filepath.Join(t.TempDir(), "m"), tinyModel(t))
	if _, err := Import(t.Context(), home, Record{Name: "m"}, path); err != nil {
		t.Fatal(err)
	}
	wantNoTraces(t, home, ".now-1.part", "m.gguf", "m.json")
}

func TestFindAndList(t *testing.T) {
	home := testHome(t)
	list, err := List(home)
	if err != nil || len(list) != 0 {
		t.Errorf("a home without a folder lists %v, %v", list, err)
	}
	_, err = Find(home, "llama")
	wantError(t, err, "there is none yet")

	data := tinyModel(t)
	for _, name := range []string{"b", "a"} {
		writeFileForTest(t, filepath.Join(home, "models", name+".gguf"), data)
	}
	writeFileForTest(t, filepath.Join(home, "models", "notes.txt"), nil)
	writeFileForTest(t, filepath.Join(home, "models", ".b-1.part"), data)
	writeFileForTest(t, filepath.Join(home, "models", "b.json"), []byte("{"))
	list, err = List(home)
	if err != nil || len(list) != 2 || list[0].Name != "a" || list[1].Name != "b" {
		t.Fatalf("list is %v, %v", list, err)
	}
	if list[0].Err != nil || list[0].Record != nil || list[1].Err == nil {
		t.Errorf("records are %+v; want none, and a damaged one", list)
	}
	_, err = Find(home, "c")
	wantError(t, err, "have a, b; add one with")
	_, err = Find(home, "b")
	wantError(t, err, "damaged")
	wantError(t, Verify(home, "a"), "no record")

	path := writeFileForTest(t, filepath.Join(t.TempDir(), "some.gguf"), data)
	m, err := Find(home, path)
	if err != nil || m.Name != "some" || m.Path != path {
		t.Errorf("a path finds %v, %v", m, err)
	}
	_, err = Find(home, path+".gguf")
	wantError(t, err, "there is no file")
	_, err = Find(home, filepath.Dir(path))
	wantError(t, err, "is a folder")
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "tinyllama-q4_0", "Qwen2.5-7B", "x" + strings.Repeat("y", 63)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", ".", "..", ".hidden", "a/b", `a\b`, "../a", "/a", "a b", "ä", "a\x00", "a\n", "-a", "a.",
		"a.gguf", "a.GGUF", "a.json", strings.Repeat("a", 65), "C:a",
	} {
		if CheckName(name) == nil {
			t.Errorf("%q may be a name", name)
		}
	}
}

func TestDigest(t *testing.T) {
	home := testHome(t)
	path := writeFileForTest(t, filepath.Join(t.TempDir(), "m.gguf"), []byte("one"))
	past := time.Now().Add(-time.Hour)
	setTime := func(when time.Time) {
		t.Helper()
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string) {
		t.Helper()
		if got, err := Digest(path); err != nil || got != want {
			t.Errorf("digest is %s, %v; want %s", got, err, want)
		}
	}
	memos := func() int {
		t.Helper()
		entries, err := os.ReadDir(filepath.Join(home, "cache", "digests"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return len(entries)
	}
	check(digestOf([]byte("one")))
	if memos() != 0 {
		t.Error("the digest of a file that had just been written was kept")
	}
	setTime(past)
	check(digestOf([]byte("one")))
	if memos() != 1 {
		t.Fatalf("%d digests were kept, want 1", memos())
	}
	// The same size and time: this is what it means that the file is not read again.
	writeFileForTest(t, path, []byte("two"))
	setTime(past)
	check(digestOf([]byte("one")))
	setTime(past.Add(time.Nanosecond * 1000))
	check(digestOf([]byte("two")))
	writeFileForTest(t, path, []byte("three"))
	setTime(past.Add(time.Nanosecond * 1000))
	check(digestOf([]byte("three")))
	// A damaged memo is none.
	writeFileForTest(t, memoPath(home, path), []byte(`{"path":"`+path+`","digest":"sha256:00"}`))
	check(digestOf([]byte("three")))
	if _, err := Digest(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error is %v", err)
	}
}

func TestDigestOfSplitModel(t *testing.T) {
	testHome(t)
	dir := t.TempDir()
	first := writeFileForTest(t, filepath.Join(dir, "m-00001-of-00002.gguf"), []byte("one"))
	digest := func() string {
		t.Helper()
		d, err := Digest(first)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if _, err := Digest(first); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the second part: error is %v", err)
	}
	writeFileForTest(t, filepath.Join(dir, "m-00002-of-00002.gguf"), []byte("two"))
	before := digest()
	if before == digestOf([]byte("one")) {
		t.Error("the digest is that of the first part alone")
	}
	writeFileForTest(t, filepath.Join(dir, "m-00002-of-00002.gguf"), []byte("twi"))
	if digest() == before {
		t.Error("a byte of the second part changed, and the digest did not")
	}
}
