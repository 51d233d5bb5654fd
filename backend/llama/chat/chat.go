// Package chat renders conversations with a model's own chat template, and keeps what the template wrote apart from what
// the messages say.
package chat

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ardanlabs/jinja"

	"github.com/assay-eval/assay/backend"
)

// A Part is a piece of a rendered conversation: the template's own words, a message's, or a special token.
type Part struct {
	Text     string
	Template bool
	Special  string // as a [backend.Mark] names it; then there is no text
}

// A Template renders conversations as a model was trained to read them, with the template (in Jinja) that
// came with it. It is safe for concurrent use.
//
// The template never sees the messages' text. It gets a mark for each, and the text is put in where the
// marks come out, so that what the template wrote can be told from what a message says.
type Template struct {
	compiled *jinja.Template // nil: the model has none
	bos, eos string

	system    bool // the template has a place for a system message
	trims     bool // the template strips white space from around messages
	documents bool // the template has a place for documents
	thoughts  habit
}

// New compiles a template and finds out its habits; of a model without one, "", messages are plain paragraphs. Bos and eos
// are the spellings of the tokens that begin and end a text, which templates may ask for.
func New(source, bos, eos string) (*Template, error) {
	c := &Template{bos: bos, eos: eos, system: true}
	if source == "" {
		return c, nil
	}
	var err error
	if c.compiled, err = jinja.Compile(source); err != nil {
		return nil, fmt.Errorf("the model's chat template cannot be read: %w", err)
	}
	user := []turn{{role: backend.User, text: " " + mark(0) + " "}}
	text, err := c.fill(user, nil, setting{reply: true})
	if err != nil {
		return nil, fmt.Errorf("the model's chat template fails on a plain question: %w", err)
	}
	if !strings.Contains(text, mark(0)) {
		return nil, errors.New("the model's chat template leaves out the user's message")
	}
	c.trims = !strings.Contains(text, user[0].text)
	text, err = c.fill([]turn{{role: backend.System, text: mark(0)}, {role: backend.User, text: mark(1)}}, nil,
		setting{reply: true})
	c.system = err == nil && strings.Contains(text, mark(0)) && strings.Contains(text, mark(1))
	text, err = c.fill(user, []string{mark(1)}, setting{reply: true})
	c.documents = err == nil && strings.Contains(text, mark(0)) && strings.Contains(text, mark(1))
	c.thoughts = c.habit(source)
	return c, nil
}

// A turn is a message as the template sees it.
type turn struct {
	role  backend.Speaker
	text  string
	marks []backend.Mark
}

// mark stands for the text of message i in a rendered conversation, or of a document, which are counted on from the
// last message. Templates do things to text: cut, strip, escape. These characters survive all of it.
func mark(i int) string { return "zqmessage" + strconv.Itoa(i) + "zq" }

var markPattern = regexp.MustCompile(`zqmessage([0-9]+)zq`)

// Documents reports whether the template has a place for documents.
func (c *Template) Documents() bool { return c.documents }

// Render returns the conversation with the start of the reply, before which the model has not thought, as parts of the
// template and parts of the messages and documents, or an error wrapping [backend.ErrInvalid] if the template refuses it
// or leaves some out.
func (c *Template) Render(messages []backend.Message, documents ...string) ([]Part, error) {
	parts, err := c.parts(messages, documents, setting{reply: true})
	if err != nil || c.thoughts.skip == "" {
		return parts, err
	}
	return append(parts, Part{Text: c.thoughts.skip, Template: true}), nil
}

// Said returns a question with its answer, as a reward model reads it: nothing follows the answer's turn.
func (c *Template) Said(p backend.Pair) ([]Part, error) {
	messages := []backend.Message{{Role: backend.User, Text: p.Query}, {Role: backend.Assistant, Text: p.Text}}
	if p.Query == "" {
		messages = messages[1:]
	}
	return c.parts(messages, nil, setting{})
}

// A setting says what stands behind a conversation.
type setting struct {
	reply bool // the start of a reply
	think bool // before which the model may think, if the template has a switch for that
}

