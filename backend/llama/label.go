package llama

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
)

// label cuts a pair into tokens, and finds those of its text and where they stand in it.
func (m *model) label(p backend.Pair) (input, error) {
	tokens, err := m.pair(p)
	if err != nil {
		return input{}, err
	}
	own := m.vocab.tokens(p.Text, false)
	in := input{tokens: tokens, framed: true, start: lastIndex(tokens, own)}
	if in.start < 0 {
		return input{}, errors.New("the model's vocabulary cuts a text in another way where it stands in a pair")
	}
	for _, t := range own {
		in.pieces = append(in.pieces, string(m.vocab.piece(t)))
	}
	in.spans, err = spans(p.Text, in.pieces)
	return in, err
}

// lastIndex is where part stands in whole the last time, -1 if nowhere.
func lastIndex(whole, part []llama.Token) int {
	for i := len(whole) - len(part); i >= 0; i-- {
		if common(whole[i:], part) == len(part) {
			return i
		}
	}
	return -1
}

// spans finds pieces in the text that they spell: see [backend.Encoded]. Vocabularies may add white space before a text
// and change how much there is between words; apart from that they must spell it as it is.
func spans(text string, pieces []string) ([]backend.Span, error) {
	list := make([]backend.Span, len(pieces))
	at := 0
	for i, piece := range pieces {
		if word := strings.TrimLeftFunc(piece, unicode.IsSpace); word != "" {
			piece = word
			at = len(text) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
		} else if !strings.HasPrefix(text[at:], piece) {
			piece = ""
		}
		if !strings.HasPrefix(text[at:], piece) {
			return nil, fmt.Errorf("%w: the model's vocabulary spells the text in another way (it has %.40q at %.40q), so "+
				"that its tokens have no place in it", backend.ErrInvalid, piece, text[at:])
		}
		low, high := at, at+len(piece)
		at = high
		for low > 0 && low < len(text) && !utf8.RuneStart(text[low]) {
			low--
		}
		for high < len(text) && !utf8.RuneStart(text[high]) {
			high++
		}
		list[i] = backend.Span{Low: low, High: high}
	}
	return list, nil
}

// readLabels computes what the head says of each token.
func (r *reader) readLabels(tokens []llama.Token) ([][]float32, error) {
	if err := r.compute(&r.runner, tokens); err != nil {
		return nil, err
	}
	list := make([][]float32, len(tokens))
	for i := range list {
		v, err := llama.GetEmbeddingsIth(r.ctx, int32(i), int32(r.width))
		if err == nil && v == nil {
			err = errors.New("llama.cpp gave no vector for a token")
		}
		if err != nil {
			return nil, err
		}
		if list[i], err = r.head.Apply(v); err != nil {
			return nil, err
		}
		if list[i], err = finite(list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}
