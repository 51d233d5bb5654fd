package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// A turn is a step of a conversation, with what a sample holds elsewhere.
type turn struct {
	metrics.Turn
	found []string // the passages that were retrieved for it
}

// talks reports whether all that is done in the turn is to say something.
func (t turn) talks() bool { return len(t.Calls) == 0 && t.Result == nil }

// plain are the turns as a sample holds them.
func plain(turns []turn) []metrics.Turn {
	var list []metrics.Turn
	for _, t := range turns {
		list = append(list, t.Turn)
	}
	return list
}

// callsIn lists the calls that are made in turns, in their order.
func callsIn(turns []turn) []metrics.ToolCall {
	var list []metrics.ToolCall
	for _, t := range turns {
		list = append(list, t.Calls...)
	}
	return list
}

// converse spreads a conversation over the sample: what the user said last is the question, what was
// said before it the history, the reply to it the answer, and what was done before that reply the steps.
// The calls that were made are the sample's; in a whole conversation that makes none, beside reference
// calls, it is known that there were none.
//
// A conversation in a column of its own is a whole one, too, unless there is another question beside it: then it
// is the history of that.
func (d *draft) converse() error {
	switch question := strings.TrimSpace(d.Question); {
	case len(d.talk) == 0:
	case len(d.turns) > 0 || len(d.History) > 0:
		return errors.New("a conversation in a column of its own, and another beside it")
	case question == "" || question == strings.TrimSpace(lastQuestion(d.talk)):
		d.turns = d.talk
	default:
		d.History = plain(d.talk)
	}
	switch {
	case len(d.called) > 0 && d.ToolCalls != nil:
		return errors.New("a conversation with calls of tools in it, and a column of them beside it")
	case len(d.called) > 0:
		d.ToolCalls = d.called
	case len(d.turns) > 0 && d.ToolCalls == nil && d.ReferenceToolCalls != nil:
		d.ToolCalls = []metrics.ToolCall{}
	}
	if len(d.turns) == 0 {
		return nil
	}
	last := len(d.turns) - 1
	for last >= 0 && d.turns[last].Role != backend.User {
		last--
	}
	end := len(d.turns) // of the steps
	for end > last+1 && d.turns[end-1].Role == backend.Assistant && d.turns[end-1].talks() {
		end--
	}
	var texts []string
	for _, t := range d.turns[end:] {
		texts = append(texts, t.Said)
	}
	reply, answer := strings.Join(texts, "\n"), strings.TrimSpace(d.Answer)
	switch {
	case last < 0:
		return errors.New("a conversation in which the user says nothing")
	case len(d.History) > 0:
		return errors.New("a conversation for a question, and a history beside it")
	case reply != "" && answer != "" && answer != strings.TrimSpace(reply):
		return errors.New("a conversation that ends with a reply, and an answer beside it that is another")
	case reply != "":
		d.Answer = reply
	}
	for _, t := range d.turns[last+1:] {
		if len(d.Contexts) == 0 {
			d.Contexts = t.found
		}
	}
	d.Question = d.turns[last].Said
	d.History = plain(d.turns[:last])
	d.Steps = plain(d.turns[last+1 : end])
	return nil
}

// lastQuestion is what the user said last.
func lastQuestion(turns []turn) string {
	for _, t := range slices.Backward(turns) {
		if t.Role == backend.User {
			return t.Said
		}
	}
	return ""
}

// converses reports whether a cell may hold a conversation whose turns say who speaks: nothing yet, or a list that
// begins with an object or a pair.
func (c cell) converses() bool {
	if !c.list() {
		return len(bytes.TrimSpace(c.value)) == 0 || !c.text && kindOf(c.value) == "null"
	}
	list, err := c.elements()
	return err == nil && (len(list) == 0 || kindOf(list[0]) == "an object" || kindOf(list[0]) == "a list")
}

