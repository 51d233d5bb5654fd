package judged

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/metrictest"
	"github.com/assay-eval/assay/metrics/prompts"
)

func TestDecodeSentenceStatements(t *testing.T) {
	sentences := []string{"The ferry costs 14 euros.", "It sails daily, and dogs pay half."}
	check := func(text string, want ...string) {
		t.Helper()
		got, err := decodeSentenceStatements(ask.Reply{Text: text}, sentences, "What does it cost?")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	check(`{"1": "same", "2": ["The ferry sails daily.", "Dogs pay half on the ferry."]}`, sentences[0],
		"The ferry sails daily.", "Dogs pay half on the ferry.")
	check(`{"1": ["Same"], "2": "The ferry sails daily."}`, sentences[0], "The ferry sails daily.")
	check(`{"2": "same", "1": []}`, sentences[1])
	check(`{"1": [" - "], "2": ["What does it cost?"]}`)

	refuse := func(text string, cut bool, want string) {
		t.Helper()
		got, err := decodeSentenceStatements(ask.Reply{Text: text, Cut: cut}, sentences, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %s", text, got, err, want)
		}
	}
	refuse(`{"1": "same"}`, false, "nothing of sentence 2")
	refuse(`{"1": "same", "2": 7}`, false, "nothing of sentence 2")
	refuse(`{"1": [{"a": "b"}], "2": "same"}`, false, "sentence 1 is no list")
	refuse("1. The ferry costs 14 euros.", false, "no JSON object")
	refuse(`{"1": "same", "2": ["The ferry sai"]}`, true, metrics.ErrCut.Error())
}

func FuzzDecodeSentenceStatements(f *testing.F) {
	f.Add(`{"1": "same", "2": ["b c"]}`, false)
	f.Add(`{"1": [[]], "2": null}`, false)
	f.Add(`{"1": "sa`, true)
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		got, err := decodeSentenceStatements(ask.Reply{Text: strings.ToValidUTF8(text, "\uFFFD"), Cut: cut},
			[]string{"One is odd.", "Two is even."}, "Why?")
		if err != nil && got != nil || err == nil && cut {
			t.Errorf("%q, %v", got, err)
		}
		for _, text := range got {
			if strings.TrimSpace(text) == "" {
				t.Errorf("a statement in %q is empty", got)
			}
		}
	})
}

// The replies that the built-in prompts show are of the form that their schemas ask for.
func TestBuiltinSentenceStatements(t *testing.T) {
	messages, err := faithfulnessSentencesPrompt.Render(faithfulnessSentencesPrompt.Example.Data)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{
		{"first", "A storm damaged the lighthouse at Cape Arden.", "The lighthouse at Cape Arden is lit every night."},
		{"Dogs may travel on the ferry.", "Dogs must be kept on a lead on the ferry.", "second"},
	} {
		got, err := decodeSentenceStatements(ask.Reply{Text: messages[2+2*i].Text}, []string{"first", "second", "third"}[:3-i],
			"")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if schema := sentencesSchema(2); !json.Valid(schema) || !strings.Contains(string(schema), `"required":["1","2"]`) {
		t.Errorf("the schema is %s", schema)
	}
}

// A shortJudge replies in the forms of the short methods, and remembers what it was asked.
type shortJudge struct {
	backendtest.Fake
	asked []string // the last line of each request
}

// newShortJudge says yes to statements with the probabilities of chances, by parts of them, and supports those with
// "daily" where it gives a reason.
func newShortJudge(chances map[string]float64) *shortJudge {
	j := &shortJudge{}
	j.LogProbs = metrictest.Affirms(func(prompt string) float64 {
		_, statement, _ := strings.Cut(prompt, "Statement: ")
		statement, _, _ = strings.Cut(statement, "\n")
		for part, p := range chances {
			if strings.Contains(statement, part) {
				return p
			}
		}
		panic("no chance of " + statement)
	}).LogProbs
	j.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		text := req.Messages[len(req.Messages)-1].Text
		last := text[strings.LastIndex(text, "\n")+1:]
		j.asked = append(j.asked, last)
		switch {
		case strings.Contains(text, "Sentences of the answer:"):
			return `{"1": "same", "2": ["The ferry sails daily.", "The ferry is green."]}`, nil
		case strings.Contains(text, "Statements:\n"):
			_, list, _ := strings.Cut(text, "Statements:\n")
			return fmt.Sprintf(`{"1": {"reason": "So.", "verdict": "%s"}}`,
				map[bool]string{true: "Yes", false: "No"}[strings.Contains(list, "daily")]), nil
		case strings.Contains(text, "\nNumbers:"), strings.Contains(last, "Which sentences"):
			return "[1]", nil
		}
		return "", errors.New("no reply to " + text)
	}
	return j
}

