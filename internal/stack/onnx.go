package stack

import (
	"cmp"
	"context"
	"errors"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/models"
)

// openONNX opens an encoder on the ONNX Runtime library that is installed.
func (o *Options) openONNX(ctx context.Context, want wanted, home string, m *models.Model) (backend.Backend, error) {
	if err := o.checkLocal(); err != nil {
		return nil, err
	}
	lib, err := models.FindONNX(home)
	if err != nil {
		return nil, err
	}
	name := "" // of the folder
	if m.Record != nil {
		name = m.Name
	}
	e, err := onnx.Open(ctx, onnx.Options{Lib: lib.File, Model: m.Path, Name: name, Context: o.Context,
		Threads: o.Threads, Log: o.about(want.role)})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// openEncoder opens an encoder in GGUF on ONNX Runtime, which reads texts several times as fast as llama.cpp. It returns
// nil where llama.cpp is wanted, or, unless ONNX Runtime is, where its library is not installed or cannot take the
// model.
func (o *Options) openEncoder(ctx context.Context, want wanted, home string, m *models.Model) (backend.Backend, error) {
	numbers := "" // those that the file is for
	switch o.Encoders {
	case "", "llama":
		return nil, nil
	case "auto", "onnx":
	case "onnx-fp32":
		numbers = "fp32"
	case "onnx-int8":
		numbers = "int8"
	default:
		return nil, runs.Inputf("unknown --encoder-engine %q: auto, llama, onnx, onnx-fp32 or onnx-int8", o.Encoders)
	}
	if o.Address != "" {
		return nil, nil
	}
	e, err := o.openConverted(ctx, want, home, m, numbers)
	if err == nil {
		return e, nil
	}
	if o.Encoders == "auto" {
		return nil, ctx.Err()
	}
	return nil, err
}

// openConverted opens an encoder in GGUF on ONNX Runtime, computing with numbers, if it can do what is wanted there.
func (o *Options) openConverted(ctx context.Context, want wanted, home string, m *models.Model, numbers string) (
	backend.Backend, error) {
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
	e, err := onnx.Open(ctx, onnx.Options{Lib: lib.File, Model: m.Path, Name: m.Name, Digest: digest, Numbers: numbers,
		Context: o.Context, Threads: o.Threads, Log: o.about(want.role)})
	if err != nil {
		return nil, err
	}
	if !e.Info().Ops.Has(want.ops) {
		e.Close()
		return nil, backend.Unsupported(e.Info(), want.ops)
	}
	return e, nil
}
