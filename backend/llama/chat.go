package llama

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ardanlabs/jinja"

	"github.com/assay-eval/assay/backend"
)

// A chat renders conversations as a model was trained to read them, with the template (in Jinja) that
// came with it. It is safe for concurrent use.
//
// The template never sees the messages' text. It gets a mark for each, and the text is put in where the
// marks come out, so that what the template wrote can be told from what a message says.
type chat struct {
	template *jinja.Template // nil: the model has none
	bos, eos string

	system bool // the template has a place for a system message
	trims  bool // the template strips white space from around messages
}

// newChat compiles a template and finds out its habits.
func newChat(source, bos, eos string) (*chat, error) {
	c := &chat{bos: bos, eos: eos, system: true}
	if source == "" {
		return c, nil
	}
	var err error
	if c.template, err = jinja.Compile(source); err != nil {
		return nil, fmt.Errorf("the model's chat template cannot be read: %w", err)
	}
	user := []turn{{backend.User, " " + mark(0) + " "}}
	text, err := c.fill(user, true)
	if err != nil {
		return nil, fmt.Errorf("the model's chat template fails on a plain question: %w", err)
	}
	if !strings.Contains(text, mark(0)) {
		return nil, errors.New("the model's chat template leaves out the user's message")
	}
	c.trims = !strings.Contains(text, user[0].text)
	text, err = c.fill([]turn{{backend.System, mark(0)}, {backend.User, mark(1)}}, true)
	c.system = err == nil && strings.Contains(text, mark(0)) && strings.Contains(text, mark(1))
	return c, nil
}

// A turn is a message as the template sees it.
type turn struct {
	role backend.Speaker
	text string
}

// mark stands for the text of message i in a rendered conversation. Templates do things to text: cut,
// strip, escape. These characters survive all of it.
func mark(i int) string { return "zqmessage" + strconv.Itoa(i) + "zq" }

var markPattern = regexp.MustCompile(`zqmessage([0-9]+)zq`)

// render returns the conversation with the start of the reply, as parts of the template and parts of
// the messages.
func (c *chat) render(messages []backend.Message) ([]part, error) { return c.parts(messages, true) }

// said returns a question with its answer, as a reward model reads it: nothing follows the answer's turn.
func (c *chat) said(p backend.Pair) ([]part, error) {
	messages := []backend.Message{{Role: backend.User, Text: p.Query}, {Role: backend.Assistant, Text: p.Text}}
	if p.Query == "" {
		messages = messages[1:]
	}
	return c.parts(messages, false)
}

// parts renders a conversation, with the start of a reply or without.
func (c *chat) parts(messages []backend.Message, reply bool) ([]part, error) {
	turns := c.turns(messages)
	if c.template == nil {
		var parts []part
		for _, t := range turns {
			parts = append(parts, part{text: t.text + "\n\n"})
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
	text, err := c.fill(marks, reply)
	if err != nil {
		return nil, fmt.Errorf("%w: the model's chat template refuses the conversation: %v", backend.ErrInvalid, err)
	}
	var parts []part
	shown := make([]bool, len(turns))
	from := 0
	for _, m := range markPattern.FindAllStringSubmatchIndex(text, -1) {
		i, err := strconv.Atoi(text[m[2]:m[3]])
		if err != nil || i >= len(turns) {
			return nil, fmt.Errorf("%w: the model's chat template garbles the conversation", backend.ErrInvalid)
		}
		parts = append(parts, part{text: text[from:m[0]], template: true}, part{text: turns[i].text})
		shown[i] = true
		from = m[1]
	}
	for i, t := range turns {
		if t.text != "" && !shown[i] {
			return nil, fmt.Errorf("%w: the model's chat template leaves out message %d, of role %s",
				backend.ErrInvalid, i, t.role)
		}
	}
	return append(parts, part{text: text[from:], template: true}), nil
}

// turns prepares messages for the template: white space around them is stripped where the template
// would strip it, and what the system has to say is put before the user's words where the template has
// no place for it.
func (c *chat) turns(messages []backend.Message) []turn {
	var turns []turn
	said := ""
	for _, m := range messages {
		text := m.Text
		if c.trims {
			text = strings.TrimSpace(text)
		}
		switch {
		case m.Role == backend.System && !c.system:
			said += text + "\n\n"
			continue
		case m.Role == backend.User:
			text = said + text
			said = ""
		}
		turns = append(turns, turn{m.Role, text})
	}
	if said != "" { // no user speaks after the system
		turns = append(turns, turn{backend.User, strings.TrimSuffix(said, "\n\n")})
	}
	return turns
}

// fill runs the template. It came with the model's file and may be anything, so that a panic of its
// interpreter is the template's error.
func (c *chat) fill(turns []turn, reply bool) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	messages := make([]any, len(turns))
	for i, t := range turns {
		messages[i] = map[string]any{"role": string(t.role), "content": t.text}
	}
	return c.template.Render(map[string]any{
		"messages":              messages,
		"add_generation_prompt": reply,
		"enable_thinking":       false, // for the templates that know it: judging spends no tokens on thoughts
		"bos_token":             c.bos,
		"eos_token":             c.eos,
	})
}
