package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// zeros writes the data of a tensor that is all zeros.
func zeros(t TensorType, shape ...int64) func(io.Writer) error {
	n, err := t.bytes(shape)
	return func(w io.Writer) error {
		if err != nil {
			return err
		}
		_, err := w.Write(make([]byte, n))
		return err
	}
}

// sampleFields holds every kind of value.
func sampleFields() []Field {
	return []Field{
		{"general.architecture", "llama"},
		{"general.name", "Tiny"},
		{"a.u8", uint8(200)}, {"a.i8", int8(-7)}, {"a.u16", uint16(60000)}, {"a.i16", int16(-300)},
		{"a.u32", uint32(1 << 31)}, {"a.i32", int32(-1)}, {"a.u64", uint64(1) << 63}, {"a.i64", int64(-1)},
		{"a.f32", float32(1.5)}, {"a.f64", math.Pi}, {"a.bool", true}, {"a.text", "ä\x00b"},
		{"b.u8", []uint8{1, 2}}, {"b.i8", []int8{-1}}, {"b.u16", []uint16{1}}, {"b.i16", []int16{-1, 5}},
		{"b.u32", []uint32{7, 8}}, {"b.i32", []int32{-9}}, {"b.u64", []uint64{1 << 40}}, {"b.i64", []int64{-3}},
		{"b.f32", []float32{0.25}}, {"b.f64", []float64{-2}}, {"b.bool", []bool{true, false}},
		{"b.text", []string{"x", "", "yz"}}, {"b.none", []string{}},
		{"llama.context_length", uint32(128)}, {"llama.embedding_length", uint32(64)},
		{"llama.block_count", uint32(2)}, {"llama.attention.head_count", uint32(4)},
		{"llama.attention.head_count_kv", []int32{2, 1}},
		{"tokenizer.ggml.model", "gpt2"}, {"tokenizer.ggml.tokens", []string{"a", "", "b"}},
	}
}

func sampleTensors() []TensorSource {
	return []TensorSource{
		{"token_embd.weight", F16, []int64{64, 10}, zeros(F16, 64, 10)},
		{"norm.weight", F32, []int64{3}, zeros(F32, 3)}, // 12 bytes, so that padding matters
		{"output.weight", Q8_0, []int64{64, 10}, zeros(Q8_0, 64, 10)},
	}
}

func encode(t testing.TB, fields []Field, tensors []TensorSource) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, fields, tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(data []byte) (*Header, error) { return Read(bytes.NewReader(data), int64(len(data))) }

func TestRoundTrip(t *testing.T) {
	for _, alignment := range []uint32{0, 1, 8, 256} {
		fields := sampleFields()
		if alignment > 0 {
			fields = append(fields, Field{alignKey, alignment})
		}
		data := encode(t, fields, sampleTensors())
		g, err := decode(data)
		if err != nil {
			t.Fatalf("alignment %d: %v", alignment, err)
		}
		if !reflect.DeepEqual(g.Fields, fields) {
			t.Errorf("alignment %d: fields are %v, want %v", alignment, g.Fields, fields)
		}
		end := int64(0)
		for i, want := range sampleTensors() {
			got := g.Tensors[i]
			if got.Name != want.Name || got.Type != want.Type || !reflect.DeepEqual(got.Shape, want.Shape) {
				t.Errorf("tensor %d is %v, want %v", i, got, want)
			}
			end = g.Data + got.Offset + got.Bytes()
		}
		if g.Data%g.Alignment != 0 || align(end, g.Alignment) != g.Size || g.Size != int64(len(data)) {
			t.Errorf("data at %d, end %d, alignment %d, size %d of %d", g.Data, end, g.Alignment, g.Size, len(data))
		}
		if err := g.checkOrder(); err != nil {
			t.Error(err)
		}
	}
}

func TestAccessors(t *testing.T) {
	g, err := decode(encode(t, sampleFields(), sampleTensors()))
	if err != nil {
		t.Fatal(err)
	}
	check := func(key string, got any, ok bool, want any, wantOK bool) {
		t.Helper()
		if ok != wantOK || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, %v; want %v, %v", key, got, ok, want, wantOK)
		}
	}
	integer := func(key string, want int64, wantOK bool) {
		t.Helper()
		got, ok := g.Int(key)
		check(key, got, ok, want, wantOK)
	}
	integer("a.u8", 200, true)
	integer("a.u32", 1<<31, true)
	integer("a.i8", 0, false)  // negative
	integer("a.u64", 0, false) // beyond an int64
	integer("a.text", 0, false)
	integer("nothing", 0, false)
	list, ok := g.Ints("b.u32")
	check("b.u32", list, ok, []int64{7, 8}, true)
	list, ok = g.Ints("b.i32")
	check("b.i32", list, ok, []int64(nil), false)
	f, ok := g.Float("a.f32")
	check("a.f32", f, ok, 1.5, true)
	s, ok := g.Strings("b.text")
	check("b.text", s, ok, []string{"x", "", "yz"}, true)
	b, ok := g.Bool("a.bool")
	check("a.bool", b, ok, true, true)

	info := g.Info()
	want := Info{
		Size: g.Size, Architecture: "llama", Name: "Tiny", Parameters: 640 + 3 + 640, Quantisation: "F16",
		Context: 128, Width: 64, Layers: 2, Heads: 4, KVHeads: 2,
		Vocabulary: 3, Causal: true,
		KVBytes: (2 + 1) * (16 + 16) * 2,
	}
	if !reflect.DeepEqual(*info, want) {
		t.Errorf("info is %+v, want %+v", *info, want)
	}
}

