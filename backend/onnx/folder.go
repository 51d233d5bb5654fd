package onnx

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// A folder is where a model lies, as Hugging Face publishes it.
type folder struct {
	dir    string // of config.json and tokenizer.json
	graph  string // the .onnx file
	choice string // why that one, where there are others; "" where there are none
}

// Is reports whether a path is that of a model in ONNX: an .onnx file, or a folder that has one where it is published.
func Is(path string) bool {
	fi, err := os.Stat(path)
	if err != nil || !fi.IsDir() {
		return strings.HasSuffix(path, ".onnx")
	}
	list, err := graphs(path)
	return err == nil && len(list) > 0
}

// graphs are the .onnx files of a folder that are published as one: in its folder onnx or, where that has none, in it.
func graphs(dir string) ([]string, error) {
	for _, place := range []string{"onnx", "."} {
		entries, err := os.ReadDir(filepath.Join(dir, place))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var list []string
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".onnx") && exists(filepath.Join(dir, place), name) {
				list = append(list, filepath.Join(dir, place, name))
			}
		}
		if len(list) > 0 {
			return list, nil
		}
	}
	return nil, nil
}

// preferred are the names of graphs, the best first: the model as it was trained, which gives its published figures;
// the same with operators joined; integers of 8 bits, those for this kind of processor first, since others can overflow
// on it or are slow; and numbers of 16 bits, for which processors have few instructions.
func preferred(kernels string) []string {
	list := []string{"model", "model_O1", "model_O2", "model_O3", "model_optimized",
		"model_quantized", "model_int8", "model_uint8"}
	own := []string{"model_quint8_avx2"}
	switch {
	case strings.HasPrefix(kernels, "amx"), strings.HasPrefix(kernels, "avx512vnni"):
		own = []string{"model_qint8_avx512_vnni", "model_qint8_avx512", "model_quint8_avx2"}
	case strings.HasPrefix(kernels, "avx512"):
		own = []string{"model_qint8_avx512", "model_quint8_avx2"}
	case runtime.GOARCH == "arm64":
		own = []string{"model_qint8_arm64"}
	}
	list = append(list, own...)
	return append(list, "model_fp16", "model_bf16")
}

// findFolder finds the parts of a model: a folder, or a single .onnx file in one or in its folder onnx.
func findFolder(path string) (folder, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return folder{}, err
	}
	if !fi.IsDir() {
		dir := filepath.Dir(path)
		parent := filepath.Dir(dir)
		if filepath.Base(dir) == "onnx" && !exists(dir, "config.json") && exists(parent, "config.json") {
			dir = parent
		}
		return folder{dir: dir, graph: path}, nil
	}
	list, err := graphs(path)
	if err != nil {
		return folder{}, err
	}
	return chooseGraph(path, list, kernels())
}

// chooseGraph takes one of a folder's graphs.
func chooseGraph(dir string, list []string, kernels string) (folder, error) {
	if len(list) == 0 {
		return folder{}, fmt.Errorf("%s holds neither onnx/model.onnx nor model.onnx: name its .onnx file", dir)
	}
	if len(list) == 1 {
		return folder{dir: dir, graph: list[0]}, nil
	}
	var names []string
	for _, file := range list {
		names = append(names, filepath.Base(file))
	}
	for _, name := range preferred(kernels) {
		if i := slices.Index(names, name+".onnx"); i >= 0 {
			choice := fmt.Sprintf("%s is read, of %s: name another by its path to have it instead", names[i],
				strings.Join(names, ", "))
			return folder{dir: dir, graph: list[i], choice: choice}, nil
		}
	}
	return folder{}, fmt.Errorf("%s holds %s, none of which is known to be the model: name one by its path",
		dir, strings.Join(names, ", "))
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil
}

// Bounds on what is read: protobuf allows no more than 2 GiB; configurations have a few kilobytes.
const (
	maxGraph  = 1<<31 - 1
	maxConfig = 4 << 20
)

// A config is what a folder says of its model, as far as it says it.
type config struct {
	Family        string            `json:"model_type"`
	Architectures []string          `json:"architectures"`
	Labels        map[string]string `json:"id2label"`
	Problem       string            `json:"problem_type"`
	Positions     int               `json:"max_position_embeddings"`
	Padding       *int              `json:"pad_token_id"`

	// What sentence-transformers puts over a cross-encoder's logits: the name of a class, in two places.
	Sentence struct {
		Function string `json:"activation_fn"`
	} `json:"sentence_transformers"`
	Function string `json:"sbert_ce_default_activation_function"`

	longest float64 // of tokenizer_config.json
	pooling string  // "mean", "cls"; "" for one that is not known here
}

// readConfig reads config.json, tokenizer_config.json and the pooling of sentence-transformers. None need be there.
func (f folder) readConfig() (*config, error) {
	c := &config{pooling: "mean"}
	if err := f.readJSON("config.json", c); err != nil {
		return nil, err
	}
	var tokens struct {
		Longest float64 `json:"model_max_length"`
	}
	if err := f.readJSON("tokenizer_config.json", &tokens); err != nil {
		return nil, err
	}
	c.longest = tokens.Longest
	pooling := map[string]any{}
	if err := f.readJSON("1_Pooling/config.json", &pooling); err != nil {
		return nil, err
	}
	if len(pooling) > 0 {
		c.pooling = poolingOf(pooling)
	}
	return c, nil
}

