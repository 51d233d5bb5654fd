package onnx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx/bert"
)

// ErrOther says that a GGUF file is not one that is written as a graph here: llama.cpp may read it.
var ErrOther = bert.ErrOther

// numbersKey is the field of a GGUF file that says which kind of numbers its model was trained for, or held to its
// figures with: "int8". Without it the graph is in fp32.
const numbersKey = "assay.numbers"

// isGGUF reports whether a file begins as a GGUF file does, or is named as one.
func isGGUF(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return strings.HasSuffix(path, ".gguf")
	}
	defer f.Close()
	start := make([]byte, 4)
	_, err = io.ReadFull(f, start)
	return strings.HasSuffix(path, ".gguf") || err == nil && string(start) == "GGUF"
}

// openGGUF writes the model of a GGUF file as a graph, and makes an engine of it.
func openGGUF(ctx context.Context, lib *Library, o *Options) (*Engine, error) {
	m, err := bert.Read(o.Model)
	if err != nil {
		return nil, err
	}
	e := &Engine{lib: lib, cutter: o.cutter, quit: make(chan struct{})}
	if e.cutter == nil {
		if e.cutter, err = m.Tokenizer(); err != nil {
			return nil, err
		}
	}
	numbers := bert.Numbers(o.Numbers)
	if said, _ := m.Header.String(numbersKey); o.Numbers == "" {
		if numbers = bert.FP32; said == string(bert.Int8) {
			numbers = bert.Int8
		}
	}
	e.info = backend.Info{Model: o.Name, Digest: o.Digest, Labels: m.Info.Labels,
		Engine: fmt.Sprintf("%v %s gguf-%d %s", lib, Kernels(), bert.Revision, numbers)}
	if e.info.Model == "" {
		e.info.Model = strings.TrimSuffix(filepath.Base(o.Model), ".gguf")
	}
	if e.info.Digest == "" {
		if e.info.Digest, err = digestOf(o.Model); err != nil {
			return nil, err
		}
	}
	if numbers == bert.Int8 && overflows(runtime.GOARCH, kernels()) {
		numbers = bert.Int8Wide
	}
	file, err := m.Graph(numbers)
	if err != nil {
		return nil, err
	}
	if e.session, err = lib.NewSession(file, ""); err != nil {
		return nil, err
	}
	if err := e.setGGUF(ctx, o, m); err != nil {
		e.session.Close()
		return nil, err
	}
	return e, nil
}

// setGGUF is set for a GGUF file.
func (e *Engine) setGGUF(ctx context.Context, o *Options, m *bert.Model) (err error) {
	if err := checkInputs(e.session.Inputs); err != nil {
		return err
	}
	c := &config{pooling: m.Info.Pooling}
	if e.reading, err = c.reading(e.session.Outputs); err != nil {
		return err
	}
	e.info.Ops = e.ops
	if err := e.size(o, m.Info.Context); err != nil {
		return err
	}
	if err := e.try(ctx, c); err != nil {
		return err
	}
	e.info.Labels = m.Info.Labels
	e.info.Activation = backend.Activation(m.Info.Activation)
	return nil
}

// overflows reports whether a processor adds up products of 8 bits in 16, in which they have not always room.
func overflows(arch, kernels string) bool {
	return arch == "amd64" && !strings.Contains(kernels, "vnni") && kernels != "amx"
}

// digestOf is the digest of a file.
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