// header builds the start of a file by hand: uint32 and uint64 numbers and strings as GGUF has them.
func header(parts ...any) []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	for _, p := range parts {
		if s, ok := p.(string); ok {
			writeString(&b, s)
			continue
		}
		binary.Write(&b, binary.LittleEndian, p)
	}
	return b.Bytes()
}

func TestHostileHeaders(t *testing.T) {
	const one, v3 = uint64(1), uint32(3)
	none := uint64(0)
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"no bytes", nil, "truncated"},
		{"magic only", []byte("GGUF"), "truncated"},
		{"another magic", []byte("GGML\x03\x00\x00\x00"), "does not start with GGUF"},
		{"version 1", header(uint32(1), none, none), "version 1 is no longer"},
		{"version 4", header(uint32(4), none, none), "version 4 is newer"},
		{"big-endian", header(uint32(3<<24), none, none), "big-endian"},
		{"tensors beyond reason", header(v3, uint64(1)<<62, none), "tensors"},
		{"fields beyond reason", header(v3, none, uint64(1)<<62), "fields"},
		{"fields missing", header(v3, none, one), "truncated or damaged"},
		{"key of 2^63 bytes", header(v3, none, one, uint64(1)<<63), "more than 65535"},
		{"key longer than the file", header(v3, none, one, uint64(1000), "x"), "truncated"},
		{"empty key", header(v3, none, one, "", uint32(0), uint8(1)), "has no name"},
		{"key twice", header(v3, none, uint64(2), "k", uint32(0), uint8(1), "k", uint32(0), uint8(1)), "twice"},
		{"type 13", header(v3, none, one, "k", uint32(13), none), "not a GGUF type"},
		{"string of 2^40 bytes", header(v3, none, one, "k", uint32(8), uint64(1)<<40), "more than"},
		{"array of arrays", header(v3, none, one, "k", uint32(9), uint32(9), one), "array of arrays"},
		{"array of type 99", header(v3, none, one, "k", uint32(9), uint32(99), one), "not a GGUF type"},
		{"array of 2^61 numbers", header(v3, none, one, "k", uint32(9), uint32(10), uint64(1)<<61), "truncated"},
		{"array of 2^60 strings", header(v3, none, one, "k", uint32(9), uint32(8), uint64(1)<<60), "truncated"},
		{"alignment 0", header(v3, none, one, alignKey, uint32(4), uint32(0)), "alignment"},
		{"alignment 48", header(v3, none, one, alignKey, uint32(4), uint32(48)), "alignment"},
		{"alignment a string", header(v3, none, one, alignKey, uint32(8), "32"), "alignment"},
		{"tensor name too long", header(v3, one, none, strings.Repeat("n", 64)), "more than 63"},
		{"5 dimensions", header(v3, one, none, "t", uint32(5)), "5 dimensions"},
		{"dimension of 2^63", header(v3, one, none, "t", uint32(1), uint64(1)<<63, uint32(0), none), "dimension"},
		{"shape overflows", header(v3, one, none, "t", uint32(2), uint64(1)<<40, uint64(1)<<40, uint32(0), none),
			"impossible"},
		{"type withdrawn", header(v3, one, none, "t", uint32(1), uint64(32), uint32(4), none), "another quantisation"},
		{"type unknown", header(v3, one, none, "t", uint32(1), uint64(32), uint32(1<<31), none),
			"another quantisation"},
		{"half a block", header(v3, one, none, "t", uint32(1), uint64(48), uint32(2), none), "blocks"},
		{"offset of 2^63", header(v3, one, none, "t", uint32(1), one, uint32(0), uint64(1)<<63), "offset"},
		{"offset near 2^63", header(v3, one, none, "t", uint32(1), one, uint32(0), uint64(1)<<63-32),
			"beyond any file"},
		{"offset unaligned", header(v3, one, none, "t", uint32(1), one, uint32(0), uint64(4)), "multiple of 32"},
		{"data missing", header(v3, one, none, "t", uint32(1), uint64(1024), uint32(0), none),
			"truncated: its tensors need 4160 bytes"},
		{"name twice", append(header(v3, uint64(2), none, "t", uint32(1), one, uint32(0), none,
			"t", uint32(1), one, uint32(0), uint64(32)), make([]byte, 99)...), "two tensors"},
	} {
		_, err := decode(test.data)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want one with %q", test.name, err, test.want)
		}
	}
}

