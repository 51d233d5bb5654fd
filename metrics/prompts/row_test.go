package prompts

import (
	"slices"
	"strings"
	"testing"
)

// material is a sample as the row layout shows it.
type material struct {
	Contexts         []struct{ Number, Text string }
	History          []struct{ Role, Text string }
	Question, Answer string
}

// All prompts of the row layout are the same up to their question, whatever they ask with, and each question of the
// folder is asked and answered once in the worked example at most.
func TestRowLayoutIsShared(t *testing.T) {
	var names []string
	for file := range rowFiles() {
		if name := strings.TrimSuffix(strings.TrimPrefix(file, "row/"), ".tmpl"); file != sharedFile {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	row := material{Question: "<question>", Answer: "<answer>"}
	row.Contexts = append(row.Contexts, struct{ Number, Text string }{"7", "1. <context>"})
	row.History = append(row.History, struct{ Role, Text string }{"user", "<history>"})
	var before string
	for _, name := range names {
		classic := Builtin(name, Example{})
		if got := (Set{}).For(classic); got != classic {
			t.Errorf("%s: the zero set asks in the layout %s", name, got.Layout)
		}
		p := Set{}.In(Row).For(classic)
		if p.Layout != Row || p.Name != name || p.Digest == classic.Digest || !strings.HasPrefix(p.Version, "row ") {
			t.Errorf("%s is %+v in the row layout", name, p.Identity())
			continue
		}
		messages, err := p.Render(map[string]any{"Row": row, "Reference": "<reference>."})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, m := range messages {
			b.WriteString(string(m.Role) + ": " + m.Text + "\n")
		}
		shown := "Conversation before:\nuser: <history>\n\nQuestion: <question>\nAnswer: <answer>\n\n" +
			"Context 7:\n1. <context>\n\n"
		shared, question, found := strings.Cut(b.String(), shown)
		if !found || question == "" {
			t.Fatalf("%s shows a sample as %q", name, b.String())
		}
		if before != "" && shared != before {
			t.Errorf("%s begins with %q, others with %q", name, shared, before)
		}
		before = shared
	}
	asked := map[string]bool{}
	for i, m := range workedExample() {
		if i%2 == 0 && asked[m.text] {
			t.Errorf("the worked example asks twice: %q", m.text)
		}
		asked[m.text] = i%2 == 0
	}
}

// A user's prompt is asked as it is, in its own layout.
func TestOwnPromptsHaveTheirLayout(t *testing.T) {
	own := &Prompt{Name: "faithfulness_answer_yes", Layout: Classic}
	set := Set{own: map[string]*Prompt{own.Name: own}}.In(Row)
	if got := set.For(Builtin("faithfulness_answer_yes", Example{})); got != own {
		t.Errorf("asked is %+v", got.Identity())
	}
}
