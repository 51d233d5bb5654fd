package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Bounds of what a file may hold; real ones are far below: XLM-RoBERTa's has 250,002 entries in 17 MB.
const (
	maxFile        = 64 << 20 // bytes
	maxVocabulary  = 1 << 20  // ids
	maxMerges      = 1 << 21
	maxEntry       = 1 << 10  // bytes of an entry that is looked for in a text
	maxEntries     = 16 << 20 // bytes of all of them
	maxComponents  = 64       // normalizers, pre-tokenizers and post-processors together
	maxDepth       = 8        // of sequences in sequences
	maxPattern     = 512      // bytes of a regular expression
	maxProgram     = 1 << 10  // its steps, compiled
	maxReplacement = 64       // bytes that one match is replaced by
	maxGrowth      = 32       // times the bytes of a text that normalizers may make of it
	maxText        = 16 << 20 // bytes of a text
	maxNormalized  = 4 * maxText
	maxType        = 255 // segment ids
)

// file is a tokenizer.json; truncation, padding and decoder are not read.
type file struct {
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         json.RawMessage `json:"model"`
}

type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// Parse reads a tokenizer.json.
func Parse(data []byte) (Tokenizer, error) {
	p, err := parse(data, func(*part) {})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// parse is Parse, with a change to what the file says of each component.
func parse(data []byte, change func(*part)) (*pipeline, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("tokenizer.json: %d bytes are more than %d", len(data), maxFile)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	p, err := f.pipeline(change)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return p, nil
}

// pipeline builds what a file describes.
func (f *file) pipeline(change func(*part)) (*pipeline, error) {
	parts := components{change: change}
	steps, err := parts.normalizers(f.Normalizer, 0)
	if err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	splitters, err := parts.splitters(f.PreTokenizer, 0)
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	m, err := newModel(f.Model)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	v, err := m.vocabulary()
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	plain, err := v.add(f.AddedTokens)
	if err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	t, err := parts.templates(f.PostProcessor, 0)
	if err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	if t == nil {
		t = &bare
	}
	if err := v.fix(t); err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	p := &pipeline{steps: steps, splitters: splitters, single: t.single, pair: t.pair, specials: v.spellings()}
	if p.model, err = m.model(v); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if p.added, err = newAdded(plain, p.normalized); err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	return p, nil
}

// vocabulary is the spelling of each id, and which of them are special.
type vocabulary struct {
	ids     map[string]int32
	names   []string
	special map[int32]bool
}

// newVocabulary checks ids and lists their spellings.
func newVocabulary(ids map[string]int32) (*vocabulary, error) {
	v := &vocabulary{ids: ids, special: map[int32]bool{}}
	if len(ids) == 0 {
		return nil, errors.New("the vocabulary is empty")
	}
	top := int32(0)
	for text, id := range ids {
		if id < 0 || id >= maxVocabulary {
			return nil, fmt.Errorf("the id %d of %.40q is outside of 0 to %d", id, text, maxVocabulary-1)
		}
		top = max(top, id)
	}
	v.names = make([]string, top+1)
	for text, id := range ids {
		if v.names[id] != "" {
			return nil, fmt.Errorf("%.40q and %.40q have the same id %d", v.names[id], text, id)
		}
		v.names[id] = text
	}
	return v, nil
}

// add takes up the tokens that a file adds, and gives those that are not special.
func (v *vocabulary) add(tokens []addedToken) (plain []addedToken, err error) {
	size := 0
	for _, t := range tokens {
		if size += len(t.Content); len(t.Content) > maxEntry || size > maxEntries {
			return nil, fmt.Errorf("%.40q is too long", t.Content)
		}
		if t.Content == "" {
			continue
		}
		if t.ID < 0 || t.ID >= maxVocabulary {
			return nil, fmt.Errorf("the id %d of %.40q is outside of 0 to %d", t.ID, t.Content, maxVocabulary-1)
		}
		if id, found := v.ids[t.Content]; found && id != t.ID {
			return nil, fmt.Errorf("%.40q has id %d here and %d in the model", t.Content, t.ID, id)
		}
		for int(t.ID) >= len(v.names) {
			v.names = append(v.names, "")
		}
		if name := v.names[t.ID]; name != "" && name != t.Content {
			return nil, fmt.Errorf("%.40q and %.40q have the same id %d", name, t.Content, t.ID)
		}
		v.names[t.ID] = t.Content
		if t.Special {
			v.special[t.ID] = true
		} else {
			plain = append(plain, t)
		}
	}
	return plain, nil
}

// fix checks the special tokens of templates; from here on text cannot spell them.
func (v *vocabulary) fix(t *templates) error {
	for _, list := range [][]slot{t.single, t.pair} {
		for _, s := range list {
			for _, token := range s.tokens {
				if token.id < 0 || int(token.id) >= len(v.names) || v.names[token.id] == "" {
					return fmt.Errorf("the vocabulary has no id %d for %.40q", token.id, token.text)
				}
				v.special[token.id] = true
			}
		}
	}
	return nil
}

// plain is the vocabulary without special tokens.
func (v *vocabulary) plain() map[string]int32 {
	out := make(map[string]int32, len(v.ids))
	for text, id := range v.ids {
		if !v.special[id] {
			out[text] = id
		}
	}
	return out
}

// components counts what a file is made of.
type components struct {
	count            int
	metaspace, bytes bool
	change           func(*part) // what else than the file says of one
}

// part is one component: all that any of them has. Those left out are nil, where that is not what false is.
type part struct {
	Type string `json:"type"`

	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Processors    []json.RawMessage `json:"processors"`

	CleanText   *bool   `json:"clean_text"`
	Chinese     *bool   `json:"handle_chinese_chars"`
	StripAccent *bool   `json:"strip_accents"`
	Lowercase   *bool   `json:"lowercase"`
	StripLeft   bool    `json:"strip_left"`
	StripRight  bool    `json:"strip_right"`
	Prepend     string  `json:"prepend"`
	Charsmap    []byte  `json:"precompiled_charsmap"` // in base64
	Content     string  `json:"content"`
	Pattern     pattern `json:"pattern"`

	Behaviour      string          `json:"behavior"`
	Invert         bool            `json:"invert"`
	Delimiter      string          `json:"delimiter"`
	Individual     bool            `json:"individual_digits"`
	AddPrefixSpace *bool           `json:"add_prefix_space"`
	UseRegex       *bool           `json:"use_regex"`
	Length         *int            `json:"length"`
	Replacement    string          `json:"replacement"`
	PrependScheme  string          `json:"prepend_scheme"`
	Split          *bool           `json:"split"`
	Single         []templatePiece `json:"single"`
	Pair           []templatePiece `json:"pair"`
	SpecialTokens  map[string]struct {
		IDs    []int32  `json:"ids"`
		Tokens []string `json:"tokens"`
	} `json:"special_tokens"`
	Sep named `json:"sep"`
	Cls named `json:"cls"`
}

// pattern is a text or a regular expression.
type pattern struct {
	String *string
	Regex  *string
}

// or gives what a setting is where the file leaves it out.
func or(set *bool, otherwise bool) bool {
	if set == nil {
		return otherwise
	}
	return *set
}

// read decodes a component; nil for none.
func (c *components) read(data json.RawMessage, depth int) (*part, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	if c.count++; c.count > maxComponents || depth > maxDepth {
		return nil, errors.New("too many components, or too deep")
	}
	var p part
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, err
	}
	c.change(&p)
	return &p, nil
}

