package gollama

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
)

// engine names the binding's commit, and that of the llama.cpp in it.
const engine = "go-llama.cpp 6a8041ef6b46 (llama.cpp ac43576)"

// Options says which model to open and how.
type Options struct {
	Model   string // path of the model's GGUF file, of version 2
	Name    string // Info.Model; "" means the file's name without .gguf
	Digest  string // Info.Digest, where it is known; "" means that the file is read to compute it
	Embed   bool   // open the model to embed texts, and not to write
	Context int    // tokens a call, prompt and reply together; 0: what the model was trained on, at most 2048
	Threads int    // 0: as many as there are cores
}

const defaultContext = 2048

// Open loads a model. What is wrong with the file or the options is found, as far as it can be foreseen,
// before llama.cpp sees the file.
func Open(ctx context.Context, o Options) (*Engine, error) {
	file, err := check(o.Model)
	if err != nil {
		return nil, err
	}
	s, err := o.setup(file)
	if err != nil {
		return nil, err
	}
	if o.Digest == "" {
		if o.Digest, err = models.Digest(o.Model); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	model, err := load(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Model, err)
	}
	return newEngine(o.info(s), model, file), nil
}

// spare is how many tokens of its context the binding keeps to itself, at the least.
const spare = 4

func (o Options) setup(file *gguf.Header) (setup, error) {
	info := file.Info()
	s := setup{path: o.Model, threads: o.Threads, width: info.Width, embeds: o.Embed}
	switch {
	case o.Context < 0 || o.Threads < 0:
		return s, fmt.Errorf("context %d and threads %d are to be positive, or 0 for a good choice",
			o.Context, o.Threads)
	case info.Context > 0 && o.Context > info.Context:
		return s, fmt.Errorf("%s was trained on %d tokens of context and cannot be given %d: ask for no more",
			o.Model, info.Context, o.Context)
	}
	if s.threads == 0 {
		s.threads = runtime.NumCPU()
	}
	tokens := o.Context
	if tokens == 0 {
		tokens = defaultContext
		if info.Context > 0 {
			tokens = min(tokens, info.Context)
		}
	}
	s.context = tokens + spare
	var err error
	s.ropeBase, s.ropeScale, err = rope(file)
	return s, err
}

func (o Options) info(s setup) backend.Info {
	info := backend.Info{
		Engine:  engine + ", " + format,
		Model:   o.Name,
		Digest:  o.Digest,
		Context: s.context - spare,
		Slots:   1,
		Ops:     backend.CanGenerate,
	}
	if o.Embed {
		info.Ops = backend.CanEmbed
	}
	if info.Model == "" {
		info.Model = strings.TrimSuffix(filepath.Base(o.Model), ".gguf")
	}
	return info
}

// What the llama.cpp of the binding reads.
const (
	ggufVersion = 2
	lastType    = gguf.TensorType(15) // Q8_K: later types have higher numbers
	longestWord = 4096                // bytes of a token: our own bound, for the buffers
)

var (
	architectures = []string{"llama", "baichuan", "falcon", "starcoder"}
	tokenizers    = []string{"llama", "gpt2"}
)

// check reads a file's header and says whether the binding would load it.
func check(path string) (*gguf.Header, error) {
	info, err := gguf.Check(path)
	if err != nil {
		return nil, err
	}
	file, err := gguf.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := readable(file, info); err != nil {
		return nil, fmt.Errorf("%s: %w: use package backend/llama, or another file", path, err)
	}
	return file, nil
}

// readable reports what makes a model one that only a newer llama.cpp loads.
func readable(file *gguf.Header, info *gguf.Info) error {
	if file.Version != ggufVersion {
		return fmt.Errorf("it is GGUF version %d, and go-llama.cpp reads version %d only", file.Version, ggufVersion)
	}
	if !slices.Contains(architectures, info.Architecture) {
		return fmt.Errorf("it is of architecture %q, and go-llama.cpp knows %s",
			info.Architecture, strings.Join(architectures, ", "))
	}
	if kind, _ := file.String("tokenizer.ggml.model"); !slices.Contains(tokenizers, kind) {
		return fmt.Errorf("its tokenizer is %q, and go-llama.cpp knows %s", kind, strings.Join(tokenizers, ", "))
	}
	for i := range file.Tensors {
		if t := &file.Tensors[i]; t.Type > lastType {
			return fmt.Errorf("its tensor %q is stored as %v, which go-llama.cpp does not know", t.Name, t.Type)
		}
	}
	switch {
	case info.Splits > 1:
		return errors.New("it is split over several files, and go-llama.cpp reads single ones")
	case info.Width < 1:
		return errors.New("its header does not say how wide it is")
	case longest(file) > longestWord:
		return fmt.Errorf("it has a token of %d bytes, more than %d", longest(file), longestWord)
	}
	_, _, err := rope(file)
	return err
}

// longest returns the length of the longest token, in bytes.
func longest(file *gguf.Header) int {
	words, _ := file.Strings("tokenizer.ggml.tokens")
	n := 0
	for _, w := range words {
		n = max(n, len(w))
	}
	return n
}

// rope returns how the model turns places in a text into angles. The binding puts defaults of its own over what
// the header says, unless it is told.
func rope(file *gguf.Header) (base, scale float64, err error) {
	arch, _ := file.String("general.architecture")
	base, scale = 10000, 1
	if v, ok := file.Float(arch + ".rope.freq_base"); ok {
		base = v
	}
	if v, ok := file.Float(arch + ".rope.scale_linear"); ok {
		scale = 1 / v
	}
	switch kind, _ := file.String(arch + ".rope.scaling.type"); kind {
	case "", "none":
	case "linear":
		if v, ok := file.Float(arch + ".rope.scaling.factor"); ok {
			scale = 1 / v
		}
	default:
		return 0, 0, fmt.Errorf("its context is stretched by %q, which go-llama.cpp does not know", kind)
	}
	if !(base >= 1 && base <= 1e12) || !(scale >= 1e-6 && scale <= 1e6) {
		return 0, 0, fmt.Errorf("its header gives a rope base of %v and a scale of %v, which make no sense",
			base, scale)
	}
	return base, scale, nil
}
