package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// fieldColumns lists the fields of a sample and, for each, the names of columns that are recognised
// as it: ours first, then those of Ragas, DeepEval, promptfoo, unitxt, TruLens, RAGChecker,
// continuous-eval, ARES and LangChain. A conversation and a prediction are no fields of their own: see
// [draft.converse] and [draft.predicted].
var fieldColumns = []fieldNames{
	{"id", []string{"id", "sample_id", "query_id", "question_id"}},
	{"group", []string{"group", "group_id"}},
	{"question", []string{"question", "user_input", "input", "query"}},
	{"answer", []string{"answer", "response", "actual_output", "output", "generated_answer", "answer_a",
		"result"}},
	{"prediction", []string{"prediction"}},
	{"contexts", []string{"contexts", "retrieved_contexts", "retrieval_context", "retrieved_context",
		"context", "source_documents", "passages", "document"}},
	{"context_ids", []string{"context_ids", "retrieved_context_ids", "contexts_id", "contexts_ids"}},
	{"reference_answers", []string{"reference_answers", "reference_answer", "reference", "references",
		"ground_truth", "ground_truths", "ground_truth_answer", "ground_truth_answers",
		"expected_output", "expected_response", "gt_answer"}},
	{"reference_contexts", []string{"reference_contexts", "ground_truth_context", "ground_truth_contexts",
		"ground_truths_contexts"}},
	{"reference_context_ids", []string{"reference_context_ids", "ground_truths_context_ids"}},
	{"history", []string{"history", "chat_history"}},
	{"standalone_question", []string{"standalone_question", "rewritten_question"}},
	{"conversation", []string{"conversation", "conversations", "messages", "turns"}},
	{"relevance", []string{"relevance", "qrels", "relevance_judgments"}},
	{"other_answers", []string{"other_answers", "multi_responses", "answer_b"}},
	{"other_contexts", []string{"other_contexts"}},
	{"tool_calls", []string{"tool_calls", "tools_called"}},
	{"reference_tool_calls", []string{"reference_tool_calls", "expected_tools"}},
	{"reference_topics", []string{"reference_topics"}},
	{"rubrics", []string{"rubrics"}},
	{"answerable", []string{"answerable", "is_answerable_label", "answerability"}},
	{"nuggets", []string{"nuggets", "expected_facts"}},
	{"aspects", []string{"aspects", "subtopics"}},
}

type fieldNames struct {
	field   string
	columns []string
}

// maxColumns bounds the number of different columns, which objects with arbitrary members would
// otherwise drive up.
const maxColumns = 4096

// columns matches the columns of a file with the fields of a sample. What a column means is settled by
// the first row that has it, and does not change with later rows.
type columns struct {
	asked map[string]string   // field to column, as the user says
	names map[string]string   // recognised name to field
	claim map[string]string   // field to the column that fills it
	field map[string][]string // column, of those seen, to the fields that it fills
	order []string            // the columns in order of appearance
}

func newColumns(asked map[string]string) (*columns, error) {
	c := &columns{asked: asked, names: map[string]string{}, claim: map[string]string{}, field: map[string][]string{}}
	var fields []string
	for _, f := range fieldColumns {
		fields = append(fields, f.field)
		for _, name := range f.columns {
			c.names[name] = f.field
		}
	}
	for field, column := range asked {
		if !slices.Contains(fields, field) {
			return nil, fmt.Errorf("unknown field %q in --map %s=%s: it is one of %s",
				field, field, column, strings.Join(fields, ", "))
		}
		c.claim[field] = column
	}
	return c, nil
}

// reach adds to a record the columns that the user named by a path into others: "inputs.question", "messages.0.content".
// A column whose own name has the dots goes before. JSON in text is looked into.
func (c *columns) reach(rec *record) {
	for _, f := range fieldColumns {
		path := c.asked[f.field]
		named := func(cell cell) bool { return cell.column == path }
		if !strings.Contains(path, ".") || slices.ContainsFunc(rec.cells, named) {
			continue
		}
		for _, cell := range rec.cells {
			rest, below := strings.CutPrefix(path, cell.column+".")
			if !below || cell.none {
				continue
			}
			if inner, ok := cell.inside(strings.Split(rest, ".")); ok {
				inner.column = path
				rec.cells = append(rec.cells, inner)
				break
			}
		}
	}
}

