package metrics

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Sample is one row of a dataset: a question, what was retrieved for it, what was answered, and what
// should have been.
//
// Of a conversation, Question is what the user said last and Answer what the assistant said to it in the end.
// History are the turns before the Question and Steps those between the two, in which an agent called tools.
// ToolCalls are the calls of all these turns, those of the History too, or what a dataset gives in their stead. A list
// of calls that is empty, but not nil, says that no call was made, or that none should be.
type Sample struct {
	ID                  string   `json:"id"` // unique in its dataset
	Question            string   `json:"question,omitempty"`
	Answer              string   `json:"answer,omitempty"`
	Contexts            []string `json:"contexts,omitempty"` // retrieved passages, best first
	ContextIDs          []string `json:"context_ids,omitempty"`
	References          []string `json:"reference_answers,omitempty"`
	ReferenceContexts   []string `json:"reference_contexts,omitempty"`
	ReferenceContextIDs []string `json:"reference_context_ids,omitempty"`
	History             []Turn   `json:"history,omitempty"` // the turns before Question
	Steps               []Turn   `json:"steps,omitempty"`   // the turns between Question and Answer
	// the Question as one would ask it who had not read the History
	Standalone string `json:"standalone_question,omitempty"`
	// the judged grade of a passage, by its id; 0 is judged and of no use
	Relevance          map[string]int    `json:"relevance,omitempty"`
	OtherAnswers       []string          `json:"other_answers,omitempty"`  // rivals of Answer, or further draws of it
	OtherContexts      [][]string        `json:"other_contexts,omitempty"` // rivals of Contexts, each a list of passages
	ToolCalls          []ToolCall        `json:"tool_calls,omitzero"`      // made on the way to Answer, in order
	ReferenceToolCalls []ToolCall        `json:"reference_tool_calls,omitzero"`
	ReferenceTopics    []string          `json:"reference_topics,omitempty"` // what the conversation should keep to
	Rubrics            map[string]string `json:"rubrics,omitempty"`          // of this row alone: what each score means
	// whether the question can be answered from what there is to retrieve; nil: not known
	Answerable *bool    `json:"answerable,omitempty"`
	Nuggets    []Nugget `json:"nuggets,omitempty"` // facts that an answer should state
	// which aspects of the question a passage is of use for, by its id
	Aspects map[string][]string `json:"aspects,omitempty"`
	// samples that are not independent share one
	Group string `json:"group,omitempty"`
	// every other column, as it was
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// A Nugget is a fact that an answer should state.
type Nugget struct {
	Text  string `json:"text"`
	Vital bool   `json:"vital"` // a good answer must state it; else it may
}

// A Field names a column of a [Sample]; a set of them is their union.
type Field uint

const (
	Question Field = 1 << iota
	Answer
	Contexts
	ContextIDs
	References
	ReferenceContexts
	ReferenceContextIDs
	History
	Relevance
	OtherAnswers
	ToolCalls
	ReferenceToolCalls
	ReferenceTopics
	Rubrics
	Answerable
	Nuggets
	Aspects
	OtherContexts
)

// fieldNames are the names of the fields in datasets, in the order of their bits.
var fieldNames = []string{"question", "answer", "contexts", "context_ids", "reference_answers",
	"reference_contexts", "reference_context_ids", "history", "relevance", "other_answers", "tool_calls",
	"reference_tool_calls", "reference_topics", "rubrics", "answerable", "nuggets",
	"aspects", "other_contexts"}

// Has reports whether f includes every field in want.
func (f Field) Has(want Field) bool { return f&want == want }

// Names lists the fields in f by their column names, in a fixed order.
func (f Field) Names() []string {
	var names []string
	for i, name := range fieldNames {
		if f.Has(1 << i) {
			names = append(names, name)
		}
	}
	return names
}

// String is Names joined by commas.
func (f Field) String() string { return strings.Join(f.Names(), ", ") }

// Fields returns the fields that s fills. Text that is only white space fills nothing, and neither
// does a list of such texts; but an empty list of calls says something, and so does one of ids of contexts.
func (s *Sample) Fields() Field {
	var f Field
	for bit, filled := range map[Field]bool{
		Question:            !Blank(s.Question),
		Answer:              !Blank(s.Answer),
		Contexts:            !Blank(s.Contexts...),
		ContextIDs:          !Blank(s.ContextIDs...) || s.ContextIDs != nil && len(s.ContextIDs) == 0,
		References:          !Blank(s.References...),
		ReferenceContexts:   !Blank(s.ReferenceContexts...),
		ReferenceContextIDs: !Blank(s.ReferenceContextIDs...),
		History:             len(s.History) > 0,
		Relevance:           len(s.Relevance) > 0,
		OtherAnswers:        !Blank(s.OtherAnswers...),
		ToolCalls:           s.ToolCalls != nil,
		ReferenceToolCalls:  s.ReferenceToolCalls != nil,
		ReferenceTopics:     !Blank(s.ReferenceTopics...),
		Rubrics:             len(s.Rubrics) > 0,
		Answerable:          s.Answerable != nil,
		Nuggets:             len(s.Nuggets) > 0,
		Aspects:             len(s.Aspects) > 0,
		OtherContexts:       !Blank(slices.Concat(s.OtherContexts...)...),
	} {
		if filled {
			f |= bit
		}
	}
	return f
}

// size is how many bytes of text a sample has: how long it takes to score, roughly.
func (s *Sample) size() int {
	n := len(s.Question) + len(s.Answer)
	for _, list := range [][]string{s.Contexts, s.References} {
		for _, text := range list {
			n += len(text)
		}
	}
	for _, t := range s.History {
		n += len(t.Text())
	}
	return n
}

// Blank reports whether all of the texts are empty or only white space.
func Blank(texts ...string) bool {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return false
		}
	}
	return true
}
