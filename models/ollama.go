package models

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/assay-eval/assay/models/gguf"
)

// ollamaPrefix starts the name of a model in Ollama's store: "ollama:llama3.2:1b".
const ollamaPrefix = "ollama:"

// Bounds on Ollama's store.
const (
	maxManifest     = 1 << 20
	maxOllamaLayers = 1000
	maxManifests    = 10_000
)

// An ollamaName names a model of the store as its manifest's path does: HOST/NAMESPACE/MODEL/TAG.
type ollamaName struct{ host, space, model, tag string }

// ollamaPart matches a part of a name. A host may have a port.
var ollamaPart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$`)
var ollamaHost = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._:-]{0,349}$`)

// parseOllamaName takes MODEL, NAMESPACE/MODEL or HOST/NAMESPACE/MODEL, each with or without :TAG, apart. What
// is left out is "library" and "latest"; an empty host stands for any.
func parseOllamaName(s string) (ollamaName, error) {
	n := ollamaName{space: "library", tag: "latest"}
	rest := s
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, '/') {
		rest, n.tag = s[:i], s[i+1:]
	}
	parts := strings.Split(rest, "/")
	n.model = parts[len(parts)-1]
	if len(parts) > 1 {
		n.space = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		n.host = parts[0]
	}
	if len(parts) > 3 || len(parts) > 2 && n.host == "" || n.check() != nil {
		return n, fmt.Errorf("%.200q is not the name of an Ollama model: ollama list shows their names, "+
			"such as llama3.2:1b", s)
	}
	return n, nil
}

func (n ollamaName) check() error {
	if n.host != "" && !ollamaHost.MatchString(n.host) {
		return errors.New("bad host")
	}
	for _, part := range []string{n.space, n.model, n.tag} {
		if !ollamaPart.MatchString(part) {
			return errors.New("bad name")
		}
	}
	return nil
}

// matches reports whether n, of the store, is what the user calls want. As for Ollama, case does not matter.
func (n ollamaName) matches(want ollamaName) bool {
	return (want.host == "" || strings.EqualFold(n.host, want.host)) && strings.EqualFold(n.space, want.space) &&
		strings.EqualFold(n.model, want.model) && strings.EqualFold(n.tag, want.tag)
}

// String leaves out what need not be said where no other model of the store differs in it.
func (n ollamaName) String() string {
	s := n.model + ":" + n.tag
	if n.space != "library" {
		s = n.space + "/" + s
	}
	return s
}

// full is the whole name, which no other model of a store has.
func (n ollamaName) full() string { return n.host + "/" + n.space + "/" + n.model + ":" + n.tag }

// An ollamaManifest lists the files of a model.
type ollamaManifest struct {
	Layers []ollamaLayer `json:"layers"`
}

type ollamaLayer struct {
	Type   string `json:"mediaType"`
	Digest string `json:"digest"` // "sha256:" and 64 hex digits
	Size   int64  `json:"size"`
}

const ollamaLayerType = "application/vnd.ollama.image."

// parseManifest returns the layer with the model's weights, and whether the model comes with a chat template of
// Ollama's own kind.
func parseManifest(data []byte) (weights ollamaLayer, template bool, err error) {
	var m ollamaManifest
	if err := json.Unmarshal(data, &m); err != nil {
		return weights, false, fmt.Errorf("its manifest is damaged (%v): run ollama pull again", err)
	}
	if len(m.Layers) > maxOllamaLayers {
		return weights, false, fmt.Errorf("its manifest has %d layers: run ollama pull again", len(m.Layers))
	}
	for _, layer := range m.Layers {
		switch kind, _ := strings.CutPrefix(layer.Type, ollamaLayerType); kind {
		case "model":
			if weights.Digest != "" {
				return weights, false, errors.New("it has several files of weights, which only Ollama can put " +
					"together: use it with --backend ollama")
			}
			weights = layer
		case "adapter":
			return weights, false, errors.New("it is a model with an adapter (LoRA), which only Ollama can put " +
				"together: use it with --backend ollama")
		case "tensor":
			return weights, false, errors.New("its weights are not stored as a GGUF file: use it with --backend ollama")
		case "template":
			template = true
		}
	}
	switch {
	case weights.Digest == "":
		return weights, false, errors.New("its manifest names no weights on this machine (is it a model in the " +
			"cloud?): choose another")
	case checkDigest(weights.Digest) != nil || weights.Size <= 0:
		return weights, false, errors.New("its manifest is damaged (it names no digest or size of the weights): " +
			"run ollama pull again")
	}
	return weights, template, nil
}

// ollamaStores lists the folders in which Ollama may keep models: the one that $OLLAMA_MODELS names, or its defaults.
func ollamaStores() []string {
	if dir := os.Getenv("OLLAMA_MODELS"); dir != "" {
		return []string{dir}
	}
	var dirs []string
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".ollama", "models"))
	}
	if runtime.GOOS == "linux" {
		dirs = append(dirs, "/usr/share/ollama/.ollama/models") // of the user that its installer makes
	}
	return dirs
}

// An ollamaEntry is a model of a store, before its manifest is read.
type ollamaEntry struct {
	ollamaName
	store string
}