// inside follows the names of members, and the numbers of elements from 0, into a cell.
func (c cell) inside(path []string) (cell, bool) {
	value := bytes.TrimSpace(c.value)
	for _, name := range path {
		if kindOf(value) == "text" { // JSON in text
			if text, err := decodeString(value); err == nil {
				value = bytes.TrimSpace([]byte(text))
			}
		}
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case json.Unmarshal(value, &object) == nil && object[name] != nil:
			value = bytes.TrimSpace(object[name])
		case json.Unmarshal(value, &list) == nil:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(list) {
				return cell{}, false
			}
			value = bytes.TrimSpace(list[i])
		default:
			return cell{}, false
		}
	}
	return cell{value: value}, true
}

// see takes note of a record's columns.
func (c *columns) see(rec record) error {
	var fresh []cell
	for _, cell := range rec.cells {
		if _, old := c.field[cell.column]; !old {
			c.field[cell.column] = nil
			c.order = append(c.order, cell.column)
			fresh = append(fresh, cell)
		}
	}
	if len(c.order) > maxColumns {
		return fmt.Errorf("more than %d different columns: want the same ones in every row", maxColumns)
	}
	for _, cell := range fresh {
		if err := c.settle(cell); err != nil {
			return err
		}
	}
	return nil
}

// settle decides which fields the column of a cell fills: those that the user gave it, or else the one that
// its name is known for.
func (c *columns) settle(first cell) error {
	column := first.column
	for _, f := range fieldColumns {
		if c.asked[f.field] == column {
			c.field[column] = append(c.field[column], f.field)
		}
	}
	field := c.known(first)
	if len(c.field[column]) > 0 || field == "" || c.asked[field] != "" {
		return nil
	}
	if other := c.claim[field]; other != "" {
		return fmt.Errorf("the columns %q and %q could both be the %s: choose with --map %s=%s",
			other, column, field, field, column)
	}
	c.claim[field] = column
	c.field[column] = []string{field}
	return nil
}

// known returns the field that the column of a cell is recognised as, "" if none. Some names depend on what is
// beside them: "context" is what should have been retrieved where DeepEval's "retrieval_context" is there too,
// "query_id" is an id only where there is no "id", and so with the other names in givesWay; "messages" and the like are
// a conversation only where there is no history. Nor are they one if they hold something else: "turns" may be a number,
// "aspects" a list, and a prediction, which is an object with an answer and what was retrieved for it, may be anything.
func (c *columns) known(first cell) string {
	name := snake(first.column)
	field := c.names[name]
	if field == "conversation" && !first.converses() || field == "aspects" && !first.covers() {
		return ""
	}
	if field == "prediction" && !first.object() {
		return ""
	}
	for _, other := range c.order {
		switch {
		case name == "context" && snake(other) == "retrieval_context":
			return "reference_contexts"
		case givesWay[name] && snake(other) != name && c.names[snake(other)] == field && !givesWay[snake(other)]:
			return ""
		case field == "conversation" && c.names[snake(other)] == "history":
			return ""
		}
	}
	return field
}

// givesWay are names that mean a field only where no other name of it is there: they are common for other things.
var givesWay = map[string]bool{"query_id": true, "question_id": true, "document": true, "result": true}

// snake writes a name as the recognised names are: "actualOutput" and "Actual Output" become
// "actual_output".
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case r == ' ' || r == '-':
			r = '_'
		case unicode.IsUpper(r) && lower:
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// check reports a column that the user named and that no row has.
func (c *columns) check(file string) error {
	for _, f := range fieldColumns {
		column := c.asked[f.field]
		if _, seen := c.field[column]; column != "" && !seen {
			return fmt.Errorf("%s has no column %q for --map %s=%s; its columns: %s",
				file, column, f.field, column, describe(c.list()))
		}
	}
	return nil
}

func (c *columns) list() []Column {
	list := make([]Column, len(c.order))
	for i, name := range c.order {
		list[i] = Column{Name: name, Fields: c.field[name]}
	}
	return list
}

func (c Column) fills(field string) bool { return slices.Contains(c.Fields, field) }

// describe lists columns with what they fill, for messages.
func describe(list []Column) string {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == 30 {
			fmt.Fprintf(&b, "and %d more", len(list)-i)
			break
		}
		b.WriteString(c.Name)
		if len(c.Fields) > 0 && !slices.Equal(c.Fields, []string{c.Name}) {
			fmt.Fprintf(&b, " (read as %s)", strings.Join(c.Fields, ", "))
		}
	}
	return b.String()
}
