package dataset

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/metrics"
)

// TestTurns makes a sample of each question that was replied to; what the row says beside them is of the last.
func TestTurns(t *testing.T) {
	row := `{"id": "talk", "reference": "14", "messages": [` +
		`{"role": "user", "content": "Hello?"}, {"role": "user", "content": "What is there?"},` +
		`{"role": "assistant", "content": "A ferry.", "retrieval_context": ["There is a ferry."]},` +
		`{"role": "user", "content": "When?"},` +
		`{"role": "assistant", "content": null, "tool_calls": [{"name": "times", "args": {}}]},` +
		`{"role": "tool", "content": "daily"}, {"role": "assistant", "content": "Daily."},` +
		`{"role": "user", "content": "Really?"},` +
		`{"role": "assistant", "content": null, "tool_calls": [{"name": "times", "args": {}}]},` +
		`{"role": "user", "content": "What does it cost?"},` +
		`{"role": "assistant", "content": "14 euros.", "retrieval_context": ["It costs 14 euros."]}]}`
	single := `{"id": "one", "question": "Who?", "answer": "Mara."}`
	samples, bad, summary, err := load(t, write(t, "d.jsonl", row+"\n"+single+"\n"), Options{Turns: true})
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	var got []string
	for _, s := range samples {
		got = append(got, fmt.Sprintf("%s %s: %s -> %s %q %v; %d before, %d steps, %d calls", s.ID, s.Group, s.Question,
			s.Answer, s.Contexts, s.References, len(s.History), len(s.Steps), len(s.ToolCalls)))
	}
	want := []string{
		`talk#1 talk: What is there? -> A ferry. ["There is a ferry."] []; 1 before, 0 steps, 0 calls`,
		`talk#2 talk: When? -> Daily. [] []; 3 before, 2 steps, 1 calls`,
		`talk#4 talk: What does it cost? -> 14 euros. ["It costs 14 euros."] [14]; 9 before, 0 steps, 2 calls`,
		`one : Who? -> Mara. [] []; 0 before, 0 steps, 0 calls`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if summary.Rows != 4 || summary.Filled[metrics.Contexts] != 2 {
		t.Errorf("%+v", summary)
	}
	if samples, _, _, err = load(t, write(t, "d.jsonl", row+"\n"), Options{Turns: true, Limit: 2}); err != nil || len(samples) != 2 {
		t.Errorf("%d samples with a limit of 2, %v", len(samples), err)
	}
	// The id of a turn may be that of another row: it stands twice.
	other := `{"id": "talk#1", "question": "Who?", "answer": "Mara."}`
	if _, bad, _, err = load(t, write(t, "d.jsonl", row+"\n"+other+"\n"), Options{Turns: true}); err != nil || len(bad) != 1 {
		t.Errorf("an id twice: %q, %v", bad, err)
	}
}
