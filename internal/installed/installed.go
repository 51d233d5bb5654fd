// Package installed says of a model on this machine, in GGUF or in ONNX, what it is, in the terms of GGUF.
package installed

import (
	"cmp"
	"slices"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/onnx"
	"github.com/assay-eval/assay/metrics/all"
	"github.com/assay-eval/assay/models"
	"github.com/assay-eval/assay/models/gguf"
)

// Find resolves the user's name of a model, which may be the path of one in ONNX.
func Find(home, ref string) (*models.Model, error) {
	m, err := models.Find(home, ref)
	if err != nil && onnx.Is(ref) {
		return &models.Model{Name: ref, Path: ref}, nil
	}
	return m, err
}

// Check says what a model's files say of it, or why it cannot be used.
func Check(path string) (*gguf.Info, error) {
	if !onnx.Is(path) {
		info, _, err := models.Check(path)
		return info, err
	}
	d, err := onnx.Describe(path)
	if err != nil {
		return nil, err
	}
	return Describe(path, d), nil
}

// Inspect is Check, which may know less of a file that cannot be used.
func Inspect(path string) (*gguf.Info, error) {
	if onnx.Is(path) {
		return Check(path)
	}
	return models.Inspect(path)
}

// Describe puts what is known of a model in ONNX into the terms of one in GGUF.
func Describe(path string, d *onnx.Description) *gguf.Info {
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

// Kind says in a word what a model is for.
func Kind(info *gguf.Info) string {
	switch {
	case info.Pooling == "rank" && all.Judges(info.Labels):
		return "encoder"
	case info.Pooling == "rank":
		return "reranker"
	case info.Pooling == tokenPooling:
		return "token classifier"
	case info.Causal && info.Pooling == "":
		return "judge"
	default:
		return "embedding"
	}
}

// OfKind lists the names of the installed models of a kind; of a model and what it was tuned to, that of the tuned one.
func OfKind(home, kind string) ([]string, error) {
	list, err := models.List(home)
	if err != nil {
		return nil, err
	}
	var fit []models.Model
	for _, m := range list {
		if info, err := Inspect(m.Path); err == nil && Kind(info) == kind {
			fit = append(fit, m)
		}
	}
	tuned := func(m models.Model) bool {
		return slices.ContainsFunc(fit, func(t models.Model) bool {
			return t.Record != nil && m.Record != nil && t.Record.Tuned == m.Record.Digest
		})
	}
	var names []string
	for _, m := range slices.DeleteFunc(slices.Clone(fit), tuned) {
		names = append(names, m.Name)
	}
	return names, nil
}

// WithDigest returns the model of the home folder whose weights have a digest; nil if there is none.
func WithDigest(home, digest string) (*models.Model, error) {
	list, err := models.List(home)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.Record != nil && m.Record.Digest == digest {
			return &m, nil
		}
	}
	for _, m := range list {
		if onnx.Is(m.Path) {
			continue // its record says
		}
		if d, err := models.Digest(m.Path); err == nil && d == digest {
			return &m, nil
		}
	}
	return nil, nil
}
