package testset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/internal/corpus"
	"github.com/assay-eval/assay/metrics"
)

// things are what the documents of the tests are about: each document has a passage on the colour and one on the
// weight of one of them.
func things() []string {
	return []string{"anvil", "bucket", "candle", "drum", "engine", "funnel", "gate", "hammer"}
}

func colour(i int) string {
	return []string{"amber", "blue", "crimson", "dun", "ecru", "fawn", "green", "hazel"}[i]
}
func weight(i int) string {
	return []string{"eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"}[i]
}

func documents() []corpus.Document {
	var docs []corpus.Document
	for i, thing := range things() {
		filler := " It was made long ago by people whose names nobody in this place remembers any more."
		docs = append(docs, corpus.Document{ID: thing + ".md", Text: fmt.Sprintf(
			"The %s has the colour %s and is kept dry.%s The mass of the %s amounts to %s pounds exactly.%s",
			thing, colour(i), filler, thing, weight(i), strings.ReplaceAll(filler, "made", "weighed"))})
	}
	return docs
}

// retriever indexes the passages, two of each document.
func retriever(t *testing.T, docs []corpus.Document) *corpus.Retriever {
	t.Helper()
	passages, _ := corpus.Cut(docs, corpus.Sizes{Words: 26, Overlap: 0})
	r, err := corpus.NewRetriever(context.Background(), corpus.ByBoth, passages, &backendtest.Fake{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// author writes what a good model would: it knows the prompts by their systems' messages and reads the data in the
// last one.
func author(req *backend.GenerateRequest) (string, error) {
	last := req.Messages[len(req.Messages)-1].Text
	about := func() (thing string, i int, isColour bool) {
		for i, thing := range things() {
			if strings.Contains(last, thing) {
				return thing, i, strings.Contains(last, "colour")
			}
		}
		return "nothing", 0, false
	}
	thing, i, isColour := about()
	switch system := req.Messages[0].Text; {
	case strings.HasPrefix(system, "You write one question that can only"):
		return fmt.Sprintf("Which colour has the %s and to how many pounds does its mass amount?", thing), nil
	case strings.HasPrefix(system, "You write one question"):
		if isColour {
			return fmt.Sprintf("Which colour has the %s that is kept dry?", thing), nil
		}
		return fmt.Sprintf("To how many pounds exactly amounts the mass of the %s?", thing), nil
	case strings.HasPrefix(system, "You answer a question with what"):
		if isColour && strings.Contains(last, "Which colour") {
			return fmt.Sprintf("The %s has the colour %s.", thing, colour(i)), nil
		}
		return fmt.Sprintf("The mass of the %s amounts to %s pounds.", thing, weight(i)), nil
	case strings.HasPrefix(system, "You write wrong answers"):
		return fmt.Sprintf("The %s is a striped thing from Peru.", thing), nil
	case strings.HasPrefix(system, "You answer questions in one or two"):
		return fmt.Sprintf("Everybody knows that the %s came from Peru.", thing), nil
	case strings.HasPrefix(system, "You write poor answers"):
		return fmt.Sprintf("The %s was made long ago.", thing), nil
	case strings.HasPrefix(system, "You are given a conversation and the question that comes last"):
		return fmt.Sprintf("What is the colour of the %s?", thing), nil
	case strings.HasPrefix(system, "You answer questions from the texts"):
		last = last[strings.LastIndex(last, "Question:"):]
		thing, _, _ = about()
		return fmt.Sprintf("About the %s.", thing), nil
	}
	return "", errors.New("a prompt that the author was not taught")
}

func writer(t *testing.T, b backend.Backend) *Writer {
	t.Helper()
	return &Writer{Model: b, Seed: 7}
}

func good() *backendtest.Fake {
	return &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		return author(req)
	}}
}

// made makes a test set, and fails the test if that fails.
func made(t *testing.T, m *Maker, kept []Draft) ([]Draft, []Row) {
	t.Helper()
	drafts := slices.Clone(kept)
	if err := m.Drafts(context.Background(), kept,
		func(d Draft) error { drafts = append(drafts, d); return nil }); err != nil {
		t.Fatal(err)
	}
	return drafts, m.Rows(drafts)
}

func TestARES(t *testing.T) {
	m := NewMaker(writer(t, good()), retriever(t, documents()), ARES, []Type{Single}, 10)
	drafts, rows := made(t, m, nil)
	r := m.Report(drafts, rows)
	if r.Kept != 10 || r.Missing != 0 || r.Lost != 0 {
		t.Fatalf("%+v", r)
	}
	want := map[Kind]int{Positive: 10, WeakContext: 5, StrongContext: 5, WeakAnswer: 5, StrongAnswer: 5}
	if !reflect.DeepEqual(r.Kinds, want) {
		t.Errorf("kinds %v, want %v", r.Kinds, want)
	}
	labels := map[Kind]string{
		Positive:      "map[answer_faithfulness:1 answer_relevance:1 context_relevance:1]",
		WeakContext:   "map[context_relevance:0]",
		StrongContext: "map[context_relevance:0]",
		WeakAnswer:    "map[answer_faithfulness:0 answer_relevance:0]",
		StrongAnswer:  "map[answer_faithfulness:0 answer_relevance:0]",
	}
	ids := map[string]bool{}
	for _, row := range rows {
		if ids[row.ID] {
			t.Errorf("the id %s twice", row.ID)
		}
		ids[row.ID] = true
		if got := fmt.Sprint(row.Labels); got != labels[row.Kind] {
			t.Errorf("%s: labels %s, want %s", row.ID, got, labels[row.Kind])
		}
		own, shown := row.ReferenceContextIDs[0], row.ContextIDs[0]
		document := func(id string) string { d, _, _ := strings.Cut(id, "#"); return d }
		switch row.Kind {
		case Positive, WeakAnswer, StrongAnswer:
			if own != shown {
				t.Errorf("%s shows %s instead of its own %s", row.ID, shown, own)
			}
			if (row.Sample.Answer == row.References[0]) != (row.Kind == Positive) {
				t.Errorf("%s: answer %q, true %q", row.ID, row.Sample.Answer, row.References[0])
			}
		case WeakContext:
			if document(own) == document(shown) {
				t.Errorf("%s: the weak context %s is of the document of %s", row.ID, shown, own)
			}
		case StrongContext:
			if document(own) != document(shown) || own == shown {
				t.Errorf("%s: the strong context is %s, want the other passage of %s", row.ID, shown, own)
			}
		}
	}

	// Each dimension has as many negatives as positives, as in ARES.
	count := map[string]int{}
	for _, row := range rows {
		for dimension, label := range row.Labels {
			count[fmt.Sprint(dimension, label)]++
		}
	}
	for _, dimension := range []string{contextRelevance, answerFaithfulness, answerRelevance} {
		if count[dimension+"0"] != 10 || count[dimension+"1"] != 10 {
			t.Errorf("%s: %v, want 10 of each", dimension, count)
		}
	}

	// The same again, on models that answer in another order, and with another seed.
	_, again := made(t, m, nil)
	if !reflect.DeepEqual(rows, again) {
		t.Error("the same seed made another test set")
	}
	other := *m.Writer
	other.Seed = 8
	if _, rows2 := made(t, NewMaker(&other, m.Retriever, ARES, m.Types, 10), nil); reflect.DeepEqual(rows, rows2) {
		t.Error("another seed made the same test set")
	}
}

// A hard negative is drawn at random: from its own document if that has other passages, and else from the first ten by
// words. Over many seeds each is drawn, and none besides.
func TestStrongContextIsDrawn(t *testing.T) {
	check := func(docs []corpus.Document, passage string, may func(id string) bool, want int) {
		t.Helper()
		r := retriever(t, docs)
		drawn := map[string]bool{}
		for seed := range uint64(200) {
			m := NewMaker(&Writer{Seed: seed}, r, ARES, []Type{Single}, 1)
			b := builder{maker: m}
			d := Draft{Type: Single, Passages: []string{passage}, Question: "Which colour has it?", Answer: "Plaid."}
			for _, id := range b.strongContext(question{Draft: &d}) {
				drawn[id] = true
				if !may(id) {
					t.Fatalf("drew %s beside %s", id, passage)
				}
			}
		}
		if len(drawn) != want {
			t.Errorf("drew %d passages, want %d: %v", len(drawn), want, drawn)
		}
	}
	var one, many []corpus.Document
	text := ""
	for i, thing := range things() {
		line := fmt.Sprintf("The %s of the house is kept in a dry place by people of whom nobody knows a name, and it is "+
			"polished twice a year by number %d of them.", thing, i)
		text += line + " "
		many = append(many, corpus.Document{ID: thing, Text: line})
	}
	for i := range 8 {
		many = append(many, corpus.Document{ID: fmt.Sprint("far", i),
			Text: fmt.Sprintf("Zebras drink %s water somewhere near Xanadu, said Kubla.", colour(i))})
	}
	one = append(one, corpus.Document{ID: "house", Text: text}, many[len(many)-1])
	check(one, "house#1", func(id string) bool { return strings.HasPrefix(id, "house#") }, 7)
	check(many, "anvil#1", func(id string) bool { return !strings.HasPrefix(id, "far") }, 7)
}

// A passage can be asked about more than once: each further question is about a sentence of it.
func TestPerPassage(t *testing.T) {
	var mu sync.Mutex
	abouts := map[string]bool{}
	fake := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if last := req.Messages[len(req.Messages)-1].Text; strings.Contains(last, "is about this part: It was made") {
			abouts["made"] = true
			return "Who made the thing whose names nobody remembers any more long ago?", nil
		} else if strings.Contains(last, "is about this part") {
			abouts["other"] = true
		}
		return author(req)
	}}
	m := NewMaker(writer(t, fake), retriever(t, documents()), ARES, []Type{Single}, 40)
	m.PerPassage = 3
	drafts, _ := made(t, m, nil)
	if len(drafts) != 48 || len(abouts) != 2 {
		t.Errorf("%d drafts about 16 passages, parts %v", len(drafts), abouts)
	}
	if r := m.Report(drafts, nil); r.Asked != 16 || r.Tried != 48 || r.Left != 0 {
		t.Errorf("%+v", r)
	}
	for i, d := range drafts {
		if first := drafts[i/3*3]; d.Further != i%3 || d.Passages[0] != first.Passages[0] {
			t.Errorf("draft %d is %+v", i, d)
		}
	}
}

