package bert

import (
	"fmt"
	"math"
	"slices"

	"github.com/assay-eval/assay/internal/tokenizer"
	"github.com/assay-eval/assay/models/gguf"
)

// The types of tokens whose spelling in a text is not looked for: pieces of words, and tokens that stand for no text.
const (
	normalToken  = 1
	unknownToken = 2
	controlToken = 3
	unusedToken  = 5
)

// Tokenizer returns the tokenizer of the file's vocabulary, which gives the tokens that llama.cpp does. Its error wraps
// [ErrOther] where it cannot.
func (m *Model) Tokenizer() (tokenizer.Tokenizer, error) {
	h := m.Header
	tokens, _ := h.Strings("tokenizer.ggml.tokens")
	types, _ := h.Ints("tokenizer.ggml.token_type")
	kind, _ := h.String("tokenizer.ggml.model")
	switch {
	case kind != "bert":
		return nil, other("its tokenizer is %q", kind)
	case len(tokens) == 0:
		return nil, other("it has no vocabulary")
	case h.Value("tokenizer.chat_template.rerank") != nil:
		return nil, other("it puts pairs into a template")
	case slices.ContainsFunc(types, func(t int64) bool {
		return t != normalToken && t != unknownToken && t != controlToken && t != unusedToken
	}):
		return nil, other("its vocabulary has tokens that texts can spell")
	}
	lower := flag(h, "normalizer.lowercase", true)
	sep := id(h, "seperator_token_id", 102) // llama.cpp spells it so
	v := &tokenizer.LlamaCPP{
		Tokens: tokens, Lowercase: lower, StripAccents: flag(h, "normalizer.strip_accents", lower),
		BOS: id(h, "bos_token_id", 101), EOS: id(h, "eos_token_id", sep), Sep: sep, Unknown: id(h, "unknown_token_id", 100),
		AddBOS: flag(h, "add_bos_token", true), AddEOS: flag(h, "add_eos_token", false),
		AddSep: flag(h, "add_sep_token", true), SegmentB: m.Info.SegmentB,
	}
	t, err := v.Tokenizer()
	if err != nil {
		return nil, fmt.Errorf("its vocabulary: %w", err)
	}
	return t, nil
}

// flag is a field of the tokenizer, or what llama.cpp takes where it is not there.
func flag(h *gguf.Header, name string, otherwise bool) bool {
	if v, ok := h.Bool("tokenizer.ggml." + name); ok {
		return v
	}
	return otherwise
}

// id is likewise a token's.
func id(h *gguf.Header, name string, otherwise int) int {
	if v, ok := h.Int("tokenizer.ggml." + name); ok {
		return int(min(v, math.MaxInt32))
	}
	return otherwise
}
