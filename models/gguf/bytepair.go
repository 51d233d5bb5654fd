package gguf

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A bytePair is the vocabulary of byte pair encoding of a model like RoBERTa, as its tokenizer.json gives it.
type bytePair struct {
	tokens   []string // by id
	types    []int32  // by id, as llama.cpp numbers them
	merges   []string
	pre      string // llama.cpp's name of how words are cut
	cls, sep uint32 // what stands before a text and after it
	unk, pad string // the tokens' names; "" for none
	twice    bool   // between two texts there are two sep
	nfc      bool   // texts are normalised, which llama.cpp does not do
}

// bytePairJSON is the part of a tokenizer.json that byte pair encoding needs.
type bytePairJSON struct {
	Model struct {
		Type     string            `json:"type"`
		Unk      string            `json:"unk_token"`
		Prefix   string            `json:"continuing_subword_prefix"`
		Suffix   string            `json:"end_of_word_suffix"`
		Fallback bool              `json:"byte_fallback"`
		Vocab    map[string]uint32 `json:"vocab"`
		Merges   []json.RawMessage `json:"merges"`
	} `json:"model"`
	Added      []addedToken `json:"added_tokens"`
	Normalizer *struct {
		Type string `json:"type"`
	} `json:"normalizer"`
	PreTokenizer struct {
		Type   string `json:"type"`
		Prefix bool   `json:"add_prefix_space"`
		Regex  *bool  `json:"use_regex"`
	} `json:"pre_tokenizer"`
	Post struct {
		Type   string `json:"type"`
		Sep    []any  `json:"sep"` // RobertaProcessing: text and id
		Cls    []any  `json:"cls"`
		Single []slot `json:"single"` // TemplateProcessing
		Pair   []slot `json:"pair"`
	} `json:"post_processor"`
}