// Claims and turns of a conversation in the place of questions.
func TestStyles(t *testing.T) {
	fake := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		last := req.Messages[len(req.Messages)-1].Text
		for i, thing := range things() {
			if !strings.Contains(last, thing) {
				continue
			}
			switch system := req.Messages[0].Text; {
			case strings.HasPrefix(system, "You write one claim"):
				return fmt.Sprintf("Claim: The %s has the colour %s and is kept dry.", thing, colour(i)), nil
			case strings.HasPrefix(system, "You check a claim"):
				return fmt.Sprintf("Supported. The %s has the colour %s.", thing, colour(i)), nil
			case strings.HasPrefix(system, "You write what somebody says"):
				return fmt.Sprintf("I wonder which colour the %s has that is kept dry.", thing), nil
			case strings.HasPrefix(system, "You reply in a conversation"):
				return fmt.Sprintf("The %s has the colour %s.", thing, colour(i)), nil
			}
		}
		return author(req)
	}}
	for style, want := range map[Style]string{Claim: "The anvil has the colour amber and is kept dry.|Supported. ",
		Dialogue: "I wonder which colour the anvil has that is kept dry.|The anvil has the colour amber."} {
		m := NewMaker(writer(t, fake), retriever(t, documents()), ARES, []Type{Single}, 8)
		m.Style = style
		_, rows := made(t, m, nil)
		found := false
		for _, row := range rows {
			found = found || row.Kind == Positive && strings.HasPrefix(row.Question+"|"+row.Sample.Answer, want)
		}
		if !found {
			t.Errorf("%s: no row with %q among %d", style, want, len(rows))
		}
	}
	if got := checkClaim("Is it so that it is red?", "It is red."); got != "the claim is a question" {
		t.Errorf("a claim that asks: %q", got)
	}
	if got := checkClaim("Bananas grow in hot countries.", "It is red."); got != "the claim is not from the passage" {
		t.Errorf("a claim from nowhere: %q", got)
	}
	for _, bad := range []struct {
		name  string
		r     Recipe
		types []Type
	}{{"song", ARES, []Type{Single}}, {"claim", WikiEval, []Type{Single}}, {"claim", ARES, []Type{Several}}} {
		if s, err := ParseStyle(bad.name, bad.r, bad.types); err == nil {
			t.Errorf("%+v: %q", bad, s)
		}
	}
}

