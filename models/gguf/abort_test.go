package gguf

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// loadVariable makes the test binary load the models that standard input lists, and do nothing else.
const loadVariable = "ASSAY_MODELS_TEST_LOAD"

func TestMain(m *testing.M) {
	if lib := os.Getenv(loadVariable); lib != "" {
		os.Exit(loadAll(lib))
	}
	os.Exit(m.Run())
}

// loadAll loads each model, and has one that loads read a text. It prints each path before it does so.
func loadAll(lib string) int {
	if err := llama.Load(lib); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	llama.LogSet(llama.LogSilent())
	llama.GGMLBackendLoadAllFromPath(lib)
	llama.Init()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(in.Text())
		if loadOne(in.Text()) {
			fmt.Println("loaded")
		}
	}
	return 0
}

func loadOne(path string) bool {
	model, err := llama.ModelLoadFromFile(path, llama.ModelDefaultParams())
	if err != nil || model == 0 {
		return false
	}
	defer llama.ModelFree(model)
	params := llama.ContextDefaultParams()
	params.NCtx, params.NThreads, params.NThreadsBatch = 64, 1, 1
	lctx, err := llama.InitFromModel(model, params)
	if err != nil || lctx == 0 {
		return false
	}
	defer llama.Free(lctx)
	tokens := llama.Tokenize(llama.ModelGetVocab(model), "low lower", true, false)
	if len(tokens) == 0 || len(tokens) > 64 {
		return false
	}
	_, err = llama.Decode(lctx, llama.BatchGetOne(tokens))
	return err == nil
}

// TestAcceptedModelsDoNotAbort damages the headers of small models in random places. What Check lets pass,
// llama.cpp may refuse, but it must not end the process.
func TestAcceptedModelsDoNotAbort(t *testing.T) {
	lib := os.Getenv("ASSAY_TEST_LIB")
	if lib == "" {
		t.Skip("ASSAY_TEST_LIB does not name llama.cpp's libraries: run make test")
	}
	src := t.TempDir()
	writeTinyBert(t, src)
	bert, err := os.ReadFile(convertForTest(t, src))
	if err != nil {
		t.Fatal(err)
	}
	for name, whole := range map[string][]byte{"bert": bert, "llama": tinyLlama(t)} {
		dir, rng := t.TempDir(), rand.New(rand.NewPCG(5, 9))
		files := []string{writeFileForTest(t, filepath.Join(dir, "whole.gguf"), whole)}
		if _, err := Check(files[0]); err != nil {
			t.Fatal(err)
		}
		for i := range 400 {
			path := writeFileForTest(t, filepath.Join(dir, fmt.Sprint(i, ".gguf")), damage(t, rng, whole))
			if _, err := Check(path); err == nil {
				files = append(files, path)
			}
		}
		loaded := 0
		for rest := files; len(rest) > 0; {
			seen, ok, complaint := loadInChild(t, lib, rest)
			loaded += ok
			if complaint != "" {
				last := rest[seen-1]
				t.Errorf("%s: llama.cpp ended the process on %s: %s\n%s",
					name, last, complaint, differences(t, files[0], last))
			}
			rest = rest[seen:]
		}
		t.Logf("%s: %d of 401 passed, %d loaded", name, len(files), loaded)
		if loaded == 0 {
			t.Errorf("%s: not even the whole model loaded", name)
		}
	}
}

// loadInChild loads models in another process. It returns how many that one came to, how many of them it
// loaded, and what it said if it did not come to an end by itself.
func loadInChild(t *testing.T, lib string, files []string) (seen, loaded int, complaint string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), loadVariable+"="+lib, "GGML_NO_BACKTRACE=1")
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	for line := range strings.Lines(string(out)) {
		if line == "loaded\n" {
			loaded++
		} else if seen < len(files) && line == files[seen]+"\n" {
			seen++
		}
	}
	if seen == 0 {
		t.Fatalf("no model was tried: %v\n%s", err, stderr.String())
	}
	if err != nil {
		complaint = fmt.Sprintf("%v\n%.400s", err, stderr.String())
	}
	return seen, loaded, complaint
}

// damage changes one or two bytes of a model's header.
func damage(t *testing.T, rng *rand.Rand, whole []byte) []byte {
	t.Helper()
	g, err := decode(whole)
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Clone(whole)
	for range 1 + rng.IntN(2) {
		at := 24 + rng.IntN(int(g.Data)-24)
		if rng.IntN(2) == 0 {
			data[at] ^= 1 << rng.IntN(8)
		} else {
			data[at] = []byte{0, 1, 2, 0x7f, 0x80, 0xff}[rng.IntN(6)]
		}
	}
	return data
}

// differences lists the fields and tensors of two models that differ.
func differences(t *testing.T, a, b string) string {
	t.Helper()
	g, err := ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	h, err := ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i := range min(len(g.Fields), len(h.Fields)) {
		if fmt.Sprint(g.Fields[i]) != fmt.Sprint(h.Fields[i]) {
			fmt.Fprintf(&out, "%.200v became %.200v\n", g.Fields[i], h.Fields[i])
		}
	}
	for i := range min(len(g.Tensors), len(h.Tensors)) {
		if fmt.Sprint(g.Tensors[i]) != fmt.Sprint(h.Tensors[i]) {
			fmt.Fprintf(&out, "%v became %v\n", g.Tensors[i], h.Tensors[i])
		}
	}
	return out.String()
}

// tinyLlama is a llama model of one layer, its weights zero, with a SentencePiece vocabulary of bytes.
func tinyLlama(t *testing.T) []byte {
	t.Helper()
	tokens, types := []string{"<unk>", "<s>", "</s>"}, []int32{2, 3, 3}
	for b := range 256 {
		tokens, types = append(tokens, fmt.Sprintf("<0x%02X>", b)), append(types, 6)
	}
	tokens, types = append(tokens, "▁low", "er"), append(types, 1, 1)
	vocabulary := int64(len(tokens))
	fields := []Field{
		{"general.architecture", "llama"},
		{"llama.context_length", uint32(64)}, {"llama.embedding_length", uint32(32)},
		{"llama.block_count", uint32(1)}, {"llama.feed_forward_length", uint32(64)},
		{"llama.attention.head_count", uint32(2)}, {"llama.attention.head_count_kv", uint32(1)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)}, {"llama.rope.dimension_count", uint32(16)},
		{"tokenizer.ggml.model", "llama"}, {"tokenizer.ggml.tokens", tokens},
		{"tokenizer.ggml.scores", make([]float32, len(tokens))}, {"tokenizer.ggml.token_type", types},
		{"tokenizer.ggml.bos_token_id", uint32(1)}, {"tokenizer.ggml.eos_token_id", uint32(2)},
		{"tokenizer.ggml.add_bos_token", true}, {"tokenizer.ggml.add_eos_token", false},
	}
	tensor := func(name string, shape ...int64) TensorSource {
		return TensorSource{name + ".weight", F32, shape, zeros(F32, shape...)}
	}
	return encode(t, fields, []TensorSource{
		tensor("token_embd", 32, vocabulary), tensor("output_norm", 32), tensor("output", 32, vocabulary),
		tensor("blk.0.attn_norm", 32), tensor("blk.0.attn_q", 32, 32), tensor("blk.0.attn_k", 32, 16),
		tensor("blk.0.attn_v", 32, 16), tensor("blk.0.attn_output", 32, 32), tensor("blk.0.ffn_norm", 32),
		tensor("blk.0.ffn_gate", 32, 64), tensor("blk.0.ffn_up", 32, 64), tensor("blk.0.ffn_down", 64, 32),
	})
}
