package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Marked encodes one text in which special tokens stand: see [Tokenizer].
func (p *pipeline) Marked(before string, specials, after []string) (Encoded, error) {
	if len(specials) != len(after) {
		return Encoded{}, fmt.Errorf("%d special tokens with %d texts after them", len(specials), len(after))
	}
	all, err := p.tokens(before, true)
	if err != nil {
		return Encoded{}, err
	}
	for i, name := range specials {
		t, found := p.special(name)
		if !found {
			return Encoded{}, &UnknownError{name}
		}
		more, err := p.tokens(after[i], false)
		if err != nil {
			return Encoded{}, err
		}
		all = append(append(all, t), more...)
	}
	return p.fill(p.single, all), nil
}

// An UnknownError is of a special token that the vocabulary lacks.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no special token %.200q", e.Name) }

// special finds a special token by its name or its spelling. Where no file says which token a name is for, it is the
// first or the last that is put around one text, and padding goes by its usual spellings.
func (p *pipeline) special(name string) (token, bool) {
	spelled, named := p.called[name]
	if !named {
		spelled = name
	}
	if id, found := p.specials[spelled]; found {
		return token{id: id, text: spelled}, true
	}
	var around []token
	for _, s := range p.single {
		if s.text < 0 {
			around = append(around, s.tokens...)
		}
	}
	switch {
	case len(around) > 0 && (name == "bos" || name == "cls"):
		return around[0], true
	case len(around) > 0 && (name == "eos" || name == "sep"):
		return around[len(around)-1], true
	case name == "pad":
		for _, spelled := range []string{"<pad>", "[PAD]", "<|endoftext|>"} {
			if id, found := p.specials[spelled]; found {
				return token{id: id, text: spelled}, true
			}
		}
	}
	return token{}, false
}

// spellings are the special tokens by their spelling.
func (v *vocabulary) spellings() map[string]int32 {
	all := make(map[string]int32)
	for id := range v.special {
		if int(id) < len(v.names) && v.names[id] != "" {
			all[v.names[id]] = id
		}
	}
	return all
}

// specialNames reads which special tokens a folder's configuration names.
func specialNames(folder string) (map[string]string, error) {
	names := make(map[string]string)
	for _, file := range []string{"special_tokens_map.json", "tokenizer_config.json"} {
		data, err := read(folder, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for key, value := range all {
			name, is := strings.CutSuffix(key, "_token")
			var s spelled
			if is && json.Unmarshal(value, &s) == nil && s != "" {
				names[name] = string(s)
			}
		}
	}
	return names, nil
}