// turns decodes a conversation: a list of objects with a role and a text, of [user, assistant] pairs, or
// of strings, which are the user's and the assistant's in turn.
func (c cell) turns() ([]turn, error) {
	if !c.list() {
		if len(bytes.TrimSpace(c.value)) == 0 || !c.text && kindOf(c.value) == "null" {
			return nil, nil
		}
		return nil, errors.New(`want a list of turns: [{"role": "user", "content": "..."}, ...]`)
	}
	list, err := c.elements()
	if err != nil {
		return nil, err
	}
	r := turnReader{tools: map[string]string{}}
	for i, value := range list {
		switch kindOf(value) {
		case "an object":
			err = r.object(value)
		case "a list":
			err = r.pair(value)
		case "text":
			var text string
			text, err = decodeString(value)
			r.say([]backend.Speaker{backend.User, backend.Assistant}[i%2], text)
		default:
			err = fmt.Errorf("want an object or text, have %s", kindOf(value))
		}
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	return r.turns, nil
}

// A turnReader reads a conversation turn by turn.
type turnReader struct {
	turns []turn
	tools map[string]string // the tools called so far, by the ids of their calls
}

func (r *turnReader) say(role backend.Speaker, text string) {
	r.turns = append(r.turns, turn{Turn: metrics.Turn{Role: role, Said: text}})
}

func (r *turnReader) pair(value []byte) error {
	var pair []string
	if err := json.Unmarshal(value, &pair); err != nil || len(pair) != 2 {
		return errors.New("want a pair of texts, the user's and the assistant's")
	}
	r.say(backend.User, pair[0])
	r.say(backend.Assistant, pair[1])
	return nil
}

// object reads a turn with a role, in the forms of OpenAI, LangChain, Ragas, DeepEval and others.
func (r *turnReader) object(value []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil {
		return err
	}
	who, ok := first(object, "role", "type", "speaker", "from")
	if !ok {
		return r.exchange(object)
	}
	name, err := decodeString(who)
	if err != nil {
		return fmt.Errorf("role: %w", err)
	}
	if name := strings.ToLower(name); name == "tool" || name == "function" {
		return r.result(object)
	}
	role, err := roleOf(name)
	if err != nil {
		return err
	}
	if err := unwrap(object); err != nil {
		return err
	}
	calls, err := r.calls(object)
	if err != nil {
		return err
	}
	text := ""
	if said, ok := contentOf(object); ok {
		if text, err = contentText(said); err != nil {
			return fmt.Errorf("content: %w", err)
		}
	} else if len(calls) == 0 {
		return errors.New("no content")
	}
	switch {
	case len(calls) == 0:
		r.say(role, text)
	case role != backend.Assistant:
		return fmt.Errorf("calls of tools in a turn of the %s: only the assistant makes them", role)
	default:
		r.turns = append(r.turns, turn{Turn: metrics.Turn{Role: role, Said: text, Calls: calls}})
	}
	if raw, ok := first(object, "retrieval_context"); ok {
		if r.turns[len(r.turns)-1].found, _, err = (cell{value: raw}).passages(); err != nil {
			return fmt.Errorf("retrieval_context: %w", err)
		}
	}
	return nil
}

// exchange reads what the user said and the reply to it from one object, as promptfoo writes a conversation.
func (r *turnReader) exchange(object map[string]json.RawMessage) error {
	input, asked := first(object, "input")
	output, replied := first(object, "output")
	if !asked || !replied {
		return errors.New("no role")
	}
	question, err := contentText(input)
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	reply, err := contentText(output)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	r.say(backend.User, question)
	r.say(backend.Assistant, reply)
	return nil
}

// contentOf returns what is said in a turn, and whether there is anything.
func contentOf(object map[string]json.RawMessage) (json.RawMessage, bool) {
	return first(object, "content", "text", "value")
}

// unwrap puts the members of a turn's content in its place, where it is an object: Ragas writes it so, with
// the calls beside the text.
func unwrap(object map[string]json.RawMessage) error {
	said, ok := first(object, "content")
	if !ok || kindOf(said) != "an object" {
		return nil
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(said, &inner); err != nil {
		return err
	}
	object["content"] = inner["text"]
	if object["content"] == nil {
		delete(object, "content")
	}
	if calls, ok := first(inner, "tool_calls"); ok {
		object["tool_calls"] = calls
	}
	return nil
}

// result reads what a tool returned. Its content may be any JSON.
func (r *turnReader) result(object map[string]json.RawMessage) error {
	content, ok := contentOf(object)
	if !ok {
		return errors.New("no content")
	}
	tool := ""
	if raw, ok := first(object, "tool_call_id"); ok {
		id, err := decodeString(raw)
		if err != nil {
			return fmt.Errorf("tool_call_id: %w", err)
		}
		tool = r.tools[id]
	}
	if raw, ok := first(object, "name"); ok && tool == "" {
		var err error
		if tool, err = decodeString(raw); err != nil {
			return fmt.Errorf("name: %w", err)
		}
	}
	text, err := contentText(content)
	if err != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, content); err != nil {
			return err
		}
		text = compact.String()
	}
	result := &metrics.ToolResult{Tool: tool, Text: text}
	r.turns = append(r.turns, turn{Turn: metrics.Turn{Role: backend.Assistant, Result: result}})
	return nil
}