// Interrupted after any number of drafts, the work ends in the same test set, and nothing is asked twice.
func TestResume(t *testing.T) {
	r := retriever(t, documents())
	types := []Type{Single, Unanswerable, Noisy}
	whole, rows := made(t, NewMaker(writer(t, good()), r, ARES, types, 7), nil)
	for n := range whole {
		fake := good()
		drafts, again := made(t, NewMaker(writer(t, fake), r, ARES, types, 7), whole[:n])
		if !reflect.DeepEqual(drafts, whole) || !reflect.DeepEqual(again, rows) {
			t.Errorf("after %d drafts it goes on to another end", n)
		}
		if calls := fake.Stats().Generates; calls > 3*(len(whole)-n) {
			t.Errorf("%d calls for the last %d drafts", calls, len(whole)-n)
		}
	}
}

func TestTypes(t *testing.T) {
	types := []Type{Single, Several, Unanswerable, Noisy}
	m := NewMaker(writer(t, good()), retriever(t, documents()), ARES, types, 9)
	drafts, rows := made(t, m, nil)
	r := m.Report(drafts, rows)
	if want := map[Type]int{Single: 3, Several: 2, Unanswerable: 2, Noisy: 2}; !reflect.DeepEqual(r.Types, want) {
		t.Fatalf("types %v, want %v; dropped %+v", r.Types, want, r.Dropped)
	}
	for _, row := range rows {
		shows := slices.Contains(row.ContextIDs, row.ReferenceContextIDs[0])
		switch {
		case row.Kind == Withheld && (shows || row.Sample.Answer != refusal || len(row.ContextIDs) == 0):
			t.Errorf("unanswerable: %+v", row)
		case row.Type == Noisy && row.Kind == Positive && (!shows || len(row.ContextIDs) != 4):
			t.Errorf("noisy: %v with its own %v", row.ContextIDs, row.ReferenceContextIDs)
		case row.Type == Several && row.Kind == Positive && len(row.ContextIDs) != 2:
			t.Errorf("several: %v", row.ContextIDs)
		}
	}
}

