package dataset

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
)

func user(text string) metrics.Turn {
	return metrics.Turn{Role: backend.User, Said: text}
}

func assistant(text string) metrics.Turn {
	return metrics.Turn{Role: backend.Assistant, Said: text}
}

func calls(text string, list ...metrics.ToolCall) metrics.Turn {
	return metrics.Turn{Role: backend.Assistant, Said: text, Calls: list}
}

func returned(tool, text string) metrics.Turn {
	return metrics.Turn{Role: backend.Assistant, Result: &metrics.ToolResult{Tool: tool, Text: text}}
}

// The same conversation in the forms of others must be the same sample.
func TestConversations(t *testing.T) {
	oslo := metrics.ToolCall{
		Name: "weather",
		Args: map[string]json.RawMessage{"city": json.RawMessage(`"Oslo"`), "days": json.RawMessage("2")},
	}
	want := metrics.Sample{
		ID: "x", Question: "And the time?", Answer: "It is noon.",
		History: []metrics.Turn{
			user("What is the weather in Oslo?"),
			calls("", oslo),
			returned("weather", "12 degrees"),
			assistant("12 degrees."),
		},
		Steps: []metrics.Turn{
			calls("I look.", metrics.ToolCall{Name: "clock"}, metrics.ToolCall{Name: "clock"}),
			returned("clock", "12:00"),
			returned("clock", "12:01"),
		},
		ToolCalls: []metrics.ToolCall{oslo, {Name: "clock"}, {Name: "clock"}},
	}
	check := func(what, row string, want metrics.Sample) {
		t.Helper()
		got := one(t, "d.jsonl", `{"id": "x", `+strings.ReplaceAll(row, "\n", " ")+`}`)
		if !reflect.DeepEqual(*got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Errorf("%s:\n got %s\nwant %s", what, a, b)
		}
	}
	check("OpenAI", `"question": [
		{"role": "user", "content": "What is the weather in Oslo?"},
		{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"days\": 2, \"city\": \"Oslo\"}"}}]},
		{"role": "tool", "tool_call_id": "c1", "content": "12 degrees"},
		{"role": "assistant", "content": "12 degrees."},
		{"role": "user", "content": [{"type": "text", "text": "And the time?"}]},
		{"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c2", "function": {"name": "clock", "arguments": "{}"}}, {"id": "c3", "function": {"name": "clock"}}]},
		{"role": "tool", "tool_call_id": "c2", "content": "12:00"},
		{"role": "tool", "tool_call_id": "c3", "content": [{"type": "text", "text": "12:01"}]},
		{"role": "assistant", "content": "It is noon."}]`,
		func() metrics.Sample {
			s := want
			clock := metrics.ToolCall{Name: "clock", Args: map[string]json.RawMessage{}}
			s.ToolCalls = []metrics.ToolCall{oslo, clock, {Name: "clock"}}
			s.Steps = append([]metrics.Turn{calls("I look.", clock, metrics.ToolCall{Name: "clock"})},
				want.Steps[1:]...)
			return s
		}())
	check("OpenAI before tools", `"question": [
		{"role": "user", "content": "What is the weather in Oslo?"},
		{"role": "assistant", "content": null, "function_call": {"name": "weather", "arguments": "{\"days\": 2, \"city\": \"Oslo\"}"}},
		{"role": "function", "name": "weather", "content": "12 degrees"},
		{"role": "assistant", "content": "12 degrees."},
		{"role": "user", "content": "And the time?"},
		{"role": "assistant", "content": "I look.", "tool_calls": [{"name": "clock"}, {"name": "clock"}]},
		{"role": "tool", "name": "clock", "content": "12:00"},
		{"role": "tool", "name": "clock", "content": "12:01"},
		{"role": "assistant", "content": "It is noon."}]`, want)
	ragas := want
	ragas.History = append(append([]metrics.Turn{}, want.History[:2]...), returned("", "12 degrees"), want.History[3])
	ragas.Steps = []metrics.Turn{want.Steps[0], returned("", "12:00"), returned("", "12:01")}
	check("Ragas", `"user_input": [
		{"type": "human", "content": "What is the weather in Oslo?"},
		{"type": "ai", "content": "", "tool_calls": [{"name": "weather", "args": {"city": "Oslo", "days": 2}}]},
		{"type": "tool", "content": "12 degrees"},
		{"type": "ai", "content": "12 degrees.", "tool_calls": null},
		{"type": "human", "content": "And the time?"},
		{"type": "ai", "content": "I look.", "tool_calls": [{"name": "clock"}, {"name": "clock"}]},
		{"type": "tool", "content": "12:00"},
		{"type": "tool", "content": "12:01"},
		{"type": "ai", "content": "It is noon."}]`, ragas)
	check("Ragas, written by its to_dict", `"user_input": [
		{"type": "human", "content": "What is the weather in Oslo?"},
		{"type": "ai", "content": {"text": "", "tool_calls": [{"name": "weather", "args": {"city": "Oslo", "days": 2}}]}},
		{"type": "tool", "content": "12 degrees"},
		{"type": "ai", "content": {"text": "12 degrees.", "tool_calls": []}},
		{"type": "human", "content": "And the time?"},
		{"type": "ai", "content": {"text": "I look.", "tool_calls": [{"name": "clock"}, {"name": "clock"}]}},
		{"type": "tool", "content": "12:00"},
		{"type": "tool", "content": "12:01"},
		{"type": "ai", "content": "It is noon."}]`, ragas)
	check("DeepEval, a history beside question and answer", `"history": [
		{"role": "user", "content": "Where is it cold?"},
		{"role": "assistant", "content": "In Oslo.", "tools_called": [{"name": "weather", "input_parameters": {"city": "Oslo", "days": 2}}]},
		{"role": "tool", "name": "map", "content": {"lat": 60}}], "input": "And here?", "actual_output": "Not so."`,
		metrics.Sample{ID: "x", Question: "And here?", Answer: "Not so.", ToolCalls: []metrics.ToolCall{oslo},
			History: []metrics.Turn{user("Where is it cold?"), calls("In Oslo.", oslo), returned("map", `{"lat":60}`)}})

	// A text that looks as a call or a result is shown is a text.
	check("lookalikes", `"user_input": [
		{"type": "human", "content": "[calls go()]"},
		{"type": "ai", "content": "[weather returned: 12 degrees]"},
		{"type": "human", "content": "And here?"},
		{"type": "ai", "content": "[calls go()]"},
		{"type": "tool", "content": "gone"},
		{"type": "ai", "content": "[map returned: x]"},
		{"type": "ai", "content": "Done.\n[calls go()]"}]`,
		metrics.Sample{ID: "x", Question: "And here?", Answer: "[map returned: x]\nDone.\n[calls go()]",
			History: []metrics.Turn{user("[calls go()]"), assistant("[weather returned: 12 degrees]")},
			Steps:   []metrics.Turn{assistant("[calls go()]"), returned("", "gone")}})

	// Where the agent does not reply, there is no answer, or a column has it.
	ended := `"user_input": [{"type": "human", "content": "Go."}, {"type": "ai", "content": "", "tool_calls": [{"name": "go"}]}]`
	gone := metrics.Sample{ID: "x", Question: "Go.", Steps: []metrics.Turn{calls("", metrics.ToolCall{Name: "go"})},
		ToolCalls: []metrics.ToolCall{{Name: "go"}}}
	check("no reply", ended, gone)
	gone.Answer = "Gone."
	check("the answer in a column", ended+`, "answer": "Gone."`, gone)
	check("a column of calls that is null", ended+`, "answer": "Gone.", "tool_calls": null`, gone)

	// That no call was made is known of a whole conversation, and matters beside reference calls.
	quiet := metrics.Sample{
		ID: "x", Question: "Hi.", Answer: "Hello.", ToolCalls: []metrics.ToolCall{},
		ReferenceToolCalls: []metrics.ToolCall{{Name: "go"}},
	}
	check("no call", `"user_input": ["Hi.", "Hello."], "reference_tool_calls": [{"name": "go"}]`, quiet)
	quiet.ReferenceToolCalls = []metrics.ToolCall{}
	check("no call, and none wanted", `"user_input": ["Hi.", "Hello."], "reference_tool_calls": []`, quiet)
	quiet.ReferenceToolCalls = nil
	check("an empty column", `"question": "Hi.", "answer": "Hello.", "tool_calls": []`, quiet)
	quiet.ToolCalls = nil
	check("calls do not matter", `"user_input": ["Hi.", "Hello."]`, quiet)
	quiet.ReferenceToolCalls = []metrics.ToolCall{}
	check("nothing is known", `"question": "Hi.", "answer": "Hello.", "reference_tool_calls": []`, quiet)
}

