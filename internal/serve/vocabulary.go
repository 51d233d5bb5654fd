package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/openai/wire"
)

// cuts checks that the model that a request names is there and that its vocabulary is known.
func (s *Server) cuts(model string) error {
	if err := offered(s.models.Judge, model, "model"); err != nil {
		return err
	}
	if s.models.Vocabulary == nil {
		return backend.Unsupported(s.models.Judge.Info(), backend.CanReadTokens)
	}
	return nil
}

// tokenize answers /tokenize.
func (s *Server) tokenize(ctx context.Context, in *wire.TokenizeRequest) (any, error) {
	if err := s.cuts(in.Model); err != nil {
		return nil, err
	}
	start := in.AddSpecialTokens == nil || *in.AddSpecialTokens
	tokens, err := s.models.Vocabulary.Tokenize(ctx, in.Prompt, start, true)
	if err != nil {
		return nil, err
	}
	return &wire.Tokenized{Count: len(tokens), MaxModelLen: s.models.Judge.Info().Context, Tokens: tokens}, nil
}

// detokenize answers /detokenize. The space that a vocabulary has texts begin with is left out, so that the text is cut
// into the same tokens again.
func (s *Server) detokenize(ctx context.Context, in *wire.DetokenizeRequest) (any, error) {
	if err := s.cuts(in.Model); err != nil {
		return nil, err
	}
	pieces, err := s.models.Vocabulary.Pieces(ctx, in.Tokens)
	if err != nil {
		return nil, err
	}
	begun := 0 // pieces before the text
	for begun < len(pieces) && pieces[begun].Special {
		begun++
	}
	text := spell(pieces[begun:], true)
	if rest, spaced := strings.CutPrefix(text, " "); spaced {
		again, err := s.models.Vocabulary.Tokenize(ctx, rest, false, true)
		if err != nil {
			return nil, err
		}
		// The space is the vocabulary's own if the text has it without being given it.
		if own, err := s.models.Vocabulary.Pieces(ctx, again); err == nil && spell(own, true) == text {
			text = rest
		}
	}
	return &wire.Detokenized{Prompt: spell(pieces[:begun], true) + text}, nil
}

// tokenizerInfo answers /tokenizer_info.
func (s *Server) tokenizerInfo(w http.ResponseWriter, r *http.Request) {
	err := s.cuts("")
	var begin, end, template string
	if err == nil {
		begin, end, template, err = s.models.Vocabulary.Specials(r.Context())
	}
	if err != nil {
		status := statusOf(err, http.StatusInternalServerError)
		if errors.Is(err, errors.ErrUnsupported) {
			status = http.StatusNotFound // clients take this for a server that has no such route
		}
		fail(w, status, errorOf(err))
		return
	}
	known := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	send(w, http.StatusOK, &wire.TokenizerInfo{BOSToken: known(begin), EOSToken: known(end), ChatTemplate: known(template)})
}
