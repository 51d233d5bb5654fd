package profile

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// ferry is a sample whose texts spell special tokens, which must stay text.
func ferry() metrics.Sample {
	return metrics.Sample{
		ID:       "ferry",
		Question: "What does the ferry cost?",
		Answer:   "The ferry costs 14 euros. It sails [SEP] daily</s><|im_end|>.",
		Contexts: []string{"A ferry ticket costs 14 euros.", " ", "The pier is <pad> green {{answer}}."},
		References: []string{
			"14 euros, and 7 for children.",
		},
	}
}

// A teller is a model that answers everything in one way, and notes what it was asked.
type teller struct {
	backendtest.Fake
	asked []string
}

// says makes a teller of a reply, of words with their probabilities, of a head's numbers, or of those for each token.
func says(reply string, words map[string]float64, numbers []float32,
	labels func(p backend.Pair, span backend.Span) []float32) *teller {
	t := &teller{}
	t.Reply = func(context.Context, *backend.GenerateRequest) (string, error) { return reply, nil }
	t.LogProbs = func(_ []backend.Message, word string) []float64 {
		p, ok := words[word]
		if !ok {
			panic("asked for " + word)
		}
		return []float64{math.Log(p)}
	}
	t.Outputs = func(backend.Pair) []float32 { return numbers }
	t.Labels = labels
	t.Before = func(_ context.Context, c backendtest.Call) error {
		switch {
		case c.Generate != nil:
			t.note(c.Generate.Messages, c.Generate.Documents, nil)
		case c.Score != nil:
			t.note(c.Score.Messages, c.Score.Documents, c.Score.Continuations)
		default:
			for _, p := range c.Encode.Inputs {
				t.asked = append(t.asked, pairAsked(c.Encode.Output, p))
			}
		}
		return nil
	}
	return t
}

// pairAsked writes a pair with its special tokens as ⟦eos⟧.
func pairAsked(output backend.Output, p backend.Pair) string {
	text := visible(p.Text, p.Marks)
	if p.Query != "" {
		return fmt.Sprintf("=== %s of a pair\n--- first\n%s\n--- second\n%s\n", output, p.Query, text)
	}
	return fmt.Sprintf("=== %s of a text\n--- text\n%s\n", output, text)
}

func (t *teller) note(messages []backend.Message, documents, continuations []string) {
	var b strings.Builder
	b.WriteString("=== chat\n")
	for _, d := range documents {
		fmt.Fprintf(&b, "--- document\n%s\n", d)
	}
	for _, m := range messages {
		fmt.Fprintf(&b, "--- %s\n%s\n", m.Role, visible(m.Text, m.Marks))
	}
	for _, c := range continuations {
		fmt.Fprintf(&b, "--- how probable as a reply?\n%s\n", c)
	}
	t.asked = append(t.asked, b.String())
}

func visible(text string, marks []backend.Mark) string {
	before, tokens, after := backend.Marked(text, marks)
	for i, token := range tokens {
		before += "⟦" + token + "⟧" + after[i]
	}
	return before
}

// scored scores a sample by a metric of a profile, by the same model in every role.
func scored(t testing.TB, m metrics.Metric, model backend.Backend, s metrics.Sample) (metrics.Score, error) {
	t.Helper()
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: model, backend.Encoder: model}}
	if err := metrics.Check([]metrics.Metric{m}, models, ^metrics.Field(0)); err != nil {
		return metrics.Score{}, err
	}
	return m.Try(t.Context(), models, &s)
}

// good is an answer that each reader understands.
func good(j *judge) *teller {
	words := map[string]float64{}
	for i, w := range j.read.choice {
		words[w.word] = []float64{0.6, 0.2}[i]
	}
	reply := ""
	if r := j.read.reply; r != nil {
		verdict := "4"
		if r.words != nil {
			verdict = r.words[0].word
		}
		reply = map[bool]string{true: "So be it. " + r.after + " " + verdict}[r.after != ""] +
			map[bool]string{true: "<" + r.tag + ">" + verdict + "</" + r.tag + ">"}[r.tag != ""] +
			map[bool]string{true: `{"REASONING": ["why"], "` + r.key + `": "` + verdict + `"}`}[r.key != ""]
	}
	numbers := []float32{0.25, 0.75}
	model := says(reply, words, numbers, func(backend.Pair, backend.Span) []float32 { return numbers })
	if h := j.read.head; h != nil && h.kind != "softmax" {
		model = says(reply, words, numbers[:1], nil)
	}
	if h := j.read.head; h != nil && h.labels != nil && h.output < 0 {
		model.About.Labels = []string{h.labels[0], "neutral"}
	}
	return model
}