func TestWikiEval(t *testing.T) {
	m := NewMaker(writer(t, good()), retriever(t, documents()), WikiEval, []Type{Single}, 4)
	_, rows := made(t, m, nil)
	if len(rows) != 16 {
		t.Fatalf("%d rows, want 16", len(rows))
	}
	for i := 0; i < len(rows); i += 4 {
		g := rows[i]
		if g.Kind != Good || g.Worse != "" {
			t.Fatalf("%+v", g)
		}
		for j, in := range []string{"faithfulness", "answer_relevance", "context_relevance"} {
			w := rows[i+1+j]
			if w.Group != g.Group || w.Worse != in || w.Question != g.Question {
				t.Errorf("%+v: want the pair of %s, worse in %s", w, g.ID, in)
			}
			if (w.Sample.Answer == g.Sample.Answer) != (in == "context_relevance") ||
				(len(w.Contexts) == 1) != (in != "context_relevance") {
				t.Errorf("%s: answer %q, %d contexts", w.ID, w.Sample.Answer, len(w.Contexts))
			}
			// Its rival is the better side, so that a judge can be asked which one it prefers.
			rivals, lists := []string{g.Sample.Answer}, [][]string(nil)
			if in == "context_relevance" {
				rivals, lists = nil, [][]string{g.Contexts}
			}
			if !reflect.DeepEqual(w.OtherAnswers, rivals) || !reflect.DeepEqual(w.OtherContexts, lists) {
				t.Errorf("%s: rivals %q and %q", w.ID, w.OtherAnswers, w.OtherContexts)
			}
		}
	}
}

func TestQuestionsOnly(t *testing.T) {
	_, rows := made(t, NewMaker(writer(t, good()), retriever(t, documents()), Questions, []Type{Single, Several}, 4),
		nil)
	if len(rows) != 4 {
		t.Fatalf("%d rows, want 4", len(rows))
	}
	for _, row := range rows {
		if row.Sample.Answer != "" || row.Contexts != nil || row.References == nil || row.ReferenceContextIDs == nil {
			t.Errorf("%+v", row)
		}
	}
}

