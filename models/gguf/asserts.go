package gguf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What llama.cpp v0.4.0 asserts of a header while it loads a model (llama_model_base::load_hparams and
// llama_vocab::impl::load). A failed assertion there ends the process, so these are checked before.
const (
	maxLayers  = 512
	maxExperts = 1024
)

var errDamaged = errors.New("the file is damaged or was written by a faulty converter; " +
	"fetch it again, or from elsewhere")

// checkAsserted reports a header that would fail one of llama.cpp's assertions.
func (h *Header) checkAsserted() error {
	layers, experts := h.count("block_count"), h.count("expert_count")
	used := 0
	for _, n := range h.perLayer("expert_used_count", layers) {
		used = max(used, n)
	}
	arch, _ := h.String("general.architecture")
	if experts <= 1 && strings.HasPrefix(arch, "hunyuan") {
		experts, used = 0, 0 // as llama.cpp takes it
	}
	groups, groupsUsed := h.count("expert_group_count"), h.count("expert_group_used_count")
	what := ""
	switch {
	case layers < 1 || layers > maxLayers:
		what = fmt.Sprintf("it claims %d layers", layers)
	case h.count("nextn_predict_layers") > layers:
		what = "it claims more multi-token prediction layers than it has layers"
	case experts > maxExperts, used > experts, experts > 0 && used == 0, groups > 0 && groups >= experts:
		what = fmt.Sprintf("it claims to use %d of %d experts in %d groups", used, experts, groups)
	case groups > 1 && (experts%groups != 0 || groupsUsed < 1 || groupsUsed >= groups):
		what = fmt.Sprintf("it claims to use %d of %d groups of %d experts", groupsUsed, groups, experts)
	}
	if what != "" {
		return fmt.Errorf("%s, where llama.cpp would stop: %w", what, errDamaged)
	}
	if n, ok := h.Int(arch + ".pooling_type"); ok && n >= int64(len(poolings)) {
		return fmt.Errorf("its pooling is number %d, where llama.cpp would stop: %w", n, errDamaged)
	}
	if s, ok := h.String(arch + ".rope.scaling.type"); ok && !slices.Contains(ropeScalings, s) {
		return fmt.Errorf("its RoPE scaling is %.40q, where llama.cpp %s knows %v: choose another model",
			s, LlamaVersion, ropeScalings)
	}
	return h.checkVocabulary()
}

// checkVocabulary checks that the model can tokenise, and that no two of its tokens are the same.
func (h *Header) checkVocabulary() error {
	kind, _ := h.String("tokenizer.ggml.model")
	tokens, ok := h.Strings("tokenizer.ggml.tokens")
	switch {
	case kind == "" || kind == "none" || kind == "no_vocab":
		return errors.New("the file has no tokenizer, so it cannot read text: fetch the model from elsewhere")
	case !slices.Contains(tokenizers, kind):
		return fmt.Errorf("its tokenizer is %.40q, where llama.cpp %s knows %v: choose another model",
			kind, LlamaVersion, tokenizers)
	case !ok || len(tokens) == 0:
		return fmt.Errorf("its vocabulary is not a list of tokens: %w", errDamaged)
	}
	seen := make(map[string]bool, len(tokens))
	for i, token := range tokens {
		if token == "" {
			token = fmt.Sprintf("[EMPTY_%d]", i) // as llama.cpp calls it
		}
		if seen[token] {
			return fmt.Errorf("token %d of its vocabulary, %.40q, is there twice, where llama.cpp would stop: %w",
				i, token, errDamaged)
		}
		seen[token] = true
	}
	for b := range 256 {
		if kind == "llama" && !seen[fmt.Sprintf("<0x%02X>", b)] && !seen[string([]byte{byte(b)})] {
			return fmt.Errorf("its vocabulary has no token for the byte %#02x, and llama.cpp would stop at a text "+
				"that needs it: %w", b, errDamaged)
		}
	}
	if err := h.checkSegments(len(tokens)); err != nil {
		return err
	}
	return h.checkSpecialTokens(kind, len(tokens))
}

// checkSpecialTokens checks that the tokens which llama.cpp puts around a text are in the vocabulary. Each
// has an id by default, which a field overrides if it is below the number of tokens.
func (h *Header) checkSpecialTokens(kind string, tokens int) error {
	type special struct {
		name, key, add string // add: the field that says whether the token is added; "" for one that always is
		added          bool   // unless the field says otherwise
		id             int    // by default; -1: none
	}
	bos := special{"begin-of-text", "bos_token_id", "add_bos_token", false, -1}
	eos := special{"end-of-text", "eos_token_id", "add_eos_token", false, -1}
	list := []special{bos, eos}
	switch kind {
	case "llama":
		list[0].added, list[0].id, list[1].id = true, 1, 2
	case "bert":
		list = []special{{"[CLS]", "bos_token_id", "", true, 101}, {"[SEP]", "seperator_token_id", "", true, 102}}
	case "t5":
		list[1].added, list[1].id = true, 1
	case "gpt2", "hybriddna", "whitespace":
		list[0].id, list[1].id = 11, 11
	case "plamo2":
		list[0].id, list[1].id = 1, 2
	case "gemma4":
		return nil // its defaults are not written down anywhere but in its vocabulary
	}
	for _, s := range list {
		if add, ok := h.Bool("tokenizer.ggml." + s.add); ok && s.add != "" {
			s.added = add
		}
		if id, ok := h.values["tokenizer.ggml."+s.key].(uint32); ok && int64(id) < int64(tokens) {
			s.id = int(id)
		}
		if s.added && (s.id < 0 || s.id >= tokens) {
			return fmt.Errorf("its vocabulary of %d tokens has no %s token, where llama.cpp would stop: %w",
				tokens, s.name, errDamaged)
		}
	}
	return nil
}
