package bert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend/onnx/graph"
	"github.com/assay-eval/assay/models/gguf"
)

// Bounds on a model. BERT large has 24 layers of 1,024 numbers, 16 heads, 512 positions and 30,522 tokens. In fp32 the
// weights take four bytes each, and no graph has 2 GiB.
const (
	maxWidth      = 1 << 13
	maxLayers     = 128
	maxPositions  = 1 << 16
	maxVocabulary = 1 << 20
	maxLabels     = 1 << 12
	maxParameters = 480 << 20
)

// ErrOther says that a file is sound, as far as that was looked at, but not one that is written as a graph here.
var ErrOther = errors.New("not a model that is written as an ONNX graph")

// A Model is a BERT model of a GGUF file: its weights in fp32, and what its header says of them.
type Model struct {
	Header *gguf.Header
	Info   *gguf.Info // its Pooling is "mean", "cls" or "rank": by a classification head

	width, inner, layers, heads, vocabulary, places int // inner: of the feed-forward part

	outputs int  // of the classification head; 0: there is none
	dense   bool // it has a layer with tanh before its last
	epsilon float32
	weights map[string][]float32 // by the names of their tensors; a matrix has a row for each output
}

// Read reads a model. The error wraps [ErrOther] where llama.cpp may yet read the file. The file is untrusted: sizes
// are bounded, and each tensor must have the shape that they make it have.
func Read(path string) (*Model, error) {
	info, err := gguf.Check(path)
	if err != nil {
		return nil, err
	}
	h, err := gguf.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := describe(h, info)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, t := range h.Tensors {
		if m.weights[t.Name], err = values(io.NewSectionReader(f, h.Data+t.Offset, t.Bytes()), &t); err != nil {
			return nil, fmt.Errorf("%s: tensor %s: %w", path, t.Name, err)
		}
	}
	return m, nil
}

// other is an error that wraps ErrOther.
func other(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOther, fmt.Sprintf(format, args...))
}

// describe reads a header.
func describe(h *gguf.Header, info *gguf.Info) (*Model, error) {
	m := &Model{Header: h, Info: info, places: info.Context, width: info.Width, layers: info.Layers,
		heads: info.Heads, vocabulary: info.Vocabulary, weights: map[string][]float32{}}
	inner, _ := h.Int("bert.feed_forward_length")
	epsilon, _ := h.Float("bert.attention.layer_norm_epsilon")
	m.inner, m.epsilon = int(min(inner, math.MaxInt32)), float32(epsilon)
	switch {
	case info.Architecture != "bert":
		return nil, other("its architecture is %s, not bert", info.Architecture)
	case info.Splits > 1:
		return nil, other("it is spread over %d files", info.Splits)
	case info.Misread != "":
		return nil, other("%s", info.Misread)
	case info.Causal:
		return nil, other("its attention is causal")
	case !slices.Contains([]string{"mean", "cls", "rank"}, m.Info.Pooling):
		return nil, other("its pooling is %q", m.Info.Pooling)
	case m.inner < 1 || m.inner > 8*maxWidth || m.width < 1 || m.width > maxWidth || m.layers < 1 ||
		m.layers > maxLayers || m.places < 1 || m.places > maxPositions || m.vocabulary > maxVocabulary:
		return nil, other("%d layers of %d and %d numbers, %d positions and %d tokens are more than are read", m.layers,
			m.width, m.inner, m.places, m.vocabulary)
	case m.heads < 1 || m.width%m.heads != 0:
		return nil, other("%d numbers do not divide into %d heads", m.width, m.heads)
	case !(m.epsilon > 0 && m.epsilon < 1):
		return nil, other("its layer norms have the epsilon %v", m.epsilon)
	case info.Parameters > maxParameters:
		return nil, other("it has %d parameters, more than %d", info.Parameters, maxParameters)
	}
	return m, m.checkTensors(info)
}

