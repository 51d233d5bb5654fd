package metrics

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/assay-eval/assay/backend"
)

// How a turn is shown is part of every prompt that shows a conversation, and so of the keys of their answers.
func TestTurnText(t *testing.T) {
	calls := []ToolCall{{Name: "weather", Args: map[string]json.RawMessage{
		"days": json.RawMessage("2"), "city": json.RawMessage(`"Oslo \"S\"\n"`)}}, {Name: "now"}}
	shown := "[calls weather(city: \"Oslo \\\"S\\\"\\n\", days: 2), now()]"
	prompt := template.Must(template.New("").Parse("{{range .}}{{.Role}}: {{.Text}}\n{{end}}"))
	check := func(turn Turn, want string) {
		t.Helper()
		if got := turn.Text(); got != want {
			t.Errorf("%+v is shown as %q, want %q", turn, got, want)
		}
		var b strings.Builder
		if err := prompt.Execute(&b, []Turn{turn}); err != nil || b.String() != string(turn.Role)+": "+want+"\n" {
			t.Errorf("%+v is %q, %v in a template, want %q", turn, b.String(), err, want)
		}
		var again Turn
		if raw, err := json.Marshal(turn); err != nil || json.Unmarshal(raw, &again) != nil ||
			!reflect.DeepEqual(again, turn) {
			t.Errorf("%+v is %s, %v in JSON, and read from it %+v", turn, raw, err, again)
		}
	}
	check(Turn{Role: backend.User, Said: " Hello.\n"}, " Hello.\n")
	check(Turn{Role: backend.Assistant, Said: " ", Calls: calls}, shown)
	check(Turn{Role: backend.Assistant, Said: "Let me see.", Calls: calls}, "Let me see.\n"+shown)
	check(Turn{Role: backend.Assistant, Result: &ToolResult{Text: "12\n13"}}, "[tool returned: 12\n13]")
	check(Turn{Role: backend.Assistant, Result: &ToolResult{Tool: "weather", Text: "12 degrees"}},
		"[weather returned: 12 degrees]")
}
