package stack

import (
	"context"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/internal/installed"
	"github.com/assay-eval/assay/internal/runs"
	"github.com/assay-eval/assay/models"
)

// openLocal opens a model in this process, with the engine that its files are for, or that the user wants for encoders
// in GGUF.
func (st *Stack) openLocal(ctx context.Context, want wanted) (backend.Backend, error) {
	o := &st.options
	home, err := models.Home()
	if err != nil {
		return nil, err
	}
	m, err := find(home, want)
	if err == nil && onnx.Is(m.Path) {
		return o.openONNX(ctx, want, home, m)
	}
	const reads = backend.CanEmbed | backend.CanEmbedTokens | backend.CanClassify
	if err == nil && reads.Has(want.ops) {
		if e, err := o.openEncoder(ctx, want, home, m); e != nil || err != nil {
			return e, err
		}
	}
	e, err := o.openLlama(ctx, want)
	if err != nil {
		return nil, err
	}
	if want.role.Kind() == backend.Judge {
		st.Engines[want.role] = e
	}
	if want.role == backend.Judge && e.Info().Ops.Has(backend.CanReadTokens) {
		st.Vocabulary = e
	}
	return e, nil
}

// OpenJudge opens the judge on llama.cpp alone, without decorators: for measuring the engine.
func OpenJudge(ctx context.Context, o Options) (*llama.Engine, error) {
	return o.openLlama(ctx, wanted{backend.Judge, o.Models[backend.Judge], backend.CanGenerate})
}

// openLlama opens a model in this process, on the llama.cpp libraries that are installed.
func (o *Options) openLlama(ctx context.Context, want wanted) (*llama.Engine, error) {
	if err := o.checkLocal(); err != nil {
		return nil, err
	}
	home, err := models.Home()
	if err != nil {
		return nil, err
	}
	lib, err := models.FindEngine(home)
	if err != nil {
		return nil, err
	}
	m, err := find(home, want)
	if err != nil {
		return nil, err
	}
	if m.Warning != "" {
		o.Warn("%s: %s", m.Name, m.Warning)
	}
	digest, err := models.Digest(m.Path)
	if err != nil {
		return nil, err
	}
	return llama.Open(ctx, llama.Options{
		Lib: lib.Dir, Model: m.Path, Name: m.Name, Digest: digest,
		Context: o.Context, Slots: o.Slots, Threads: o.Threads, Fast: o.Fast, Trie: o.Trie, Log: o.about(want.role),
	})
}

// checkLocal refuses what is for servers only.
func (o *Options) checkLocal() error {
	if o.Address != "" {
		return runs.Inputf("--address is for --backend ollama or openai")
	}
	return nil
}

// find resolves the user's name of a model. Without one, the only installed model that can do what is needed is meant.
// Its error is a [runs.InputError].
func find(home string, want wanted) (*models.Model, error) {
	ref := want.ref
	if ref == "" {
		kind, flag := kindOf(want), "--"+Flag(want.role)
		names, err := installed.OfKind(home, kind)
		switch {
		case err != nil:
			return nil, &runs.InputError{Err: err}
		case len(names) == 0:
			return nil, runs.Inputf("no %s model is installed", kind).WithHint(
				"make demo fetches one, assay models import adds one, %s names a file", flag)
		case len(names) > 1:
			return nil, runs.Inputf("name the %s model with %s: %s", kind, flag, strings.Join(names, ", "))
		}
		ref = names[0]
	}
	m, err := installed.Find(home, ref)
	if err != nil {
		return nil, &runs.InputError{Err: err}
	}
	return m, nil
}

// kindOf is the kind of an installed model that a role takes, as [installed.Kind] has it. A reward model is an encoder
// though it has the role of the judge.
func kindOf(want wanted) string {
	switch {
	case want.role.Kind() == backend.Embedder:
		return "embedding"
	case want.ops.Has(backend.CanClassify):
		return "encoder"
	case want.ops.Has(backend.CanLabelTokens):
		return "token classifier"
	}
	return string(want.role.Kind())
}
