package gguf

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A wordPiece is the vocabulary of a BERT model, as its tokenizer.json gives it.
type wordPiece struct {
	tokens       []string // by id
	control      []bool   // by id: a token that stands for no text
	lowercase    bool
	stripAccents bool
	special      map[string]uint32 // ids of "[CLS]" and the like
}

// tokenizerJSON is the part of a tokenizer.json that WordPiece needs.
type tokenizerJSON struct {
	Model struct {
		Type   string            `json:"type"`
		Unk    string            `json:"unk_token"`
		Prefix string            `json:"continuing_subword_prefix"`
		Vocab  map[string]uint32 `json:"vocab"`
	} `json:"model"`
	Added []struct {
		ID      uint32 `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Normalizer struct {
		Type         string `json:"type"`
		CleanText    *bool  `json:"clean_text"`
		Chinese      *bool  `json:"handle_chinese_chars"`
		StripAccents *bool  `json:"strip_accents"`
		Lowercase    *bool  `json:"lowercase"`
	} `json:"normalizer"`
	PreTokenizer struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
}

// readWordPiece reads a tokenizer.json. Whatever llama.cpp's WordPiece would do otherwise is refused,
// since the model would then see other tokens than it was trained on.
func readWordPiece(data []byte) (*wordPiece, error) {
	var file tokenizerJSON
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %v", err)
	}
	switch {
	case file.Model.Type != "WordPiece":
		return nil, fmt.Errorf("its model is %q; only WordPiece is converted", file.Model.Type)
	case file.Model.Prefix != "##":
		return nil, fmt.Errorf("its pieces within words start with %q, where llama.cpp knows \"##\"", file.Model.Prefix)
	case file.Normalizer.Type != "BertNormalizer" || file.PreTokenizer.Type != "BertPreTokenizer":
		return nil, fmt.Errorf("its normalizer %q and pre-tokenizer %q are not BERT's",
			file.Normalizer.Type, file.PreTokenizer.Type)
	case isFalse(file.Normalizer.CleanText) || isFalse(file.Normalizer.Chinese):
		return nil, errors.New("it leaves control characters or Chinese words as they are, which llama.cpp does not")
	}
	v := &wordPiece{
		lowercase: !isFalse(file.Normalizer.Lowercase),
		special:   map[string]uint32{},
	}
	v.stripAccents = v.lowercase // BERT's rule where the file does not say
	if file.Normalizer.StripAccents != nil {
		v.stripAccents = *file.Normalizer.StripAccents
	}
	if err := v.fill(&file); err != nil {
		return nil, err
	}
	return v, nil
}

func isFalse(b *bool) bool { return b != nil && !*b }

// fill sets the tokens, each id exactly once, and finds the special ones.
func (v *wordPiece) fill(file *tokenizerJSON) error {
	ids := file.Model.Vocab
	for _, a := range file.Added {
		if id, ok := ids[a.Content]; ok && id != a.ID {
			return fmt.Errorf("token %.40q has the ids %d and %d", a.Content, id, a.ID)
		}
		if ids == nil {
			ids = map[string]uint32{}
		}
		ids[a.Content] = a.ID
	}
	v.tokens = make([]string, len(ids))
	v.control = make([]bool, len(ids))
	used := make([]bool, len(ids))
	for token, id := range ids {
		if int64(id) >= int64(len(ids)) || used[id] {
			return fmt.Errorf("token %.40q has id %d, which is not its own in a vocabulary of %d", token, id, len(ids))
		}
		used[id] = true
		v.tokens[id] = token
	}
	for _, a := range file.Added {
		v.control[a.ID] = a.Special
	}
	for _, name := range []string{"[CLS]", "[SEP]", "[UNK]", "[PAD]"} {
		id, ok := ids[name]
		if !ok {
			return fmt.Errorf("its vocabulary has no %s", name)
		}
		v.special[name] = id
		v.control[id] = true
	}
	if id, ok := ids["[MASK]"]; ok {
		v.special["[MASK]"] = id
	}
	return nil
}

// fields lays the vocabulary out as llama.cpp reads it. WordPiece marks the pieces within words; there,
// pieces that start a word are marked instead, with U+2581.
//
// Any copies come after it, as tokens that are not used: with a space in it, their spelling cannot be that of a part of a
// word, so that no text is ever cut into them.
func (v *wordPiece) fields(copies int) []Field {
	n := len(v.tokens)
	tokens, types := make([]string, n, n*(1+copies)), make([]int32, n, n*(1+copies))
	for i, token := range v.tokens {
		switch {
		case v.control[i]:
			tokens[i], types[i] = token, 3
		case strings.HasPrefix(token, "##"):
			tokens[i], types[i] = token[2:], 1
		default:
			tokens[i], types[i] = "\u2581"+token, 1
		}
	}
	for i := range copies {
		for _, token := range tokens[:n] {
			tokens, types = append(tokens, fmt.Sprintf("[%c] %s", 'B'+i, token)), append(types, 5)
		}
	}
	out := []Field{
		{"tokenizer.ggml.model", "bert"},
		{"tokenizer.ggml.tokens", tokens},
		{"tokenizer.ggml.token_type", types},
		{"tokenizer.ggml.normalizer.lowercase", v.lowercase},
		{"tokenizer.ggml.normalizer.strip_accents", v.stripAccents},
		{"tokenizer.ggml.bos_token_id", v.special["[CLS]"]},
		{"tokenizer.ggml.cls_token_id", v.special["[CLS]"]},
		{"tokenizer.ggml.seperator_token_id", v.special["[SEP]"]}, // llama.cpp spells it so
		{"tokenizer.ggml.unknown_token_id", v.special["[UNK]"]},
		{"tokenizer.ggml.padding_token_id", v.special["[PAD]"]},
	}
	if id, ok := v.special["[MASK]"]; ok {
		out = append(out, Field{"tokenizer.ggml.mask_token_id", id})
	}
	return out
}
