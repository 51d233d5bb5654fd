package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/assay-eval/assay/metrics"
)

// A draft is a sample in the making.
type draft struct {
	metrics.Sample
	ids    []string           // of the passages in contexts, where they carry them
	turns  []turn             // of a question that is a whole conversation
	talk   []turn             // of a conversation in a column of its own
	called []metrics.ToolCall // in that conversation, or in the history

	prediction cell // what a system made of the row, in one object
}

// decode makes a sample of a record, the row-th of its file.
func (c *columns) decode(rec record, row int) (*metrics.Sample, error) {
	d, err := c.draft(rec, row)
	if err != nil {
		return nil, err
	}
	s := d.Sample
	return &s, nil
}

// draft makes a draft of a record, complete.
func (c *columns) draft(rec record, row int) (*draft, error) {
	d := &draft{}
	for _, cell := range rec.cells {
		fields := c.field[cell.column]
		if cell.none {
			continue
		}
		if cell.bytes && len(fields) > 0 {
			return nil, fmt.Errorf("%s: not UTF-8", cell.column)
		}
		if len(fields) == 0 {
			if d.Extra == nil {
				d.Extra = map[string]json.RawMessage{}
			}
			d.Extra[cell.column] = cell.json()
		}
		for _, field := range fields {
			if err := d.set(field, cell); err != nil {
				return nil, fmt.Errorf("%s: %w", cell.column, err)
			}
		}
	}
	if err := d.predicted(d.prediction); err != nil {
		return nil, fmt.Errorf("%s: %w", d.prediction.column, err)
	}
	if len(d.ContextIDs) == 0 && len(d.ids) > 0 {
		d.ContextIDs = d.ids
	}
	if err := d.converse(); err != nil {
		return nil, err
	}
	if d.ID == "" {
		d.ID = "row-" + strconv.Itoa(row)
	}
	return d, nil
}

// set decodes a cell into one field.
func (d *draft) set(field string, c cell) (err error) {
	switch field {
	case "id":
		d.ID, err = c.string()
	case "group":
		d.Group, err = c.string()
	case "question":
		if c.list() && !c.text {
			d.turns, err = c.turns()
			d.called = append(d.called, callsIn(d.turns)...)
		} else {
			d.Question, err = c.string()
		}
	case "answer":
		d.Answer, err = c.string()
	case "prediction":
		d.prediction = c
	case "contexts":
		d.Contexts, d.ids, err = c.passages()
	case "context_ids":
		if d.ContextIDs, _, err = c.passages(); d.ContextIDs == nil && c.list() {
			d.ContextIDs = []string{} // a ranking that found nothing, where no list at all would be none
		}
	case "reference_answers":
		d.References, _, err = c.passages()
	case "reference_contexts":
		d.ReferenceContexts, _, err = c.passages()
	case "reference_context_ids":
		d.ReferenceContextIDs, _, err = c.passages()
	case "history":
		var turns []turn
		turns, err = c.turns()
		d.History = plain(turns)
		d.called = append(d.called, callsIn(turns)...)
	case "standalone_question":
		d.Standalone, err = c.string()
	case "conversation":
		d.talk, err = c.turns()
		d.called = append(d.called, callsIn(d.talk)...)
	case "relevance":
		err = object(c, &d.Relevance, `{"passage-7": 2}`)
	case "other_answers":
		d.OtherAnswers, _, err = c.passages()
	case "other_contexts":
		d.OtherContexts, err = c.lists()
	case "tool_calls":
		d.ToolCalls, err = c.toolCalls()
	case "reference_tool_calls":
		d.ReferenceToolCalls, err = c.toolCalls()
	case "reference_topics":
		d.ReferenceTopics, _, err = c.passages()
	case "rubrics":
		err = object(c, &d.Rubrics, `{"1": "misses the point", "5": "complete"}`)
	case "answerable":
		d.Answerable, err = c.answerable()
	case "nuggets":
		d.Nuggets, err = c.nuggets()
	case "aspects":
		err = object(c, &d.Aspects, `{"passage-7": ["price", "season"]}`)
	}
	return err
}

// object reports whether the cell is an object, or in a table its text.
func (c cell) object() bool {
	value := bytes.TrimSpace(c.value)
	return len(value) > 1 && value[0] == '{' && (!c.text || json.Valid(value))
}

// predicted spreads what a system predicted over the sample, as unitxt has it: an object with an answer, contexts and
// their ids. What else it holds is kept as extra columns.
func (d *draft) predicted(c cell) error {
	if value := bytes.TrimSpace(c.value); len(value) == 0 || string(value) == "null" {
		return nil
	}
	var members map[string]json.RawMessage
	if !c.object() || json.Unmarshal(c.value, &members) != nil {
		return errors.New(`want an object such as {"answer": "Oslo", "contexts": ["Oslo is the capital."]}`)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		var err error
		switch {
		case name == "answer" && d.Answer != "", name == "contexts" && d.Contexts != nil,
			name == "context_ids" && d.ContextIDs != nil:
			err = errors.New("a column beside it says it, too")
		case name == "answer" || name == "contexts" || name == "context_ids":
			err = d.set(name, cell{value: value})
		default:
			if d.Extra == nil {
				d.Extra = map[string]json.RawMessage{}
			}
			if _, taken := d.Extra[name]; !taken {
				d.Extra[name] = value
			}
		}
		if err != nil {
			return fmt.Errorf("its %s: %w", name, err)
		}
	}
	return nil
}

