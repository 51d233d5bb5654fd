package gguf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-eval/assay/models/head"
)

// bertConfig is the part of a BERT model's config.json that its layout needs.
type bertConfig struct {
	Type        string  `json:"model_type"`
	Activation  string  `json:"hidden_act"`
	Positions   string  `json:"position_embedding_type"`
	Width       int64   `json:"hidden_size"`
	Inner       int64   `json:"intermediate_size"`
	Layers      int64   `json:"num_hidden_layers"`
	Heads       int64   `json:"num_attention_heads"`
	MaxPosition int64   `json:"max_position_embeddings"`
	TypeVocab   int64   `json:"type_vocab_size"`
	Epsilon     float64 `json:"layer_norm_eps"`
	Vocabulary  int64   `json:"vocab_size"`
	Pad         *int64  `json:"pad_token_id"`
}

func readBertConfig(data []byte) (*bertConfig, error) {
	c := new(bertConfig)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("not a config.json: %v", err)
	}
	switch {
	case c.Type != "bert" && c.Type != "roberta":
		return nil, fmt.Errorf("its model_type is %q; only bert, roberta and modernbert are converted: "+
			"fetch a GGUF file of this model", c.Type)
	case c.Pad != nil && (*c.Pad < 0 || *c.Pad >= c.MaxPosition-1):
		return nil, fmt.Errorf("its pad_token_id is %d, beyond its %d positions", *c.Pad, c.MaxPosition)
	case c.Activation != "gelu":
		return nil, fmt.Errorf("its activation is %q, where llama.cpp has gelu", c.Activation)
	case c.Positions != "" && c.Positions != "absolute":
		return nil, fmt.Errorf("its positions are %q, where llama.cpp has absolute ones", c.Positions)
	case !(c.Epsilon > 0 && c.Epsilon < 1):
		return nil, fmt.Errorf("its layer_norm_eps is %v", c.Epsilon)
	}
	return c, checkSizes([]sizeBound{
		{"hidden_size", c.Width, 1 << 16},
		{"intermediate_size", c.Inner, 1 << 18},
		{"num_hidden_layers", c.Layers, 512},
		{"num_attention_heads", c.Heads, 512},
		{"max_position_embeddings", c.MaxPosition, 1 << 20},
		{"type_vocab_size", c.TypeVocab, 1 << 10},
		{"vocab_size", c.Vocabulary, 1 << 24},
	}, c.Width, c.Heads)
}

// A sizeBound is a size that a config.json gives, and the most that it may be.
type sizeBound struct {
	name  string
	value int64
	most  int64
}

// checkSizes reports a size out of bounds, and a width that does not divide into heads.
func checkSizes(list []sizeBound, width, heads int64) error {
	for _, f := range list {
		if f.value < 1 || f.value > f.most {
			return fmt.Errorf("its %s is %d, not in 1 to %d", f.name, f.value, f.most)
		}
	}
	if width%heads != 0 {
		return fmt.Errorf("its hidden_size %d does not divide into %d heads", width, heads)
	}
	return nil
}

// A bertTensor is one tensor of a BERT model: its two names and its shape as PyTorch counts.
type bertTensor struct {
	from, to string
	shape    []int64
}

// tensors lists what a model of this shape has, in the order that it is written.
func (c *bertConfig) tensors() []bertTensor {
	list := []bertTensor{
		{"embeddings.word_embeddings.weight", "token_embd.weight", []int64{c.Vocabulary, c.Width}},
		{"embeddings.token_type_embeddings.weight", "token_types.weight", []int64{c.TypeVocab, c.Width}},
		{"embeddings.position_embeddings.weight", "position_embd.weight", []int64{c.MaxPosition, c.Width}},
		{"embeddings.LayerNorm.weight", "token_embd_norm.weight", []int64{c.Width}},
		{"embeddings.LayerNorm.bias", "token_embd_norm.bias", []int64{c.Width}},
	}
	for i := range c.Layers {
		for _, part := range []struct {
			from, to string
			shape    []int64
		}{
			{"attention.self.query", "attn_q", []int64{c.Width, c.Width}},
			{"attention.self.key", "attn_k", []int64{c.Width, c.Width}},
			{"attention.self.value", "attn_v", []int64{c.Width, c.Width}},
			{"attention.output.dense", "attn_output", []int64{c.Width, c.Width}},
			{"attention.output.LayerNorm", "attn_output_norm", []int64{c.Width}},
			{"intermediate.dense", "ffn_up", []int64{c.Inner, c.Width}},
			{"output.dense", "ffn_down", []int64{c.Width, c.Inner}},
			{"output.LayerNorm", "layer_output_norm", []int64{c.Width}},
		} {
			from := fmt.Sprintf("encoder.layer.%d.%s", i, part.from)
			to := fmt.Sprintf("blk.%d.%s", i, part.to)
			list = append(list,
				bertTensor{from + ".weight", to + ".weight", part.shape},
				bertTensor{from + ".bias", to + ".bias", part.shape[:1]})
		}
	}
	return list
}