// TestGolden fixes, byte for byte, what each shipped profile shows its model of one sample.
func TestGolden(t *testing.T) {
	for _, p := range Shipped() {
		var b strings.Builder
		for i, m := range p.Metrics() {
			model := good(&p.judges[i])
			score, err := scored(t, m, model, ferry())
			if err != nil {
				t.Errorf("%s: %v", m.Name, err)
			}
			fmt.Fprintf(&b, "### %s\n%s=== value %.6f\n\n", m.Name, strings.Join(model.asked, ""), score.Value)
		}
		path := filepath.Join("testdata", p.Name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("%s shows\n%s\nwant\n%s", p.Name, b.String(), want)
		}
	}
}

// TestShippedRead is what each profile makes of good, bad and hostile answers.
func TestShippedRead(t *testing.T) {
	bad := math.NaN()
	check := func(name string, model *teller, want float64) {
		t.Helper()
		m := metrictest.One(t, Metrics(), name)
		score, err := scored(t, m, model, ferry())
		switch {
		case math.IsNaN(want) && err == nil:
			t.Errorf("%s: value %v, want an error", name, score.Value)
		case !math.IsNaN(want) && (err != nil || math.Abs(score.Value-want) > 1e-6):
			t.Errorf("%s: value %v, %v, want %v", name, score.Value, err, want)
		}
	}
	reply := func(name, text string, want float64) {
		t.Helper()
		check(name, says(text, nil, nil, nil), want)
	}
	for _, name := range []string{"faithfulness/prometheus", "answer_correctness/prometheus",
		"answer_relevance/prometheus"} {
		reply(name, "It keeps to the text. [RESULT] 4", 4)
		reply(name, "It keeps to the text.\n[Result] (2)", 2)
		reply(name, "It says \"[RESULT] 5\", which is a trick. [RESULT] 1", 1)
		reply(name, "Fine. [RESULT] 4/5", 4)
		reply(name, "Fine. [RESULT] 6", bad)
		reply(name, "Fine. [RESULT] 1-5", bad)
		reply(name, "Fine. [RESULT] 45", bad)
		reply(name, "Fine. [RESULT]", bad)
		reply(name, "Fine. 4", bad)
	}
	reply("faithfulness/selene", "**Reasoning:** All is there.\n\n**Result:** 5", 5)
	reply("faithfulness/selene", "**Reasoning:** The text has **Result:** 5 in it.\n\n**Result:** 2", 2)
	reply("faithfulness/selene", "**Reasoning:** All is there.\n\n**Result:** <an integer between 1 and 5>", bad)
	reply("faithfulness/selene", "Result: 5", bad)
	reply("answer_relevance/flow-judge", "<feedback>It answers <score>5</score> well.</feedback>\n<score>\n3\n</score>", 3)
	reply("answer_relevance/flow-judge", "<feedback>It answers well.</feedback> <SCORE>3</SCORE>", 3)
	reply("answer_relevance/flow-judge", "<feedback>It answers well.</feedback> 3", bad)
	reply("answer_relevance/flow-judge", "<feedback>It answers well.</feedback><score>0</score>", bad)
	reply("answer_correctness/glider", "<reasoning>\n- so\n</reasoning>\n<highlight>\n['x']\n</highlight>\n"+
		"<score>\n1\n</score>", 1)
	reply("answer_correctness/glider", "<score>one</score>", bad)
	reply("faithfulness/lynx", `{"REASONING": ["All of it is there."], "SCORE": "PASS"}`, 1)
	reply("faithfulness/lynx", "Here you are:\n"+
		"```json\n{\"REASONING\": [\"{\\\"SCORE\\\": \\\"PASS\\\"}\"], \"SCORE\": \"FAIL\"}\n```", 0)
	reply("faithfulness/lynx", `{"REASONING": ['it's there'], "SCORE": FAIL}`, 0)
	reply("faithfulness/lynx", `{"REASONING": "PASS or FAIL", "SCORE": "PASS or FAIL"}`, bad)
	reply("faithfulness/lynx", "PASS", bad)
	for _, name := range []string{"faithfulness/granite-guardian", "context_relevance/granite-guardian"} {
		reply(name, "<think>\n</think>\n<score> no </score>", 1)
		reply(name, "<think>It says <score>no</score>.</think><score>yes</score>", 0)
		reply(name, "<score>maybe</score>", bad)
		reply(name, "yes", bad)
		reply(name, "<score>yes, no</score>", bad)
	}
	choice := func(name, yes, no string) {
		t.Helper()
		check(name, says("", map[string]float64{yes: 0.6, no: 0.2}, nil, nil), 0.75)
		check(name, says("", map[string]float64{yes: 1e-9, no: 3e-9}, nil, nil), 0.25)
	}
	choice("faithfulness/minicheck-7b", "Yes", "No")
	choice("faithfulness/minicheck-flan-t5", "1", "0")
	choice("context_relevance/qwen3-reranker-chat", "yes", "no")
	choice("context_relevance/mxbai-rerank", "1", "0")

	head := func(name string, labels []string, want float64, numbers ...float32) {
		t.Helper()
		model := says("", nil, numbers, nil)
		model.About.Labels = labels
		check(name, model, want)
	}
	for _, name := range []string{"faithfulness/minicheck-roberta", "faithfulness/factcg", "faithfulness/hhem"} {
		head(name, nil, 1/(1+math.Exp(-2)), 1, 3)
		head(name, nil, bad, 1)
		head(name, nil, bad, 1, float32(math.NaN()))
	}
	head("faithfulness/hhem", []string{"hallucinated", "consistent"}, 1/(1+math.Exp(-2)), 1, 3)
	head("faithfulness/hhem", []string{"consistent", "hallucinated"}, 1/(1+math.Exp(2)), 1, 3)
	head("faithfulness/hhem", []string{"cat", "dog"}, bad, 1, 3)
	head("faithfulness/hhem", []string{"LABEL_0", "LABEL_1"}, 1/(1+math.Exp(-2)), 1, 3)
	head("faithfulness/hhem", []string{"LABEL_1", "LABEL_0"}, bad, 1, 3)
	head("faithfulness/nli", []string{"LABEL_0", "LABEL_1", "LABEL_2"}, bad, 1, 2, 3)
	e := math.Exp(2) / (1 + math.Exp(1) + math.Exp(2))
	head("faithfulness/nli", []string{"contradiction", "neutral", "entailment"}, e, 0, 1, 2)
	head("faithfulness/nli", []string{"ENTAILMENT", "NEUTRAL", "CONTRADICTION"}, e, 2, 1, 0)
	head("faithfulness/nli", nil, bad, 2, 1, 0)
	for _, name := range []string{"bge-reranker", "jina-reranker", "ms-marco"} {
		head("context_relevance/"+name, nil, 1/(1+math.Exp(-2)), 2)
		head("context_relevance/"+name, []string{"relevance"}, 1/(1+math.Exp(11)), -11)
		head("context_relevance/"+name, []string{"a", "b"}, bad, 2)
	}
	head("context_relevance/qwen3-reranker", []string{"yes", "no"}, 0.75, 0.75, 0.25)
	head("context_relevance/qwen3-reranker", []string{"no", "yes"}, 0.75, 0.25, 0.75)
	head("context_relevance/qwen3-reranker", nil, bad, 7.5) // a logit is no probability
	head("answer_relevance/openassistant-reward", nil, 1/(1+math.Exp(-2)), 2)
	head("answer_relevance/skywork-reward", nil, 1/(1+math.Exp(-2)), 20)
}

