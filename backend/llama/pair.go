package llama

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/llama/chat"
)

// pair cuts a pair into tokens: with the model's own template if it has one, else as llama.cpp's server
// does, with the tokens that the model wants before, between and after texts. The second text of a model that knows
// segments, with its end, is spelt in the vocabulary of segment B.
func (m *model) pair(p backend.Pair) ([]llama.Token, error) {
	v := m.vocab
	switch {
	case m.judge != "" && len(p.Marks) == 0:
		return v.cut(pairParts(m.judge, p)), nil
	case m.chat != nil && len(p.Marks) == 0:
		parts, err := m.chat.Said(p)
		if err != nil {
			return nil, err
		}
		return v.prompt(parts), nil
	case p.Query == "" && len(p.Marks) == 0:
		return v.tokens(p.Text, true), nil
	}
	sep := llama.VocabSEP(v.handle)
	eos := llama.VocabEOS(v.handle)
	if eos == llama.TokenNull {
		eos = sep
	}
	var tokens []llama.Token
	add := func(wanted bool, t llama.Token) {
		if wanted && t != llama.TokenNull {
			tokens = append(tokens, t)
		}
	}
	add(true, v.bos)
	second := math.MaxInt // where the second text begins
	if p.Query != "" {
		tokens = append(tokens, v.tokens(p.Query, false)...)
		add(llama.VocabGetAddEOS(v.handle), eos)
		add(llama.VocabGetAddSEP(v.handle), sep)
		second = len(tokens)
	}
	tokens = append(tokens, v.cut(chat.Marked(p.Text, p.Marks))...)
	add(llama.VocabGetAddEOS(v.handle), eos)
	for i := second; i < len(tokens); i++ {
		tokens[i] += llama.Token(m.segmentB)
	}
	return tokens, nil
}

// pairParts puts a pair into a template, which marks their places as {query} and {document}.
func pairParts(template string, p backend.Pair) []chat.Part {
	texts := map[string]string{"{query}": p.Query, "{document}": p.Text}
	var parts []chat.Part
	for {
		at, mark := len(template), ""
		for m := range texts {
			if i := strings.Index(template, m); i >= 0 && i < at {
				at, mark = i, m
			}
		}
		parts = append(parts, chat.Part{Text: template[:at], Template: true})
		if mark == "" {
			return parts
		}
		parts = append(parts, chat.Part{Text: texts[mark]})
		template = template[at+len(mark):]
	}
}

// finite returns a copy of v, all of whose values are numbers.
func finite(v []float32) ([]float32, error) {
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("the model's classification head gave %v: its file may be damaged "+
				"(assay models verify)", x)
		}
	}
	return slices.Clone(v), nil
}
