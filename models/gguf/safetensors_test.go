package gguf

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// safetensorsFile lays out a header and data.
func safetensorsFile(header string, data int) []byte {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, uint64(len(header)))
	b.WriteString(header)
	b.Write(make([]byte, data))
	return b.Bytes()
}

func TestSafetensors(t *testing.T) {
	check := func(name string, data []byte, want string) {
		t.Helper()
		_, err := readSafetensors(bytes.NewReader(data), int64(len(data)))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error is %v, want %q", name, err, want)
		}
	}
	one := func(entry string) []byte { return safetensorsFile(`{"t":`+entry+`}`, 8) }
	check("whole", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`), "")
	check("metadata", safetensorsFile(`{"__metadata__":{"format":"pt"}}`, 0), "")
	check("a scalar", one(`{"dtype":"F16","shape":[],"data_offsets":[6,8]}`), "")
	check("short", []byte("abc"), "at least 8 bytes")
	check("header of 2^63", append(bytes.Repeat([]byte{0xff}, 8), '{'), "truncated")
	check("header longer than the file", safetensorsFile("{}", 0)[:9], "truncated")
	check("not JSON", safetensorsFile("{", 0), "not JSON")
	check("data beyond the file", one(`{"dtype":"F32","shape":[3],"data_offsets":[0,12]}`), "truncated")
	check("data before its start", one(`{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}`), "damaged")
	check("end before start", one(`{"dtype":"F32","shape":[2],"data_offsets":[8,0]}`), "damaged")
	check("a type", one(`{"dtype":"F33","shape":[2],"data_offsets":[0,8]}`), "makes no sense")
	check("another size", one(`{"dtype":"F32","shape":[1],"data_offsets":[0,8]}`), "takes 4 bytes")
	check("a shape that overflows", one(`{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}`),
		"makes no sense")
	check("a negative dimension", one(`{"dtype":"F32","shape":[-2,-1],"data_offsets":[0,8]}`), "makes no sense")
	check("an offset of 2^64", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551616]}`), "tensor")
}

func TestHalfToFloat(t *testing.T) {
	check := func(h uint16, want float64) {
		t.Helper()
		if got := float64(halfToFloat(h)); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("%#04x is %v, want %v", h, got, want)
		}
	}
	check(0x0000, 0)
	check(0x8000, math.Copysign(0, -1))
	check(0x3c00, 1)
	check(0xc000, -2)
	check(0x7bff, 65504)
	check(0x0400, math.Pow(2, -14))
	check(0x0001, math.Pow(2, -24))
	check(0x83ff, -1023*math.Pow(2, -24))
	check(0x3555, 0.333251953125)
	check(0x7c00, math.Inf(1))
	if !math.IsNaN(float64(halfToFloat(0x7e00))) {
		t.Error("0x7e00 is a number")
	}
}

func TestConvertRefuses(t *testing.T) {
	check := func(file, old, new, want string) {
		t.Helper()
		dir := t.TempDir()
		writeTinyBert(t, dir)
		path := filepath.Join(dir, file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(data, []byte(old), []byte(new), 1)
		if bytes.Equal(changed, data) {
			t.Fatalf("%s does not hold %q", file, old)
		}
		writeFileForTest(t, path, changed)
		if _, err := ConvertBERT(io.Discard, dir, "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s with %s: error is %v, want %q", file, new, err, want)
		}
	}
	check("config.json", `"bert"`, `"llama"`, "only bert, roberta and modernbert are converted")
	check("config.json", `"gelu"`, `"relu"`, "activation")
	check("config.json", `"absolute"`, `"relative"`, "positions")
	check("config.json", `"num_hidden_layers":2`, `"num_hidden_layers":3`, "is not there")
	check("config.json", `"num_hidden_layers":2`, `"num_hidden_layers":1`, "has no place")
	check("config.json", `"num_hidden_layers":2`, `"num_hidden_layers":-2`, "num_hidden_layers is -2")
	check("config.json", `"hidden_size":32`, `"hidden_size":30`, "does not divide")
	check("config.json", `"intermediate_size":64`, `"intermediate_size":60`, "has shape")
	check("config.json", `"vocab_size":14`, `"vocab_size":15`, "do not belong together")
	check("config.json", `"layer_norm_eps":1e-12`, `"layer_norm_eps":0`, "layer_norm_eps")
	check("tokenizer.json", `"WordPiece"`, `"BPE"`, "only WordPiece")
	check("tokenizer.json", `"continuing_subword_prefix":"##"`, `"continuing_subword_prefix":"@@"`, "start with")
	check("tokenizer.json", `"BertNormalizer"`, `"NFC"`, "not BERT's")
	check("tokenizer.json", `"[CLS]":2`, `"[CLX]":2`, "has no [CLS]")
	check("tokenizer.json", `"low":5`, `"low":6`, "not its own")
	check("tokenizer.json", `"low":5`, `"low":99`, "not its own")
	check("tokenizer.json", `"low":5`, `"low":-5`, "not a tokenizer.json")
	check("1_Pooling/config.json", "pooling_mode_cls_token", "pooling_mode_max_tokens", "names no pooling")
	check("model.safetensors", `"F16"`, `"F6x"`, "makes no sense")
}

func FuzzSafetensors(f *testing.F) {
	f.Add(safetensorsFile(`{"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add(safetensorsFile(`{"t":{"dtype":"BF16","shape":[2,1,2],"data_offsets":[0,8]},"__metadata__":{}}`, 8))
	f.Add(safetensorsFile(`{"t":{"dtype":"F16","shape":[0],"data_offsets":[8,8]},"u":null}`, 8))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := readSafetensors(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for name, s := range tensors {
			n, ok := elements(s.Shape)
			if !ok || s.Offsets[1] > int64(len(data)) {
				t.Fatalf("tensor %q is %+v in %d bytes", name, s, len(data))
			}
			var b bytes.Buffer
			if err := s.write(&b, F32); err == nil && int64(b.Len()) != 4*n {
				t.Fatalf("tensor %q of %d values became %d bytes", name, n, b.Len())
			}
		}
	})
}

func FuzzWordPiece(f *testing.F) {
	f.Add([]byte(`{"model":{"type":"WordPiece","continuing_subword_prefix":"##","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,` +
		`"[SEP]":3,"##a":4}},"added_tokens":[{"id":5,"content":"b","special":false}],` +
		`"normalizer":{"type":"BertNormalizer","strip_accents":null},"pre_tokenizer":{"type":"BertPreTokenizer"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := readWordPiece(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, v.fields(0), nil); err != nil {
			t.Fatal(err)
		}
		g, err := decode(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if tokens, ok := g.Strings("tokenizer.ggml.tokens"); !ok || len(tokens) != len(v.tokens) {
			t.Fatalf("%d tokens became %d", len(v.tokens), len(tokens))
		}
	})
}