// Verdicts are read from the probabilities, and the judge writes reasons for those in doubt alone. The reasoned verdict
// counts.
func TestClaimsShort(t *testing.T) {
	sample := metrictest.Ferry()
	sample.Answer = "The ferry costs 14 euros. It sails daily and is green."
	check := func(what string, reasons metrics.Reasons, chances map[string]float64, want float64, generated int,
		why ...string) {
		t.Helper()
		judge := newShortJudge(chances)
		got := score(t, "faithfulness/claims_short", &judge.Fake, metrics.Models{Reasons: reasons}, sample)
		metrictest.WantScore(t, what, got, want, "14 euros", "sails daily", "green")
		if len(judge.asked) != generated {
			t.Errorf("%s: replies to %q, want %d", what, judge.asked, generated)
		}
		for i, f := range got.Score.Because {
			if given := f.Reason != ""; given != slices.Contains(why, f.Text) {
				t.Errorf("%s: finding %d has the reason %q", what, i, f.Reason)
			}
		}
	}
	clear := map[string]float64{"14 euros": 0.9, "daily": 0.2, "green": 0.67}
	check("clear", "", clear, 2.0/3, 1)
	doubtful := map[string]float64{"14 euros": 0.9, "daily": 0.4, "green": 0.1}
	check("one in doubt", metrics.DoubtfulReasons, doubtful, 2.0/3, 2, "The ferry sails daily.")
	check("none is asked", metrics.NoReasons, doubtful, 1.0/3, 1)
	one := map[string]float64{"14 euros": 0.9, "daily": 0.9, "green": 0.5}
	check("against it", metrics.DoubtfulReasons, one, 2.0/3, 2, "The ferry is green.")
}

// With reasons for all, the verdicts are those of the long form, and the requests too.
func TestClaimsShortWithAllReasons(t *testing.T) {
	if !metrics.AllReasons.Wanted(0.99) || metrics.NoReasons.Wanted(0.5) || !metrics.Reasons("").Wanted(0.5) ||
		metrics.DoubtfulReasons.Wanted(0.33) || metrics.DoubtfulReasons.Wanted(0.67) {
		t.Error("Reasons.Wanted is wrong")
	}
	if _, err := metrics.ParseReasons("some"); err == nil || !strings.Contains(err.Error(), "doubtful, all and none") {
		t.Errorf("ParseReasons: %v", err)
	}
	keys := func(reasons metrics.Reasons, name, statements string) []string {
		fake := metrictest.Affirms(func(string) float64 { return 0.9 })
		fake.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			if strings.HasSuffix(req.Messages[len(req.Messages)-1].Text, "Verdicts:") {
				return "1. Yes\n2. No", nil
			}
			return statements, nil
		}
		got := score(t, name, fake, metrics.Models{Reasons: reasons}, metrictest.Ferry())
		if got.Score == nil || got.Score.Value != 0.5 {
			t.Fatalf("%s: %+v", name, got)
		}
		return got.Calls
	}
	long := keys("", "faithfulness/claims", "1. The ferry costs 14 euros.\n2. It sails daily.")
	short := keys(metrics.AllReasons, "faithfulness/claims_short", `{"1": "same", "2": "same"}`)
	if long[len(long)-1] != short[len(short)-1] {
		t.Error("the short form asks for verdicts with reasons in other words than the long one")
	}
}

