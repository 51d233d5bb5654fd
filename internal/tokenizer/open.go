package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Open reads the tokenizer of a model's folder: its tokenizer.json or, of BERT's family, its vocab.txt and what
// tokenizer_config.json and special_tokens_map.json say of it. Where tokenizer_config.json says otherwise of lower case,
// accents and Chinese than the tokenizer.json of BERT's family, it is followed, as Hugging Face's library does.
func Open(folder string) (Tokenizer, error) {
	p, err := open(folder)
	if err != nil {
		return nil, err
	}
	if p.called, err = specialNames(folder); err != nil {
		return nil, err
	}
	return p, nil
}

// open is Open, but for the names of special tokens.
func open(folder string) (*pipeline, error) {
	data, err := read(folder, "tokenizer.json")
	if err == nil {
		return parseIn(folder, data)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list, err := read(folder, "vocab.txt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has neither tokenizer.json nor vocab.txt", folder)
	}
	if err != nil {
		return nil, err
	}
	c := bertConfig{Lower: true, Chinese: true, Basic: true,
		Unknown: "[UNK]", Sep: "[SEP]", Cls: "[CLS]", Pad: "[PAD]", Mask: "[MASK]"}
	for _, name := range []string{"special_tokens_map.json", "tokenizer_config.json"} {
		data, err := read(folder, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	p, err := c.pipeline(string(list))
	if err != nil {
		return nil, fmt.Errorf("vocab.txt: %w", err)
	}
	return p, nil
}

// parseIn reads the tokenizer.json of a folder.
func parseIn(folder string, data []byte) (*pipeline, error) {
	var c struct {
		Class   string `json:"tokenizer_class"`
		Lower   *bool  `json:"do_lower_case"`
		Chinese *bool  `json:"tokenize_chinese_chars"`
		Strip   *bool  `json:"strip_accents"`
	}
	config, err := read(folder, "tokenizer_config.json")
	if err == nil {
		err = json.Unmarshal(config, &c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tokenizer_config.json: %w", err)
	}
	if !slices.Contains(bertClasses, strings.TrimSuffix(c.Class, "Fast")) {
		return parse(data, func(*part) {})
	}
	return parse(data, func(p *part) {
		if p.Type != "BertNormalizer" {
			return
		}
		for to, set := range map[**bool]*bool{&p.Lowercase: c.Lower, &p.Chinese: c.Chinese, &p.StripAccent: c.Strip} {
			if set != nil {
				*to = set
			}
		}
	})
}

// bertClasses are tokenizers whose configuration counts for more than their tokenizer.json.
var bertClasses = []string{"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer",
	"MPNetTokenizer"}

// read reads a file of a folder, which must be a regular one of at most maxFile bytes, or a link to one: the cache of
// Hugging Face's own tools is made of links.
func read(folder, name string) ([]byte, error) {
	name = filepath.Join(folder, name)
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return data, nil
}

// bertConfig is what BERT's tokenizer_config.json says.
type bertConfig struct {
	Class   string  `json:"tokenizer_class"`
	Lower   bool    `json:"do_lower_case"`
	Chinese bool    `json:"tokenize_chinese_chars"`
	Basic   bool    `json:"do_basic_tokenize"`
	Strip   *bool   `json:"strip_accents"`
	Unknown spelled `json:"unk_token"`
	Sep     spelled `json:"sep_token"`
	Cls     spelled `json:"cls_token"`
	Pad     spelled `json:"pad_token"`
	Mask    spelled `json:"mask_token"`
}

// spelled is a token in a configuration: its text, or an object that has it.
type spelled string

// UnmarshalJSON reads either form.
func (s *spelled) UnmarshalJSON(data []byte) error {
	var object struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal(data, (*string)(s)); err == nil {
		return nil
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*s = spelled(object.Content)
	return nil
}

// pipeline builds BERT's tokenizer by a list of tokens, one a line.
func (c bertConfig) pipeline(list string) (*pipeline, error) {
	switch strings.TrimSuffix(c.Class, "Fast") {
	case "", "BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer":
	default:
		return nil, fmt.Errorf("a tokenizer_class %.40q without tokenizer.json is not supported", c.Class)
	}
	if !c.Basic {
		return nil, errors.New("do_basic_tokenize: false is not supported")
	}
	ids := map[string]int32{}
	lines := strings.Split(strings.TrimSuffix(list, "\n"), "\n")
	if len(lines) > maxVocabulary {
		return nil, fmt.Errorf("%d entries are more than %d", len(lines), maxVocabulary)
	}
	names := make([]string, len(lines))
	for i, line := range lines {
		names[i] = strings.ToValidUTF8(strings.TrimSuffix(line, "\r"), "\uFFFD")
		ids[names[i]] = int32(i) // of two lines alike the later one counts
	}
	v := &vocabulary{ids: ids, names: names, special: map[int32]bool{}}
	special := func(text spelled) (slot, error) {
		id, found := ids[string(text)]
		if !found {
			return slot{}, fmt.Errorf("it has no %.40q", text)
		}
		v.special[id] = true
		return slot{text: -1, tokens: []token{{id: id, text: string(text)}}}, nil
	}
	cls, err := special(c.Cls)
	sep, err2 := special(c.Sep)
	_, err3 := special(c.Unknown)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	for _, text := range []spelled{c.Pad, c.Mask} { // a text cannot spell them either
		if id, found := ids[string(text)]; found {
			v.special[id] = true
		}
	}
	last := sep
	last.kind = 1
	unknown, strip := string(c.Unknown), c.Lower
	if c.Strip != nil {
		strip = *c.Strip
	}
	m, err := (&modelFile{Unknown: &unknown}).wordPiece(v)
	if err != nil {
		return nil, err
	}
	return &pipeline{
		added:     &added{raw: newTrie(nil), normalized: newTrie(nil)},
		steps:     []normalizer{bertNormalizer{true, c.Chinese, strip, c.Lower}.normalizer()},
		splitters: []splitter{bertSplit},
		model:     m,
		single:    []slot{cls, {text: 0}, sep},
		pair:      []slot{cls, {text: 0}, sep, {text: 1, kind: 1}, last},
		specials:  v.spellings(),
	}, nil
}
