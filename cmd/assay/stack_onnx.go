package main

import (
	"context"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/models"
)

// openONNX opens an encoder in this process, on the ONNX Runtime library that is installed.
func openONNX(ctx context.Context, s *std, o *stackOptions, want wanted) (backend.Backend, error) {
	if o.address != "" {
		return nil, usagef("--address is for --backend ollama")
	}
	home, err := models.Home()
	if err != nil {
		return nil, err
	}
	lib, err := models.FindONNX(home)
	if err != nil {
		return nil, err
	}
	e, err := onnx.Open(ctx, onnx.Options{
		Lib: lib.File, Model: want.ref, Context: o.context, Threads: o.threads, Log: s.about(want.role.Label()),
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}