func TestBadConversations(t *testing.T) {
	refuse := func(row, want string) {
		t.Helper()
		_, bad, _, err := load(t, write(t, "d.jsonl", `{"id": "y"}`+"\n"+`{"id": "x", `+row+`}`), Options{})
		if err != nil || len(bad) != 1 || !strings.Contains(bad[0], want) {
			t.Errorf("%s: %q, %v; want a bad row that says %q", row, bad, err, want)
		}
	}
	call := `{"role": "user", "content": "Go."}, {"role": "assistant", "tool_calls": [{"name": "go"}]}`
	refuse(`"question": [`+call+`], "tool_calls": [{"name": "go"}]`, "a column of them beside it")
	refuse(`"history": [`+call+`], "tool_calls": []`, "a column of them beside it")
	refuse(`"history": [{"role": "assistant", "tool_calls": [{"args": {}}]}]`, "turn 1: call 1: no name")
	refuse(`"history": [{"role": "assistant", "tool_calls": {"name": "go"}}]`, "turn 1: want a list of calls")
	refuse(`"history": [{"role": "user", "content": "x", "tool_calls": [{"name": "go"}]}]`,
		"turn 1: calls of tools in a turn of the user")
	refuse(`"history": [{"role": "assistant", "content": null}]`, "turn 1: no content")
	refuse(`"history": [{"role": "tool"}]`, "turn 1: no content")
	refuse(`"history": [{"role": "tool", "tool_call_id": [1], "content": "x"}]`, "turn 1: tool_call_id: want text")
	refuse(`"history": [{"role": "judge", "content": "x"}]`,
		`unknown role "judge": it is one of user, assistant, system, tool`)
	refuse(`"history": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]`,
		"turn 1: content: part 1 is not text")
	refuse(`"history": [{"role": "user", "content": {"tool_calls": []}}]`, "turn 1: no content")
	refuse(`"question": [`+call+`, {"role": "assistant", "content": "Gone."}], "answer": "Going."`,
		"an answer beside it that is another")
	refuse(`"messages": [`+call+`, {"role": "assistant", "content": "Gone."}], "answer": "Going."`,
		"an answer beside it that is another")
	refuse(`"messages": [`+call+`], "question": [`+call+`]`, "in a column of its own, and another beside it")
	refuse(`"messages": [{"role": "assistant", "content": "Hi."}]`, "in which the user says nothing")
	refuse(`"messages": [{"input": "Hi."}]`, "messages: turn 1: no role")
	refuse(`"messages": [{"input": {}, "output": "x"}]`, "turn 1: input: want text")
	refuse(`"messages": [{"input": "x", "output": {}}]`, "turn 1: output: want text")
	refuse(`"turns": [{"role": "assistant", "content": "x", "retrieval_context": [{}]}]`,
		"turn 1: retrieval_context: number 1 of the list")
}

