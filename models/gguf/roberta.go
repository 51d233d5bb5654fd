package gguf

import (
	"fmt"
	"io"
	"path/filepath"
)

// convertRoBERTa writes a RoBERTa: a BERT of one segment with byte pair encoding, whose first positions are not used. One
// that classifies is written without its head and without a way of pooling.
func convertRoBERTa(w io.Writer, dir, name string, about *classifierConfig) (note string, err error) {
	c, err := parseFile(filepath.Join(dir, "config.json"), readBertConfig)
	if err != nil {
		return "", err
	}
	if c.TypeVocab != 1 {
		return "", fmt.Errorf("its type_vocab_size is %d, and llama.cpp %s reads all text as one segment: only 1 is "+
			"converted", c.TypeVocab, LlamaVersion)
	}
	vocab, err := parseFile(filepath.Join(dir, "tokenizer.json"), func(data []byte) (*bytePair, error) {
		return readBytePair(data, "roberta-bpe", c.Vocabulary)
	})
	if err != nil {
		return "", err
	}
	pooling, note, err := about.pooling(dir)
	if err != nil {
		return "", err
	}
	f, tensors, err := openSafetensors(dir)
	if err != nil {
		return "", err
	}
	defer f.Close()
	have := map[string]*safetensor{}
	for name, t := range bertNames(tensors) {
		have[bare(name)] = t
	}
	const positions = "embeddings.position_embeddings.weight"
	unused := int64(1) // positions are counted from the one after padding's
	if c.Pad != nil {
		unused += *c.Pad
	} else {
		unused++
	}
	if t := have[positions]; t != nil {
		if have[positions], err = t.after(unused); err != nil {
			return "", fmt.Errorf("%s: tensor %s: %w", f.Name(), positions, err)
		}
	}
	c.MaxPosition -= unused
	sources, err := pairTensors(have, c.tensors(),
		"embeddings.position_ids", "embeddings.token_type_ids", "pooler.", "lm_head.", "classifier.")
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name(), err)
	}
	return note, Write(w, append(c.fields(name, pooling, 1), vocab.fields()...), sources)
}
