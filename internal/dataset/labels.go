package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/metrics"
)

// answerable decodes whether a question can be answered: true and false, 1 and 0, yes and no, or mtRAG's words, of which
// a question that can be answered in part is answerable and one that is small talk is neither.
func (c cell) answerable() (*bool, error) {
	yes, no := true, false
	value := bytes.TrimSpace(c.value)
	if list := c.list(); list { // mtRAG has a list of one
		elements, err := c.elements()
		if err != nil || len(elements) != 1 {
			return nil, errors.New("want true or false, have a list")
		}
		value = elements[0]
	}
	text := strings.ToLower(strings.Trim(string(value), "\" "))
	switch text {
	case "true", "1", "1.0", "yes", "answerable", "partial", "partially answerable", "underspecified":
		return &yes, nil
	case "false", "0", "0.0", "no", "unanswerable":
		return &no, nil
	case "", "null", "none", "conversational":
		return nil, nil
	}
	return nil, fmt.Errorf("want true or false, or ANSWERABLE, PARTIAL or UNANSWERABLE, have %.40q", text)
}

// nuggets decodes a list of facts: texts, which are vital, or objects with a text and an importance, vital or okay, as
// AutoNuggetizer writes them. An object that holds such a list as its nuggets will do.
func (c cell) nuggets() ([]metrics.Nugget, error) {
	value := bytes.TrimSpace(c.value)
	var holder struct {
		Nuggets json.RawMessage `json:"nuggets"`
	}
	if json.Unmarshal(value, &holder) == nil && holder.Nuggets != nil {
		c.value, c.text = holder.Nuggets, false
	}
	if !c.list() {
		text, err := c.string()
		if err != nil || strings.TrimSpace(text) == "" {
			return nil, err
		}
		return []metrics.Nugget{{Text: text, Vital: true}}, nil
	}
	elements, err := c.elements()
	if err != nil {
		return nil, err
	}
	var list []metrics.Nugget
	for i, e := range elements {
		n, err := nugget(e)
		if err != nil {
			return nil, fmt.Errorf("number %d of the list: %w", i+1, err)
		}
		list = append(list, n)
	}
	return list, nil
}

func nugget(value json.RawMessage) (metrics.Nugget, error) {
	if kindOf(value) != "an object" {
		text, err := decodeString(value)
		if err == nil && strings.TrimSpace(text) == "" {
			err = errors.New("want a text, have nothing")
		}
		return metrics.Nugget{Text: text, Vital: true}, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil {
		return metrics.Nugget{}, err
	}
	raw, ok := first(object, "text", "nugget", "fact")
	if !ok {
		return metrics.Nugget{}, errors.New("want a member text in the object")
	}
	n := metrics.Nugget{Vital: true}
	var err error
	if n.Text, err = decodeString(raw); err != nil {
		return n, err
	}
	if strings.TrimSpace(n.Text) == "" {
		return n, errors.New("want a text, have nothing")
	}
	if raw, ok := first(object, "vital"); ok {
		return n, json.Unmarshal(raw, &n.Vital)
	}
	raw, ok = first(object, "importance")
	if !ok {
		return n, nil
	}
	importance, err := decodeString(raw)
	if err != nil {
		return n, err
	}
	switch strings.ToLower(importance) {
	case "vital":
	case "okay", "ok":
		n.Vital = false
	default:
		return n, fmt.Errorf("want vital or okay as the importance, have %.40q", importance)
	}
	return n, nil
}

// covers reports whether a cell may say which aspects passages cover: nothing yet, or an object.
func (c cell) covers() bool {
	value := bytes.TrimSpace(c.value)
	return len(value) == 0 || string(value) == "null" || value[0] == '{'
}
