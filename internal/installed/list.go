package installed

import (
	"context"

	"github.com/assay-eval/assay/backend/ollama"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
)

// A Row is a model in a list of those that can be had.
type Row struct {
	Name    string `json:"name"`
	Backend string `json:"backend"`
	Store   string `json:"store,omitempty"` // "ollama" for a file of Ollama's
	*gguf.Info
	Digest string `json:"digest,omitempty"`
	Source string `json:"source,omitempty"`
	Error  string `json:"error,omitempty"` // why it cannot be used
}

// Kind says in a word what the row's model is for; "" where that is not known.
func (r Row) Kind() string {
	switch {
	case r.Error != "":
		return "unusable"
	case r.Backend == "ollama":
		return ""
	}
	return Kind(r.Info)
}

// List lists the models of the home folder, those in Ollama's store, and those of the Ollama server at address, "" for
// none. A store that cannot be read is told to warn; a model that cannot be used is listed with its error.
func List(ctx context.Context, home, address string, warn func(format string, args ...any)) ([]Row, error) {
	list, err := models.List(home)
	if err != nil {
		return nil, err
	}
	theirs, err := models.ListOllama()
	if err != nil {
		warn("Ollama's store: %v", err)
	}
	rows := []Row{}
	for _, m := range append(list, theirs...) {
		rows = append(rows, rowOf(m))
	}
	if address == "" {
		return rows, nil
	}
	served, err := ollama.Models(ctx, address)
	if err != nil {
		return nil, err
	}
	for _, m := range served {
		rows = append(rows, Row{Name: m.Name, Backend: "ollama", Digest: m.Digest, Info: &gguf.Info{
			Size: m.Size, Quantisation: m.Quantization, Context: m.Context,
		}})
	}
	return rows, nil
}

func rowOf(m models.Model) Row {
	row := Row{Name: m.Name, Backend: "llama", Store: m.Store, Info: &gguf.Info{Path: m.Path}}
	if m.Record != nil {
		row.Digest, row.Source = m.Record.Digest, m.Record.Source
	}
	info, err := Check(m.Path)
	switch {
	case m.Store != "" && m.Err != nil:
		row.Error = m.Err.Error()
	case err != nil:
		row.Error = err.Error()
	default:
		row.Info = info
		row.Template = "" // long, and a Report has it
	}
	if onnx.Is(m.Path) {
		row.Backend = "onnx"
	}
	return row
}

// A Report is all that is known of one model.
type Report struct {
	*gguf.Info
	Digest string         `json:"digest"`
	Graph  string         `json:"graph,omitempty"`  // the .onnx file, below the path; "": it is no model in ONNX
	Inputs []string       `json:"inputs,omitempty"` // of the graph
	Record *models.Record `json:"record,omitempty"`
	Choice string         `json:"-"` // which of several graphs was taken, and why; "": there is one
}

// Examine reads a model's files.
func Examine(m *models.Model) (*Report, error) {
	if !onnx.Is(m.Path) {
		info, _, err := models.Check(m.Path)
		if err != nil {
			return nil, err
		}
		digest, err := models.Digest(m.Path)
		return &Report{Info: info, Digest: digest, Record: m.Record}, err
	}
	d, digest, err := onnx.Check(m.Path)
	if err != nil {
		return nil, err
	}
	r := &Report{Info: Describe(m.Path, d), Digest: digest, Graph: d.Graph, Record: m.Record, Choice: d.Choice}
	for _, in := range d.Inputs {
		r.Inputs = append(r.Inputs, in.Name)
	}
	return r, nil
}

// How says how a model is brought home.
type How struct {
	Convert bool   // turn the safetensors of a folder into GGUF even where it has a graph in ONNX
	Head    string // the Hugging Face folder of a classification head that a GGUF file lacks; "": none
	Say     func(format string, args ...any)
}

// Import brings a model into the home folder: one in ONNX as it is, and of other files a GGUF file.
func Import(ctx context.Context, home string, rec models.Record, how How, files ...string) (*models.Model, error) {
	switch {
	case len(files) == 1 && onnx.Is(files[0]) && !how.Convert:
		return importONNX(ctx, home, rec, how, files[0])
	case how.Head != "":
		return models.ImportWithHead(ctx, home, rec, how.Head, files...)
	}
	return models.Import(ctx, home, rec, files...)
}

// importONNX copies a model in ONNX into the home folder.
func importONNX(ctx context.Context, home string, rec models.Record, how How, path string) (*models.Model, error) {
	d, _, err := onnx.Check(path)
	if err != nil {
		return nil, err
	}
	if d.Choice != "" {
		how.Say("%s", d.Choice)
	}
	return models.ImportFolder(ctx, home, rec, d.Dir, d.Files, func(folder string) (string, error) {
		_, digest, err := onnx.Check(folder)
		return digest, err
	})
}