// parts renders a conversation.
func (c *Template) parts(messages []backend.Message, documents []string, s setting) ([]Part, error) {
	turns := c.turns(messages)
	if c.compiled == nil {
		var parts []Part
		for _, t := range turns {
			parts = append(parts, Marked(t.text+"\n\n", t.marks)...)
		}
		return parts, nil
	}
	marks := make([]turn, len(turns))
	for i, t := range turns {
		marks[i].role = t.role
		if t.text != "" { // the template may care whether there is any
			marks[i].text = mark(i)
		}
	}
	shownAs := make([]string, len(documents))
	for i := range documents {
		shownAs[i] = mark(len(turns) + i)
	}
	text, err := c.fill(marks, shownAs, s)
	if err != nil {
		return nil, fmt.Errorf("%w: the model's chat template refuses the conversation: %v", backend.ErrInvalid, err)
	}
	var parts []Part
	messagesShown := len(turns)
	for _, d := range documents {
		turns = append(turns, turn{text: d})
	}
	shown := make([]bool, len(turns))
	from := 0
	for _, m := range markPattern.FindAllStringSubmatchIndex(text, -1) {
		i, err := strconv.Atoi(text[m[2]:m[3]])
		if err != nil || i >= len(turns) {
			return nil, fmt.Errorf("%w: the model's chat template garbles the conversation", backend.ErrInvalid)
		}
		parts = append(parts, Part{Text: text[from:m[0]], Template: true})
		parts = append(parts, Marked(turns[i].text, turns[i].marks)...)
		shown[i] = true
		from = m[1]
	}
	for i, t := range turns {
		if t.text != "" && !shown[i] && i >= messagesShown {
			return nil, fmt.Errorf("%w: the model's chat template leaves out document %d", backend.ErrInvalid,
				i-messagesShown)
		}
		if t.text != "" && !shown[i] {
			return nil, fmt.Errorf("%w: the model's chat template leaves out message %d, of role %s",
				backend.ErrInvalid, i, t.role)
		}
	}
	return append(parts, Part{Text: text[from:], Template: true}), nil
}

// turns prepares messages for the template: white space around them is stripped where the template
// would strip it, and what the system has to say is put before the user's words where the template has
// no place for it.
func (c *Template) turns(messages []backend.Message) []turn {
	var turns []turn
	said := ""
	for _, m := range messages {
		text, marks := m.Text, m.Marks
		if c.trims && len(marks) == 0 { // what stands beside a special token is no margin
			text = strings.TrimSpace(text)
		}
		switch {
		case m.Role == backend.System && !c.system:
			said += text + "\n\n"
			continue
		case m.Role == backend.User:
			text, marks = said+text, moved(marks, len(said))
			said = ""
		}
		turns = append(turns, turn{m.Role, text, marks})
	}
	if said != "" { // no user speaks after the system
		turns = append(turns, turn{role: backend.User, text: strings.TrimSuffix(said, "\n\n")})
	}
	return turns
}

// moved are marks with so many bytes before their text.
func moved(marks []backend.Mark, by int) []backend.Mark {
	list := slices.Clone(marks)
	for i := range list {
		list[i].At += by
	}
	return list
}

// Marked cuts a text at its special tokens: see [backend.Mark].
func Marked(text string, marks []backend.Mark) []Part {
	before, tokens, after := backend.Marked(text, marks)
	parts := []Part{{Text: before}}
	for i, token := range tokens {
		parts = append(parts, Part{Special: token}, Part{Text: after[i]})
	}
	return parts
}

// fill runs the template. It came with the model's file and may be anything, so that a panic of its
// interpreter is the template's error.
func (c *Template) fill(turns []turn, documents []string, s setting) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	messages := make([]any, len(turns))
	for i, t := range turns {
		messages[i] = map[string]any{"role": string(t.role), "content": t.text}
	}
	given := map[string]any{
		"messages":              messages,
		"add_generation_prompt": s.reply,
		"enable_thinking":       s.think, // the switch of some templates, and of others the next one
		"thinking":              s.think,
		"bos_token":             c.bos,
		"eos_token":             c.eos,
	}
	if len(documents) > 0 {
		list := make([]any, len(documents))
		for i, d := range documents {
			list[i] = map[string]any{"doc_id": strconv.Itoa(i), "text": d}
		}
		given["documents"] = list
	}
	return c.compiled.Render(given)
}