// calls reads the calls of tools in a turn.
func (r *turnReader) calls(object map[string]json.RawMessage) ([]metrics.ToolCall, error) {
	if old, ok := first(object, "function_call"); ok { // OpenAI's first form, of one call
		object["tool_calls"] = append(append([]byte{'['}, old...), ']')
	}
	raw, ok := first(object, "tool_calls", "tools_called")
	if !ok {
		return nil, nil
	}
	calls, err := cell{value: raw}.toolCalls()
	if err != nil {
		return nil, err
	}
	var ids []struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(raw, &ids) == nil {
		for i, call := range calls {
			if ids[i].ID != "" {
				r.tools[ids[i].ID] = call.Name
			}
		}
	}
	return calls, nil
}

// contentText reads the content of a turn: text, or a list of its parts.
func contentText(value []byte) (string, error) {
	if kindOf(value) != "a list" {
		return decodeString(value)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(value, &parts); err != nil {
		return "", err
	}
	var texts []string
	for i, part := range parts {
		if kindOf(part) == "an object" {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(part, &object); err != nil {
				return "", err
			}
			text, ok := first(object, "text")
			if !ok {
				return "", fmt.Errorf("part %d is not text", i+1)
			}
			part = text
		}
		text, err := decodeString(part)
		if err != nil {
			return "", fmt.Errorf("part %d: %w", i+1, err)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n"), nil
}

// roleOf reads the names that conversations use for who speaks.
func roleOf(name string) (backend.Speaker, error) {
	switch strings.ToLower(name) {
	case "user", "human":
		return backend.User, nil
	case "assistant", "ai", "agent", "bot", "gpt", "model":
		return backend.Assistant, nil
	case "system":
		return backend.System, nil
	}
	return "", fmt.Errorf("unknown role %q: it is one of user, assistant, system, tool", name)
}

// toolCalls decodes a list of the tools that an agent used, in the forms of Ragas (name, args), DeepEval
// (name, input_parameters) and OpenAI (function, with a name and arguments in JSON). An empty list is not nil.
func (c cell) toolCalls() ([]metrics.ToolCall, error) {
	if !c.list() {
		if value := bytes.TrimSpace(c.value); len(value) == 0 || kindOf(value) == "null" {
			return nil, nil
		}
		return nil, errors.New(`want a list of calls: [{"name": "search", "args": {"query": "..."}}, ...]`)
	}
	list, err := c.elements()
	if err != nil {
		return nil, err
	}
	calls := []metrics.ToolCall{}
	for i, value := range list {
		call, err := toolCall(value)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i+1, err)
		}
		calls = append(calls, call)
	}
	return calls, nil
}

func toolCall(value []byte) (metrics.ToolCall, error) {
	var call metrics.ToolCall
	var object map[string]json.RawMessage
	if kindOf(value) != "an object" || json.Unmarshal(value, &object) != nil {
		return call, fmt.Errorf("want an object with a name, have %s", kindOf(value))
	}
	if inner, ok := first(object, "function"); ok && kindOf(inner) == "an object" {
		return toolCall(inner)
	}
	name, ok := first(object, "name", "tool")
	if !ok {
		return call, errors.New("no name")
	}
	var err error
	if call.Name, err = decodeString(name); err != nil {
		return call, fmt.Errorf("name: %w", err)
	}
	args, ok := first(object, "args", "arguments", "input_parameters", "inputParameters", "input")
	if !ok {
		return call, nil
	}
	if kindOf(args) == "text" {
		text, err := decodeString(args)
		if err != nil {
			return call, fmt.Errorf("args: %w", err)
		}
		args = json.RawMessage(text)
	}
	if json.Unmarshal(args, &call.Args) != nil {
		return call, errors.New("args: want an object")
	}
	return call, nil
}
