// Package prompts has the built-in prompts as values, reads a user's own in their place, and renders them.
//
// Each *.tmpl file of this folder is one prompt: see [Prompt] for its form. A family of metrics takes its prompts by
// [Builtin] together with an [Example] of the data it renders them with, so that a user's prompt is tried before the
// first sample is scored. [Load] reads the user's prompts into a [Set], and [Set.For] says which one is asked.
// A prompt's [Identity] (name, version and digest) is what a run records; its text is part of the request and so of the
// cache key.
package prompts

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"github.com/assay-eval/assay/backend"
)

// A Prompt is what a metric says to the judge: a file of prompts/*.tmpl, or the user's own in its place.
//
// The file begins with a header of "field: value" lines (and comments, lines that begin with #):
//
//	version:     any word; part of what a run records. Required
//	max_tokens:  completion tokens; the metric adds room for each item that it asks about. Required
//	temperature: of the first draw, default 0 (greedy); a retry has a higher one
//	top_p, seed: of the sampling of a draw whose temperature is above 0
//	reply:       "json" if the messages ask for JSON of the built-in prompt's form, to which engines with
//	             constrained decoding then hold the reply: its verdicts are Yes and No in any language. Else
//	             "text", the default
//	stop:        a JSON list of strings before which the reply ends
//	yes, no:     words, separated by commas, that a verdict may consist of beside the English ones; where a
//	             metric reads the probabilities of a verdict, it is the first of them that it reads
//	nothing:     phrases, separated by commas, by which the judge says that there is nothing to list
//
// Then come the messages, each after a line "--- system", "--- user" or "--- assistant", the last one the user's.
// Each message is a template in the syntax of text/template of its own, so that nothing in a sample can end it or
// begin another. What varies most stands last: a prefix that two prompts share is computed once and then
// prefix-cached.
//
// Where a prompt may use .History, each of its turns has a .Role and a .Text, in which calls of tools and what
// they returned are in brackets; .Said is what was said, without them.
type Prompt struct {
	Name     string           // the file's, without ".tmpl"
	Version  string           // as the header says
	Digest   string           // of the file: "sha256:" and 64 hex digits
	Text     string           // the file itself
	Sampling backend.Sampling // of the first draw
	Stop     []string

	JSON             bool // the messages ask for it
	MaxTokens        int
	Yes, No, Nothing []string // in the form of tokenize.Normalize
	YesWord, NoWord  string   // the first of Yes and of No as the header has it, "" if none

	Example Example // of what it is rendered with; a user's has the one of the prompt that it replaces
	Layout  Layout  // what stands before what in the messages

	messages []promptMessage
	row      *Prompt // a built-in one of the classic layout: the same question in the row layout, nil if it has none
}

type promptMessage struct {
	role backend.Speaker
	body *template.Template // nil: it says text
	text string             // as the file has it
}

// A Identity says which text was asked with: what a manifest, a trained judge or a calibration records of it.
type Identity struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest"`
}

// Identity is that of p.
func (p *Prompt) Identity() Identity { return Identity{p.Name, p.Version, p.Digest} }

// Render returns the messages with data filled in.
func (p *Prompt) Render(data any) ([]backend.Message, error) {
	var list []backend.Message
	for _, m := range p.messages {
		if m.body == nil {
			list = append(list, backend.Message{Role: m.role, Text: m.text})
			continue
		}
		var b strings.Builder
		if err := m.body.Execute(&b, data); err != nil {
			return nil, err
		}
		list = append(list, backend.Message{Role: m.role, Text: strings.TrimSpace(b.String())})
	}
	return list, nil
}

// ShowsConversation reports whether the last message has the sample's question, and whether it has the turns before it.
// Where it shows .Texts, those of a criterion, the criterion says what they are: the turns stand before a question there.
func (p *Prompt) ShowsConversation() (question, history bool) {
	if len(p.messages) == 0 {
		return false, false
	}
	last := p.messages[len(p.messages)-1].text
	texts := strings.Contains(last, ".Texts")
	return strings.Contains(last, ".Question") && !texts, strings.Contains(last, ".History") || texts
}

// An Example is what a metric renders a prompt with. The fields of its Data are all that a prompt may use.
type Example struct {
	Data  any
	Shown map[string]string // fields that the last message must show, and the text in Data to look for

	// Shot makes of a few-shot example of the user's the data for the last message and the reply to it, which is "" if
	// the example has nothing to show to this prompt. nil: the prompt takes no examples but its own.
	Shot    func(s *Shot) (data any, reply string)
	Verdict bool // that reply is Yes or No, and stands for the prompt's own words for them
}

//go:embed *.tmpl row/*.tmpl
var files embed.FS

// Builtin returns the prompt of this folder that has a name, for a metric that renders it with data such as the
// example's. If the folder row has a question of that name, that is its form in the row layout: see [Layout]. See
// [From].
func Builtin(name string, example Example) *Prompt {
	p := From(files, name+".tmpl", example)
	p.row = inRow(p)
	return p
}

// From returns the prompt of a file that is part of a program. It panics if there is none or it is not valid, which is
// a bug.
func From(fsys fs.FS, file string, example Example) *Prompt {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		panic(err)
	}
	p, err := Parse(path.Base(file), string(text))
	if err != nil {
		panic(err)
	}
	p.Example = example
	return p
}

// Names lists the names of prompts, in their order.
func Names(list []*Prompt) []string {
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names
}

// A Set says which prompts are asked: the user's, each in place of the built-in one of its name, and the built-in ones in
// one layout. The zero Set holds none of the user's, and asks in the classic layout.
type Set struct {
	own    map[string]*Prompt // by name; never changed once loaded
	layout Layout             // of those that are built in and have it
}

// Load reads the files *.tmpl at the root of fsys. Each replaces the prompt of its name in builtin. It is an error if
// there is no file, if one bears no such name, if it does not parse, asks for a field that its metric does not give, or
// leaves out one that it must show.
func Load(fsys fs.FS, builtin []*Prompt) (Set, error) {
	files, err := fs.Glob(fsys, "*.tmpl")
	if err != nil {
		return Set{}, err
	}
	if len(files) == 0 {
		return Set{}, fmt.Errorf("no prompts there: want files such as %s.tmpl", builtin[0].Name)
	}
	own := make(map[string]*Prompt)
	var errs []error
	for _, file := range files {
		p, err := readPrompt(fsys, file, builtin)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		own[p.Name] = p
	}
	if err := errors.Join(errs...); err != nil {
		return Set{}, err
	}
	return Set{own: own}, nil
}

// For returns the prompt to ask with where a metric has p: the user's of that name, or p itself in the layout of the
// set, if it has it.
func (ps Set) For(p *Prompt) *Prompt {
	if own, ok := ps.own[p.Name]; ok {
		return own
	}
	if ps.layout == Row && p.row != nil {
		return p.row
	}
	return p
}
