package judged

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/metrictest"
	"github.com/assay-eval/assay/metrics/prompts"
)

// A script answers the built-in prompts, which it tells apart by their last lines, and remembers the
// requests. What it has no field for is an error of the test.
type script struct {
	statements func(answer string) string
	verdicts   func(text string, statements []string) string
	verdict    func(text, statement string) string
	question   func(req *backend.GenerateRequest) string
	sentences  func(text string) string
	ending     map[string]func(prompt string) string // by what the prompt ends in

	ops backend.Ops // the engine's; 0 is all but constraining

	mu   sync.Mutex
	asks []string // the prompt asked and its draw: "verdicts 0"

	schema string // of the last request
}

func (s *script) reply(_ context.Context, req *backend.GenerateRequest) (string, error) {
	text := req.Messages[len(req.Messages)-1].Text
	s.mu.Lock()
	s.schema = string(req.Schema)
	s.mu.Unlock()
	if req.Once != (req.Schema == nil) {
		return "", errors.New("a reply may end when it repeats itself, but not one that a schema bounds")
	}
	between := func(from, to string) string {
		_, rest, _ := strings.Cut(text, from)
		if i := strings.LastIndex(rest, to); i >= 0 {
			rest = rest[:i]
		}
		return strings.TrimSpace(rest)
	}
	note := func(name string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asks = append(s.asks, fmt.Sprint(name, " ", req.Draw))
	}
	for ending, reply := range s.ending {
		if strings.HasSuffix(text, ending) {
			note(ending)
			return reply(text), nil
		}
	}
	switch {
	case strings.HasSuffix(text, "\nStatements:") && s.statements != nil:
		note("statements")
		return s.statements(between("\nAnswer:", "\nStatements:")), nil
	case strings.HasSuffix(text, "\nVerdicts:") && s.verdicts != nil:
		note("verdicts")
		return s.verdicts(between("Text:", "\nStatements:"), strings.Split(between("\nStatements:", "\nVerdicts:"),
			"\n")), nil
	case strings.Contains(text, "\nStatement: ") && s.verdict != nil:
		note("verdict")
		return s.verdict(between("Text:", "\nStatement:"), between("\nStatement:", "\n")), nil
	case strings.HasPrefix(text, "Answer:") && s.question != nil:
		note("question")
		return s.question(req), nil
	case strings.Contains(text, "\nQuestion: ") && s.sentences != nil:
		note("sentences")
		return s.sentences(between("Text:", "\nQuestion:")), nil
	}
	return "", fmt.Errorf("no script for %q", text)
}

// run scores one sample by one metric.
func (s *script) run(t *testing.T, name string, context int, sample metrics.Sample) metrics.Result {
	t.Helper()
	ms := metrictest.Select(t, Metrics(), name)
	sample.ID = "one"
	s.asks = nil
	fake := &backendtest.Fake{Reply: s.reply, About: backend.Info{Context: context, Ops: s.ops}}
	var got metrics.Result
	err := metrics.Run(t.Context(), func(yield func(*metrics.Sample, error) bool) { yield(&sample, nil) }, ms,
		metrics.Models{Roles: metrics.Roles{backend.Judge: fake, backend.Embedder: fake}}, metrics.Options{},
		func(r metrics.Result) error { got = r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got.Kind != metrics.NotApplicable && len(got.Calls) < len(s.asks) {
		t.Errorf("%d keys of %d answers", len(got.Calls), len(s.asks))
	}
	return got
}

// count makes a numbered list.
func count(lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "%d. %s\n", i+1, line)
	}
	return b.String()
}

func twoStatements(string) string {
	return count("The ferry costs 14 euros.", "The ferry sails daily.")
}

