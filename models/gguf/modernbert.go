package gguf

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// modernConfig is the part of a ModernBERT's config.json that its layout needs.
type modernConfig struct {
	Activation  string  `json:"hidden_activation"`
	Width       int64   `json:"hidden_size"`
	Inner       int64   `json:"intermediate_size"`
	Layers      int64   `json:"num_hidden_layers"`
	Heads       int64   `json:"num_attention_heads"`
	MaxPosition int64   `json:"max_position_embeddings"`
	Vocabulary  int64   `json:"vocab_size"`
	Epsilon     float64 `json:"norm_eps"`
	Window      int64   `json:"local_attention"`
	Period      int64   `json:"global_attn_every_n_layers"`
	GlobalTheta float64 `json:"global_rope_theta"`
	LocalTheta  float64 `json:"local_rope_theta"`
	Rope        struct {
		Full    theta `json:"full_attention"`
		Sliding theta `json:"sliding_attention"`
	} `json:"rope_parameters"` // in their stead, from transformers 5 on
	AttentionBias bool `json:"attention_bias"`
	InnerBias     bool `json:"mlp_bias"`
	NormBias      bool `json:"norm_bias"`
}

type theta struct {
	Theta float64 `json:"rope_theta"`
}

func readModernConfig(data []byte) (*modernConfig, error) {
	c := &modernConfig{Activation: "gelu", Epsilon: 1e-5, Window: 128, Period: 3, GlobalTheta: 160000, LocalTheta: 10000}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("not a config.json: %v", err)
	}
	if c.Rope.Full.Theta > 0 && c.Rope.Sliding.Theta > 0 {
		c.GlobalTheta, c.LocalTheta = c.Rope.Full.Theta, c.Rope.Sliding.Theta
	}
	switch {
	case c.Activation != "gelu":
		return nil, fmt.Errorf("its activation is %.40q; only gelu is converted", c.Activation)
	case c.AttentionBias || c.InnerBias || c.NormBias:
		return nil, fmt.Errorf("it has biases, which llama.cpp %s has no place for", LlamaVersion)
	case !(c.Epsilon > 0 && c.Epsilon < 1) || !(c.GlobalTheta > 0 && c.LocalTheta > 0):
		return nil, fmt.Errorf("its norm_eps or rope_theta makes no sense: %v, %v, %v", c.Epsilon, c.GlobalTheta, c.LocalTheta)
	}
	return c, checkSizes([]sizeBound{
		{"hidden_size", c.Width, 1 << 16}, {"intermediate_size", c.Inner, 1 << 18}, {"num_hidden_layers", c.Layers, 512},
		{"num_attention_heads", c.Heads, 512}, {"max_position_embeddings", c.MaxPosition, 1 << 20},
		{"vocab_size", c.Vocabulary, 1 << 24}, {"local_attention", c.Window, 1 << 20},
		{"global_attn_every_n_layers", c.Period, 512},
	}, c.Width, c.Heads)
}

// tensors lists what a model of this shape has, in the order that it is written.
func (c *modernConfig) tensors() []bertTensor {
	list := []bertTensor{
		{"embeddings.tok_embeddings.weight", "token_embd.weight", []int64{c.Vocabulary, c.Width}},
		{"embeddings.norm.weight", "token_embd_norm.weight", []int64{c.Width}},
	}
	for i := range c.Layers {
		for _, part := range []bertTensor{
			{"attn_norm", "attn_norm", []int64{c.Width}}, // of the first layer it is the identity, and not there
			{"attn.Wqkv", "attn_qkv", []int64{3 * c.Width, c.Width}},
			{"attn.Wo", "attn_output", []int64{c.Width, c.Width}},
			{"mlp_norm", "ffn_norm", []int64{c.Width}},
			{"mlp.Wi", "ffn_up", []int64{2 * c.Inner, c.Width}},
			{"mlp.Wo", "ffn_down", []int64{c.Width, c.Inner}},
		} {
			if i > 0 || part.from != "attn_norm" {
				list = append(list, bertTensor{fmt.Sprintf("layers.%d.%s.weight", i, part.from),
					fmt.Sprintf("blk.%d.%s.weight", i, part.to), part.shape})
			}
		}
	}
	return append(list, bertTensor{"final_norm.weight", "output_norm.weight", []int64{c.Width}})
}

func (c *modernConfig) fields(name string, pooling uint32) []Field {
	const arch = "modern-bert."
	return []Field{
		{"general.architecture", "modern-bert"},
		{"general.name", name},
		{"general.quantization_version", uint32(2)},
		{arch + "vocab_size", uint32(c.Vocabulary)},
		{arch + "block_count", uint32(c.Layers)},
		{arch + "context_length", uint32(c.MaxPosition)},
		{arch + "embedding_length", uint32(c.Width)},
		{arch + "feed_forward_length", uint32(c.Inner)},
		{arch + "attention.head_count", uint32(c.Heads)},
		{arch + "attention.layer_norm_epsilon", float32(c.Epsilon)},
		{arch + "attention.causal", false},
		{arch + "attention.sliding_window", uint32(c.Window)},
		{arch + "attention.sliding_window_pattern", uint32(c.Period)},
		{arch + "rope.freq_base", float32(c.GlobalTheta)},
		{arch + "rope.freq_base_swa", float32(c.LocalTheta)},
		{arch + "rope.scaling.type", "none"},
		{arch + "pooling_type", pooling},
	}
}

// convertModernBERT writes a ModernBERT. One that classifies is written without its head and without a way of pooling.
func convertModernBERT(w io.Writer, dir, name string, about *classifierConfig) (note string, err error) {
	c, err := parseFile(filepath.Join(dir, "config.json"), readModernConfig)
	if err != nil {
		return "", err
	}
	vocab, err := parseFile(filepath.Join(dir, "tokenizer.json"), func(data []byte) (*bytePair, error) {
		return readBytePair(data, "modern-bert", c.Vocabulary)
	})
	if err != nil {
		return "", err
	}
	pooling, note, err := about.pooling(dir)
	if err != nil {
		return "", err
	}
	if vocab.nfc {
		note = strings.TrimPrefix(note+"; texts are not brought into Unicode's form NFC, as its tokenizer would", "; ")
	}
	f, tensors, err := openSafetensors(dir)
	if err != nil {
		return "", err
	}
	defer f.Close()
	have := map[string]*safetensor{}
	for name, t := range tensors {
		have[bare(name)] = t
	}
	sources, err := pairTensors(have, c.tensors(), "head.", "decoder.", "classifier.")
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name(), err)
	}
	return note, Write(w, append(c.fields(name, pooling), vocab.fields()...), sources)
}

// pooling is llama.cpp's number for how token vectors become a text's: none of a classifier, whose head does that.
func (c *classifierConfig) pooling(dir string) (pooling uint32, note string, err error) {
	if c.classifies() {
		return 0, "", nil
	}
	return bertPooling(dir)
}

// classifies reports whether the model has a head for texts or tokens.
func (c *classifierConfig) classifies() bool {
	return c.is("SequenceClassification") || c.is("TokenClassification")
}