// addedToken is a token beside a tokenizer's vocabulary.
type addedToken struct {
	ID      uint32 `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
}

// A slot is a place in a template for texts: a special token, or a text, A or B.
type slot struct {
	Special  *struct{ ID string } `json:"SpecialToken"`
	Sequence *struct{ ID string } `json:"Sequence"`
}

// The numbers that llama.cpp has for the types of tokens.
const (
	normalToken  = 1
	controlToken = 3
	userToken    = 4
	unusedToken  = 5
)

// readBytePair reads a tokenizer.json for a model with so many rows of token vectors. Whatever llama.cpp would do
// otherwise is refused; pre is its name for the cutting into words that it shares with GPT-2.
func readBytePair(data []byte, pre string, rows int64) (*bytePair, error) {
	var file bytePairJSON
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %v", err)
	}
	switch m := &file.Model; {
	case m.Type != "BPE":
		return nil, fmt.Errorf("its model is %.40q, and of such a model only BPE is converted", m.Type)
	case m.Prefix != "" || m.Suffix != "" || m.Fallback:
		return nil, errors.New("its tokens are not those of byte-level BPE")
	case file.PreTokenizer.Type != "ByteLevel" || file.PreTokenizer.Prefix || isFalse(file.PreTokenizer.Regex):
		return nil, fmt.Errorf("its pre-tokenizer %.40q is not GPT-2's ByteLevel without a space before texts",
			file.PreTokenizer.Type)
	case file.Normalizer != nil && file.Normalizer.Type != "NFC":
		return nil, fmt.Errorf("its normalizer is %.40q, and llama.cpp has none", file.Normalizer.Type)
	}
	v := &bytePair{pre: pre, unk: file.Model.Unk, nfc: file.Normalizer != nil}
	ids, err := v.fill(&file, rows)
	if err != nil {
		return nil, err
	}
	for _, raw := range file.Model.Merges {
		merge, err := readMerge(raw)
		if err != nil {
			return nil, err
		}
		v.merges = append(v.merges, merge)
	}
	return v, v.template(&file, ids)
}

// fill sets the tokens, each id at most once. Rows without a token are never asked for.
func (v *bytePair) fill(file *bytePairJSON, rows int64) (map[string]uint32, error) {
	ids := map[string]uint32{}
	v.tokens, v.types = make([]string, rows), make([]int32, rows)
	set := func(token string, id uint32, kind int32) error {
		old, there := ids[token]
		if int64(id) >= rows || there && old != id || v.types[id] != 0 && v.tokens[id] != token {
			return fmt.Errorf("token %.40q has id %d, which is not its own among %d", token, id, rows)
		}
		ids[token], v.tokens[id], v.types[id] = id, token, kind
		return nil
	}
	for token, id := range file.Model.Vocab {
		if err := set(token, id, normalToken); err != nil {
			return nil, err
		}
	}
	for _, a := range file.Added {
		kind := int32(userToken)
		if a.Special {
			kind = controlToken
		}
		if err := set(a.Content, a.ID, kind); err != nil {
			return nil, err
		}
	}
	for i := range v.tokens {
		if v.types[i] == 0 {
			v.tokens[i], v.types[i] = fmt.Sprintf("[PAD%d]", i), unusedToken
		}
	}
	for _, pad := range []string{"<pad>", "[PAD]"} {
		if _, ok := ids[pad]; ok {
			v.pad = pad
		}
	}
	return ids, nil
}

// readMerge reads a merge, which is two tokens or both in one text.
func readMerge(raw json.RawMessage) (string, error) {
	var text string
	var two []string
	if json.Unmarshal(raw, &two) == nil && len(two) == 2 {
		text = two[0] + " " + two[1]
	} else if json.Unmarshal(raw, &text) != nil {
		return "", fmt.Errorf("%.80q is no merge of two tokens", raw)
	}
	if strings.Count(text, " ") != 1 {
		return "", fmt.Errorf("%.80q is no merge of two tokens", text)
	}
	return text, nil
}

// template finds what stands around texts.
func (v *bytePair) template(file *bytePairJSON, ids map[string]uint32) error {
	var cls, sep string
	switch post := &file.Post; post.Type {
	case "RobertaProcessing":
		if len(post.Cls) != 2 || len(post.Sep) != 2 {
			return errors.New("its post-processor names no cls and sep")
		}
		cls, _ = post.Cls[0].(string)
		sep, _ = post.Sep[0].(string)
		v.twice = true
	case "TemplateProcessing":
		single, pair := layout(post.Single), layout(post.Pair)
		if len(single) != 3 || single[1] != "A" {
			return fmt.Errorf("its post-processor's template %q is not one token, a text, one token", single)
		}
		cls, sep = strings.TrimPrefix(single[0], "<"), strings.TrimPrefix(single[2], "<")
		shape := strings.Join(pair, " ")
		v.twice = shape == fmt.Sprintf("<%s A <%s <%s B <%s", cls, sep, sep, sep)
		if !v.twice && shape != fmt.Sprintf("<%s A <%s B <%s", cls, sep, sep) {
			return fmt.Errorf("its post-processor's template for pairs, %q, is not one that llama.cpp has", pair)
		}
	default:
		return fmt.Errorf("its post-processor is %.40q, and how texts are to be framed is not known", post.Type)
	}
	for name, into := range map[string]*uint32{cls: &v.cls, sep: &v.sep} {
		id, ok := ids[name]
		if !ok {
			return fmt.Errorf("its vocabulary has no token %.40q, which stands around texts", name)
		}
		*into, v.types[id] = id, controlToken
	}
	return nil
}

// layout names what is in the slots of a template: "<" before a special token's name, or a text's name.
func layout(slots []slot) []string {
	var names []string
	for _, s := range slots {
		switch {
		case s.Special != nil:
			names = append(names, "<"+s.Special.ID)
		case s.Sequence != nil:
			names = append(names, s.Sequence.ID)
		}
	}
	return names
}

// fields lays the vocabulary out as llama.cpp reads it.
func (v *bytePair) fields() []Field {
	out := []Field{
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", v.pre},
		{"tokenizer.ggml.tokens", v.tokens},
		{"tokenizer.ggml.token_type", v.types},
		{"tokenizer.ggml.merges", v.merges},
		{"tokenizer.ggml.bos_token_id", v.cls},
		{"tokenizer.ggml.eos_token_id", v.sep},
		{"tokenizer.ggml.seperator_token_id", v.sep}, // llama.cpp spells it so
		{"tokenizer.ggml.add_bos_token", true},
		{"tokenizer.ggml.add_eos_token", true},
		{"tokenizer.ggml.add_sep_token", v.twice},
	}
	for id, token := range v.tokens {
		switch token {
		case v.unk:
			out = append(out, Field{"tokenizer.ggml.unknown_token_id", uint32(id)})
		case v.pad:
			out = append(out, Field{"tokenizer.ggml.padding_token_id", uint32(id)})
		}
	}
	return out
}