// The sentences of the contexts are named by their numbers, in either layout; a number that was not shown is refused.
func TestContextRelevanceShort(t *testing.T) {
	for _, layout := range prompts.Layouts() {
		draws := 0
		fake := &backendtest.Fake{About: backend.Info{Ops: backend.CanGenerate | backend.CanConstrain}}
		fake.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			text := req.Messages[len(req.Messages)-1].Text
			if !strings.Contains(text, "1. A ferry ticket costs 14 euros.\n") || !strings.Contains(text, "2. The pier is green.\n") {
				t.Errorf("%s: the judge is shown %q", layout, text)
			}
			if want := string(ask.NumbersSchema([]int{1, 2})); string(req.Schema) != want {
				t.Errorf("%s: the schema is %s", layout, req.Schema)
			}
			if draws++; draws == 1 {
				return "[1, 3]", nil
			}
			return "[1]", nil
		}
		got := score(t, "context_relevance/sentences_short", fake, metrics.Models{Prompts: prompts.Set{}.In(layout)},
			metrictest.Ferry())
		metrictest.WantScore(t, string(layout), got, 0.5, "A ferry ticket costs 14 euros. |  | context 1",
			"1 of the contexts' 2 sentences")
		if draws != 2 {
			t.Errorf("%s: %d draws", layout, draws)
		}
	}
	none := &backendtest.Fake{Reply: func(context.Context, *backend.GenerateRequest) (string, error) { return "[]", nil }}
	metrictest.WantScore(t, "none", score(t, "context_relevance/sentences_short", none, metrics.Models{}, metrictest.Ferry()),
		0, "0 of the contexts' 2 sentences")
	sample := metrictest.Ferry()
	sample.Contexts = []string{"***"}
	if got := score(t, "context_relevance/sentences_short", none, metrics.Models{}, sample); got.Kind != metrics.NotApplicable {
		t.Errorf("no sentence: %+v", got)
	}
}

// Contexts that do not fit in one prompt are read in windows, and every sentence can be named once.
func TestContextRelevanceShortInWindows(t *testing.T) {
	sample := metrictest.Ferry()
	var long strings.Builder
	for i := range 120 {
		fmt.Fprintf(&long, "Sentence of number %d says nothing of interest here. ", i)
	}
	sample.Contexts = []string{long.String()}
	named := 0
	fake := &backendtest.Fake{About: backend.Info{Context: 1100, Ops: backend.CanGenerate | backend.CanConstrain}}
	fake.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if req.MaxTokens > 8+maxNumbers {
			t.Errorf("%d tokens are kept for the reply", req.MaxTokens)
		}
		var schema struct{ Items struct{ Enum []int } }
		if err := json.Unmarshal(req.Schema, &schema); err != nil {
			return "", err
		}
		named += len(schema.Items.Enum)
		return fmt.Sprint([]int{schema.Items.Enum[0]}), nil
	}
	got := score(t, "context_relevance/sentences_short", fake, metrics.Models{}, sample)
	if got.Score == nil || named != 120 || len(got.Calls) < 2 {
		t.Fatalf("%d sentences could be named in %d windows: %+v", named, len(got.Calls), got)
	}
	if want := float64(len(got.Calls)) / 120; got.Score.Value != want {
		t.Errorf("the value is %v, want %v", got.Score.Value, want)
	}
}

