package llama

import (
	"context"
	"strings"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/chat"
)

// Tokenize cuts a text into tokens. See [backend.Vocabulary].
func (e *Engine) Tokenize(ctx context.Context, text string, start, special bool) ([]int32, error) {
	if err := backend.CheckText(text); err != nil {
		return nil, err
	}
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	cut := e.model.vocab.cut
	if start {
		cut = e.model.vocab.prompt
	}
	ids := []int32{}
	for _, token := range cut([]chat.Part{{Text: text, Template: special}}) {
		ids = append(ids, int32(token))
	}
	return ids, nil
}

// Pieces are what tokens stand for. See [backend.Vocabulary].
func (e *Engine) Pieces(ctx context.Context, tokens []int32) ([]backend.Piece, error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	list, err := e.known(tokens)
	if err != nil {
		return nil, err
	}
	pieces := make([]backend.Piece, len(list))
	for i, token := range list {
		pieces[i].Text = e.model.vocab.piece(token)
		if attr := llama.VocabGetAttr(e.model.vocab.handle, token); attr&(llama.TokenAttrControl|llama.TokenAttrUnknown) != 0 {
			pieces[i] = backend.Piece{Text: []byte(e.model.vocab.spelling(token)), Special: true}
		}
	}
	return pieces, nil
}

// Specials are the spellings of special tokens, and the chat template. See [backend.Vocabulary].
func (e *Engine) Specials(ctx context.Context) (begin, end, template string, err error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return "", "", "", err
	}
	defer leave()
	v := e.model.vocab
	return v.spelling(llama.VocabBOS(v.handle)), v.spelling(llama.VocabEOS(v.handle)),
		strings.ToValidUTF8(llama.ModelChatTemplate(e.model.handle, ""), "\uFFFD"), nil
}

// known returns tokens that the vocabulary has.
func (e *Engine) known(tokens []int32) ([]llama.Token, error) {
	list := make([]llama.Token, len(tokens))
	for i, id := range tokens {
		if id < 0 || int(id) >= e.model.vocab.size {
			return nil, backend.UnknownID(e.info, id, e.model.vocab.size)
		}
		list[i] = llama.Token(id)
	}
	return list, nil
}