// json returns the cell as JSON.
func (c cell) json() json.RawMessage {
	if !c.text {
		return c.value
	}
	b, err := json.Marshal(string(c.value))
	if err != nil {
		panic(err) // unreachable: a string
	}
	return b
}

// list reports whether the cell is a list: a JSON array, or in a table text that looks like one.
func (c cell) list() bool {
	value := bytes.TrimSpace(c.value)
	if len(value) < 2 || value[0] != '[' {
		return false
	}
	return !c.text || json.Valid(value) || isPython(value)
}

// elements cuts a list into JSON values.
func (c cell) elements() (list []json.RawMessage, err error) {
	value := bytes.TrimSpace(c.value)
	if c.text && !json.Valid(value) {
		if value, err = fromPython(value); err != nil {
			return nil, err
		}
	}
	return list, json.Unmarshal(value, &list)
}

// string decodes text. A number stands for its digits, null for nothing.
func (c cell) string() (string, error) {
	if c.text {
		return string(c.value), nil
	}
	return decodeString(c.value)
}

func decodeString(value []byte) (string, error) {
	switch kind := kindOf(value); kind {
	case "text":
		var s string
		err := json.Unmarshal(value, &s)
		return s, err
	case "a number":
		return string(value), nil
	case "null":
		return "", nil
	default:
		return "", fmt.Errorf("want text, have %s", kind)
	}
}

// passages decodes a list of texts: strings, or objects with the text in a member. A lone one is a
// list of one. In a table the list is written as JSON. If every passage is an object with an id, the
// ids are returned too.
func (c cell) passages() (texts, ids []string, err error) {
	if !c.list() {
		if c.text || kindOf(c.value) != "an object" {
			text, err := c.string()
			if text == "" {
				return nil, nil, err
			}
			return []string{text}, nil, nil
		}
		c.value = append(append([]byte{'['}, c.value...), ']')
	}
	list, err := c.elements()
	if err != nil {
		return nil, nil, err
	}
	for i, value := range list {
		text, id, err := passage(value)
		if err != nil {
			return nil, nil, fmt.Errorf("number %d of the list: %w", i+1, err)
		}
		texts = append(texts, text)
		if id != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) != len(texts) {
		ids = nil
	}
	return texts, ids, nil
}

// lists decodes a list of which each entry is a list of texts, or one text. A lone text is a list of one.
func (c cell) lists() ([][]string, error) {
	if !c.list() {
		texts, _, err := c.passages()
		if len(texts) == 0 {
			return nil, err
		}
		return [][]string{texts}, err
	}
	entries, err := c.elements()
	if err != nil {
		return nil, err
	}
	var lists [][]string
	for i, value := range entries {
		texts, _, err := cell{value: value}.passages()
		if err != nil {
			return nil, fmt.Errorf("number %d of the list: %w", i+1, err)
		}
		lists = append(lists, texts)
	}
	return lists, nil
}

// passage decodes one entry of a list of texts.
func passage(value []byte) (text, id string, err error) {
	if kindOf(value) == "null" {
		return "", "", errors.New("want text, have null")
	}
	if kindOf(value) != "an object" {
		text, err = decodeString(value)
		return text, "", err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil {
		return "", "", err
	}
	raw, ok := first(object, "text", "content", "page_content", "doc_text")
	if !ok {
		return "", "", errors.New("want a member text, content, page_content or doc_text in the object")
	}
	if text, err = decodeString(raw); err != nil {
		return "", "", err
	}
	if raw, ok = first(object, "doc_id", "document_id", "id"); ok {
		id, err = decodeString(raw)
	}
	return text, id, err
}

// first returns the first of the named members that is there and not null.
func first(object map[string]json.RawMessage, names ...string) (json.RawMessage, bool) {
	for _, name := range names {
		if value, ok := object[name]; ok && kindOf(value) != "null" {
			return value, true
		}
	}
	return nil, false
}

// object decodes a JSON object, or in a table its text, into a map. An empty cell and null are none.
func object[T any](c cell, into *map[string]T, like string) error {
	value := bytes.TrimSpace(c.value)
	if len(value) == 0 {
		return nil
	}
	var members map[string]*T
	if kind := kindOf(value); kind != "an object" && kind != "null" || json.Unmarshal(value, &members) != nil {
		return fmt.Errorf("want an object such as %s", like)
	}
	if members == nil {
		return nil
	}
	*into = make(map[string]T, len(members))
	for name, v := range members {
		if v == nil { // which is no 0
			return fmt.Errorf("%.40q has no value: want an object such as %s", name, like)
		}
		(*into)[name] = *v
	}
	return nil
}
