package testset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/internal/corpus"
)

// rewriter writes what the author does, and rewrites questions by the type that the prompt asks for.
func rewriter(_ context.Context, req *backend.GenerateRequest) (string, error) {
	last := req.Messages[len(req.Messages)-1].Text
	_, question, _ := strings.Cut(last, "Question: ")
	question, _, _ = strings.Cut(question, "\n")
	switch system := req.Messages[0].Text; {
	case strings.HasPrefix(system, "You rewrite questions"):
		for words, reply := range map[string]string{
			"instead of by its name":    "Which colour has the thing that is kept dry?",
			"must be put together":      question[:len(question)-1] + " and why is that so?",
			"Add a condition":           "If it is kept dry: " + question,
			"a second thing":            question[:len(question)-1] + ", and who made it?",
			"what stands under":         "Others are kept elsewhere, but: " + question,
			"Begin with who asks":       "I collect old things: " + question,
			"unknown kind of rewriting": "",
		} {
			if strings.Contains(last, words) {
				return reply, nil
			}
		}
	case strings.HasPrefix(system, "You make two messages"):
		return "First: I look for an old thing that is kept dry.\nThen: " + question, nil
	case strings.HasPrefix(system, "You write a question anew"):
		switch {
		case strings.Contains(last, "search engine"):
			return "colour kept dry old thing", nil
		case strings.Contains(last, "asked by: a collector"):
			return "As a collector I ask: " + question, nil
		}
	case strings.HasPrefix(system, "You write one question on the subject"):
		return fmt.Sprintf("What does number %d cost?", len(last)), nil
	case strings.HasPrefix(system, "You answer questions from the texts"):
		return "The texts do not say.", nil
	}
	return author(req)
}

// Each type of question keeps the plain one beside what it was rewritten to, and its answer; a conversation has its first
// message before the question.
func TestEvolved(t *testing.T) {
	types := []Type{Complex, Reasoning, Conditional, Double, Distracting, Situational, Conversational}
	begins := map[Type]string{Conditional: "If it is kept dry: ", Distracting: "Others are kept", Situational: "I collect"}
	fake := &backendtest.Fake{Reply: rewriter}
	m := NewMaker(writer(t, fake), retriever(t, documents()), Questions, types, 7)
	drafts, rows := made(t, m, nil)
	if len(rows) != len(types) {
		t.Fatalf("%d rows of %d types: %+v", len(rows), len(types), m.Report(drafts, rows).Dropped)
	}
	for i, row := range rows {
		want := types[i]
		if row.Type != want || row.Plain == "" || row.References[0] == "" || !*row.Answerable ||
			!strings.HasPrefix(row.Question, begins[want]) || (row.Question == row.Plain) != (want == Conversational) {
			t.Errorf("%s: %+v", want, row)
		}
		if said := len(row.History); (said == 2) != (want == Conversational) {
			t.Errorf("%s: %d turns before", want, said)
		}
	}
	// What does not ask the same is dropped, and so is what is no two messages.
	for reply, reason := range map[string]string{"Bananas, anyone?": "does not ask the same", "First: So.": "no two messages"} {
		bad := &backendtest.Fake{Reply: func(ctx context.Context, req *backend.GenerateRequest) (string, error) {
			if s := req.Messages[0].Text; strings.HasPrefix(s, "You rewrite") || strings.HasPrefix(s, "You make two") {
				return reply, nil
			}
			return rewriter(ctx, req)
		}}
		typ := Distracting
		if strings.HasPrefix(reply, "First") {
			typ = Conversational
		}
		m := NewMaker(writer(t, bad), m.Retriever, Questions, []Type{typ}, 2)
		drafts, rows := made(t, m, nil)
		r := m.Report(drafts, rows)
		if len(rows) != 0 || !slices.ContainsFunc(r.Dropped, func(d DropCount) bool { return strings.Contains(d.Reason, reason) }) {
			t.Errorf("%q: %+v", reply, r.Dropped)
		}
	}
}

// Who asks, and how, is drawn for each question, and the row says it.
func TestPersonas(t *testing.T) {
	fake := &backendtest.Fake{Reply: rewriter}
	m := NewMaker(writer(t, fake), retriever(t, documents()), Questions, []Type{Single}, 8)
	m.Personas = []string{"a collector"}
	_, rows := made(t, m, nil)
	for _, row := range rows {
		if row.Persona != "a collector" || !strings.HasPrefix(row.Question, "As a collector I ask: ") ||
			row.Plain != strings.TrimPrefix(row.Question, "As a collector I ask: ") {
			t.Errorf("%+v", row)
		}
	}
	if len(rows) != 8 {
		t.Errorf("%d rows, want 8", len(rows))
	}
	m = NewMaker(m.Writer, m.Retriever, Questions, []Type{Single}, 3)
	m.QueryStyles = []QueryStyle{PlainQuery, WebSearch}
	_, rows = made(t, m, nil)
	forms := map[QueryStyle]bool{}
	for _, row := range rows {
		forms[row.QueryStyle] = true
		if (row.Question == "colour kept dry old thing") != (row.QueryStyle == WebSearch) {
			t.Errorf("%+v", row)
		}
	}
	if len(forms) != 2 {
		t.Errorf("forms %v", forms)
	}
	if _, err := ParseQueryStyles([]string{"shouted"}); err == nil {
		t.Error("an unknown form is none")
	}
}

