package llama

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/library"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
)

// Open loads a model. What is wrong with the libraries, the file or the options is found, as far as it
// can be foreseen, before llama.cpp sees the file.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	file, head, err := models.Check(o.Model)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(o, file, head)
	if err != nil {
		return nil, err
	}
	lib, err := library.Load(o.Lib)
	if err != nil {
		return nil, err
	}
	if err := p.fit(library.GPUs(), availableMemory); err != nil {
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
	if o.Name == "" {
		o.Name = strings.TrimSuffix(filepath.Base(o.Model), ".gguf")
	}
	m, err := load(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Model, err)
	}
	e := &Engine{
		info: backend.Info{
			Engine:  lib.String() + p.offload.String() + m.attention() + m.silence(),
			Model:   o.Name,
			Digest:  o.Digest,
			Context: p.context,
			Slots:   p.slots,
			Ops:     m.ops(),
			Labels:  file.Labels,

			Activation: activation(file),
		},
		model: m,
		jobs:  make(chan []*job),
		texts: make(chan *textJob),
		quit:  make(chan struct{}),
		gone:  make(chan struct{}),
	}
	if file.Doubt != "" {
		o.Log("%s: %s", o.Name, file.Doubt)
	}
	o.Log("%s: %s on %s, %d tokens of context, %d slots, up to %d threads",
		o.Name, file.Summary(), e.info.Engine, p.context, p.slots, m.threads)
	go e.own()
	return e, nil
}

// activation is what is to be put over the numbers of a model's classification head. Of the Qwen3 family llama.cpp gives
// probabilities already.
func activation(file *gguf.Info) backend.Activation {
	if file.Activation == "" && strings.HasPrefix(file.Architecture, "qwen3") && len(file.Labels) > 1 {
		return backend.Linear
	}
	return backend.Activation(file.Activation)
}
