package gguf

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/models/head"
)

// ReadHead reads the classification head of the model in a Hugging Face folder, for a GGUF file that has the rest of the
// model. The folder holds config.json and the safetensors file in which the head is; of a model that is split over several,
// the others need not be there.
//
// It knows the heads of Hugging Face's classifiers of texts and of tokens for RoBERTa, XLM-R, BERT without segments,
// DistilBERT and ModernBERT; a linear layer on T5's encoder, on each token or, unless the model says that it classifies
// tokens, on the first, as HHEM-2.1 has it; and that of decoders (score.weight on the last token, as reward models have
// it, or on each).
func ReadHead(dir string) (*head.Head, error) {
	c, err := readClassifierConfig(dir)
	if err != nil {
		return nil, err
	}
	w, err := openHeads(dir)
	if err != nil {
		return nil, err
	}
	defer w.close()
	h, err := c.head(w)
	if err == nil {
		h.Labels, err = c.labels(h.Outputs())
	}
	if err == nil {
		h.Activation = c.activation(h.Outputs())
		_, err = h.Encode()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return h, nil
}

// head finds the layers of a model's head.
func (c *classifierConfig) head(w *headWeights) (*head.Head, error) {
	h := &head.Head{Version: 1, Pooling: head.First}
	tokens := c.is("TokenClassification")
	if tokens {
		h.Pooling = head.Each
	}
	switch {
	case !w.has("score.weight") && !w.has("classifier.weight") && !w.has("classifier.out_proj.weight"):
		return nil, errors.New("none of its safetensors files holds a classification head (score, classifier): " +
			"fetch the file that does; model.safetensors.index.json names it")
	case c.Type == "modernbert":
		switch {
		case tokens:
		case c.Pooling == "mean":
			h.Pooling = head.Mean
		case c.Pooling != "" && c.Pooling != "cls":
			return nil, fmt.Errorf("config.json: its classifier_pooling is %.40q, and cls and mean are known", c.Pooling)
		}
		w.layer(h, "head.dense", cmp.Or(c.Activation, "gelu"))
		w.norm(h, "head.norm", cmp.Or(c.Epsilon, 1e-5))
		w.layer(h, "classifier", "")
	case c.Type == "bert" && c.Segments > 1:
		return nil, errors.New("it was trained on pairs in two segments, which a GGUF file of it does not tell apart: " +
			"import the folder alone, without a GGUF file")
	case tokens && slices.Contains([]string{"bert", "roberta", "xlm-roberta", "camembert", "distilbert"}, c.Type):
		w.layer(h, "classifier", "")
	case c.Type == "bert":
		w.layer(h, "pooler.dense", "tanh")
		w.layer(h, "classifier", "")
	case slices.Contains([]string{"roberta", "xlm-roberta", "camembert"}, c.Type):
		w.layer(h, "classifier.dense", "tanh")
		w.layer(h, "classifier.out_proj", "")
	case c.Type == "distilbert":
		w.layer(h, "pre_classifier", "relu")
		w.layer(h, "classifier", "")
	case w.t5() && w.has("classifier.weight"):
		w.layer(h, "classifier", "")
	case w.has("score.weight"):
		if !tokens {
			h.Pooling, h.Chat = head.Last, true
		}
		w.layer(h, "score", "")
	default:
		return nil, fmt.Errorf("how the head of a model of type %.40q is computed is not known here: give its folder to "+
			"ONNX Runtime, with onnx/model.onnx", c.Type)
	}
	return h, w.err
}

// headWeights are the tensors of a folder, by their names without what stands for the model around them.
type headWeights struct {
	files   []*os.File
	tensors map[string]*safetensor
	names   []string // whole
	err     error
}

// openHeads opens all safetensors files of a folder.
func openHeads(dir string) (*headWeights, error) {
	names, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.safetensors"))
	if err != nil {
		return nil, err
	}
	const most = 1 << 10
	if len(names) == 0 || len(names) > most {
		return nil, fmt.Errorf("%s has %d safetensors files, where the head of a model is in one of 1 to %d",
			dir, len(names), most)
	}
	w := &headWeights{tensors: map[string]*safetensor{}}
	for _, name := range names {
		f, tensors, err := openSafetensorsFile(name)
		if err != nil {
			w.close()
			return nil, err
		}
		w.files = append(w.files, f)
		for name, t := range tensors {
			w.names = append(w.names, name)
			w.tensors[bare(name)] = t
		}
	}
	return w, nil
}

func (w *headWeights) close() {
	for _, f := range w.files {
		f.Close()
	}
}

// bare is a tensor's name without that of the model which it belongs to.
func bare(name string) string {
	for _, prefix := range []string{"bert.", "roberta.", "distilbert.", "model.", "t5."} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

func (w *headWeights) has(name string) bool { return w.tensors[name] != nil }

// t5 reports whether the model is one of T5's family, whatever its configuration calls it.
func (w *headWeights) t5() bool {
	return slices.ContainsFunc(w.names, func(name string) bool { return strings.Contains(name, "SelfAttention.") })
}

// layer adds a layer to a head: the matrix name.weight, and name.bias if that is there.
func (w *headWeights) layer(h *head.Head, name, activation string) {
	l := head.Layer{Activation: activation}
	if m := w.tensor(name + ".weight"); m != nil {
		l.Weight = *m
	}
	if w.has(name + ".bias") {
		l.Bias = w.tensor(name + ".bias")
	}
	h.Layers = append(h.Layers, l)
}

// norm adds a layer norm to a head's last layer.
func (w *headWeights) norm(h *head.Head, name string, epsilon float64) {
	l := &h.Layers[len(h.Layers)-1]
	l.Norm, l.Epsilon = w.tensor(name+".weight"), epsilon
	if w.has(name + ".bias") {
		l.NormBias = w.tensor(name + ".bias")
	}
}

// tensor reads a tensor; the first that cannot be read stays in w.err.
func (w *headWeights) tensor(name string) *head.Tensor {
	t := w.tensors[name]
	if t == nil {
		w.err = cmp.Or(w.err, fmt.Errorf("tensor %s is not there: fetch the whole model", name))
		return nil
	}
	n, _ := elements(t.Shape)
	values, err := t.floats(n)
	if err != nil {
		w.err = cmp.Or(w.err, fmt.Errorf("tensor %s: %w", name, err))
		return nil
	}
	out := &head.Tensor{Values: values}
	for _, d := range t.Shape {
		out.Shape = append(out.Shape, int(d))
	}
	return out
}