// What weak models write is dropped, with a reason, and never becomes a row.
func TestDropped(t *testing.T) {
	r := retriever(t, documents())
	check := func(prompt, reply, reason string) {
		t.Helper()
		fake := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			if strings.HasPrefix(req.Messages[0].Text, prompt) {
				return reply, nil
			}
			return author(req)
		}}
		recipe := ARES
		if strings.HasPrefix(prompt, "You answer questions in") || strings.HasPrefix(prompt, "You write poor") {
			recipe = WikiEval
		}
		m := NewMaker(writer(t, fake), r, recipe, []Type{Single}, 3)
		drafts, rows := made(t, m, nil)
		rep := m.Report(drafts, rows)
		if len(rep.Dropped) == 0 || !strings.Contains(rep.Dropped[0].Reason, reason) ||
			rep.Dropped[0].N != len(drafts)-rep.Kept {
			t.Errorf("%q: %+v, want %q", reply, rep.Dropped, reason)
		}
		if rep.Kept > 1 || rep.Asked != 16 {
			t.Errorf("%q: %d kept of %d", reply, rep.Kept, rep.Asked)
		}
	}
	const asks, answers, guesses, poor = "You write one question", "You answer a question with what",
		"You answer questions in one", "You write poor"
	check(asks, "", "no question mark")
	check(asks, "Tell me about it.", "no question mark")
	check(asks, "What does the passage say about the anvil?", "mentions the text")
	check(asks, strings.Repeat("well then what is it ", 9)+"?", "too long")
	check(asks, "Why?", "too short")
	check(asks, "How long does sourdough take to rise in a warm kitchen?", "copies an example")
	check(asks, "Which colour has the anvil that is kept dry?", "another passage")
	check(answers, "", "the answer is empty")
	check(answers, "The text does not say.", "does not answer")
	check(answers, "Bananas grow in hot countries only.", "not from the passage")
	check(answers, strings.Repeat("It was made long ago by people and so on and ", 30),
		"cut at its length limit, or repeated")
	check(guesses, "The text does not say so.", "refusal")
	check(guesses, "It was long ago by people.", "nothing that the passage does not")
	check(poor, "It came from Peru in a striped box.", "not from the passage")
	check(poor, "", "is empty")
}

// A question that does not find its passage among twenty is a negative of its own.
func TestLost(t *testing.T) {
	var docs []corpus.Document
	for i := range 30 {
		docs = append(docs, corpus.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf(
			"Entry %d lists the goods of ship number %d with all their weights and prices in the order of the "+
				"alphabet as usual here.", i, i)})
	}
	fake := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		return "Where do zebras and giraffes drink in Xanadu?", nil
	}}
	m := NewMaker(writer(t, fake), retriever(t, docs), ARES, []Type{Single}, 5)
	drafts, rows := made(t, m, nil)
	r := m.Report(drafts, rows)
	if r.Lost == 0 || r.Kept != 0 || len(rows) != r.Lost || rows[0].Kind != LostContext ||
		fmt.Sprint(rows[0].Labels) != "map[context_relevance:0]" {
		t.Errorf("%+v, %d rows", r, len(rows))
	}
}

// Without contradictions there are no strong answers, and as few weak ones: the numbers stay equal.
func TestNoContradictions(t *testing.T) {
	fake := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if strings.HasPrefix(req.Messages[0].Text, "You write wrong") {
			return "The text does not say.", nil
		}
		return author(req)
	}}
	m := NewMaker(writer(t, fake), retriever(t, documents()), ARES, []Type{Single}, 6)
	drafts, rows := made(t, m, nil)
	r := m.Report(drafts, rows)
	if r.Kinds[StrongAnswer] != 0 || r.Kinds[WeakAnswer] != 0 || r.Missing != 6 || r.Kept != 6 {
		t.Errorf("%+v", r)
	}
}

// A model that is away ends the work with an error; one that fails on a single passage does not.
func TestModelFails(t *testing.T) {
	r := retriever(t, documents())
	away := &backendtest.Fake{Reply: func(context.Context, *backend.GenerateRequest) (string, error) {
		return "", fmt.Errorf("%w: no server", backend.ErrUnavailable)
	}}
	m := NewMaker(writer(t, away), r, ARES, []Type{Single}, 5)
	n := 0
	err := m.Drafts(context.Background(), nil, func(Draft) error { n++; return nil })
	if !errors.Is(err, backend.ErrUnavailable) || n != 0 {
		t.Errorf("%v after %d drafts", err, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := NewMaker(writer(t, good()), r, ARES, []Type{Single}, 5).Drafts(ctx, nil,
		func(Draft) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	broken := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, "drum") {
			return "", errors.New("no luck with drums")
		}
		return author(req)
	}}
	m = NewMaker(writer(t, broken), r, ARES, []Type{Single}, 16)
	drafts, rows := made(t, m, nil)
	if rep := m.Report(drafts, rows); rep.Kept != 14 || rep.Dropped[0].Reason != "the model failed" ||
		rep.Dropped[0].N != 2 {
		t.Errorf("%+v", rep)
	}
}