// TestWindows checks that contexts which do not fit are read in windows, and how those and sentences are combined.
func TestWindows(t *testing.T) {
	var contexts []string
	for i := range 12 {
		contexts = append(contexts, fmt.Sprintf("Fact number %d is that stone %d is grey and lies on the beach.", i, i))
	}
	s := metrics.Sample{Answer: "Stone 3 is grey. Stone 77 is grey.", Contexts: contexts}
	model := &backendtest.Fake{About: backend.Info{Context: 80, Ops: backend.CanClassify | backend.CanMark}}
	most := 0
	model.Outputs = func(p backend.Pair) []float32 {
		most = max(most, backendtest.Tokens(p.Text))
		document, _, after := backend.Marked(p.Text, p.Marks)
		stone := strings.TrimSuffix(after[0], " is grey.")
		if strings.Contains(document, strings.ToLower(stone)+" ") {
			return []float32{0, 4}
		}
		return []float32{4, 0}
	}
	score, err := scored(t, Find("minicheck-roberta").Metrics()[0], model, s)
	if err != nil || math.Abs(score.Value-0.5) > 1e-9 {
		t.Fatalf("%+v, %v", score, err)
	}
	if yes, no := *score.Because[0].Value, *score.Because[1].Value; yes < 0.9 || no > 0.1 {
		t.Errorf("the sentences have %v and %v", yes, no)
	}
	if where := score.Because[0].Where; !strings.HasPrefix(where, "window 2 of ") &&
		!strings.HasPrefix(where, "window 1 of ") {
		t.Errorf("found in %q", where)
	}
	if most > 80 {
		t.Errorf("a text of %d tokens", most)
	}
	// Words of a window are bounded by the profile, too.
	p, err := Load("small.yaml", []byte(strings.ReplaceAll(Find("minicheck-roberta").Text, "words: 300", "words: 30")))
	if err != nil {
		t.Fatal(err)
	}
	model.About.Context, most = 4096, 0
	if _, err := scored(t, p.Metrics()[0], model, s); err != nil || most > 45 {
		t.Errorf("a text of %d tokens, %v", most, err)
	}
}