// Every prefix of a file is either refused or, past the last byte of data, read as the whole.
func TestTruncation(t *testing.T) {
	data := encode(t, sampleFields(), sampleTensors())
	g, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	last := g.Tensors[len(g.Tensors)-1]
	end := int(g.Data + last.Offset + last.Bytes())
	for n := range end {
		if _, err := decode(data[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a whole file", n, len(data))
		}
	}
	if _, err := decode(data[:end]); err != nil {
		t.Errorf("without the padding at its end: %v", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	check := func(what string, fields []Field, tensors []TensorSource) {
		t.Helper()
		if err := Write(io.Discard, fields, tensors); err == nil {
			t.Errorf("%s was written", what)
		}
	}
	check("an int", []Field{{"k", 1}}, nil)
	check("an alignment of 3", []Field{{alignKey, uint32(3)}}, nil)
	check("a tensor of 5 dimensions", nil, []TensorSource{{"t", F32, []int64{1, 1, 1, 1, 1}, zeros(F32, 1)}})
	check("too little data", nil, []TensorSource{{"t", F32, []int64{2}, zeros(F32, 1)}})
	check("too much data", nil, []TensorSource{{"t", F32, []int64{2}, zeros(F32, 3)}})
	check("a long name", nil, []TensorSource{{strings.Repeat("n", 64), F32, []int64{1}, zeros(F32, 1)}})
	check("an unknown type", nil, []TensorSource{{"t", 5, []int64{1}, zeros(F32, 1)}})
}

// FuzzGGUF: no input makes the reader panic or accept what is not there, and whatever it accepts and the
// writer can express is written to a file that reads the same.
func FuzzGGUF(f *testing.F) {
	f.Add(encode(f, sampleFields(), sampleTensors()))
	f.Add(header(uint32(2), uint64(0), uint64(1), "k", uint32(9), uint32(8), uint64(2), "a", "b"))
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 { // the sample with a byte changed, in the part that has structure
		data := encode(f, sampleFields(), sampleTensors())
		data[rng.IntN(900)] = byte(rng.Uint32())
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := decode(data)
		if err != nil {
			return
		}
		g.Info()
		for i := range g.Tensors {
			if end := g.Data + g.Tensors[i].Offset + g.Tensors[i].Bytes(); end > int64(len(data)) {
				t.Fatalf("tensor %v ends at %d of %d bytes", g.Tensors[i], end, len(data))
			}
		}
		if g.checkOrder() != nil || len(g.Tensors) > 100 {
			return
		}
		var tensors []TensorSource
		for _, x := range g.Tensors {
			if x.Bytes() > 1<<20 {
				return
			}
			tensors = append(tensors, TensorSource{x.Name, x.Type, x.Shape, zeros(x.Type, x.Shape...)})
		}
		again, err := decode(encode(t, g.Fields, tensors))
		if err != nil {
			t.Fatalf("what was read and written again: %v", err)
		}
		if fmt.Sprint(again.Fields) != fmt.Sprint(g.Fields) || fmt.Sprint(again.Tensors) != fmt.Sprint(g.Tensors) {
			t.Fatalf("read %v %v, then %v %v", g.Fields, g.Tensors, again.Fields, again.Tensors)
		}
	})
}

// TestRealModels reads the models that make test provides.
func TestRealModels(t *testing.T) {
	judge, embed := os.Getenv("ASSAY_TEST_JUDGE"), os.Getenv("ASSAY_TEST_EMBED")
	if judge == "" || embed == "" {
		t.Skip("ASSAY_TEST_JUDGE and ASSAY_TEST_EMBED do not name models: run make test")
	}
	info, err := Check(judge)
	if err != nil {
		t.Fatal(err)
	}
	if info.Architecture != "llama" || info.Context != 2048 || info.Layers != 22 || info.KVHeads != 4 ||
		info.Vocabulary != 32000 || info.Template == "" || !info.Causal || info.KVBytes != 22528 ||
		info.Parameters/1e6 != 1100 {
		t.Errorf("the judge is %+v", info)
	}
	info, err = Check(embed)
	if err != nil {
		t.Fatal(err)
	}
	if info.Architecture != "bert" || info.Width != 384 || info.Pooling != "mean" || info.Causal {
		t.Errorf("the embedding model is %+v", info)
	}
	// Cut short, as an interrupted download leaves it.
	data, err := os.ReadFile(embed)
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "short.gguf")
	if err := os.WriteFile(short, data[:len(data)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(short); err == nil || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("half of a model: error is %v", err)
	}
}
