package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend/llama"
	"github.com/assay-eval/assay/internal/installed"
	"github.com/assay-eval/assay/models"
)

// openLlama opens a model in this process, on the llama.cpp libraries that are installed.
func openLlama(ctx context.Context, s *std, o *stackOptions, want wanted) (*llama.Engine, error) {
	if o.address != "" {
		return nil, usagef("--address is for --backend ollama or openai")
	}
	home, err := models.Home()
	if err != nil {
		return nil, err
	}
	lib, err := models.FindEngine(home)
	if err != nil {
		return nil, err
	}
	m, err := findModel(home, want)
	if err != nil {
		return nil, usageError{err}
	}
	if m.Warning != "" {
		s.warn("%s: %s", m.Name, m.Warning)
	}
	digest, err := models.Digest(m.Path)
	if err != nil {
		return nil, err
	}
	return llama.Open(ctx, llama.Options{
		Lib: lib.Dir, Model: m.Path, Name: m.Name, Digest: digest,
		Context: o.context, Slots: o.slots, Threads: o.threads, Fast: o.fast, Trie: o.trie, Log: s.about(want.role.Label()),
	})
}

// findModel resolves the user's name of a model. Without one, the only installed model that can do what is needed is
// meant; of a model and what it was tuned to, the tuned one.
func findModel(home string, want wanted) (*models.Model, error) {
	if want.ref != "" {
		return installed.Find(home, want.ref)
	}
	list, err := models.List(home)
	if err != nil {
		return nil, err
	}
	kind := kindOf(want)
	var fit []models.Model
	for _, m := range list {
		if info, err := installed.Inspect(m.Path); err == nil && installed.Kind(info) == kind {
			fit = append(fit, m)
		}
	}
	tuned := func(m models.Model) bool {
		return slices.ContainsFunc(fit, func(t models.Model) bool {
			return t.Record != nil && m.Record != nil && t.Record.Tuned == m.Record.Digest
		})
	}
	var names []string
	for _, m := range slices.DeleteFunc(fit, tuned) {
		names = append(names, m.Name)
	}
	flag := "--" + roleFlags[want.role.Kind()].name
	switch len(names) {
	case 0:
		return nil, withHint(fmt.Errorf("no %s model is installed", kind),
			"make demo fetches one, assay models import adds one, %s names a file", flag)
	case 1:
		return models.Find(home, names[0])
	}
	return nil, fmt.Errorf("name the %s model with %s: %s", kind, flag, strings.Join(names, ", "))
}
