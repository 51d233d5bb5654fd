package models

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// EngineVersion is the llama.cpp release that this package's knowledge is of: its architectures, its
// tensor types, and the rules of [Check].
const EngineVersion = "v0.4.0"

// Check reads a model file's header and says whether llama.cpp would load it. What can be foreseen is
// refused here, in words, before any C code sees the file: what is no GGUF file or not a whole one, an
// architecture that llama.cpp does not know, a missing part of a split model, tensors laid out in a way
// that it does not read, numbers and vocabularies that would make it abort the process. Each error says what to do.
func Check(path string) (*Info, error) {
	g, info, err := inspect(path)
	if err != nil {
		return nil, err
	}
	if err := g.checkLoadable(path, info); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return info, nil
}

func (g *GGUF) checkLoadable(path string, info *Info) error {
	switch {
	case info.Architecture == "":
		return errors.New("the header names no architecture: this is no model; fetch its model file instead")
	case info.Architecture == "clip":
		return errors.New("this is the image part of a model: name the language model's own file")
	case !slices.Contains(architectures, info.Architecture):
		return fmt.Errorf("architecture %q is not one that llama.cpp %s knows (it knows %s): "+
			"choose another model, or install engine libraries that know it",
			info.Architecture, EngineVersion, nearest(info.Architecture))
	case len(g.Tensors) == 0:
		return errors.New("the file has a header and no weights (a vocabulary only): fetch the whole model")
	case info.Splits > 1:
		if err := g.checkSplits(path, info); err != nil {
			return err
		}
	}
	if err := g.checkOrder(); err != nil {
		return err
	}
	return g.checkAsserted()
}

// checkOrder checks that the tensors' data lies end to end in the tensors' order, as ggml demands.
func (g *GGUF) checkOrder() error {
	end := int64(0)
	for i := range g.Tensors {
		t := &g.Tensors[i]
		if t.Offset != end {
			return fmt.Errorf("the data of tensor %q starts at %d and llama.cpp expects it at %d: "+
				"the file is damaged or was written by a faulty converter; fetch it again", t.Name, t.Offset, end)
		}
		end = align(t.Offset+t.Bytes(), g.Alignment)
	}
	return nil
}

// checkSplits checks that this is the first part of a split model and that the others lie beside it, and
// adds them to the model's size.
func (g *GGUF) checkSplits(path string, info *Info) error {
	count := info.Splits
	no, ok := g.Int("split.no")
	suffix := fmt.Sprintf("-%05d-of-%05d.gguf", no+1, count)
	stem, named := strings.CutSuffix(path, suffix)
	switch {
	case !ok || !named || count > 99999:
		return fmt.Errorf("this is part of a model split over %d files, which llama.cpp finds by names that end in "+
			"-00001-of-%05d.gguf and so on: give the parts their names back", count, count)
	case no != 0:
		return fmt.Errorf("this is part %d of a model split over %d files: name the first, %s",
			no+1, count, fmt.Sprintf("%s-00001-of-%05d.gguf", filepath.Base(stem), count))
	}
	for i := 2; i <= count; i++ {
		part := fmt.Sprintf("%s-%05d-of-%05d.gguf", stem, i, count)
		_, more, err := inspect(part)
		if err != nil {
			return fmt.Errorf("part %d of %d of this model: %w", i, count, err)
		}
		info.Size += more.Size
		info.Parameters += more.Parameters
	}
	return nil
}

