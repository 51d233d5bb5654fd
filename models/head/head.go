package head

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
)

// A Head turns the pooled vector of a text into the numbers of a classifier, a reranker or a reward model.
type Head struct {
	Version    int      `json:"version"`
	Pooling    string   `json:"pooling"` // First, Last, Mean or Each
	Chat       bool     `json:"chat,omitempty"`
	Labels     []string `json:"labels,omitempty"`
	Activation string   `json:"activation,omitempty"` // "softmax", "sigmoid", "linear"; "": not known
	Layers     []Layer  `json:"layers"`
}

// The kinds of pooling: what vector the head reads.
const (
	First = "first" // the vector of the first token, [CLS] or <s>
	Last  = "last"  // that of the last token
	Mean  = "mean"  // the mean over all tokens
	Each  = "each"  // that of every token, one after another: the head classifies tokens
)

// A Layer is a matrix with what may come after it: a bias, an activation, a layer norm, in this order.
type Layer struct {
	Weight     Tensor  `json:"weight"` // a row for each output
	Bias       *Tensor `json:"bias,omitempty"`
	Activation string  `json:"activation,omitempty"` // "tanh", "relu", "gelu", "silu"; "": none
	Norm       *Tensor `json:"norm,omitempty"`       // weight of a layer norm
	NormBias   *Tensor `json:"norm_bias,omitempty"`
	Epsilon    float64 `json:"epsilon,omitempty"` // of the norm
}

// Bounds. The widest models in use have vectors of some 16,000 numbers, and a dense layer of 4,096 rows has 16 million.
const (
	version    = 1
	maxFile    = 256 << 20 // bytes
	maxValues  = 1 << 25   // of all layers
	maxWidth   = 1 << 16
	maxLayers  = 4
	maxOutputs = 1 << 12
	maxLabel   = 1 << 10 // bytes
)

// Path is where the head of the model in a GGUF file would lie.
func Path(model string) string { return strings.TrimSuffix(model, ".gguf") + ".head.json" }

// Find reads the head of the model in a GGUF file; nil if it has none of its own file.
func Find(model string) (*Head, error) {
	path := Path(model)
	h, err := ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return h, err
}

// ReadFile reads a head from a file.
func ReadFile(path string) (*Head, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular() || fi.Size() > maxFile:
		return nil, fmt.Errorf("%s is no regular file of at most %d bytes, as the head of a model is", path, maxFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	h, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: import the model again", path, err)
	}
	return h, nil
}

// Parse reads a head from JSON and checks it.
func Parse(data []byte) (*Head, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(data), maxFile)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	h := new(Head)
	if err := d.Decode(h); err != nil {
		return nil, fmt.Errorf("not the head of a model: %v", err)
	}
	if d.More() {
		return nil, errors.New("not the head of a model: something follows it")
	}
	if err := h.Check(); err != nil {
		return nil, err
	}
	return h, nil
}

// Encode is the head as [Parse] reads it.
func (h *Head) Encode() ([]byte, error) {
	h.Version = version
	if err := h.Check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(h)
	return append(data, '\n'), err
}

// Check reports a head that cannot be computed.
func (h *Head) Check() error {
	switch {
	case h.Version != version:
		return fmt.Errorf("its version is %d, and this program reads %d", h.Version, version)
	case !slices.Contains([]string{First, Last, Mean, Each}, h.Pooling):
		return fmt.Errorf("its pooling is %.40q: it takes %s, %s, %s or %s", h.Pooling, First, Last, Mean, Each)
	case !slices.Contains([]string{"", "softmax", "sigmoid", "linear"}, h.Activation):
		return fmt.Errorf("its activation is %.40q: it takes softmax, sigmoid, linear or none", h.Activation)
	case len(h.Layers) < 1 || len(h.Layers) > maxLayers:
		return fmt.Errorf("it has %d layers, not 1 to %d", len(h.Layers), maxLayers)
	}
	width, values := 0, 0
	for i := range h.Layers {
		l := &h.Layers[i]
		if err := l.check(width); err != nil {
			return fmt.Errorf("layer %d: %w", i, err)
		}
		width = l.outputs()
		if values += len(l.Weight.Values); values > maxValues {
			return fmt.Errorf("its layers have over %d numbers", maxValues)
		}
	}
	if n := h.Outputs(); n > maxOutputs || len(h.Labels) != 0 && len(h.Labels) != n {
		return fmt.Errorf("it has %d outputs and %d labels", n, len(h.Labels))
	}
	for i, label := range h.Labels {
		if label == "" || len(label) > maxLabel || slices.Contains(h.Labels[:i], label) {
			return fmt.Errorf("label %d, %.40q, is empty, too long, or there twice", i, label)
		}
	}
	return nil
}