// normalizers reads a normalizer: a list of steps.
func (c *components) normalizers(data json.RawMessage, depth int) ([]normalizer, error) {
	p, err := c.read(data, depth)
	if err != nil || p == nil {
		return nil, err
	}
	if p.Type == "Sequence" {
		var list []normalizer
		for _, data := range p.Normalizers {
			more, err := c.normalizers(data, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
		return list, nil
	}
	n, err := p.normalizer()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Type, err)
	}
	return []normalizer{n}, nil
}

// splitters reads a pre-tokenizer.
func (c *components) splitters(data json.RawMessage, depth int) ([]splitter, error) {
	p, err := c.read(data, depth)
	if err != nil || p == nil {
		return nil, err
	}
	switch {
	case p.Type == "Sequence":
		var list []splitter
		for _, data := range p.PreTokenizers {
			more, err := c.splitters(data, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
		return list, nil
	case p.Type == "Metaspace" && c.metaspace, p.Type == "ByteLevel" && c.bytes: // repeated, they swell a text
		return nil, fmt.Errorf("%s twice", p.Type)
	}
	c.metaspace = c.metaspace || p.Type == "Metaspace"
	c.bytes = c.bytes || p.Type == "ByteLevel"
	s, err := p.splitter()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Type, err)
	}
	return []splitter{s}, nil
}

// one gives the only character of a text.
func one(text string) (rune, error) {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 || size != len(text) {
		return 0, fmt.Errorf("%.40q is not one character", text)
	}
	return r, nil
}
