package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// modelFile is a model in a file.
type modelFile struct {
	Type         string          `json:"type"`
	Vocabulary   json.RawMessage `json:"vocab"`
	Merges       []mergePair     `json:"merges"`
	Unknown      *string         `json:"unk_token"`
	UnknownID    *int32          `json:"unk_id"`
	Prefix       *string         `json:"continuing_subword_prefix"`
	Suffix       *string         `json:"end_of_word_suffix"`
	MaxWord      *int            `json:"max_input_chars_per_word"`
	Dropout      *float64        `json:"dropout"`
	FuseUnknown  bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`

	scores []float64 // of a unigram model
}

// mergePair is two symbols that are merged, in a file "a b" or ["a", "b"].
type mergePair [2]string

// UnmarshalJSON reads either form.
func (m *mergePair) UnmarshalJSON(data []byte) error {
	var text string
	var list []string
	if err := json.Unmarshal(data, &text); err == nil {
		list = strings.Split(text, " ")
	} else if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("a merge of %d symbols", len(list))
	}
	copy(m[:], list)
	return nil
}

// scored is an entry of a unigram vocabulary: ["▁the", -3.5].
type scored struct {
	text  string
	score float64
}

// UnmarshalJSON reads a spelling and a score.
func (s *scored) UnmarshalJSON(data []byte) error {
	var list []any
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("%d values where an entry and its score should be", len(list))
	}
	text, first := list[0].(string)
	score, second := list[1].(float64)
	if !first || !second {
		return errors.New("an entry is not a text and a score")
	}
	*s = scored{text, score}
	return nil
}

func newModel(data json.RawMessage) (*modelFile, error) {
	if len(data) == 0 {
		return nil, errors.New("there is none")
	}
	var m modelFile
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	if m.Type == "" { // files from before models had one
		switch {
		case m.Merges != nil:
			m.Type = "BPE"
		case m.UnknownID != nil:
			m.Type = "Unigram"
		case m.MaxWord != nil:
			m.Type = "WordPiece"
		}
	}
	return &m, nil
}

// vocabulary reads the vocabulary of a model of any type.
func (m *modelFile) vocabulary() (*vocabulary, error) {
	switch m.Type {
	case "WordPiece", "BPE", "WordLevel":
		var ids map[string]int32
		if err := json.Unmarshal(m.Vocabulary, &ids); err != nil {
			return nil, fmt.Errorf("vocab: %w", err)
		}
		return newVocabulary(ids)
	case "Unigram":
		return m.scoredVocabulary()
	}
	return nil, fmt.Errorf("%s: %w", m.Type, errUnknownType)
}

// scoredVocabulary reads a unigram vocabulary. Of two entries with the same spelling the later one counts.
func (m *modelFile) scoredVocabulary() (*vocabulary, error) {
	var list []scored
	if err := json.Unmarshal(m.Vocabulary, &list); err != nil {
		return nil, fmt.Errorf("vocab: %w", err)
	}
	if len(list) > maxVocabulary || len(list) == 0 {
		return nil, fmt.Errorf("%d entries are not between 1 and %d", len(list), maxVocabulary)
	}
	v := &vocabulary{ids: make(map[string]int32, len(list)), special: map[int32]bool{}}
	for i, s := range list {
		v.ids[s.text] = int32(i)
		v.names = append(v.names, s.text)
		m.scores = append(m.scores, s.score)
	}
	return v, nil
}

// model builds the model, when it is known which tokens are special.
func (m *modelFile) model(v *vocabulary) (model, error) {
	switch m.Type {
	case "WordPiece":
		return m.wordPiece(v)
	case "BPE":
		return m.bytePair(v)
	case "WordLevel":
		unknown, err := m.unknown(v)
		return &wordLevel{v.plain(), v.names, unknown}, err
	}
	return m.unigram(v)
}

// unknown gives the id of the unknown token.
func (m *modelFile) unknown(v *vocabulary) (int32, error) {
	if m.Unknown == nil {
		return -1, nil
	}
	id, found := v.ids[*m.Unknown]
	if !found {
		return 0, fmt.Errorf("the vocabulary has no unk_token %.40q", *m.Unknown)
	}
	return id, nil
}

// entries lists what a trie is built of.
func entries(ids map[string]int32) ([]entry, error) {
	list := make([]entry, 0, len(ids))
	size := 0
	for text, id := range ids {
		if size += len(text); len(text) > maxEntry || size > maxEntries {
			return nil, fmt.Errorf("%.40q is too long", text)
		}
		list = append(list, entry{text, id})
	}
	return list, nil
}

func (m *modelFile) wordPiece(v *vocabulary) (model, error) {
	unknown, err := m.unknown(v)
	if err != nil {
		return nil, err
	}
	if unknown < 0 {
		return nil, errors.New("no unk_token")
	}
	prefix, longest := "##", 100
	if m.Prefix != nil {
		prefix = *m.Prefix
	}
	if m.MaxWord != nil {
		longest = *m.MaxWord
	}
	start, err := entries(v.plain())
	if err != nil {
		return nil, err
	}
	var rest []entry
	for _, e := range start {
		if text, found := strings.CutPrefix(e.text, prefix); found {
			rest = append(rest, entry{text, e.id})
		}
	}
	return &wordPiece{newTrie(start), newTrie(rest), v.names, token{id: unknown, text: v.names[unknown]}, longest}, nil
}

func (m *modelFile) bytePair(v *vocabulary) (model, error) {
	if m.Dropout != nil && *m.Dropout != 0 {
		return nil, errors.New("dropout makes tokens random and is not supported")
	}
	unknown, err := m.unknown(v)
	if err != nil {
		return nil, err
	}
	b := &bytePair{vocabulary: v.plain(), names: v.names, unknown: unknown, fuse: m.FuseUnknown, whole: m.IgnoreMerges}
	if m.Prefix != nil {
		b.prefix = *m.Prefix
	}
	if m.Suffix != nil {
		b.suffix = *m.Suffix
	}
	if m.ByteFallback {
		b.fallback = byteTokens(b.vocabulary)
	}
	if len(b.prefix) > maxReplacement || len(b.suffix) > maxReplacement || len(m.Merges) > maxMerges {
		return nil, errors.New("too many merges, or an affix that is too long")
	}
	b.merges = make(map[[2]int32]merge, len(m.Merges))
	for rank, pair := range m.Merges {
		left, found := v.ids[pair[0]]
		right, too := v.ids[pair[1]]
		after, begins := strings.CutPrefix(pair[1], b.prefix)
		whole, known := v.ids[pair[0]+after]
		if !found || !too || !begins || !known {
			return nil, fmt.Errorf("the vocabulary has not all of merge %d, %.40q and %.40q", rank, pair[0], pair[1])
		}
		if !v.special[whole] {
			b.merges[[2]int32{left, right}] = merge{int32(rank), whole}
		}
	}
	return b, nil
}

func (m *modelFile) unigram(v *vocabulary) (model, error) {
	if m.UnknownID == nil || *m.UnknownID < 0 || int(*m.UnknownID) >= len(m.scores) {
		return nil, errors.New("unk_id is not in the vocabulary")
	}
	plain := v.plain()
	list, err := entries(plain)
	if err != nil {
		return nil, err
	}
	u := &unigram{entries: newTrie(list), names: v.names, scores: m.scores, unknown: *m.UnknownID}
	u.penalty = lowest(m.scores)
	if m.ByteFallback {
		u.fallback = byteTokens(plain)
	}
	return u, nil
}
