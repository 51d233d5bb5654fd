package gguf

import (
	"fmt"
	"strings"
)

// Info describes a model file, as its header does. A number that the header does not give is 0, and a
// text "".
type Info struct {
	Path         string   `json:"path"`
	Size         int64    `json:"size"`           // bytes
	Architecture string   `json:"architecture"`   // "llama", "bert"
	Name         string   `json:"name,omitempty"` // what the model calls itself
	Licence      string   `json:"licence,omitempty"`
	Parameters   int64    `json:"parameters"`
	Quantisation string   `json:"quantisation"`         // the tensor type that holds most parameters: "Q4_0"
	Context      int      `json:"context,omitempty"`    // the context length that it was trained for, in tokens
	Width        int      `json:"width,omitempty"`      // the embedding length: of a token's vector, or a text's
	Layers       int      `json:"layers,omitempty"`     // transformer blocks
	Heads        int      `json:"heads,omitempty"`      // attention heads of a layer; the most, where layers differ
	KVHeads      int      `json:"kv_heads,omitempty"`   // key-value heads of a layer; the most, where layers differ
	Vocabulary   int      `json:"vocabulary,omitempty"` // tokens
	Window       int      `json:"window,omitempty"`     // of sliding-window attention, in tokens
	Pooling      string   `json:"pooling,omitempty"`    // "none", "mean", "cls", "last" or "rank"; "": it does not pool
	Head         int      `json:"head,omitempty"`       // outputs of its classification head; 0: it has none
	Labels       []string `json:"labels,omitempty"`     // of these outputs, where the header names them
	Causal       bool     `json:"causal"`               // its attention is causal: the model can generate
	Template     string   `json:"template,omitempty"`   // its chat template (Jinja), whole
	KVBytes      int64    `json:"kv_bytes_per_token"`   // of KV cache for each token at 16 bits, all layers; at most
	Splits       int      `json:"splits,omitempty"`     // files that the model is spread over

	// Activation is what is put over the numbers of the classification head: "softmax", "sigmoid", or "linear" for
	// nothing; "" if the file does not say.
	Activation string `json:"activation,omitempty"`

	// SegmentB is the id of the first token of the vocabulary's second copy, in which the second text of a pair is
	// spelt so that a BERT reads it as segment B; 0 if there is no copy.
	SegmentB int `json:"segment_b,omitempty"`

	Misread string `json:"misread,omitempty"` // why the head's numbers would be wrong in llama.cpp, and what to do
	Doubt   string `json:"doubt,omitempty"`   // why they may be
}

// Info summarises the header. Path is left empty.
func (h *Header) Info() *Info {
	info := &Info{Size: h.Size, Causal: true}
	info.Architecture, _ = h.String("general.architecture")
	info.Name, _ = h.String("general.name")
	info.Licence, _ = h.String("general.license")
	info.Template, _ = h.String("tokenizer.chat_template")
	info.Context = h.count("context_length")
	info.Width = h.count("embedding_length")
	info.Layers = h.count("block_count")
	info.Window = h.count("attention.sliding_window")
	if n, ok := h.Int("split.count"); ok {
		info.Splits = clampInt(n)
	}
	if causal, ok := h.Bool(info.Architecture + ".attention.causal"); ok {
		info.Causal = causal
	}
	if n, ok := h.Int(info.Architecture + ".pooling_type"); ok && n < int64(len(poolings)) {
		info.Pooling = poolings[n]
	}
	if tokens, ok := h.Strings("tokenizer.ggml.tokens"); ok {
		info.Vocabulary = len(tokens)
	} else {
		info.Vocabulary = h.count("vocab_size")
	}
	info.Labels, _ = h.Strings(info.Architecture + ".classifier.output_labels")
	info.Head = h.head()
	h.judgeHead(info)
	h.countParameters(info)
	h.countHeads(info)
	return info
}

// head returns how many outputs the classification head has: the rows of its last matrix.
func (h *Header) head() int {
	rows := map[string]int{}
	for i := range h.Tensors {
		if t := &h.Tensors[i]; len(t.Shape) > 0 && len(t.Shape) <= 2 {
			n, _ := elements(t.Shape[1:]) // a single row may be stored as a vector
			rows[t.Name] = clampInt(n)
		}
	}
	if n, ok := rows["cls.output.weight"]; ok {
		return n
	}
	return rows["cls.weight"]
}

func (h *Header) countParameters(info *Info) {
	byType := map[TensorType]int64{}
	for i := range h.Tensors {
		n := h.Tensors[i].Elements()
		info.Parameters += n
		byType[h.Tensors[i].Type] += n
	}
	most := int64(0)
	for t, n := range byType {
		if n > most || n == most && t.String() < info.Quantisation {
			most, info.Quantisation = n, t.String()
		}
	}
}

// countHeads fills in the heads and the size of the KV cache. The count of heads is one number, or one
// for each layer; a layer without attention has none.
func (h *Header) countHeads(info *Info) {
	heads := h.perLayer("attention.head_count", info.Layers)
	kv := h.perLayer("attention.head_count_kv", info.Layers)
	if kv == nil {
		kv = heads // no grouping: as many as there are heads
	}
	for i := range heads {
		info.Heads = max(info.Heads, heads[i])
		info.KVHeads = max(info.KVHeads, kv[i])
	}
	if info.Heads == 0 || !info.Causal {
		return // no attention, or none that is cached
	}
	key, value := info.Width/info.Heads, info.Width/info.Heads
	if n := h.count("attention.key_length"); n > 0 {
		key = n
	}
	if n := h.count("attention.value_length"); n > 0 {
		value = n
	}
	for _, n := range kv {
		info.KVBytes += 2 * int64(n) * int64(key+value)
	}
}

// Summary is one line for people: "llama 1.1B Q4_0, context 2048, 32000 tokens".
func (info *Info) Summary() string {
	parts := []string{info.Architecture + " " + countText(info.Parameters) + " " + info.Quantisation}
	if info.Context > 0 {
		parts = append(parts, "context "+countText(int64(info.Context)))
	}
	if info.Pooling != "" && info.Pooling != "none" {
		parts = append(parts, info.Pooling+" pooling")
	}
	return strings.Join(parts, ", ")
}

// countText writes a count as people say it: 512, 32.0K, 1.1B.
func countText(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fK", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1fB", float64(n)/1e9)
}