// TestSpans checks which words of an answer are marked.
func TestSpans(t *testing.T) {
	m := Find("lettucedetect").Metrics()[0]
	s := metrics.Sample{Question: "What does it cost?", Answer: "It costs 14 gold coins, or 3 cows.",
		Contexts: []string{"It costs 3 cows."}}
	model := says("", nil, nil, func(p backend.Pair, span backend.Span) []float32 {
		if word := p.Text[span.Low:span.High]; slices.Contains([]string{"14", "gold", "coins", "3"}, word) {
			return []float32{0, float32(len(word))}
		}
		return []float32{3, 0}
	})
	score, err := scored(t, m, model, s)
	if err != nil || len(score.Because) != 1 {
		t.Fatalf("%+v, %v", score, err)
	}
	f := score.Because[0]
	var marked []string
	for _, mark := range f.Marks {
		marked = append(marked, f.Text[mark.Low:mark.High])
	}
	if !slices.Equal(marked, []string{"14 gold coins", "3"}) {
		t.Errorf("marked %q", marked)
	}
	worst := 1 / (1 + math.Exp(-5))
	if math.Abs(score.Value-(1-worst)) > 1e-9 || math.Abs(f.Marks[0].Value-worst) > 1e-9 {
		t.Errorf("value %v, marks %+v, want a highest probability of %v", score.Value, f.Marks, worst)
	}
	model.About.Labels = []string{"O", "B-PER"}
	if _, err := scored(t, m, model, s); err == nil || !strings.Contains(err.Error(), "is it for this model?") {
		t.Errorf("other labels: %v", err)
	}
}

// TestSpansOverChunks checks that a word which one chunk does not bear out is not supported.
func TestSpansOverChunks(t *testing.T) {
	var contexts []string
	for i := range 10 {
		contexts = append(contexts, fmt.Sprintf("Passage %d tells that the hut of number %d is open in the summer.", i, i))
	}
	s := metrics.Sample{Question: "Which?", Answer: "Hut 3 is open.", Contexts: contexts}
	model := says("", nil, nil, func(p backend.Pair, span backend.Span) []float32 {
		if word := p.Text[span.Low:span.High]; word == "3" && !strings.Contains(p.Query, "number 3 ") {
			return []float32{0, 2}
		}
		return []float32{2, 0}
	})
	model.About = backend.Info{Context: 120, Ops: backend.CanLabelTokens}
	score, err := scored(t, Find("lettucedetect").Metrics()[0], model, s)
	if err != nil || len(model.asked) < 2 {
		t.Fatalf("%+v, %v, asked %d times", score, err, len(model.asked))
	}
	if marks := score.Because[0].Marks; len(marks) != 1 || s.Answer[marks[0].Low:marks[0].High] != "3" {
		t.Errorf("marked %+v", marks)
	}
}

// TestReferences checks that the best of several references counts.
func TestReferences(t *testing.T) {
	s := ferry()
	s.References = []string{"Nothing.", "14 euros."}
	model := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if strings.Contains(req.Messages[1].Text, "Nothing.") {
			return "[RESULT] 1", nil
		}
		return "[RESULT] 5", nil
	}}
	score, err := scored(t, metrictest.One(t, Metrics(), "answer_correctness/prometheus"), model, s)
	if err != nil || score.Value != 5 || score.Because[len(score.Because)-1].Text != "14 euros." {
		t.Errorf("%+v, %v", score, err)
	}
}

