package profile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/tokenize"
)

// A template is a text with places.
type template []piece

// A piece is a text as it is, the place of a variable, or a special token.
type piece struct {
	text     string
	variable string
	special  string
}

// variables are what may stand in a template, and what it stands for; further names of one lead to it.
func variables() map[string]string {
	return map[string]string{
		"question": "question", "answer": "answer", "reference": "reference",
		"contexts": "contexts", "documents": "contexts", "context": "contexts",
		"sentence": "sentence", "claim": "sentence",
		"criteria": "criteria", "rubric": "rubric",
	}
}

// itemVariables are what may stand in the template of one of several contexts, or of a rubric's level.
func itemVariables() map[string]string { return map[string]string{"number": "number", "text": "text"} }

// parseTemplate reads a text in which {{name}} is the place of a variable or of a special token: one of
// backend.NamedTokens, or any as the vocabulary spells it, {{<|im_start|>}}. Other braces are text.
func parseTemplate(text string, known map[string]string) (template, error) {
	var t template
	for {
		before, rest, found := strings.Cut(text, "{{")
		if before != "" {
			t = append(t, piece{text: before})
		}
		if !found {
			return t, nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, errors.New("a {{ is not closed by }}")
		}
		p, err := parsePlace(strings.TrimSpace(name), known)
		if err != nil {
			return nil, err
		}
		t, text = append(t, p), after
	}
}

func parsePlace(name string, known map[string]string) (piece, error) {
	switch {
	case known[name] != "":
		return piece{variable: known[name]}, nil
	case slices.Contains(backend.NamedTokens(), name), strings.HasPrefix(name, "<"), strings.HasPrefix(name, "["):
		return piece{special: name}, nil
	}
	var names []string
	for n := range known {
		names = append(names, n)
	}
	slices.Sort(names)
	hint := ""
	if near := tokenize.Nearest(name, append(names, backend.NamedTokens()...)); near != "" {
		hint = fmt.Sprintf("did you mean {{%s}}? ", near)
	}
	return piece{}, fmt.Errorf("unknown place {{%.40s}}: %sthere are %s, and the special tokens %s", name, hint,
		strings.Join(names, ", "), strings.Join(backend.NamedTokens(), ", "))
}

// fill puts texts in their places. Special tokens come out as marks, which no text can forge.
func (t template) fill(values map[string]string) (string, []backend.Mark) {
	var b strings.Builder
	var marks []backend.Mark
	for _, p := range t {
		switch {
		case p.special != "":
			marks = append(marks, backend.Mark{At: b.Len(), Token: p.special})
		case p.variable != "":
			b.WriteString(values[p.variable])
		default:
			b.WriteString(p.text)
		}
	}
	return b.String(), marks
}

// uses reports whether a variable has a place.
func (t template) uses(variable string) bool {
	return slices.ContainsFunc(t, func(p piece) bool { return p.variable == variable })
}

// marked reports whether a special token has a place.
func (t template) marked() bool {
	return slices.ContainsFunc(t, func(p piece) bool { return p.special != "" })
}

// list writes several texts, each in the template of one, numbered from 1.
func (t template) list(texts []string, between string) string {
	var items []string
	for i, text := range texts {
		item, _ := t.fill(map[string]string{"number": strconv.Itoa(i + 1), "text": text})
		items = append(items, item)
	}
	return strings.Join(items, between)
}