func TestFaithfulness(t *testing.T) {
	check := func(what string, s *script, want float64, asks string) {
		t.Helper()
		got := s.run(t, "faithfulness", 0, metrictest.Ferry())
		if got.Score == nil || got.Score.Value != want || len(got.Score.Because) != 2 {
			t.Errorf("%s: %+v, want %v from two claims", what, got, want)
		}
		if joined := strings.Join(s.asks, ", "); joined != asks {
			t.Errorf("%s: asked %s; want %s", what, joined, asks)
		}
	}
	say := func(reply string) func(string, []string) string {
		return func(string, []string) string { return reply }
	}
	check("all at once", &script{statements: twoStatements,
		verdicts: say("1. It is given. Verdict: Yes\n2. No word of it. Verdict: No")},
		0.5, "statements 0, verdicts 0")
	check("one missing", &script{statements: twoStatements, verdicts: say("1. Yes"), verdict: func(_, s string) string {
		if s != "The ferry sails daily." {
			t.Errorf("asked alone about %q", s)
		}
		return "Yes"
	}}, 1, "statements 0, verdicts 0, verdict 0")
	tries := 0
	check("all missing, then stubborn", &script{statements: twoStatements, verdicts: say("What a nice ferry!"),
		verdict: func(string, string) string {
			tries++
			return []string{"", "Hm?", "No", "No.", ""}[tries]
		}}, 0, "statements 0, verdicts 0, verdict 0, verdict 1, verdict 0")

	lists := 0
	check("a bad list first", &script{verdicts: say("1. yes\n2. yes"), statements: func(string) string {
		if lists++; lists == 1 {
			return "What does the ferry cost?" // gives the question back
		}
		return twoStatements("")
	}}, 1, "statements 0, statements 1, verdicts 0")
}

// An engine that can is held to a schema for as many verdicts as there are statements. That it kept it is
// not taken on trust.
func TestFaithfulnessBySchema(t *testing.T) {
	var s *script
	wantSchema := func(part string) {
		t.Helper()
		if !json.Valid([]byte(s.schema)) || !strings.Contains(s.schema, part) {
			t.Errorf("the schema is %s, without %s", s.schema, part)
		}
	}
	check := func(what, verdicts string, want float64, reasons, asks string) {
		t.Helper()
		s = &script{
			ops: backend.CanGenerate | backend.CanConstrain,
			statements: func(string) string {
				if s.schema != "" {
					t.Errorf("the statements' schema is %s", s.schema)
				}
				return twoStatements("")
			},
			verdicts: func(string, []string) string {
				wantSchema(`"required":["1","2"]`)
				return verdicts
			},
			verdict: func(string, string) string {
				wantSchema(`"enum":["Yes","No"]`)
				return `"Yes"`
			},
		}
		got := s.run(t, "faithfulness", 0, metrictest.Ferry())
		if got.Score == nil || got.Score.Value != want || len(got.Score.Because) != 2 {
			t.Fatalf("%s: %+v, want %v from two claims", what, got, want)
		}
		if got := got.Score.Because[0].Reason + "|" + got.Score.Because[1].Reason; got != reasons {
			t.Errorf("%s: the reasons are %q, want %q", what, got, reasons)
		}
		if joined := strings.Join(s.asks, ", "); joined != asks {
			t.Errorf("%s: asked %s; want %s", what, joined, asks)
		}
	}
	check("kept", `{"1": {"reason": "It is given.", "verdict": "Yes"}, "2": {"reason": "No word of it.", "verdict": `+
		`"No"}}`,
		0.5, "It is given.|No word of it.", "statements 0, verdicts 0")
	check("a bracket is missing", `{"1": {"reason": "It is given.", "verdict": "Yes"}, "2": {"reason": "No word of `+
		`it.", "verdict": "No"`,
		0.5, "It is given.|No word of it.", "statements 0, verdicts 0")
	check("broken off", `{"1": {"reason": "It is given.", "verdict": "No"}, "2": {"reason": "The ferry costs 14 `+
		`euros. Yes`,
		0.5, `It is given.|Yes`, "statements 0, verdicts 0, verdict 0")
	check("another form", `{"1": {"reason": "It is given.", "verdict": "No"}, "2": "perhaps"}`,
		0.5, `It is given.|Yes`, "statements 0, verdicts 0, verdict 0")
	check("no JSON at all", "1. It is given. Verdict: Yes\n2. No word of it. Verdict: No",
		0.5, "It is given. Verdict: Yes|No word of it. Verdict: No", "statements 0, verdicts 0")
}