// A question that nothing answers: the model, shown what is nearest, must say so.
func TestOutside(t *testing.T) {
	m := NewMaker(writer(t, &backendtest.Fake{Reply: rewriter}), retriever(t, documents()), Questions, []Type{Outside}, 2)
	_, rows := made(t, m, nil)
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	for _, row := range rows {
		if *row.Answerable || row.References[0] != refusal || row.ReferenceContextIDs != nil {
			t.Errorf("%+v", row)
		}
	}
	m = NewMaker(writer(t, &backendtest.Fake{Reply: func(ctx context.Context, req *backend.GenerateRequest) (string, error) {
		if strings.HasPrefix(req.Messages[0].Text, "You answer questions from the texts") {
			return "It costs nine crowns.", nil
		}
		return rewriter(ctx, req)
	}}), m.Retriever, Questions, []Type{Outside}, 2)
	drafts, rows := made(t, m, nil)
	if r := m.Report(drafts, rows); len(rows) != 0 || !strings.Contains(r.Dropped[0].Reason, "may answer") {
		t.Errorf("%d rows, %+v", len(rows), r.Dropped)
	}
}

// Two passages that share a name make a question of two steps; names that stand in one passage, or in many, link nothing.
func TestMultiHop(t *testing.T) {
	var docs []corpus.Document
	for i, text := range []string{
		"The old lighthouse at the far cape was built by the engineer Mara Lind in the year of the great storm, and it stands on bare rock.",
		"Of the harbour lights that were put up later, the tallest is the work of Mara Lind, who came back to the coast when she was sixty.",
		"Bread is baked in the lane behind the pier from four in the morning on every day but Sunday by people who sing at work.",
		"The ferry takes bicycles free of charge as long as there is room on deck, which on Sunday there seldom is in high summer here.",
		"A hall for dances was opened on a Sunday in spring beside the school, and it is heated by a stove that burns nothing but driftwood.",
		"The market has stalls with cheese and wool, and closes on a Sunday when the bells ring at noon, which strangers never remember.",
	} {
		docs = append(docs, corpus.Document{ID: fmt.Sprint("d", i), Text: text})
	}
	var entities []string
	fake := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		last := req.Messages[len(req.Messages)-1].Text
		switch system := req.Messages[0].Text; {
		case strings.HasPrefix(system, "You write one question that takes two steps"):
			_, name, _ := strings.Cut(last, "Both speak of: ")
			name, _, _ = strings.Cut(name, "\n")
			entities = append(entities, name)
			return "How old was she who built the lighthouse at the far cape when she came back to the coast?", nil
		case strings.HasPrefix(system, "You answer a question with what"):
			return "She was sixty when she came back to the coast.", nil
		}
		return author(req)
	}}
	w := writer(t, fake)
	r := retriever(t, docs)
	m := NewMaker(w, r, Questions, []Type{MultiHop}, 2)
	drafts, rows := made(t, m, nil)
	if len(rows) != 1 || !slices.Equal(slices.Sorted(slices.Values(rows[0].ReferenceContextIDs)), []string{"d0#1", "d1#1"}) {
		t.Fatalf("%d rows: %+v", len(rows), m.Report(drafts, rows).Dropped)
	}
	for _, name := range entities {
		if name != "Mara Lind" {
			t.Errorf("a question by way of %q", name)
		}
	}
	if got := names("On Monday the Arden ferry, Ossel and Mara Lind's boat (I think) met. Then Kay came; he saw NASA."); !slices.Equal(got,
		[]string{"Monday", "Arden", "Ossel", "Mara Lind", "Kay", "NASA"}) {
		t.Errorf("names %q", got)
	}
	if adds("the old cape", "the old cape", "the cape") {
		t.Error("short words add something")
	}
	if !adds("the ancient cape", "an ancient cape", "the cape") {
		t.Error("a word that one text has adds nothing")
	}
}

func FuzzNames(f *testing.F) {
	f.Add("The ferry of Cape Arden. First: so. Then: is it?")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range names(text) {
			if len(name) < 3 || name != strings.Join(strings.Fields(name), " ") {
				t.Errorf("%q is a name of %q", name, text)
			}
		}
		if first, then := twoMessages(text); strings.Contains(first+then, "\n") {
			t.Errorf("%q and %q are no lines", first, then)
		}
	})
}
