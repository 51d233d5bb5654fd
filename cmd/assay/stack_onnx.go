package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/models"
)

// openLocal opens a model in this process, with the engine that its files are for, or that the user wants for encoders
// in GGUF.
func (st *stack) openLocal(ctx context.Context, s *std, o *stackOptions, want wanted) (backend.Backend, error) {
	home, err := models.Home()
	if err != nil {
		return nil, err
	}
	m, err := findModel(home, want)
	if err == nil && onnx.Is(m.Path) {
		return openONNX(ctx, s, o, want, home, m)
	}
	const reads = backend.CanEmbed | backend.CanEmbedTokens | backend.CanClassify
	if err == nil && reads.Has(want.ops) {
		if e, err := openGGUF(ctx, s, o, want, home, m); e != nil || err != nil {
			return e, err
		}
	}
	return st.openLlama(ctx, s, o, want)
}

// encoderEngines are the engines for encoders in GGUF, and the kind of numbers that each is to compute with.
var encoderEngines = map[string]string{"auto": "", "llama": "", "onnx": "", "onnx-fp32": "fp32", "onnx-int8": "int8"}

// openGGUF opens an encoder in GGUF on ONNX Runtime, which reads texts several times as fast as llama.cpp. It returns
// nil where llama.cpp is wanted, or, unless ONNX Runtime is, where its library is not installed or cannot take the
// model.
func openGGUF(ctx context.Context, s *std, o *stackOptions, want wanted, home string, m *models.Model) (
	backend.Backend, error) {
	numbers, known := encoderEngines[o.encoders]
	switch {
	case o.encoders != "" && !known:
		return nil, usagef("unknown --encoder-engine %q: auto, llama, onnx, onnx-fp32 or onnx-int8", o.encoders)
	case o.encoders == "llama" || o.encoders == "" || o.address != "":
		return nil, nil
	}
	e, err := func() (*onnx.Engine, error) {
		lib, err := models.FindONNX(home)
		if err != nil {
			return nil, err
		}
		if _, head, err := models.Check(m.Path); err != nil || head != nil {
			return nil, cmp.Or(err, errors.New("it has a classification head of its own beside it, which is llama.cpp's"))
		}
		digest, err := models.Digest(m.Path)
		if err != nil {
			return nil, err
		}
		return onnx.Open(ctx, onnx.Options{Lib: lib.File, Model: m.Path, Name: m.Name, Digest: digest, Numbers: numbers,
			Context: o.context, Threads: o.threads, Log: s.about(want.role.Label())})
	}()
	switch {
	case err == nil && e.Info().Ops.Has(want.ops):
		return e, nil
	case err == nil:
		e.Close()
		err = backend.Unsupported(e.Info(), want.ops)
	}
	if o.encoders == "auto" {
		return nil, ctx.Err()
	}
	return nil, err
}

// openONNX opens an encoder on the ONNX Runtime library that is installed.
func openONNX(ctx context.Context, s *std, o *stackOptions, want wanted, home string, m *models.Model) (
	backend.Backend, error) {
	if o.address != "" {
		return nil, usagef("--address is for --backend ollama or openai")
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