// poolingOf is the one way of pooling that a configuration of sentence-transformers asks for.
func poolingOf(c map[string]any) string {
	kind := ""
	for name, short := range map[string]string{"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls",
		"pooling_mode_max_tokens": "max", "pooling_mode_mean_sqrt_len_tokens": "root", "pooling_mode_lasttoken": "last",
		"pooling_mode_weightedmean_tokens": "weighted"} {
		if on, _ := c[name].(bool); on {
			if kind != "" {
				return ""
			}
			kind = short
		}
	}
	if kind != "mean" && kind != "cls" {
		return ""
	}
	return kind
}

// readJSON reads a file of the folder; one that is missing leaves the value as it is.
func (f folder) readJSON(name string, into any) error {
	data, err := readBounded(filepath.Join(f.dir, filepath.FromSlash(name)), maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readBounded reads a regular file that is not too large.
func readBounded(path string, most int64) ([]byte, error) {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case fi.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, fi.Size(), most)
	}
	return os.ReadFile(path)
}

// defaultContext is what a model is taken to read that does not say.
const defaultContext = 512

// origin is the position of the first token. Models like RoBERTa count from the one after the padding token's id, and
// have as many positions more than a power of two.
func (c *config) origin() int {
	first := 2 // theirs, if the file does not say
	if c.Padding != nil {
		first = *c.Padding + 1
	}
	if rest := c.Positions - first; first > 1 && rest > 0 && rest&(rest-1) == 0 {
		return first
	}
	return 0
}

// context is how many tokens the model reads at most: what the tokenizer and the table of positions allow.
func (c *config) context() int {
	most := 0
	if c.longest >= 1 && c.longest < 1<<20 { // "no limit" is written as 1e30
		most = int(c.longest)
	}
	positions := c.Positions - c.origin()
	switch {
	case positions <= 0 || positions > 1<<20:
	case most == 0 || positions < most:
		most = positions
	}
	if most == 0 {
		return defaultContext
	}
	return most
}

// wholeSequences reports whether the model classifies texts or pairs rather than their tokens.
func (c *config) wholeSequences() bool {
	return slices.ContainsFunc(c.Architectures, func(name string) bool {
		return strings.HasSuffix(name, "ForSequenceClassification")
	})
}

// activation is what makes the answer of the n numbers of a classification head: what sentence-transformers was told,
// or else what Hugging Face's pipelines do.
func (c *config) activation(n int) backend.Activation {
	for _, name := range []string{c.Sentence.Function, c.Function} {
		switch name[strings.LastIndexByte(name, '.')+1:] {
		case "Sigmoid":
			return backend.Sigmoid
		case "Softmax":
			return backend.Softmax
		case "Identity":
			return backend.Linear
		}
	}
	switch {
	case c.Problem == "regression":
		return backend.Linear
	case c.Problem == "multi_label_classification" || n == 1:
		return backend.Sigmoid
	}
	return backend.Softmax
}

// labels are the names of a classification head's outputs, in their order; none where they only number them.
func (c *config) labels() ([]string, error) {
	list := make([]string, len(c.Labels))
	numbered := true
	for key, name := range c.Labels {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(list) || list[i] != "" || name == "" {
			return nil, fmt.Errorf("config.json: id2label does not number its labels from 0 to %d", len(list)-1)
		}
		list[i] = name
		numbered = numbered && strings.EqualFold(name, "LABEL_"+key)
	}
	if numbered {
		return nil, nil
	}
	return list, nil
}

// external checks the files of weights that a graph names: regular ones in its folder, not links out of it.
func (f folder) external(names []string) error {
	root, err := os.OpenRoot(filepath.Dir(f.graph))
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		fi, err := root.Stat(name)
		if link, _ := root.Lstat(name); err != nil && link != nil && link.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("its weights are said to lie in %.200q, a link to nothing in its folder, as a download cache "+
				"has them: make a copy with the files themselves (cp -rL), and name that", name)
		}
		if err != nil {
			return fmt.Errorf("its weights are said to lie in %.200q: %w", name, err)
		}
		if !fi.Mode().IsRegular() || fi.Size() > math.MaxInt32*8 {
			return fmt.Errorf("its weights are said to lie in %.200q, which is no regular file of at most 16 GiB", name)
		}
	}
	return nil
}

// described are the files beside a graph that its answers depend on.
var described = []string{"config.json", "1_Pooling/config.json", "tokenizer.json", "tokenizer_config.json",
	"special_tokens_map.json", "vocab.txt"}

// digest is a hash over the digests of all files that answers depend on: the graph, its external weights, and what says
// how texts become tokens and tokens become vectors.
func (f folder) digest(graph []byte, external []string) (string, error) {
	all := sha256.New()
	fmt.Fprintf(all, "graph %x\n", sha256.Sum256(graph))
	add := func(kind, dir, name string) error {
		file, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		defer file.Close()
		h := sha256.New()
		if _, err := io.Copy(h, file); err != nil {
			return err
		}
		fmt.Fprintf(all, "%s %s %x\n", kind, strconv.Quote(name), h.Sum(nil))
		return nil
	}
	for _, name := range external {
		if err := add("weights", filepath.Dir(f.graph), name); err != nil {
			return "", err
		}
	}
	for _, name := range described {
		if err := add("file", f.dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil)), nil
}
