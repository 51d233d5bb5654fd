package llama

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// EmbedTokens returns each text's tokens with a vector for each: what the model's last layer says of it, before
// any pooling. See [backend.Backend].
func (e *Engine) EmbedTokens(ctx context.Context, texts []string) ([]backend.TokenVectors, error) {
	if !e.info.Ops.Has(backend.CanEmbedTokens) {
		return nil, backend.Unsupported(e.info, backend.CanEmbedTokens)
	}
	for i, text := range texts {
		if err := backend.CheckText(text); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	framed, err := e.frame(ctx, texts)
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	j := &textJob{ctx: ctx, each: true, done: make(chan reading, 1)}
	for _, f := range framed {
		if len(f.pieces) > 0 {
			j.texts = append(j.texts, f.tokens)
		}
	}
	var vectors [][][]float32
	if len(j.texts) > 0 {
		if vectors, err = e.vectors(ctx, j); err != nil {
			return nil, err
		}
	}
	answer := make([]backend.TokenVectors, len(texts))
	for i, f := range framed {
		if n := len(f.pieces); n > 0 {
			answer[i] = backend.TokenVectors{Tokens: f.pieces, Vectors: vectors[0][f.start : f.start+n]}
			vectors = vectors[1:]
		}
	}
	return answer, nil
}

// A framedText is a text's tokens among those that the model wants around every text.
type framedText struct {
	tokens []llama.Token // all of them
	start  int           // the text's own are tokens[start:start+len(pieces)]
	pieces []string      // of the text's own
}

// frame cuts texts into tokens. One that is too long is an error.
func (e *Engine) frame(ctx context.Context, texts []string) ([]framedText, error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	vocab := e.model.vocab
	list := make([]framedText, len(texts))
	for i, text := range texts {
		if err := e.refuse(ctx); err != nil {
			return nil, err
		}
		tokens, own := vocab.tokens(text, true), vocab.tokens(text, false)
		if len(tokens) > e.info.Context {
			return nil, fmt.Errorf("text %d: %w", i, &backend.TooLongError{Tokens: len(tokens), Limit: e.info.Context})
		}
		start := 0
		for !slices.Equal(tokens[start:min(start+len(own), len(tokens))], own) {
			start++
			if start == len(tokens) {
				return nil, fmt.Errorf("text %d: the model's vocabulary cuts it in another way without its end marks", i)
			}
		}
		list[i] = framedText{tokens: tokens, start: start}
		for _, t := range own {
			piece := vocab.piece(t)
			if len(piece) == 0 { // it stands for whatever the vocabulary lacks
				piece = []byte(vocab.spelling(t))
			}
			list[i].pieces = append(list[i].pieces, spelt(piece))
		}
	}
	return list, nil
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
		if vectors[i], err = unit(v); err != nil {
			return nil, err
		}
		for k, x := range vectors[i] {
			vectors[i][k] = short(x)
		}
	}
	return vectors, nil
}

// short rounds to the eight significant bits of a bfloat16. Cosines hardly move (by some 0.0001), and the many
// vectors of a text take half the room in the cache.
func short(x float32) float32 {
	bits := math.Float32bits(x)
	return math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
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