// A copy is held to the sentences that are shown, where the prompt asks for JSON.
func TestCopiesSchema(t *testing.T) {
	got := string(copiesSchema([]metrics.RowSentence{{Text: `He said "no".`}, {Text: "***"}, {Text: "A < B is so."},
		{Text: "A < B is so."}}))
	var schema struct {
		AnyOf []struct {
			Const    string
			MaxItems int
			Items    struct{ Enum []string }
		}
	}
	if err := json.Unmarshal([]byte(got), &schema); err != nil || len(schema.AnyOf) != 2 || schema.AnyOf[1].MaxItems != 2 ||
		!slices.Equal(schema.AnyOf[1].Items.Enum, []string{`He said "no".`, "A < B is so."}) {
		t.Errorf("the schema is %s, %v", got, err)
	}
	if got := copiesSchema([]metrics.RowSentence{{Text: strings.Repeat("long ", maxCopies)}}); got != nil {
		t.Errorf("a schema of %d bytes", len(got))
	}
	fake := &backendtest.Fake{About: backend.Info{Ops: backend.CanGenerate | backend.CanConstrain}}
	fake.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if !strings.Contains(string(req.Schema), "The pier is green.") {
			t.Errorf("the schema is %s", req.Schema)
		}
		return `["The pier is green."]`, nil
	}
	inRow := metrics.Models{Prompts: prompts.Set{}.In(prompts.Row)}
	metrictest.WantScore(t, "a copy", score(t, "context_relevance", fake, inRow, metrictest.Ferry()), 0.5, "The pier is green.",
		"1 of the contexts' 2")
}

// The short form of answer_relevance is the first of the long form's three questions, in the same request.
func TestAnswerRelevanceOneQuestion(t *testing.T) {
	fake := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		return fmt.Sprintf("What does the ferry cost in year %d?", req.Draw), nil
	}}
	long := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_relevance"), fake, metrictest.Ferry())
	short := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_relevance/questions_short"), fake, metrictest.Ferry())
	if len(short.Score.Because) != 1 || short.Score.Because[0].Text != long.Score.Because[0].Text ||
		short.Score.Value != *long.Score.Because[0].Value || short.Calls[0] != long.Calls[0] {
		t.Errorf("%+v of %+v", short.Score, long.Score)
	}
}

// In the row layout, all that is asked about a row begins with the same words up to the question.
func TestShortFormsShareTheRow(t *testing.T) {
	judge := newShortJudge(map[string]float64{"14 euros": 0.9, "daily": 0.5, "green": 0.1})
	var shown []string
	note := func(messages []backend.Message) {
		var b strings.Builder
		for _, m := range messages {
			b.WriteString(string(m.Role) + ": " + m.Text + "\n")
		}
		shown = append(shown, b.String())
	}
	reply, logProbs := judge.Reply, judge.LogProbs
	judge.Reply = func(ctx context.Context, req *backend.GenerateRequest) (string, error) {
		if !strings.Contains(req.Messages[len(req.Messages)-1].Text, "Sentences of the answer") { // which needs no context
			note(req.Messages)
		}
		return reply(ctx, req)
	}
	judge.LogProbs = func(messages []backend.Message, continuation string) []float64 {
		note(messages)
		return logProbs(messages, continuation)
	}
	sample := metrictest.Ferry()
	for _, name := range []string{"faithfulness/claims_short", "context_relevance/sentences_short"} {
		if got := score(t, name, &judge.Fake, metrics.Models{Prompts: prompts.Set{}.In(prompts.Row)}, sample); got.Score == nil {
			t.Fatalf("%s: %+v", name, got)
		}
	}
	if len(shown) != 3*2+1+1 {
		t.Fatalf("%d prompts", len(shown))
	}
	material := "Answer: " + sample.Answer + "\n\n"
	before, _, _ := strings.Cut(shown[0], material)
	for _, prompt := range shown {
		if !strings.HasPrefix(prompt, before+material) {
			t.Errorf("%q does not begin with %q", prompt, before+material)
		}
	}
}

// score scores one sample by one metric, asking as m says.
func score(t *testing.T, name string, judge backend.Backend, m metrics.Models, sample metrics.Sample) metrics.Result {
	t.Helper()
	m.Roles = metrics.Roles{backend.Judge: judge, backend.Embedder: judge}
	sample.ID = "one"
	var got metrics.Result
	err := metrics.Run(t.Context(), func(yield func(*metrics.Sample, error) bool) { yield(&sample, nil) },
		metrictest.Select(t, Metrics(), name), m, metrics.Options{}, func(r metrics.Result) error { got = r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return got
}