// A list in JSON that reaches the limit of tokens is asked for in parts, and none of it is lost.
func TestFaithfulnessOfALongJSONList(t *testing.T) {
	sample := metrictest.Ferry()
	sample.Answer = strings.Repeat("The ferry costs 14 euros and sails daily. ", 4)
	s := &script{
		ops: backend.CanGenerate | backend.CanConstrain,
		statements: func(part string) string {
			if len(part) > 100 {
				var list []string
				for i := range 100 {
					list = append(list, fmt.Sprintf("The ferry has been painted %d times.", i))
				}
				b, _ := json.Marshal(list)
				return string(b)
			}
			return `["The ferry costs 14 euros.", "The ferry sails daily."]`
		},
		verdicts: func(string, []string) string { return `{"1": {"verdict": "Yes"}, "2": {"verdict": "Yes"}}` },
	}
	got := s.run(t, "faithfulness", 0, sample)
	if asks := strings.Join(s.asks, ", "); asks != "statements 0, statements 0, statements 0, verdicts 0" {
		t.Errorf("asked %s", asks)
	}
	if got.Score == nil || got.Score.Value != 1 || len(got.Score.Because) != 2 {
		t.Errorf("%+v", got)
	}
}

// A user's own prompt that asks for text is left to it.
func TestTextPromptHasNoSchema(t *testing.T) {
	text := "version: 1\nmax_tokens: 9\n--- user\n{{.Context}} {{range .Statements}}{{.}} {{end}}"
	own, err := prompts.Load(fstest.MapFS{"faithfulness_verdicts.tmpl": {Data: []byte(text)}},
		[]*prompts.Prompt{faithfulnessVerdictsPrompt})
	if err != nil {
		t.Fatal(err)
	}
	fake := &backendtest.Fake{
		About: backend.Info{Ops: backend.CanGenerate | backend.CanConstrain},
		Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			if req.Schema != nil {
				t.Errorf("the schema is %s", req.Schema)
			}
			return "1. Yes\n2. No", nil
		},
	}
	sample := metrictest.Ferry()
	verdicts, _, err := judgeInWindows(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: fake}, Prompts: own},
		&sample, []string{"a b c", "d e f"})
	if err != nil || len(verdicts) != 2 || !verdicts[0].Yes || verdicts[1].Yes {
		t.Errorf("%+v, %v", verdicts, err)
	}
}

// A statement that stays without a verdict is an error, not a smaller denominator.
func TestFaithfulnessUnanswered(t *testing.T) {
	s := &script{
		statements: twoStatements,
		verdicts:   func(string, []string) string { return "1. Yes" },
		verdict:    func(string, string) string { return "I cannot say whether " + strings.Repeat("so ", 500) },
	}
	got := s.run(t, "faithfulness", 0, metrictest.Ferry())
	if got.Kind != metrics.BadReply || !strings.Contains(got.Error, "The ferry sails daily.") ||
		!strings.Contains(got.Error, "I cannot say") {
		t.Errorf("%+v", got)
	}
	if len(got.Error) > 1000 {
		t.Errorf("the error has %d bytes", len(got.Error))
	}
	if len(s.asks) != 2+ask.MaxDraws || len(got.Calls) != len(s.asks) {
		t.Errorf("asked %q; keys %q", s.asks, got.Calls)
	}
}

func TestFaithfulnessNotApplicable(t *testing.T) {
	s := &script{statements: func(string) string { return "No statements." }}
	sample := metrictest.Ferry()
	sample.Answer = "I don't know."
	if got := s.run(t, "faithfulness", 0, sample); got.Kind != metrics.NotApplicable ||
		!strings.Contains(got.Error, "I don't know.") {
		t.Errorf("no statements: %+v", got)
	}
	sample.Contexts = []string{" ", ""}
	if got := s.run(t, "faithfulness", 0, sample); got.Kind != metrics.NotApplicable ||
		!strings.Contains(got.Error, "contexts") {
		t.Errorf("no contexts: %+v", got)
	}
}

