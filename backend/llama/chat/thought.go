package chat

import (
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// The marks that enclose what a model writes for itself before its reply.
type marks struct {
	open string // begins a thought
	end  string // with which the model ends one
	shut string // from the end of a thought to the start of the reply
	none string // in the place of a thought where none is wanted
}

// known lists the marks that reasoning models were trained with: Qwen3, DeepSeek-R1, GLM and most others; EXAONE;
// gpt-oss, whose replies have channels.
func known() []marks {
	list := []marks{{
		open: "<|channel|>analysis<|message|>",
		end:  "<|end|>",
		shut: "<|end|><|start|>assistant<|channel|>final<|message|>",
		none: "<|channel|>final<|message|>",
	}}
	for _, name := range []string{"think", "thought"} {
		open, end := "<"+name+">", "</"+name+">"
		list = append(list, marks{open + "\n", end, "\n" + end + "\n\n", open + "\n\n" + end + "\n\n"})
	}
	return list
}

// A habit is what a template has to do with thoughts.
type habit struct {
	*marks        // nil: nothing
	start  string // what a thought takes behind the template's own start of a reply
	skip   string // what a reply without a thought takes behind it
}

// habit finds out what the template does with thoughts. A model has marks if its template writes them where a reply
// starts, or knows of thoughts in earlier replies.
func (c *Template) habit(source string) habit {
	for _, m := range known() {
		if !strings.Contains(source, m.end) && !strings.Contains(source, strings.TrimSpace(m.open)) {
			continue
		}
		silent, errSilent := c.start(false)
		thinking, errThinking := c.start(true)
		if errSilent != nil || errThinking != nil {
			return habit{}
		}
		_, after, _ := strings.Cut(silent, mark(0))
		_, before, _ := strings.Cut(thinking, mark(0))
		opened := func(start string) bool {
			return strings.HasSuffix(strings.TrimSpace(start), strings.TrimSpace(m.open))
		}
		closed := func(start string) bool { return strings.Contains(start, strings.TrimSpace(m.shut)) }
		switch {
		case closed(before): // it lets the model think by no switch that we know
			continue
		case !closed(after) && !opened(after) && !opened(before) && !c.remembers(&m):
			continue
		}
		h := habit{marks: &m, start: m.open}
		if opened(before) {
			h.start = ""
		}
		switch {
		case closed(after):
		case opened(after):
			h.skip = m.shut
		case silent == thinking:
			h.skip = m.none
		}
		return h
	}
	return habit{}
}

// start is a question with the start of the reply.
func (c *Template) start(think bool) (string, error) {
	return c.fill([]turn{{role: backend.User, text: mark(0)}}, nil, setting{reply: true, think: think})
}

// remembers reports whether the template takes thoughts out of earlier replies, or says of them that they had none.
func (c *Template) remembers(m *marks) bool {
	text, err := c.fill([]turn{{role: backend.User, text: mark(0)},
		{role: backend.Assistant, text: m.open + mark(1) + m.shut + mark(2)}, {role: backend.User, text: mark(3)},
		{role: backend.Assistant, text: mark(4)}, {role: backend.User, text: mark(5)}}, nil, setting{reply: true})
	return err == nil && strings.Contains(text, mark(2)) &&
		(!strings.Contains(text, mark(1)) || strings.Contains(text, m.none+mark(4)))
}

// Thinks reports whether the model marks its thoughts.
func (c *Template) Thinks() bool { return c.thoughts.marks != nil }

// Silences reports whether thoughts are kept out of replies by what the template itself does not write.
func (c *Template) Silences() bool { return c.thoughts.skip != "" }

// ThoughtEnd is the mark with which the model ends a thought. The model must have some: see Thinks.
func (c *Template) ThoughtEnd() string { return c.thoughts.end }

// RenderThinking returns the conversation with the start of a thought.
func (c *Template) RenderThinking(messages []backend.Message, documents ...string) ([]Part, error) {
	parts, err := c.parts(messages, documents, setting{reply: true, think: true})
	if err != nil {
		return nil, err
	}
	return append(parts, Part{Text: c.thoughts.start, Template: true}), nil
}

// Thought returns what follows [Template.RenderThinking]: a thought, closed, and the start of the reply.
func (c *Template) Thought(thought string) ([]Part, error) {
	if strings.Contains(thought, c.thoughts.end) {
		return nil, fmt.Errorf("%w: the thought contains %q, which ends one", backend.ErrInvalid, c.thoughts.end)
	}
	return []Part{{Text: strings.TrimSpace(thought)}, {Text: c.thoughts.shut, Template: true}}, nil
}
