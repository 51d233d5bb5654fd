package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-eval/assay/backend"
)

// A Turn is one step of a conversation: somebody says something, the assistant calls tools, or a tool returns
// something. What is a call or a result is known from Calls and Result alone, never from how a text looks.
type Turn struct {
	Role   backend.Speaker `json:"role"`             // of what a tool returned, the assistant
	Said   string          `json:"text,omitempty"`   // in words, beside the calls; "" of what a tool returned
	Calls  []ToolCall      `json:"calls,omitempty"`  // only the assistant makes them
	Result *ToolResult     `json:"result,omitempty"` // not nil: the turn is what a tool returned
}

// A ToolCall is one use of a tool by an agent.
type ToolCall struct {
	Name string                     `json:"name"`
	Args map[string]json.RawMessage `json:"args,omitempty"`
}

// A ToolResult is what a tool returned.
type ToolResult struct {
	Tool string `json:"tool,omitempty"` // its name; "": unknown
	Text string `json:"text"`
}

// Text is the turn as a reader is shown it, a judge or a person; a prompt's {{.Text}} is this too. Calls stand on a
// line of their own below what was said, and they and results are in brackets:
//
//	[calls weather(city: "Oslo", days: 2), clock()]
//	[weather returned: 12 degrees, rain]
func (t Turn) Text() string {
	if t.Result != nil {
		return t.Result.String()
	}
	if len(t.Calls) == 0 {
		return t.Said
	}
	var list []string
	for _, c := range t.Calls {
		list = append(list, c.String())
	}
	calls := "[calls " + strings.Join(list, ", ") + "]"
	if Blank(t.Said) {
		return calls
	}
	return t.Said + "\n" + calls
}

// String writes a result as a conversation shows it: [weather returned: 12 degrees].
func (r ToolResult) String() string {
	tool := r.Tool
	if tool == "" {
		tool = "tool"
	}
	return fmt.Sprintf("[%s returned: %s]", tool, r.Text)
}

// String writes a call as a conversation shows it: weather(city: "Oslo", days: 2), the arguments by name
// and their values in JSON.
func (c ToolCall) String() string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		var value bytes.Buffer
		if json.Compact(&value, c.Args[name]) != nil {
			value.WriteString(strconv.Quote(string(c.Args[name])))
		}
		args = append(args, name+": "+value.String())
	}
	return c.Name + "(" + strings.Join(args, ", ") + ")"
}
