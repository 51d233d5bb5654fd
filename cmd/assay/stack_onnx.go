package main

import (
	"cmp"
	"context"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
)

// openLocal opens a model in this process, with the engine that its files are for.
func (st *stack) openLocal(ctx context.Context, s *std, o *stackOptions, want wanted) (backend.Backend, error) {
	home, err := models.Home()
	if err != nil {
		return nil, err
	}
	if m, err := findModel(home, want); err == nil && onnx.Is(m.Path) {
		return openONNX(ctx, s, o, want, home, m)
	}
	return st.openLlama(ctx, s, o, want)
}

// openONNX opens an encoder on the ONNX Runtime library that is installed.
func openONNX(ctx context.Context, s *std, o *stackOptions, want wanted, home string, m *models.Model) (
	backend.Backend, error) {
	if o.address != "" {
		return nil, usagef("--address is for --backend ollama")
	}
	lib, err := models.FindONNX(home)
	if err != nil {
		return nil, err
	}
	name := "" // of the folder
	if m.Record != nil {
		name = m.Name
	}
	e, err := onnx.Open(ctx, onnx.Options{Lib: lib.File, Model: m.Path, Name: name, Context: o.context,
		Threads: o.threads, Log: s.about(want.role.Label())})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// findRef resolves the user's name of a model, which may be the path of one in ONNX.
func findRef(home, ref string) (*models.Model, error) {
	m, err := models.Find(home, ref)
	if err != nil && onnx.Is(ref) {
		return &models.Model{Name: ref, Path: ref}, nil
	}
	return m, err
}

// checkModel says what a model's files say of it, or why it cannot be used.
func checkModel(path string) (*gguf.Info, error) {
	if !onnx.Is(path) {
		info, _, err := models.Check(path)
		return info, err
	}
	d, err := onnx.Describe(path)
	if err != nil {
		return nil, err
	}
	return infoOf(path, d), nil
}

// inspectFile is checkModel, which may know less of a file that cannot be used.
func inspectFile(path string) (*gguf.Info, error) {
	if onnx.Is(path) {
		return checkModel(path)
	}
	return models.Inspect(path)
}

// infoOf puts what is known of a model in ONNX into the terms of one in GGUF.
func infoOf(path string, d *onnx.Description) *gguf.Info {
	info := &gguf.Info{Path: path, Size: d.Size, Architecture: cmp.Or(d.Architecture, "onnx"), Quantisation: d.Numbers,
		Context: d.Context, Width: d.Width, Pooling: d.Pooling, Head: d.Outputs, Labels: d.Labels,
		Activation: string(d.Activation)}
	switch {
	case d.Ops.Has(backend.CanClassify):
		info.Pooling = "rank"
	case d.Ops.Has(backend.CanLabelTokens):
		info.Pooling = tokenPooling
	}
	return info
}

// tokenPooling stands for a head on every token.
const tokenPooling = "none: a head on each token"

// importONNX copies a model in ONNX into the home folder.
func importONNX(ctx context.Context, s *std, home string, rec models.Record, path string) (*models.Model, error) {
	d, _, err := onnx.Check(path)
	if err != nil {
		return nil, err
	}
	if d.Choice != "" {
		s.note("%s", d.Choice)
	}
	return models.ImportFolder(ctx, home, rec, d.Dir, d.Files, func(folder string) (string, error) {
		_, digest, err := onnx.Check(folder)
		return digest, err
	})
}
