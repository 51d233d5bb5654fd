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
	Model   string // a Hugging Face folder with onnx/model.onnx, an .onnx file in one, or a GGUF file of a BERT
	Name    string // Info.Model; "" means the folder's name
	Digest  string // Info.Digest of a GGUF file; "": it is computed
	Numbers string // of a GGUF file's graph: "fp32", "int8"; "": as the file says, or fp32
	Context int    // tokens of an input; 0: as many as the model reads
	Threads int    // inputs computed side by side; 0: as many as there are cores

	// Log is told what was opened. It may be nil.
	Log func(format string, args ...any)

	cutter tokenizer.Tokenizer // nil: the folder's
}

// Open loads a model. The files are untrusted: what is damaged, too large, or reaches out of its folder is refused. The
// error wraps [ErrOther] where a GGUF file is not one that can be read here.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Context < 0 || o.Threads < 0 {
		return nil, fmt.Errorf("context %d and threads %d are to be positive, or 0 for a good choice", o.Context, o.Threads)
	}
	lib, err := Load(o.Lib)
	if err != nil {
		return nil, err
	}
	read := open
	if isGGUF(o.Model) {
		read = openGGUF
	}
	e, err := read(ctx, lib, &o)
	if err != nil {
		lib.Close()
		return nil, fmt.Errorf("%s: %w", o.Model, err)
	}
	if o.Log != nil {
		if e.choice != "" {
			o.Log("%s: %s", e.info.Model, e.choice)
		}
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
	e := &Engine{lib: lib, session: session, cutter: o.cutter, choice: f.choice, quit: make(chan struct{})}
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
	if e.reading, err = c.reading(e.session.Outputs); err != nil {
		return err
	}
	e.info.Ops = e.ops
	if e.head != "" || e.labels != "" {
		if e.info.Labels, err = c.labels(); err != nil {
			return err
		}
	}
	e.origin = int64(c.origin())
	if err := e.size(o, c.context()); err != nil {
		return err
	}
	return e.try(ctx, c)
}

// size sets how long an input may be, and how many are computed side by side.
func (e *Engine) size(o *Options, longest int) error {
	if o.Context > longest {
		return fmt.Errorf("it reads %d tokens and cannot be given %d: ask for no more", longest, o.Context)
	}
	e.info.Context = longest
	if o.Context > 0 {
		e.info.Context = o.Context
	}
	e.info.Slots = o.Threads
	if e.info.Slots == 0 {
		e.info.Slots = runtime.GOMAXPROCS(0)
	}
	e.cores = make(chan struct{}, e.info.Slots)
	return nil
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

// given are the inputs that a graph can have, all or some.
var given = []string{"input_ids", "attention_mask", "token_type_ids", "position_ids"}

// checkInputs reports a graph that wants what a text does not give.
func checkInputs(inputs []Slot) error {
	for _, in := range inputs {
		if !slices.Contains(given, in.Name) || in.Type != graph.Int64 && in.Type != graph.Int32 {
			return fmt.Errorf("its graph wants the input %.80q (ONNX's type %d): only %s of int64 or int32 are given",
				in.Name, in.Type, strings.Join(given, ", "))
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

// A reading is which of a graph's outputs are read, and as what.
type reading struct {
	ops      backend.Ops
	head     string // the output that is a classification head's; "" if there is none
	first    bool   // head has numbers for each token, of which the first token's are those of the pair
	labels   string // the output that is a token classification head's
	hidden   string // the one that has a vector for each token
	sentence string // the one that is a text's vector
	pooling  string // how hidden becomes a text's vector: "mean", "cls"; "" if that is not known
}

// reading finds the outputs that the engine's abilities rest on. Logits for each token are those of a token
// classification head, unless config.json says that the model classifies whole sequences: then the first token's are
// meant, as of a T5 encoder whose head stands on every token.
func (c *config) reading(outputs []Slot) (reading, error) {
	r := reading{pooling: c.pooling}
	for _, out := range outputs {
		if out.Type != graph.Float32 && out.Type != graph.Float16 {
			continue
		}
		switch name, rank := out.Name, len(out.Shape); {
		case name == "logits" && rank == 2:
			r.head = name
			r.ops |= backend.CanClassify | backend.CanMark
		case name == "logits" && rank == 3 && c.wholeSequences():
			r.head, r.first = name, true
			r.ops |= backend.CanClassify | backend.CanMark
		case name == "logits" && rank == 3:
			r.labels = name
			r.ops |= backend.CanLabelTokens
		case (name == "last_hidden_state" || name == "token_embeddings") && rank == 3 && r.hidden == "":
			r.hidden = name
			r.ops |= backend.CanEmbedTokens
		case name == "sentence_embedding" && rank == 2:
			r.sentence = name
		}
	}
	if r.sentence != "" || r.hidden != "" && r.pooling != "" {
		r.ops |= backend.CanEmbed
	}
	if r.ops == 0 {
		var names []string
		for _, out := range outputs {
			names = append(names, fmt.Sprintf("%.80q %v", out.Name, out.Shape))
		}
		return r, fmt.Errorf("its graph gives %s: none is the logits [n, labels] of a classification head or "+
			"[n, tokens, labels] of one for tokens, a last_hidden_state [n, tokens, width] or a sentence_embedding "+
			"[n, width]", strings.Join(names, ", "))
	}
	return r, nil
}

// try encodes a word in every way that the model is to be used, so that a graph that cannot be computed, or gives other
// shapes than it says, is refused before a run.
func (e *Engine) try(ctx context.Context, c *config) error {
	for _, output := range backend.Outputs() {
		if !e.info.Ops.Has(output.Op()) {
			continue
		}
		item, err := e.one(ctx, output, backend.Pair{Text: "word"})
		if err != nil {
			return fmt.Errorf("trying it: %w", err)
		}
		if output == backend.HeadOutputs || output == backend.TokenOutputs && len(item.Vectors) > 0 {
			if err := e.name(len(item.Vectors[0]), c); err != nil {
				return err
			}
		}
	}
	return nil
}

// name names the n numbers of a classification head.
func (e *Engine) name(n int, c *config) (err error) {
	e.info.Labels, err = named(e.info.Labels, n)
	e.info.Activation = c.activation(n)
	return err
}

// named are the labels of n numbers. Several without labels are numbered, as Hugging Face does.
func named(labels []string, n int) ([]string, error) {
	if len(labels) > 0 && n > 0 && n != len(labels) {
		return nil, fmt.Errorf("its classification head gives %d numbers where config.json names %d labels", n, len(labels))
	}
	if len(labels) == 0 && n > 1 {
		for i := range n {
			labels = append(labels, fmt.Sprintf("LABEL_%d", i))
		}
	}
	return labels, nil
}