// Contexts that do not fit are read in windows; a claim is supported if one of them supports it.
func TestFaithfulnessInWindows(t *testing.T) {
	var long strings.Builder
	for i := range 120 {
		fmt.Fprintf(&long, "Sentence number %d says nothing of interest here. ", i)
	}
	sample := metrictest.Ferry()
	sample.Contexts = []string{long.String(), "A ferry ticket costs 14 euros."}
	windows := 0
	s := &script{statements: twoStatements, verdicts: func(text string, statements []string) string {
		windows++
		var lines []string
		for _, claim := range statements {
			if strings.Contains(claim, "14 euros") && strings.Contains(text, "14 euros") {
				lines = append(lines, "Verdict: Yes")
			} else {
				lines = append(lines, "Verdict: No")
			}
		}
		return count(lines...)
	}}
	got := s.run(t, "faithfulness", 900, sample)
	if got.Score == nil || got.Score.Value != 0.5 || windows < 2 {
		t.Fatalf("%+v in %d windows", got, windows)
	}
	if where := got.Score.Because[0].Where; where != fmt.Sprintf("window %d of %d", windows, windows) {
		t.Errorf("the claim is supported %q", where)
	}
	if where := got.Score.Because[1].Where; where != fmt.Sprintf("none of %d windows", windows) {
		t.Errorf("the other is supported %q", where)
	}
}

// Many statements are asked about in groups, and an answer too long for one prompt in parts.
func TestFaithfulnessOfALongAnswer(t *testing.T) {
	sample := metrictest.Ferry()
	var answer strings.Builder
	for i := range 150 {
		fmt.Fprintf(&answer, "Fact number %d is a fact about ferries. ", i)
	}
	sample.Answer = answer.String()
	largest := 0
	s := &script{
		statements: func(part string) string {
			var facts []string
			for fact := range strings.SplitAfterSeq(part, ". ") {
				facts = append(facts, strings.TrimSpace(fact))
			}
			return count(facts...)
		},
		verdicts: func(_ string, statements []string) string {
			largest = max(largest, len(statements))
			return strings.Repeat("Yes\n", len(statements))
		},
	}
	got := s.run(t, "faithfulness", 1500, sample)
	if got.Score == nil || got.Score.Value != 1 || len(got.Score.Because) != 150 {
		t.Fatalf("%d claims of 150; %s", len(s.asks), got.Error)
	}
	if largest > maxGroup {
		t.Errorf("%d statements in one prompt", largest)
	}
}

// Where nothing helps, the engine's own error says what does not fit.
func TestFaithfulnessTooLong(t *testing.T) {
	s := &script{statements: twoStatements}
	got := s.run(t, "faithfulness", 100, metrictest.Ferry())
	if got.Kind != metrics.TooLong || !strings.Contains(got.Error, "of 100 tokens") {
		t.Errorf("%+v", got)
	}
}

func TestAnswerRelevance(t *testing.T) {
	n := 0
	s := &script{question: func(req *backend.GenerateRequest) string {
		if req.Sampling.Temperature == 0 {
			t.Error("the questions are not drawn at random")
		}
		n++
		return []string{"Question: What does the ferry cost?", "", "What does the ferry cost?", "Zebra"}[n-1]
	}}
	got := s.run(t, "answer_relevance", 0, metrictest.Ferry())
	if got.Score == nil || got.Score.Value < 0.6 || got.Score.Value > 0.7 || len(got.Score.Because) != 3 {
		t.Fatalf("%+v, want two thirds", got)
	}
	if asks := strings.Join(s.asks, ", "); asks != "question 0, question 1, question 4, question 2" {
		t.Errorf("asked %s: a retry must not be another question's draw", asks)
	}
	if f := got.Score.Because[0]; f.Text != "What does the ferry cost?" || f.Value == nil || *f.Value < 0.999 {
		t.Errorf("the first finding is %+v", f)
	}
	if len(got.Calls) != 4+4 {
		t.Errorf("%d keys of 4 replies and 4 vectors", len(got.Calls))
	}
}

// An embedding model that gives no usable vector fails the sample; no number is made up.
func TestAnswerRelevanceWithBadVectors(t *testing.T) {
	for _, vector := range [][]float32{nil, {0, 0}, {float32(math.NaN()), 1}} {
		fake := &backendtest.Fake{Reply: func(context.Context, *backend.GenerateRequest) (string, error) {
			return "Why?", nil
		}}
		sample := metrictest.Ferry()
		_, err := scoreAnswerRelevance(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: fake,
			backend.Embedder: &vectors{fake, vector}}}, &sample, relevanceQuestions)
		if err == nil || errors.Is(err, metrics.ErrBadReply) {
			t.Errorf("vector %v: error %v", vector, err)
		}
	}
}