// explain says what a file that could not be read as GGUF looks like, or gives the reader's own reason.
func explain(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", path)
	}
	f, openErr := os.Open(path)
	if openErr != nil {
		return openErr
	}
	defer f.Close()
	if fi, statErr := f.Stat(); statErr == nil && fi.IsDir() {
		return fmt.Errorf("%s is a folder, not a model file: name the .gguf file, or import the folder "+
			"if it holds safetensors", path)
	}
	start := make([]byte, 512)
	n, _ := io.ReadFull(f, start)
	if what := looksLike(start[:n]); what != "" {
		return fmt.Errorf("%s is not a GGUF file: %s", path, what)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// looksLike says what a file that starts like this is, "" if it is GGUF.
func looksLike(start []byte) string {
	text := strings.ToLower(strings.TrimSpace(string(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")))))
	switch {
	case len(start) == 0:
		return "it is empty; fetch it again"
	case bytes.HasPrefix(start, []byte("GGUF")):
		return ""
	case bytes.HasPrefix([]byte("GGUF"), start):
		return "it is truncated after a byte or three; fetch it again"
	case bytes.HasPrefix(start, []byte("version https://git-lfs")):
		return "it is a git-lfs pointer that stands for the file; run git lfs pull in its repository"
	case strings.HasPrefix(text, "<!doctype") || strings.HasPrefix(text, "<html") || strings.HasPrefix(text, "<?xml"):
		return "it is a web page, perhaps an error or a login form saved under the model's name; fetch the file itself"
	case len(start) > 9 && bytes.HasPrefix(start[8:], []byte("{\"")):
		return "it is a safetensors file; import the folder that holds it with its config.json and tokenizer.json"
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return "it is a zip archive or a PyTorch checkpoint; unpack it, or convert it to GGUF"
	case bytes.HasPrefix(start, []byte("\x1f\x8b")) || bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")):
		return "it is compressed; unpack it first"
	case bytes.HasPrefix(start, []byte("lmgg")) || bytes.HasPrefix(start, []byte("tjgg")) ||
		bytes.HasPrefix(start, []byte("fmgg")):
		return "it has the older GGML format, which llama.cpp no longer reads; fetch a GGUF file of the model"
	case bytes.HasPrefix(start, []byte("\x80\x02")) || bytes.HasPrefix(start, []byte("\x80\x04")):
		return "it is a Python pickle; convert the model to GGUF"
	case strings.HasPrefix(text, "{"):
		return "it is JSON, perhaps an error message saved under the model's name; fetch the file itself"
	case len(bytes.Trim(start, "\x00")) == 0:
		return "it is all zeros, a download that was never filled in; fetch it again"
	}
	return fmt.Sprintf("it starts with %.12q where a model file has GGUF; fetch it again", start)
}

// nearest lists a few known architectures that share the start of name, or the commonest.
func nearest(name string) string {
	for n := len(name); n >= 3; n-- {
		var like []string
		for _, a := range architectures {
			if len(a) >= n && a[:n] == name[:n] {
				like = append(like, a)
			}
		}
		if like != nil {
			return strings.Join(like, ", ") + " among others"
		}
	}
	return "llama, qwen3, gemma3, mistral3, phi3, bert, t5 and others"
}

// architectures are those that llama.cpp v0.4.0 knows (its src/llama-arch.cpp).
var architectures = []string{
	"afmoe", "apertus", "arcee", "arctic", "arwkv7", "baichuan", "bailingmoe", "bailingmoe2",
	"bailingmoe3", "bert", "bitnet", "bloom", "chameleon", "chatglm", "codeshell", "cogvlm", "cohere2",
	"cohere2moe", "command-r", "dbrx", "deci", "deepseek", "deepseek2", "deepseek2-ocr", "deepseek32",
	"deepseek4", "dflash", "dots1", "dots3note", "dream", "eagle3", "ernie4_5", "ernie4_5-moe",
	"eurobert", "exaone", "exaone-moe", "exaone4", "falcon", "falcon-h1", "gemma", "gemma-embedding",
	"gemma2", "gemma3", "gemma3n", "gemma4", "gemma4-assistant", "glm-dsa", "glm4", "glm4moe", "gpt-oss",
	"gpt2", "gptj", "gptneox", "granite", "granite_swa", "granitehybrid", "granitemoe", "graniteswitch",
	"grok", "grovemoe", "hunyuan-dense", "hunyuan-moe", "hunyuan_vl", "hy_v3", "internlm2", "jais",
	"jais2", "jamba", "jina-bert-v2", "jina-bert-v3", "kimi-k3", "kimi-linear", "laguna", "lfm2",
	"lfm2moe", "llada", "llada-moe", "llama", "llama-embed", "llama4", "maincoder", "mamba", "mamba2",
	"mellum", "mimo2", "minicpm", "minicpm3", "minimax-01", "minimax-m2", "minimax-m3", "mistral3",
	"mistral4", "modern-bert", "mpt", "muse-glimmer", "nanbeige", "nemotron", "nemotron_h",
	"nemotron_h_moe", "neo-bert", "nomic-bert", "nomic-bert-moe", "olmo", "olmo2", "olmoe", "openelm",
	"orion", "paddleocr", "pangu-embedded", "phi2", "phi3", "phimoe", "plamo", "plamo2", "plamo3", "plm",
	"pockettts", "qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen35", "qwen35moe", "qwen3moe",
	"qwen3next", "qwen3tts", "qwen3vl", "qwen3vlmoe", "qwen4exp", "refact", "rnd1", "rwkv6",
	"rwkv6qwen2", "rwkv7", "seed_oss", "smallthinker", "smollm3", "stablelm", "starcoder", "starcoder2",
	"step35", "t5", "t5encoder", "talkie", "wavtokenizer-dec", "xverse",
}