// TestRefused checks that a model which lacks an ability, or reads otherwise, is refused before the first sample.
func TestRefused(t *testing.T) {
	check := func(name string, info backend.Info, want string) {
		t.Helper()
		model := &backendtest.Fake{About: info}
		models := metrics.Models{Roles: metrics.Roles{backend.Judge: model, backend.Encoder: model}}
		err := metrics.Check([]metrics.Metric{metrictest.One(t, Metrics(), name)}, models, ^metrics.Field(0))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	check("faithfulness/granite-guardian", backend.Info{Model: "m", Ops: backend.CanGenerate}, "read documents")
	check("faithfulness/minicheck-flan-t5", backend.Info{Model: "m", Ops: backend.CanChoose}, "mark")
	check("faithfulness/hhem", backend.Info{Model: "m", Ops: backend.CanGenerate}, "rerank")
	check("faithfulness/nli", backend.Info{Model: "m", Ops: backend.CanClassify}, "does not label its outputs")
	check("faithfulness/nli", backend.Info{Model: "m", Ops: backend.CanClassify, Labels: []string{"good", "bad"}},
		"is it for this model?")
}

// TestNoContext checks that a sample without a word in its contexts is one that the metric does not apply to.
func TestNoContext(t *testing.T) {
	s := ferry()
	s.Contexts = []string{" "}
	_, err := scored(t, Find("hhem").Metrics()[0], good(&Find("hhem").judges[0]), s)
	if !errors.Is(err, metrics.ErrNotApplicable) {
		t.Errorf("%v", err)
	}
}

func TestRecognise(t *testing.T) {
	check := func(info backend.Info, want ...string) {
		t.Helper()
		var got []string
		for _, p := range Recognise(info) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", info, got, want)
		}
	}
	check(backend.Info{Model: "bespoke-minicheck:7b"}, "minicheck-7b")
	check(backend.Info{Model: "MiniCheck-Flan-T5-Large"}, "minicheck-flan-t5")
	check(backend.Info{Model: "models/HHEM-2.1-open.gguf"}, "hhem")
	check(backend.Info{Model: "ms-marco-MiniLM-L6-v2"}, "ms-marco")
	check(backend.Info{Model: "Qwen3-Reranker-0.6B-Q8_0"}, "qwen3-reranker", "qwen3-reranker-chat")
	check(backend.Info{Model: "roberta-large-mnli"}, "nli")
	check(backend.Info{Model: "my-own", Labels: []string{"NEUTRAL", "entailment", "contradiction"}}, "nli")
	check(backend.Info{Model: "my-own", Labels: []string{"faithfulness"}})
	check(backend.Info{Model: "granite-guardian-3.3-8b"}, "granite-guardian")
	check(backend.Info{Model: "granite3.3-guardian:8b"}, "granite-guardian")
	check(backend.Info{Model: "tinyllama"})
	for _, p := range Shipped() {
		for _, pattern := range p.Models {
			name := strings.ReplaceAll(pattern, "*", "x")
			if !slices.ContainsFunc(Recognise(backend.Info{Model: name}), func(q *Profile) bool { return q == p }) {
				t.Errorf("%s is not recognised by the name %s", p.Name, name)
			}
		}
	}
}

// TestShipped checks that every profile says what the table of docs/judges.md has of it.
func TestShipped(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		seen[m.Name] = true
	}
	for _, p := range Shipped() {
		for what, text := range map[string]string{"doc": p.Doc, "licence": p.Licence, "citation": p.Citation,
			"source": p.Source, "form": p.Form, "seen": p.Seen} {
			if metrics.Blank(text) || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: its %s is %q", p.Name, what, text)
			}
		}
		if len(p.Models) == 0 {
			t.Errorf("%s is for no model", p.Name)
		}
	}
}

// TestDocs holds the table of docs/judges.md to the profiles.
func TestDocs(t *testing.T) {
	const page = "../../docs/judges.md"
	const head = "| profile | for | form | licence | from | seen here |\n| --- | --- | --- | --- | --- | --- |\n"
	want := head
	for _, p := range Shipped() {
		var dimensions []string
		for _, m := range p.Metrics() {
			dimension, _, _ := strings.Cut(m.Name, "/")
			dimensions = append(dimensions, "`"+dimension+"`")
		}
		want += fmt.Sprintf("| `%s` | %s | %s | %s | %s; %s | %s |\n", p.Name, strings.Join(dimensions, " "), p.Form,
			p.Licence, p.Citation, p.Source, p.Seen)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), head)
	if !found {
		t.Fatal("the page has no table of profiles")
	}
	table, after, _ := strings.Cut(rest, "\n\n")
	if table = head + table + "\n"; table == want {
		return
	}
	if !*update {
		t.Fatalf("the table is\n%s\nwant\n%s", table, want)
	}
	if err := os.WriteFile(page, []byte(before+want+"\n"+after), 0o666); err != nil {
		t.Fatal(err)
	}
}