// fields is the model's metadata, its vocabulary not included.
func (c *bertConfig) fields(name string, pooling uint32, segments int64) []Field {
	return []Field{
		{"general.architecture", "bert"},
		{"general.name", name},
		{"general.quantization_version", uint32(2)},
		{"bert.block_count", uint32(c.Layers)},
		{"bert.context_length", uint32(c.MaxPosition)},
		{"bert.embedding_length", uint32(c.Width)},
		{"bert.feed_forward_length", uint32(c.Inner)},
		{"bert.attention.head_count", uint32(c.Heads)},
		{"bert.attention.layer_norm_epsilon", float32(c.Epsilon)},
		{"bert.attention.causal", false},
		{"bert.pooling_type", pooling},
		{"tokenizer.ggml.token_type_count", uint32(segments)},
	}
}

// Convert writes the model of a Hugging Face folder as GGUF: a BERT (see [ConvertBERT]), RoBERTa or ModernBERT, to embed
// or to classify. The head of a classifier that llama.cpp would not compute as its makers did is returned beside it.
func Convert(w io.Writer, dir, name string) (note string, h *head.Head, err error) {
	about, err := readClassifierConfig(dir)
	if err != nil {
		return "", nil, err
	}
	convert := convertRoBERTa
	switch about.Type {
	case "roberta":
	case "modernbert":
		convert = convertModernBERT
	default:
		note, err = ConvertBERT(w, dir, name)
		return note, nil, err
	}
	if about.classifies() {
		if h, err = ReadHead(dir); err != nil {
			return "", nil, err
		}
	}
	note, err = convert(w, dir, name, about)
	return note, h, err
}

// ConvertBERT writes a BERT model as GGUF, the way llama.cpp lays one out. The folder holds config.json, tokenizer.json
// and one safetensors file. An embedding model may have 1_Pooling/config.json; where that is missing, token vectors are
// averaged, as sentence-transformers does with a bare model; note says so.
//
// A classifier or reranker keeps its pooler, as the layer before the last that llama.cpp has a place for. Since llama.cpp
// reads all text as BERT's segment A, its vocabulary is written twice, with the difference between the segments
// added to the second copy's vectors; Info.SegmentB says where that starts.
//
// One difference to the original remains, in llama.cpp's tokenizer: a word of more than 100 letters is one
// unknown token to BERT's, and is cut into pieces there.
func ConvertBERT(w io.Writer, dir, name string) (note string, err error) {
	config, err := parseFile(filepath.Join(dir, "config.json"), readBertConfig)
	if err != nil {
		return "", err
	}
	if config.Type != "bert" {
		return "", fmt.Errorf("its model_type is %q, not bert", config.Type)
	}
	vocab, err := parseFile(filepath.Join(dir, "tokenizer.json"), readWordPiece)
	if err != nil {
		return "", err
	}
	if int64(len(vocab.tokens)) != config.Vocabulary {
		return "", fmt.Errorf("tokenizer.json has %d tokens and config.json says %d: the files do not belong together",
			len(vocab.tokens), config.Vocabulary)
	}
	f, tensors, err := openSafetensors(dir)
	if err != nil {
		return "", err
	}
	defer f.Close()
	have := bertNames(tensors)
	if have["classifier.weight"] != nil {
		fields, sources, err := config.classifier(dir, name, vocab, have)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.Name(), err)
		}
		return "", Write(w, fields, sources)
	}
	pooling, note, err := bertPooling(dir)
	if err != nil {
		return "", err
	}
	sources, err := config.sources(have, config.tensors())
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name(), err)
	}
	return note, Write(w, append(config.fields(name, pooling, config.TypeVocab), vocab.fields(0)...), sources)
}