// check reports a layer that is no layer, or has not so many inputs; 0 allows any number.
func (l *Layer) check(inputs int) error {
	if len(l.Weight.Shape) != 2 || l.outputs() < 1 || l.inputs() < 1 || l.outputs() > maxWidth || l.inputs() > maxWidth {
		return fmt.Errorf("its weight has the shape %v", l.Weight.Shape)
	}
	if inputs != 0 && l.inputs() != inputs {
		return fmt.Errorf("it takes %d numbers and the layer before gives %d", l.inputs(), inputs)
	}
	for name, t := range map[string]*Tensor{"weight": &l.Weight, "bias": l.Bias, "norm": l.Norm, "norm_bias": l.NormBias} {
		if t == nil {
			continue
		}
		if name != "weight" && (len(t.Shape) != 1 || t.Shape[0] != l.outputs()) {
			return fmt.Errorf("its %s has the shape %v for %d outputs", name, t.Shape, l.outputs())
		}
		if err := t.check(); err != nil {
			return fmt.Errorf("its %s %w", name, err)
		}
	}
	switch {
	case activations[l.Activation] == nil:
		return fmt.Errorf("its activation is %.40q: it takes tanh, relu, gelu, silu or none", l.Activation)
	case l.NormBias != nil && l.Norm == nil:
		return errors.New("it has the bias of a norm and no norm")
	case l.Norm != nil && !(l.Epsilon > 0 && l.Epsilon < 1):
		return fmt.Errorf("the epsilon of its norm is %v", l.Epsilon)
	}
	return nil
}

func (l *Layer) outputs() int { return l.Weight.Shape[0] }
func (l *Layer) inputs() int  { return l.Weight.Shape[1] }

// Inputs is the width of the vector that the head reads.
func (h *Head) Inputs() int { return h.Layers[0].inputs() }

// Outputs is how many numbers the head gives.
func (h *Head) Outputs() int { return h.Layers[len(h.Layers)-1].outputs() }

// Apply computes the head on a pooled vector of [Head.Inputs] numbers. It adds up in float64, in the order of the
// weights and without fused multiplications.
func (h *Head) Apply(pooled []float32) ([]float32, error) {
	if len(pooled) != h.Inputs() {
		return nil, fmt.Errorf("the head reads %d numbers and the model gives %d: it is of another model",
			h.Inputs(), len(pooled))
	}
	x := make([]float64, len(pooled))
	for i, v := range pooled {
		x[i] = float64(v)
	}
	for i := range h.Layers {
		x = h.Layers[i].apply(x)
	}
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out, nil
}

func (l *Layer) apply(x []float64) []float64 {
	out := make([]float64, l.outputs())
	activate := activations[l.Activation]
	for i := range out {
		sum := 0.0
		for j, w := range l.Weight.Values[i*len(x) : (i+1)*len(x)] {
			sum += float64(float64(w) * x[j])
		}
		if l.Bias != nil {
			sum += float64(l.Bias.Values[i])
		}
		out[i] = activate(sum)
	}
	if l.Norm != nil {
		l.norm(out)
	}
	return out
}

// norm is the layer norm of Ba, Kiros and Hinton (2016).
func (l *Layer) norm(x []float64) {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += float64((v - mean) * (v - mean))
	}
	scale := 1 / math.Sqrt(variance/float64(len(x))+l.Epsilon)
	for i, v := range x {
		x[i] = float64((v-mean)*scale) * float64(l.Norm.Values[i])
		if l.NormBias != nil {
			x[i] += float64(l.NormBias.Values[i])
		}
	}
}

// activations are the functions that may follow a layer, by the names that config.json gives them.
var activations = map[string]func(float64) float64{
	"":     func(x float64) float64 { return x },
	"tanh": math.Tanh,
	"relu": func(x float64) float64 { return max(0, x) },
	"gelu": func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) },
	"silu": func(x float64) float64 { return x / (1 + math.Exp(-x)) },
}
