package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

// CallsTurn is the assistant's turn in which it calls tools, with what it says beside that, as
// [Sample.History] holds it.
func CallsTurn(text string, calls []metrics.ToolCall) backend.Message {
	var list []string
	for _, c := range calls {
		list = append(list, c.String())
	}
	marked := "[calls " + strings.Join(list, ", ") + "]"
	if !metrics.Blank(text) {
		marked = text + "\n" + marked
	}
	return backend.Message{Role: backend.Assistant, Text: marked}
}

// ResultTurn is the turn in which a tool returns something, as [Sample.History] holds it. The tool's name
// may be unknown.
func ResultTurn(tool, text string) backend.Message {
	if tool == "" {
		tool = "tool"
	}
	return backend.Message{Role: backend.Assistant, Text: fmt.Sprintf("[%s returned: %s]", tool, text)}
}

// said returns what an assistant's turn says, without its calls of tools; "" if it is nothing but calls,
// or what a tool returned.
func said(turn backend.Message) string {
	text := strings.TrimSpace(turn.Text)
	if !strings.HasSuffix(text, "]") {
		return text
	}
	if strings.HasPrefix(text, "[") {
		if tool, _, result := strings.Cut(text, " returned: "); result && !strings.ContainsAny(tool, "]\n") {
			return ""
		}
	}
	last := text[strings.LastIndexByte(text, '\n')+1:] // calls take one line
	if !strings.HasPrefix(last, "[calls ") {
		return text
	}
	return strings.TrimSpace(strings.TrimSuffix(text, last))
}

// conversation returns what was said in s from first to last, the question and the answer too. What the
// system told the assistant is not among it.
func conversation(s *metrics.Sample) []backend.Message {
	turns := slices.Concat(s.History, []backend.Message{{Role: backend.User, Text: s.Question}},
		s.Steps, []backend.Message{{Role: backend.Assistant, Text: s.Answer}})
	return slices.DeleteFunc(turns, func(t backend.Message) bool { return t.Role == backend.System || metrics.Blank(t.Text) })
}

// transcript writes turns for a judge to read, one text for each.
func transcript(turns []backend.Message) []string {
	var lines []string
	for _, t := range turns {
		who := "Assistant"
		if t.Role == backend.User {
			who = "User"
		}
		lines = append(lines, who+": "+strings.TrimSpace(t.Text))
	}
	return lines
}
