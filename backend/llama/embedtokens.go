package llama

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assay-eval/assay/backend"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// frame cuts a text into tokens and finds its own among the special tokens that the model wants around it.
func (m *model) frame(text string) (input, error) {
	vocab := m.vocab
	in := input{tokens: vocab.tokens(text, true), framed: true}
	own := vocab.tokens(text, false)
	for !slices.Equal(in.tokens[in.start:min(in.start+len(own), len(in.tokens))], own) {
		in.start++
		if in.start == len(in.tokens) {
			return input{}, errors.New("the model's vocabulary cuts it in another way without its end marks")
		}
	}
	for _, t := range own {
		piece := vocab.piece(t)
		if len(piece) == 0 { // it stands for whatever the vocabulary lacks
			piece = []byte(vocab.spelling(t))
		}
		in.pieces = append(in.pieces, spelt(piece))
	}
	return in, nil
}

// spelt returns a token's bytes as text: those that are no character by themselves as <0xE6>.
func spelt(piece []byte) string {
	if utf8.Valid(piece) {
		return string(piece)
	}
	var b strings.Builder
	for len(piece) > 0 {
		r, n := utf8.DecodeRune(piece)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, "<0x%02X>", piece[0])
		} else {
			b.Write(piece[:n])
		}
		piece = piece[n:]
	}
	return b.String()
}

// readEach computes a vector for each of a text's tokens.
func (r *reader) readEach(tokens []llama.Token) ([][]float32, error) {
	if r.each == nil {
		each, err := r.newEach()
		if err != nil {
			return nil, err
		}
		r.each = each
	}
	if err := r.compute(r.each, tokens); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(tokens))
	for i := range vectors {
		v, err := llama.GetEmbeddingsIth(r.each.ctx, int32(i), int32(r.width))
		if err == nil && v == nil {
			err = errors.New("llama.cpp gave no vector for a token")
		}
		if err != nil {
			return nil, err
		}
		if vectors[i], err = backend.UnitVector(v); err != nil {
			return nil, err
		}
		for k, x := range vectors[i] {
			vectors[i][k] = backend.Brief(x)
		}
	}
	return vectors, nil
}

// newEach makes the context in which each token has a vector. A context pools or it does not, for good, so this
// is one beside the reader's own. It is made when it is first needed.
func (m *model) newEach(p *plan) (*runner, error) {
	c := readerParams(p)
	c.PoolingType = llama.PoolingTypeNone
	create := m.plainContext
	if m.flash {
		create = m.flashContext
	}
	ctx, err := create(c)
	if err != nil {
		return nil, err
	}
	return &runner{ctx, newPacer(m.threads, p.Threads > 0)}, nil
}