// checkTensors checks that the file has the tensors that it must have, of the right shapes and of types that are read,
// and no others: one that is not known here could be a part of the computation.
func (m *Model) checkTensors(info *gguf.Info) error {
	there := map[string]*gguf.Tensor{}
	for i := range m.Header.Tensors {
		there[m.Header.Tensors[i].Name] = &m.Header.Tensors[i]
	}
	_, m.dense = there["cls.weight"]
	if _, ok := there["cls.output.weight"]; ok {
		m.outputs = info.Head
	}
	if m.outputs > maxLabels || (m.Info.Pooling == "rank") != (m.outputs > 0) || m.dense && m.outputs == 0 {
		return other("its pooling is %q, and its classification head has %d outputs", m.Info.Pooling, m.outputs)
	}
	if m.outputs > 0 && len(m.Info.Labels) > 0 && len(m.Info.Labels) != m.outputs {
		return fmt.Errorf("its classification head has %d outputs and %d labels", m.outputs, len(m.Info.Labels))
	}
	known := 0
	for name, shape := range m.shapes() {
		t, ok := there[name]
		switch {
		case !ok && optional(name):
			continue
		case !ok:
			return other("it has no tensor %s", name)
		case !fits(t.Shape, shape):
			return fmt.Errorf("its tensor %s has the shape %v where its header makes it %v", name, t.Shape, shape)
		case blocks[t.Type].values == 0:
			return other("its tensor %s is stored as %v", name, t.Type)
		}
		known++
	}
	if known != len(there) {
		return other("it has %d tensors, of which %d are known here", len(there), known)
	}
	return nil
}

// shapes lists the tensors that such a model has, each with its shape: numbers of a row, rows. A vector is one row.
func (m *Model) shapes() iter.Seq2[string, [2]int] {
	return func(yield func(string, [2]int) bool) {
		going := true
		add := func(name string, columns, rows int) {
			going = going && yield(name, [2]int{columns, rows})
		}
		linear := func(name string, in, out int) {
			add(name+".weight", in, out)
			add(name+".bias", out, 1)
		}
		norm := func(name string) {
			add(name+".weight", m.width, 1)
			add(name+".bias", m.width, 1)
		}
		types, _ := m.Header.Int("tokenizer.ggml.token_type_count")
		add("token_embd.weight", m.width, m.vocabulary)
		add("token_types.weight", m.width, int(min(types, math.MaxInt32)))
		add("position_embd.weight", m.width, m.places)
		norm("token_embd_norm")
		for i := range m.layers {
			for _, part := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
				linear(block(i, part), m.width, m.width)
			}
			norm(block(i, "attn_output_norm"))
			linear(block(i, "ffn_up"), m.width, m.inner)
			linear(block(i, "ffn_down"), m.inner, m.width)
			norm(block(i, "layer_output_norm"))
		}
		if m.dense {
			linear("cls", m.width, m.width)
		}
		if m.outputs > 0 {
			linear("cls.output", m.width, m.outputs)
		}
	}
}

// block names a part of a layer.
func block(layer int, part string) string { return fmt.Sprintf("blk.%d.%s", layer, part) }

// optional reports whether llama.cpp does without a tensor: the bias of a matrix, or segments.
func optional(name string) bool {
	return name == "token_types.weight" || strings.HasSuffix(name, ".bias") && !strings.HasSuffix(name, "norm.bias")
}

// fits reports whether a tensor has a shape, whose dimensions of 1 at the end may be left out.
func fits(have []int64, want [2]int) bool {
	n := [2]int64{1, 1}
	if len(have) > 2 && slices.ContainsFunc(have[2:], func(d int64) bool { return d != 1 }) {
		return false
	}
	copy(n[:], have)
	return n == [2]int64{int64(want[0]), int64(want[1])}
}

// blocks are the types of tensors that are read: so many values in so many bytes.
var blocks = map[gguf.TensorType]struct{ values, bytes int }{
	gguf.F32: {1, 4}, gguf.F16: {1, 2}, gguf.Q8_0: {32, 34},
}

// values reads the numbers of a tensor.
func values(r io.Reader, t *gguf.Tensor) ([]float32, error) {
	raw := make([]byte, t.Bytes())
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, err
	}
	list := make([]float32, 0, t.Elements())
	switch t.Type {
	case gguf.F32:
		for ; len(raw) >= 4; raw = raw[4:] {
			list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
	case gguf.F16:
		for ; len(raw) >= 2; raw = raw[2:] {
			list = append(list, graph.Half(binary.LittleEndian.Uint16(raw)))
		}
	case gguf.Q8_0: // blocks of a scale of 16 bits and 32 integers of 8
		for ; len(raw) >= 34; raw = raw[34:] {
			scale := graph.Half(binary.LittleEndian.Uint16(raw))
			for _, q := range raw[2:34] {
				list = append(list, scale*float32(int8(q)))
			}
		}
	}
	for _, v := range list {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("it holds %v: the file is damaged; fetch it again", v)
		}
	}
	return list, nil
}

// sizes are the inputs and outputs of a matrix, by its name without ".weight".
func (m *Model) sizes(name string) (in, out int) {
	for tensor, shape := range m.shapes() {
		if tensor == name+".weight" {
			return shape[0], shape[1]
		}
	}
	return 0, 0
}

// parameters counts all numbers.
func (m *Model) parameters() int {
	n := 0
	for _, list := range m.weights {
		n += len(list)
	}
	return n
}
