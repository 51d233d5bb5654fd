package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/internal/tokenizer"
)

// A Description is what the files of a model say of it, without ONNX Runtime.
type Description struct {
	Dir          string   // of config.json and tokenizer.json
	Graph        string   // the .onnx file's path below it
	Choice       string   // why that one, where there are others; "" where there are none
	Files        []string // all files that answers depend on, by their paths below Dir
	Size         int64    // bytes of all of them
	Architecture string   // config.json's model_type: "deberta-v2"; "" if it does not say
	Numbers      string   // what its weights are: "fp32", "fp16", "bf16", "int8", "int4"
	Context      int      // tokens of an input
	Ops          backend.Ops
	Pooling      string             // how a text's vector is made of its tokens': "mean", "cls", "graph" (in the graph); ""
	Width        int                // numbers of a vector; 0 if the graph leaves it open, or has none
	Outputs      int                // numbers of the classification head; 0 likewise
	Labels       []string           // of these numbers
	Activation   backend.Activation // of these numbers
	Inputs       []Slot
}

// Describe reads a folder or an .onnx file in one. It refuses what [Open] would, as far as that shows without computing.
func Describe(path string) (*Description, error) {
	f, err := findFolder(path)
	if err != nil {
		return nil, err
	}
	d, err := f.describe()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// Check is [Describe], and reads the tokenizer. It returns the digest that [Open] finds, too.
func Check(path string) (*Description, string, error) {
	d, err := Describe(path)
	if err != nil {
		return nil, "", err
	}
	if _, err := tokenizer.Open(d.Dir); err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	f := folder{dir: d.Dir, graph: filepath.Join(d.Dir, filepath.FromSlash(d.Graph))}
	file, outline, err := f.outline()
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	digest, err := f.digest(file, outline.external)
	return d, digest, err
}

// outline reads and looks through the graph.
func (f folder) outline() ([]byte, *outline, error) {
	file, err := readBounded(f.graph, maxGraph)
	if err != nil {
		return nil, nil, err
	}
	o, err := readOutline(file)
	if err != nil {
		return nil, nil, err
	}
	return file, o, f.external(o.external)
}

func (f folder) describe() (*Description, error) {
	_, o, err := f.outline()
	if err != nil {
		return nil, err
	}
	c, err := f.readConfig()
	if err != nil {
		return nil, err
	}
	if err := checkInputs(o.inputs); err != nil {
		return nil, err
	}
	r, err := c.reading(o.outputs)
	if err != nil {
		return nil, err
	}
	d := &Description{Dir: f.dir, Choice: f.choice, Architecture: c.Family, Numbers: o.numbers, Context: c.context(),
		Ops: r.ops, Inputs: o.inputs}
	for _, out := range o.outputs {
		last := 0
		if n := len(out.Shape); n > 0 {
			last = int(max(0, out.Shape[n-1]))
		}
		switch out.Name {
		case r.head, r.labels:
			d.Outputs = last
		case r.hidden, r.sentence:
			d.Width = last
		}
	}
	if d.Labels, err = c.labels(); err != nil {
		return nil, err
	}
	switch heads := r.head + r.labels; {
	case heads == "":
		d.Labels = nil
	default:
		if d.Labels, err = named(d.Labels, d.Outputs); err != nil {
			return nil, err
		}
		d.Activation = c.activation(max(1, d.Outputs, len(d.Labels)))
	}
	switch {
	case r.sentence != "":
		d.Pooling = "graph"
	case r.hidden != "":
		d.Pooling = r.pooling
	}
	return d, d.list(f, o.external)
}

// list finds the files.
func (d *Description) list(f folder, external []string) error {
	graph, err := filepath.Rel(f.dir, f.graph)
	if err != nil {
		return err
	}
	d.Graph = filepath.ToSlash(graph)
	d.Files = append(d.Files, d.Graph)
	for _, name := range external {
		beside, err := filepath.Rel(f.dir, filepath.Join(filepath.Dir(f.graph), filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		d.Files = append(d.Files, filepath.ToSlash(beside))
	}
	for _, name := range described {
		if exists(f.dir, name) {
			d.Files = append(d.Files, name)
		}
	}
	slices.Sort(d.Files)
	for _, name := range d.Files {
		fi, err := os.Stat(filepath.Join(f.dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		d.Size += fi.Size()
	}
	return nil
}
