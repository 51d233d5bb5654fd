package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// classifier is a classifier or reranker as GGUF: fields and tensors.
func (c *bertConfig) classifier(dir, name string, vocab *wordPiece, have map[string]*safetensor) (
	[]Field, []TensorSource, error,
) {
	about, err := readClassifierConfig(dir)
	if err != nil {
		return nil, nil, err
	}
	last := have["classifier.weight"]
	switch {
	case about.is("TokenClassification"):
		return nil, nil, errors.New("it classifies tokens, and llama.cpp has no head for these: only a classifier of " +
			"texts or pairs is converted")
	case have["pooler.dense.weight"] == nil:
		return nil, nil, errors.New("it has a classification head and no pooler, which BERT's head reads: " +
			"fetch the whole model")
	case len(last.Shape) != 2 || last.Shape[0] < 1 || last.Shape[0] > 1<<12:
		return nil, nil, fmt.Errorf("tensor classifier.weight has the shape %v", last.Shape)
	}
	outputs := last.Shape[0]
	labels, err := about.labels(int(outputs))
	if err != nil {
		return nil, nil, err
	}
	types := have["embeddings.token_type_embeddings.weight"]
	all := append(c.tensors(),
		bertTensor{"pooler.dense.weight", "cls.weight", []int64{c.Width, c.Width}},
		bertTensor{"pooler.dense.bias", "cls.bias", []int64{c.Width}},
		bertTensor{"classifier.weight", "cls.output.weight", []int64{outputs, c.Width}},
		bertTensor{"classifier.bias", "cls.output.bias", []int64{outputs}})
	words := have["embeddings.word_embeddings.weight"]
	sources, err := c.sources(have, all)
	if err != nil {
		return nil, nil, err
	}
	copies := 0
	if c.TypeVocab > 1 {
		copies = 1
		if err := c.addSegment(sources, words, types); err != nil {
			return nil, nil, err
		}
	}
	const rank = 4
	fields := append(c.fields(name, rank, 1), vocab.fields(copies)...)
	fields = append(fields, // a pair is [CLS] first text [SEP] second text [SEP]
		Field{"tokenizer.ggml.eos_token_id", vocab.special["[SEP]"]},
		Field{"tokenizer.ggml.add_eos_token", true},
		Field{"tokenizer.ggml.add_sep_token", false})
	if labels != nil {
		fields = append(fields, Field{"bert.classifier.output_labels", labels})
	}
	if a := about.activation(int(outputs)); a != "" {
		fields = append(fields, Field{activationKey, a})
	}
	if copies > 0 {
		fields = append(fields, Field{segmentKey, uint32(c.Vocabulary)})
	}
	return fields, sources, nil
}

// addSegment leaves one row of the token types, segment A's, and writes the token vectors twice: as they are, and
// for segment B with what its row differs by. They become 32 bits wide, so that nothing is lost by that.
func (c *bertConfig) addSegment(sources []TensorSource, words, types *safetensor) error {
	table, err := types.floats(2 * c.Width)
	if err != nil {
		return fmt.Errorf("tensor embeddings.token_type_embeddings.weight: %w", err)
	}
	first, difference := table[:c.Width], make([]float32, c.Width)
	for i := range difference {
		difference[i] = table[c.Width+int64(i)] - first[i]
	}
	none := make([]float32, c.Width)
	for i := range sources {
		switch s := &sources[i]; s.Name {
		case "token_types.weight":
			s.Shape = []int64{c.Width, 1}
			s.Write = func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, first) }
		case "token_embd.weight":
			s.Type, s.Shape = F32, []int64{c.Width, 2 * c.Vocabulary}
			s.Write = func(w io.Writer) error {
				for _, add := range [][]float32{none, difference} {
					if err := words.write(&adder{w: w, row: add}, F32); err != nil {
						return err
					}
				}
				return nil
			}
		}
	}
	return nil
}

// An adder adds a row to each row of float32 numbers that passes through it. Writes end at whole numbers.
type adder struct {
	w   io.Writer
	row []float32
	at  int // in row
}

func (a *adder) Write(b []byte) (int, error) {
	if len(b)%4 != 0 {
		return 0, errors.New("a number is cut in two")
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i += 4 {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v+a.row[a.at]))
		a.at = (a.at + 1) % len(a.row)
	}
	return a.w.Write(out)
}