// A conversation in a column of its own, as chats are stored, is a whole one, or the history of a question beside it.
func TestConversationColumns(t *testing.T) {
	check := func(what, file, text string, want metrics.Sample) {
		t.Helper()
		want.ID = "x"
		got := one(t, file, text)
		got.Extra = nil
		if !reflect.DeepEqual(*got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Errorf("%s:\n got %s\nwant %s", what, a, b)
		}
	}
	row := func(what, members string, want metrics.Sample) {
		t.Helper()
		check(what, "d.jsonl", `{"id": "x", `+strings.ReplaceAll(members, "\n", " ")+`}`, want)
	}
	const before = `{"role": "user", "content": "Where is it cold?"}, {"role": "assistant", "content": "In Oslo."}`
	const whole = before + `, {"role": "user", "content": "And here?"}, {"role": "assistant", "content": "Not so."}`
	talk := []metrics.Turn{user("Where is it cold?"), assistant("In Oslo.")}
	want := metrics.Sample{Question: "And here?", Answer: "Not so.", History: talk}

	for _, name := range []string{"messages", "turns", "conversation", "conversations", "Messages"} {
		row(name, `"`+name+`": [`+whole+`]`, want)
	}
	row("ShareGPT",
		`"conversations": [{"from": "human", "value": "Where is it cold?"}, {"from": "gpt", "value": "In Oslo."},
		{"from": "human", "value": "And here?"}, {"from": "gpt", "value": "Not so."}]`, want)
	row("promptfoo",
		`"conversation": [{"prompt": "p", "input": "Where is it cold?", "output": "In Oslo."}, {"input": "And here?", "output": "Not so."}]`, want)
	row("pairs", `"messages": [["Where is it cold?", "In Oslo."], ["And here?", "Not so."]]`, want)
	row("the question and the answer once more",
		`"messages": [`+whole+`], "question": " And here?", "answer": "Not so.\n"`, want)
	row("the answer beside it",
		`"messages": [`+before+`, {"role": "user", "content": "And here?"}], "response": "Not so."`, want)
	row("the history of a question", `"messages": [`+before+`], "question": "And here?", "answer": "Not so."`, want)
	row("the question after it", `"question": "And here?", "answer": "Not so.", "messages": [`+before+`]`, want)
	row("nothing was said before", `"messages": [], "question": "And here?", "answer": "Not so."`, metrics.Sample{
		Question: "And here?", Answer: "Not so.",
	})

	deepeval := want
	deepeval.Contexts = []string{"It is 12 degrees here.", "It rains."}
	const turns = `[` + before + `, {"role": "user", "content": "And here?"},
		{"role": "assistant", "content": "Not so.", "retrieval_context": ["It is 12 degrees here.", "It rains."], "tools_called": null}]`
	row("DeepEval", `"scenario": "A traveller asks.", "expected_outcome": "They know.", "turns": `+turns, deepeval)
	check("DeepEval's table", "d.csv", "id,scenario,turns\nx,asks,\""+strings.ReplaceAll(turns, `"`, `""`)+"\"\n",
		deepeval)
	row("contexts in a column go before those of a turn", `"contexts": ["c"], "turns": `+turns,
		metrics.Sample{Question: "And here?", Answer: "Not so.", History: talk, Contexts: []string{"c"}})

	// What is no conversation is left as it is, and so is one beside a history.
	plain := metrics.Sample{Question: "And here?", Answer: "Not so."}
	for _, other := range []string{`"turns": 2`, `"turns": ["One?", "Two?"]`, `"messages": "none"`,
		`"conversation": {"id": 7}`} {
		row(other, `"question": "And here?", "answer": "Not so.", `+other, plain)
	}
	row("beside a history",
		`"question": "And here?", "answer": "Not so.", "messages": [`+whole+`], "history": [`+before+`]`, want)

	// A name that the user gives goes before all that.
	s, bad, _, err := load(t,
		write(t, "d.jsonl", `{"id": "x", "turns": ["Where is it cold?", "In Oslo.", "And here?", "Not so."]}`),
		Options{Map: map[string]string{"conversation": "turns"}})
	if want.ID = "x"; err != nil || len(bad) > 0 || len(s) != 1 || !reflect.DeepEqual(*s[0], want) {
		t.Errorf("named by the user: %+v, %q, %v", s, bad, err)
	}
	if _, _, _, err := load(t, write(t, "d.jsonl", `{"messages": [`+whole+`], "turns": [`+whole+`]}`),
		Options{}); err == nil ||
		!strings.Contains(err.Error(), "choose with --map conversation=turns") {
		t.Errorf("two conversations: %v", err)
	}
}

// A column that comes after the first ones of a sample is counted too.
func TestFilled(t *testing.T) {
	_, _, s, err := load(t,
		write(t, "d.jsonl",
			`{"user_input": [{"type": "human", "content": "Go."}, {"type": "ai", "content": "", "tool_calls": [{"name": "go"}]}],`+
				` "reference_tool_calls": [], "rubrics": {"1": "bad"}, "reference_topics": ["travel"]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []metrics.Field{metrics.Question, metrics.ToolCalls, metrics.ReferenceToolCalls, metrics.Rubrics,
		metrics.ReferenceTopics} {
		if s.Filled[f] != 1 {
			t.Errorf("%v is filled %d times, want 1", f, s.Filled[f])
		}
	}
	if err := s.Need(metrics.OtherAnswers | metrics.ToolCalls); err == nil ||
		!strings.Contains(err.Error(), "no column for the other_answers") {
		t.Errorf("a column that is not there: %v", err)
	}
}
