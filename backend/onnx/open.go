package onnx

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx/graph"
	"github.com/assay-eval/assay/internal/tokenizer"
)

// Options says which model to open and how.
type Options struct {
	Lib     string // ONNX Runtime's shared library: a file
	Model   string // a Hugging Face folder with onnx/model.onnx, or an .onnx file in one
	Name    string // Info.Model; "" means the folder's name
	Context int    // tokens of an input; 0: as many as the model reads
	Threads int    // inputs computed side by side; 0: as many as there are cores

	// Log is told what was opened. It may be nil.
	Log func(format string, args ...any)

	cutter tokenizer.Tokenizer // nil: the folder's
}

// Open loads a model. The files are untrusted: what is damaged, too large, or reaches out of its folder is refused.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Context < 0 || o.Threads < 0 {
		return nil, fmt.Errorf("context %d and threads %d are to be positive, or 0 for a good choice", o.Context, o.Threads)
	}
	lib, err := Load(o.Lib)
	if err != nil {
		return nil, err
	}
	e, err := open(ctx, lib, &o)
	if err != nil {
		lib.Close()
		return nil, fmt.Errorf("%s: %w", o.Model, err)
	}
	if o.Log != nil {
		o.Log("%s: %v on %s, %d tokens of context, %d texts side by side",
			e.info.Model, e.info.Ops, e.info.Engine, e.info.Context, e.info.Slots)
	}
	return e, nil
}

func open(ctx context.Context, lib *Library, o *Options) (*Engine, error) {
	f, err := findFolder(o.Model)
	if err != nil {
		return nil, err
	}
	file, err := readBounded(f.graph, maxGraph)
	if err != nil {
		return nil, err
	}
	outline, err := readOutline(file)
	if err != nil {
		return nil, err
	}
	if err := f.external(outline.external); err != nil {
		return nil, err
	}
	c, err := f.readConfig()
	if err != nil {
		return nil, err
	}
	digest, err := f.digest(file, outline.external)
	if err != nil {
		return nil, err
	}
	session, err := lib.NewSession(file, filepath.Dir(f.graph))
	if err != nil {
		return nil, err
	}
	e := &Engine{lib: lib, session: session, cutter: o.cutter, pooling: c.pooling, quit: make(chan struct{})}
	e.info = backend.Info{Engine: fmt.Sprintf("%v %s %s", lib, Kernels(), outline.numbers), Model: o.Name, Digest: digest}
	if err := e.set(ctx, o, f, c); err != nil {
		session.Close()
		return nil, err
	}
	return e, nil
}

// set decides what the engine can do, and tries it.
func (e *Engine) set(ctx context.Context, o *Options, f folder, c *config) (err error) {
	if e.info.Model == "" {
		e.info.Model = nameOf(f)
	}
	if e.cutter == nil {
		if e.cutter, err = tokenizer.Open(f.dir); err != nil {
			return err
		}
	}
	if err := checkInputs(e.session.Inputs); err != nil {
		return err
	}
	if err := e.choose(e.session.Outputs); err != nil {
		return err
	}
	if e.info.Ops.Has(backend.CanClassify) {
		if e.info.Labels, err = c.labels(); err != nil {
			return err
		}
	}
	e.info.Context = c.context()
	if o.Context > e.info.Context {
		return fmt.Errorf("it reads %d tokens and cannot be given %d: ask for no more", e.info.Context, o.Context)
	}
	if o.Context > 0 {
		e.info.Context = o.Context
	}
	e.info.Slots = o.Threads
	if e.info.Slots == 0 {
		e.info.Slots = runtime.GOMAXPROCS(0)
	}
	e.cores = make(chan struct{}, e.info.Slots)
	return e.try(ctx)
}

// nameOf is what a model goes by if it is given no name: its folder's, or its file's where that is not model.onnx.
func nameOf(f folder) string {
	name := filepath.Base(f.dir)
	if abs, err := filepath.Abs(f.dir); err == nil {
		name = filepath.Base(abs)
	}
	if stem := strings.TrimSuffix(filepath.Base(f.graph), ".onnx"); stem != "model" {
		name += "/" + stem
	}
	return name
}

// checkInputs reports a graph that wants what a text does not give.
func checkInputs(inputs []Slot) error {
	for _, in := range inputs {
		if !slices.Contains([]string{"input_ids", "attention_mask", "token_type_ids"}, in.Name) || in.Type != graph.Int64 {
			return fmt.Errorf("its graph wants the input %.80q (ONNX's type %d): only input_ids, attention_mask and "+
				"token_type_ids of int64 are given", in.Name, in.Type)
		}
		if len(in.Shape) != 2 || in.Shape[0] > 1 || in.Shape[1] >= 0 {
			return fmt.Errorf("its input %s has the shape %v: export it with a number of tokens that is left open",
				in.Name, in.Shape)
		}
	}
	if !slices.ContainsFunc(inputs, func(in Slot) bool { return in.Name == "input_ids" }) {
		return errors.New("its graph has no input input_ids")
	}
	return nil
}

// choose finds the outputs that the engine's abilities rest on.
func (e *Engine) choose(outputs []Slot) error {
	for _, out := range outputs {
		if out.Type != graph.Float32 && out.Type != graph.Float16 {
			continue
		}
		switch name, rank := out.Name, len(out.Shape); {
		case name == "logits" && rank == 2:
			e.head = name
			e.info.Ops |= backend.CanClassify
		case (name == "last_hidden_state" || name == "token_embeddings") && rank == 3 && e.hidden == "":
			e.hidden = name
			e.info.Ops |= backend.CanEmbedTokens
		case name == "sentence_embedding" && rank == 2:
			e.sentence = name
		}
	}
	if e.sentence != "" || e.hidden != "" && e.pooling != "" {
		e.info.Ops |= backend.CanEmbed
	}
	if e.info.Ops == 0 {
		var names []string
		for _, out := range outputs {
			names = append(names, fmt.Sprintf("%.80q %v", out.Name, out.Shape))
		}
		return fmt.Errorf("its graph gives %s: none is the logits [n, labels] of a classification head, a "+
			"last_hidden_state [n, tokens, width] or a sentence_embedding [n, width]", strings.Join(names, ", "))
	}
	return nil
}

// try encodes a word in every way that the model is to be used, so that a graph that cannot be computed, or gives other
// shapes than it says, is refused before a run.
func (e *Engine) try(ctx context.Context) error {
	for _, output := range backend.Outputs() {
		if !e.info.Ops.Has(output.Op()) {
			continue
		}
		item, err := e.one(ctx, output, backend.Pair{Text: "word"})
		if err != nil {
			return fmt.Errorf("trying it: %w", err)
		}
		if output == backend.HeadOutputs && len(e.info.Labels) > 0 && len(item.Vectors[0]) != len(e.info.Labels) {
			return fmt.Errorf("its classification head gives %d numbers where config.json names %d labels",
				len(item.Vectors[0]), len(e.info.Labels))
		}
	}
	return nil
}
