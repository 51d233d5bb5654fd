package models

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
	Context      int      `json:"context,omitempty"`    // tokens it was trained to attend to
	Width        int      `json:"width,omitempty"`      // length of a token's, or a text's, vector
	Layers       int      `json:"layers,omitempty"`     // transformer blocks
	Heads        int      `json:"heads,omitempty"`      // attention heads a layer; the most, where layers differ
	KVHeads      int      `json:"kv_heads,omitempty"`   // heads of keys and values a layer; the most, where layers differ
	Vocabulary   int      `json:"vocabulary,omitempty"` // tokens
	Window       int      `json:"window,omitempty"`     // of sliding-window attention, in tokens
	Pooling      string   `json:"pooling,omitempty"`    // "none", "mean", "cls", "last" or "rank"; "" for a model that does not pool
	Head         int      `json:"head,omitempty"`       // numbers that its classification head gives; 0: it has none
	Labels       []string `json:"labels,omitempty"`     // what they stand for, where the header says
	Causal       bool     `json:"causal"`               // tokens see only those before them: the model can write
	Template     string   `json:"template,omitempty"`   // its chat template (Jinja), whole
	KVBytes      int64    `json:"kv_bytes_per_token"`   // of cache a token takes at 16 bits, in all layers; at most
	Splits       int      `json:"splits,omitempty"`     // files that the model is spread over
}

// Inspect reads what a model file says of itself. It refuses what is no GGUF file, or not a whole one;
// whether llama.cpp would load it is what [Check] says.
func Inspect(path string) (*Info, error) {
	_, info, err := inspect(path)
	return info, err
}

func inspect(path string) (*GGUF, *Info, error) {
	g, err := OpenGGUF(path)
	if err != nil {
		return nil, nil, explain(path, err)
	}
	info := g.Info()
	info.Path = path
	return g, info, nil
}

// Info summarises the header. Path is left empty.
func (g *GGUF) Info() *Info {
	info := &Info{Size: g.Size, Causal: true}
	info.Architecture, _ = g.String("general.architecture")
	info.Name, _ = g.String("general.name")
	info.Licence, _ = g.String("general.license")
	info.Template, _ = g.String("tokenizer.chat_template")
	info.Context = g.count("context_length")
	info.Width = g.count("embedding_length")
	info.Layers = g.count("block_count")
	info.Window = g.count("attention.sliding_window")
	if n, ok := g.Int("split.count"); ok {
		info.Splits = clampInt(n)
	}
	if causal, ok := g.Bool(info.Architecture + ".attention.causal"); ok {
		info.Causal = causal
	}
	if n, ok := g.Int(info.Architecture + ".pooling_type"); ok && n < int64(len(poolings)) {
		info.Pooling = poolings[n]
	}
	if tokens, ok := g.Strings("tokenizer.ggml.tokens"); ok {
		info.Vocabulary = len(tokens)
	} else {
		info.Vocabulary = g.count("vocab_size")
	}
	info.Labels, _ = g.Strings(info.Architecture + ".classifier.output_labels")
	info.Head = g.head()
	g.countParameters(info)
	g.countHeads(info)
	return info
}

var poolings = [...]string{"none", "mean", "cls", "last", "rank"}

// head returns how many numbers the classification head gives: the rows of its last matrix.
func (g *GGUF) head() int {
	rows := map[string]int{}
	for i := range g.Tensors {
		if t := &g.Tensors[i]; len(t.Shape) > 0 && len(t.Shape) <= 2 {
			n, _ := elements(t.Shape[1:]) // a single row may be stored as a vector
			rows[t.Name] = clampInt(n)
		}
	}
	if n, ok := rows["cls.output.weight"]; ok {
		return n
	}
	return rows["cls.weight"]
}

// count returns the field of the model's own architecture with this name, 0 if it is not there.
func (g *GGUF) count(name string) int {
	arch, _ := g.String("general.architecture")
	n, _ := g.Int(arch + "." + name)
	return clampInt(n)
}

// clampInt makes an int of a count; none that makes sense is larger than an int32.
func clampInt(n int64) int {
	if n < 0 || n > 1<<31-1 {
		return 0
	}
	return int(n)
}

func (g *GGUF) countParameters(info *Info) {
	byType := map[TensorType]int64{}
	for i := range g.Tensors {
		n := g.Tensors[i].Elements()
		info.Parameters += n
		byType[g.Tensors[i].Type] += n
	}
	most := int64(0)
	for t, n := range byType {
		if n > most || n == most && t.String() < info.Quantisation {
			most, info.Quantisation = n, t.String()
		}
	}
}

// countHeads fills in the heads and the size of the cache. The count of heads is one number, or one
// for each layer; a layer without attention has none.
func (g *GGUF) countHeads(info *Info) {
	heads := g.perLayer("attention.head_count", info.Layers)
	kv := g.perLayer("attention.head_count_kv", info.Layers)
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
	if n := g.count("attention.key_length"); n > 0 {
		key = n
	}
	if n := g.count("attention.value_length"); n > 0 {
		value = n
	}
	for _, n := range kv {
		info.KVBytes += 2 * int64(n) * int64(key+value)
	}
}

// perLayer returns a field that holds one number for all layers or one for each; nil if it is neither.
func (g *GGUF) perLayer(name string, layers int) []int {
	if layers <= 0 || layers > 1<<16 {
		return nil
	}
	out := make([]int, layers)
	arch, _ := g.String("general.architecture")
	if n, ok := g.Int(arch + "." + name); ok {
		for i := range out {
			out[i] = clampInt(n)
		}
		return out
	}
	list, ok := g.Ints(arch + "." + name)
	if !ok || len(list) < layers {
		return nil
	}
	for i := range out {
		out[i] = clampInt(list[i])
	}
	return out
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