// ollamaEntries lists what the manifests' paths name. A name is never made into a path: what the user asks for is
// compared with these. A store that is not there is empty.
func ollamaEntries(store string) ([]ollamaEntry, error) {
	paths, err := filepath.Glob(filepath.Join(globEscape(store), "manifests", "*", "*", "*", "*"))
	if err != nil {
		return nil, err
	}
	if len(paths) > maxManifests {
		return nil, fmt.Errorf("%s holds more than %d manifests: is it Ollama's?", store, maxManifests)
	}
	if paths == nil {
		if _, err := os.ReadDir(filepath.Join(store, "manifests")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	var list []ollamaEntry
	for _, path := range paths {
		parts := strings.Split(filepath.ToSlash(path), "/")
		parts = parts[len(parts)-4:]
		n := ollamaName{parts[0], parts[1], parts[2], parts[3]}
		if n.host != "" && n.check() == nil {
			list = append(list, ollamaEntry{n, store})
		}
	}
	return list, nil
}

// globEscape makes a path match itself only.
func globEscape(path string) string {
	if runtime.GOOS == "windows" {
		return path // where patterns have no escapes
	}
	return regexp.MustCompile(`[\\*?[]`).ReplaceAllString(path, `\$0`)
}

func (e ollamaEntry) manifestPath() string {
	return filepath.Join(e.store, "manifests", e.host, e.space, e.model, e.tag)
}

// open reads the manifest and finds the weights. Nothing is copied.
func (e ollamaEntry) open(name string) (*Model, error) {
	m := &Model{Name: ollamaPrefix + name, Store: "ollama"}
	fi, err := os.Stat(e.manifestPath())
	if err != nil {
		return m, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxManifest {
		return m, fmt.Errorf("its manifest %s is no file of a sensible size: run ollama pull again", e.manifestPath())
	}
	data, err := os.ReadFile(e.manifestPath())
	if err != nil {
		return m, err
	}
	weights, template, err := parseManifest(data)
	if err != nil {
		return m, err
	}
	m.Path = filepath.Join(e.store, "blobs", strings.Replace(weights.Digest, ":", "-", 1))
	m.Record = &Record{Name: m.Name, Digest: weights.Digest, Size: weights.Size, Source: "Ollama's store, " + e.full()}
	fi, err = os.Stat(m.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("its weights %s are not there: run ollama pull again", m.Path)
	case err != nil:
		return m, err
	case fi.Size() != weights.Size:
		return m, fmt.Errorf("its weights %s have %d bytes instead of %d: run ollama pull again",
			m.Path, fi.Size(), weights.Size)
	}
	info, err := gguf.Check(m.Path)
	if err != nil {
		return m, err
	}
	if info.Causal && info.Template == "" && template {
		m.Warning = "its file has no chat template, and the one that Ollama keeps beside it is not used: messages " +
			"are given to it as plain paragraphs; for its template, use --backend ollama"
	}
	return m, nil
}

// ListOllama returns the models of Ollama's store, sorted by name. There may be none. One that cannot be used has its
// Err set.
func ListOllama() ([]Model, error) {
	all, err := allOllama()
	var list []Model
	for _, e := range all {
		name := e.String()
		if len(matching(all, ollamaName{"", e.space, e.model, e.tag})) > 1 {
			name = e.full()
		}
		m, err := e.open(name)
		m.Err = err
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	return list, err
}

// allOllama lists all stores. An error of one does not hide the others.
func allOllama() ([]ollamaEntry, error) {
	var all []ollamaEntry
	var errs []error
	for _, store := range ollamaStores() {
		list, err := ollamaEntries(store)
		errs = append(errs, err)
		for _, e := range list {
			if !slices.ContainsFunc(all, func(o ollamaEntry) bool { return o.ollamaName == e.ollamaName }) {
				all = append(all, e)
			}
		}
	}
	return all, errors.Join(errs...)
}

func matching(all []ollamaEntry, want ollamaName) []ollamaEntry {
	var found []ollamaEntry
	for _, e := range all {
		if e.matches(want) {
			found = append(found, e)
		}
	}
	return found
}

// findOllama resolves a name of Ollama's store. Its error lists what there is.
func findOllama(name string) (*Model, error) {
	want, err := parseOllamaName(name)
	if err != nil {
		return nil, err
	}
	all, err := allOllama()
	found := matching(all, want)
	switch {
	case len(found) == 0 && err != nil:
		return nil, fmt.Errorf("the store of Ollama cannot be read: %w", err)
	case len(found) == 0:
		return nil, fmt.Errorf("there is no model %q in Ollama's store: %s", name, haveOllama(all))
	case len(found) > 1:
		return nil, fmt.Errorf("%q is several models of Ollama's store: name %s",
			name, names(found, ollamaName.full, " or "))
	}
	m, err := found[0].open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	return m, nil
}

func haveOllama(all []ollamaEntry) string {
	if len(all) == 0 {
		return "nothing is in " + strings.Join(ollamaStores(), " or ") +
			"; OLLAMA_MODELS names another folder, ollama pull fetches a model"
	}
	return "have " + names(all, ollamaName.String, ", ")
}

// names lists models for an error.
func names(list []ollamaEntry, name func(ollamaName) string, sep string) string {
	var out []string
	for _, e := range list {
		out = append(out, ollamaPrefix+name(e.ollamaName))
	}
	slices.Sort(out)
	return strings.Join(out, sep)
}