// bertNames are a file's tensors by the names that they have in a bare model.
func bertNames(tensors map[string]*safetensor) map[string]*safetensor {
	have := map[string]*safetensor{}
	for name, t := range tensors {
		name = strings.TrimPrefix(name, "bert.")
		if stem, ok := strings.CutSuffix(name, ".gamma"); ok { // as TensorFlow calls them
			name = stem + ".weight"
		} else if stem, ok := strings.CutSuffix(name, ".beta"); ok {
			name = stem + ".bias"
		}
		have[name] = t
	}
	return have
}

// sources pairs the tensors that the model must have with those that are there.
func (c *bertConfig) sources(have map[string]*safetensor, all []bertTensor) ([]TensorSource, error) {
	// Of no use here: constants, and the heads that BERT was trained with.
	return pairTensors(have, all, "embeddings.position_ids", "pooler.", "cls.predictions.", "cls.seq_relationship.")
}

// pairTensors pairs the tensors that a model must have with those that are there. Of others that are there, only those
// whose names begin with one of useless may be.
func pairTensors(have map[string]*safetensor, all []bertTensor, useless ...string) ([]TensorSource, error) {
	var out []TensorSource
	used := map[string]bool{}
	for _, want := range all {
		t := have[want.from]
		if t == nil {
			return nil, fmt.Errorf("tensor %s is not there: the file and config.json do not belong together", want.from)
		}
		used[want.from] = true
		if fmt.Sprint(t.Shape) != fmt.Sprint(want.shape) {
			return nil, fmt.Errorf("tensor %s has shape %v where config.json makes it %v",
				want.from, t.Shape, want.shape)
		}
		out = append(out, source(want, t))
	}
	for name := range have {
		if !used[name] && !slices.ContainsFunc(useless, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return nil, fmt.Errorf("tensor %s has no place in an embedding model or a classifier of texts: "+
				"other models are not converted", name)
		}
	}
	return out, nil
}

// source keeps matrices at 16 bits where they are that already. Vectors, and the tables that are added
// to the token's vector, are 32 bits wide, since ggml adds them so.
func source(want bertTensor, t *safetensor) TensorSource {
	target := F32
	if t.DType == "F16" && len(want.shape) == 2 && want.to != "token_types.weight" &&
		want.to != "position_embd.weight" {
		target = F16
	}
	shape := make([]int64, len(want.shape))
	for i, n := range want.shape {
		shape[len(shape)-1-i] = n
	}
	return TensorSource{
		Name: want.to, Type: target, Shape: shape,
		Write: func(w io.Writer) error { return t.write(w, target) },
	}
}

// bertPooling is llama.cpp's number for how token vectors become a text's, and a note if that is a guess.
func bertPooling(dir string) (pooling uint32, note string, err error) {
	data, err := readJSON(filepath.Join(dir, "1_Pooling", "config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return 1, "mean pooling, since the folder has no 1_Pooling/config.json", nil
	}
	if err != nil {
		return 0, "", err
	}
	var modes struct {
		Mean bool `json:"pooling_mode_mean_tokens"`
		CLS  bool `json:"pooling_mode_cls_token"`
		Last bool `json:"pooling_mode_lasttoken"`
	}
	if err := json.Unmarshal(data, &modes); err != nil {
		return 0, "", fmt.Errorf("1_Pooling/config.json: %v", err)
	}
	switch {
	case modes.Mean && !modes.CLS && !modes.Last:
		return 1, "", nil
	case modes.CLS && !modes.Mean && !modes.Last:
		return 2, "", nil
	case modes.Last && !modes.Mean && !modes.CLS:
		return 3, "", nil
	}
	return 0, "", errors.New("1_Pooling/config.json names no pooling that llama.cpp has: mean, cls or last token")
}