func TestAnswer(t *testing.T) {
	r := retriever(t, documents())
	a := &Answerer{Writer: writer(t, good()), Retriever: r, Top: 2}
	questions := []*metrics.Sample{
		{ID: "a", Question: "Which colour has the drum?", Answer: "old", Contexts: []string{"old"},
			References: []string{"dun"},
			Extra: map[string]json.RawMessage{"topic": json.RawMessage(`{"n":1}`), "error": json.RawMessage(`"old"`),
				"id": json.RawMessage(`"x"`)}},
		{ID: "b", Question: "  "},
		{ID: "c", Question: "Which colour has the gate?"},
	}
	var rows []Answered
	if err := a.AnswerAll(context.Background(), questions, 0,
		func(row Answered) error { rows = append(rows, row); return nil }); err != nil {
		t.Fatal(err)
	}
	if rows[0].ID != "a" || rows[2].ID != "c" || rows[0].Sample.Answer != "About the drum." ||
		rows[0].ContextIDs[0] != "drum.md#1" || len(rows[0].Contexts) != 2 || len(rows[0].Scores) != 2 {
		t.Errorf("%+v", rows)
	}
	if rows[1].Error == "" || rows[1].Sample.Answer != "" {
		t.Errorf("without a question: %+v", rows[1])
	}
	b, err := json.Marshal(rows[0])
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if back["id"] != "a" || fmt.Sprint(back["topic"]) != "map[n:1]" || back["extra"] != nil ||
		fmt.Sprint(back["reference_answers"]) != "[dun]" {
		t.Errorf("written as %s", b)
	}
	if questions[0].Answer != "old" {
		t.Error("the question itself was changed")
	}

	// What does not fit is that row's error, and nothing is cut.
	small := good()
	small.About.Context = 200
	a.Writer.Model = small
	row, err := a.Answer(context.Background(), questions[0])
	if err != nil || !strings.Contains(row.Error, "prompt too long") || row.Sample.Answer != "" ||
		len(row.Contexts) != 2 {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestPrompts(t *testing.T) {
	files, err := fs.Glob(promptFiles, "prompts/*.tmpl")
	if err != nil || len(files) != len(Prompts()) {
		t.Errorf("%d prompts for %d uses: %v", len(files), len(Prompts()), err)
	}
	for _, p := range Prompts() {
		messages, err := p.Render(p.Example.Data)
		if err != nil || !strings.Contains(messages[len(messages)-1].Text, p.Example.Shown["what it is about"]) {
			t.Errorf("%s: %+v, %v", p.Name, messages, err)
		}
	}
}

// The question prompt has the six rules of the paper (section 4), in whatever words. What the example of an incomplete
// answer says, the full answer says too: it is not beside the point.
func TestPaperRules(t *testing.T) {
	messages, err := questionPrompt.Render(questionPrompt.Example.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range []string{"answers all of it", "not plain to everybody", "no link", "very easy", "a person",
		"not mention the text"} {
		if !strings.Contains(messages[0].Text, rule) {
			t.Errorf("the rule %q is not in %q", rule, messages[0].Text)
		}
	}
	if messages, err = incompletePrompt.Render(incompletePrompt.Example.Data); err != nil {
		t.Fatal(err)
	}
	for i := 1; i+1 < len(messages); i += 2 {
		_, full, _ := strings.Cut(messages[i].Text, "Full answer:")
		question, _, _ := strings.Cut(messages[i].Text, "\nFull answer:")
		_, question, _ = strings.Cut(question, "Question: ")
		if poor := messages[i+1].Text; told(question, poor, full) < 1 || told(question, full, poor) >= mostTold {
			t.Errorf("%q is no part of %q", poor, full)
		}
	}
	if got := checkAnswer("Where is it?", "It is at https://arden.example.", "It is at https://arden.example."); got !=
		"the answer holds a link" {
		t.Errorf("an answer with a link: %q", got)
	}
}

func FuzzChecks(f *testing.F) {
	f.Add("What is it?", "It is \"this\".", "This is it.")
	f.Fuzz(func(t *testing.T, question, answer, text string) {
		line := oneLine(answer)
		if strings.Contains(line, "\n") {
			t.Errorf("%q is no line", line)
		}
		for _, share := range []float64{grounded(answer, text), told(question, answer, text)} {
			if !(share >= 0 && share <= 1) {
				t.Errorf("a share of %v", share)
			}
		}
		if checkAnswer(question, line, text) == "" && checkOther(question, line, line, text) == "" {
			t.Errorf("%q is both true and not", line)
		}
		if checkIncomplete(question, line, line, text) == "" {
			t.Errorf("%q is less than itself", line)
		}
		checkQuestion(question)
	})
}

// What another question is answered with may be the true answer here, too: then it is no wrong one.
func TestOtherAnswerIsNotTheTrueOne(t *testing.T) {
	m := NewMaker(writer(t, good()), retriever(t, documents()), ARES, []Type{Single}, 10)
	b := builder{maker: m}
	for i, answer := range []string{"Yes.", "Yes.", "No, it is not."} {
		d := Draft{Type: Single, Passages: []string{things()[i] + ".md#1"}, Question: fmt.Sprint(i), Answer: answer}
		b.questions = append(b.questions, question{&d, fmt.Sprint(i), rand.New(rand.NewPCG(uint64(i), 1))})
	}
	for i, want := range []string{"No, it is not.", "No, it is not.", "Yes."} {
		if got := b.otherAnswer(i); got != want {
			t.Errorf("beside %q: %q, want %q", b.questions[i].Answer, got, want)
		}
	}
}

// In a conversation, passages are found by the user's words before the question or by the standalone question, and the
// answer is asked for with the turns or without them.
func TestAnswerConversation(t *testing.T) {
	var asked []string
	model := &backendtest.Fake{Reply: func(ctx context.Context, req *backend.GenerateRequest) (string, error) {
		asked = append(asked, req.Messages[len(req.Messages)-1].Text)
		return author(req)
	}}
	answer := func(rewrite bool, s metrics.Sample) Answered {
		t.Helper()
		asked = nil
		a := &Answerer{Writer: writer(t, model), Retriever: retriever(t, documents()), Top: 1, Rewrite: rewrite}
		row, err := a.Answer(context.Background(), &s)
		if err != nil || row.Error != "" {
			t.Fatal(err, row.Error)
		}
		return row
	}
	talk := metrics.Sample{ID: "a", Question: "And its colour?", History: []metrics.Turn{
		{Role: backend.User, Said: "Is the drum kept dry?"}, {Role: backend.Assistant, Said: "It is."}}}

	row := answer(false, talk)
	if row.Standalone != "" || len(row.ContextIDs) != 1 || !strings.HasPrefix(row.ContextIDs[0], "drum.md") ||
		len(asked) != 1 || !strings.Contains(asked[0], "user: Is the drum kept dry?\nassistant: It is.\n") {
		t.Errorf("%+v by %q", row, asked)
	}
	row = answer(true, talk)
	if row.Standalone != "What is the colour of the drum?" || row.Question != talk.Question ||
		!strings.HasPrefix(row.ContextIDs[0], "drum.md") || len(asked) != 2 ||
		!strings.Contains(asked[0], "user: Is the drum kept dry?") || strings.Contains(asked[1], "kept dry?") ||
		!strings.Contains(asked[1], "Question: What is the colour of the drum?") {
		t.Errorf("%+v by %q", row, asked)
	}
	given := talk
	given.Standalone = "What is the colour of the gate?"
	row = answer(true, given)
	if !strings.HasPrefix(row.ContextIDs[0], "gate.md") || len(asked) != 1 || row.Standalone != given.Standalone {
		t.Errorf("%+v by %q", row, asked)
	}
	first := talk
	first.History = nil
	if row = answer(true, first); row.Standalone != "" || len(asked) != 1 {
		t.Errorf("a question without a conversation is rewritten: %+v by %q", row, asked)
	}
	for _, reply := range []string{"...", "One?\nTwo?"} {
		if notAQuestion(reply) == "" {
			t.Errorf("%q is taken for a question", reply)
		}
	}
}