// vectors is an engine whose embeddings are all one vector.
type vectors struct {
	backend.Backend
	vector []float32
}

func (v *vectors) Encode(_ context.Context, req *backend.EncodeRequest) (*backend.Encoding, error) {
	answer := &backend.Encoding{}
	for range req.Inputs {
		answer.Items = append(answer.Items, backend.Encoded{Vectors: [][]float32{v.vector}})
	}
	return answer, nil
}

func TestContextRelevance(t *testing.T) {
	check := func(reply string, want float64, findings int) {
		t.Helper()
		s := &script{sentences: func(string) string { return reply }}
		got := s.run(t, "context_relevance", 0, metrictest.Ferry())
		if got.Score == nil || got.Score.Value != want || len(got.Score.Because) != findings {
			t.Errorf("reply %q: %+v, want %v and %d findings", reply, got, want, findings)
		}
	}
	check("A ferry ticket costs 14 euros.", 0.5, 2)
	check("- a ferry ticket costs **14 euros**\n- The pier is green.", 1, 3)
	check("A ferry ticket costs 14 euros.\nDogs are welcome aboard.", 0.5, 3)
	check("Insufficient Information", 0, 1)

	s := &script{sentences: func(string) string { return "Dogs are welcome aboard." }}
	if got := s.run(t, "context_relevance", 0, metrictest.Ferry()); got.Kind != metrics.BadReply ||
		len(s.asks) != ask.MaxDraws {
		t.Errorf("nothing of the contexts: %+v after %q", got, s.asks)
	}
}

// The extracts of several windows are united, and a text whose copy is cut is asked for in parts.
func TestContextRelevanceInWindows(t *testing.T) {
	var long strings.Builder
	for i := range 200 {
		fmt.Fprintf(&long, "Sentence number %d has its own content, which is %d. ", i, i*i)
	}
	sample := metrictest.Ferry()
	sample.Contexts = []string{long.String()}
	s := &script{sentences: func(text string) string {
		var copied []string
		for line := range strings.SplitAfterSeq(text, ". ") {
			var n, square int
			if fmt.Sscanf(line, "Sentence number %d has its own content, which is %d", &n, &square); n%10 == 5 {
				copied = append(copied, line)
			}
		}
		if copied == nil {
			return "Insufficient information."
		}
		return strings.Join(copied, "\n")
	}}
	got := s.run(t, "context_relevance", 1200, sample)
	if got.Score == nil || got.Score.Value != 0.1 || len(s.asks) < 2 {
		t.Fatalf("%+v after %q", got, s.asks)
	}
	if note := got.Score.Because[len(got.Score.Because)-1].Text; !strings.Contains(note,
		"20 of the contexts' 200 sentences") {
		t.Errorf("the note says %q", note)
	}
}

// The verdicts that the built-in prompt shows are of the form that its schema asks for, one a statement.
func TestBuiltinVerdicts(t *testing.T) {
	p := faithfulnessVerdictsPrompt
	messages, err := p.Render(p.Example.Data)
	if err != nil || !p.JSON {
		t.Fatal(err, p.JSON)
	}
	shown := 0
	for i, m := range messages {
		if m.Role != backend.Assistant {
			continue
		}
		shown++
		var got map[string]struct{ Reason, Verdict string }
		d := json.NewDecoder(strings.NewReader(m.Text))
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil {
			t.Errorf("%s: %v", m.Text, err)
		}
		_, list, _ := strings.Cut(messages[i-1].Text, "\nStatements:")
		if n := len(ask.ParseList(list)); n != len(got) {
			t.Errorf("%d verdicts on %d statements", len(got), n)
		}
		for n := range len(got) {
			v := got[strconv.Itoa(n+1)]
			if v.Reason == "" || len(v.Reason) > 100 || v.Verdict != "Yes" && v.Verdict != "No" {
				t.Errorf("verdict %d is %+v", n+1, v)
			}
		}
	}
	if shown == 0 {
		t.Error("the prompt shows no verdicts")
	}
}
