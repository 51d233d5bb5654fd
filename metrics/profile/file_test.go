package profile

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
)

// small is the least that a profile must say.
const small = `name: mine
doc: how good it is
dimensions:
  answer_relevance:
first: "{{question}}"
second: "{{answer}}"
read:
  sigmoid: {output: 0}
`

func TestLoad(t *testing.T) {
	p, err := Load("mine.yaml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	m := p.Metrics()[0]
	if m.Name != "answer_relevance/mine" || m.Doc != "how good it is" || m.Needs != metrics.Question|metrics.Answer ||
		m.Asks[backend.Encoder] != backend.CanClassify || m.Min != 0 || m.Max != 1 ||
		m.Prompts[0].Digest != p.Digest || m.Prompts[0].Text != small {
		t.Errorf("%+v", m)
	}
	chat := `name: mine
doc: a grade
dimensions:
  tone:
    criteria: Is it kind?
    rubric: {1: no, 10: yes}
level: "[{{number}}] {{text}}"
chat:
  - user: "{{criteria}} {{rubric}} {{answer}}"
read:
  reply: {after: "GRADE:", scale: [1, 10]}
  invert: true
`
	if p, err = Load("mine.yaml", []byte(chat)); err != nil {
		t.Fatal(err)
	}
	model := says("A kind one. Grade: 8.5", nil, nil, nil)
	score, err := scored(t, p.Metrics()[0], model, metrics.Sample{Answer: "Hello, dear."})
	if err != nil || score.Value != 2.5 || score.Because[0].Reason != "A kind one." || score.Because[0].Text != "8.5" {
		t.Errorf("%+v, %v", score, err)
	}
	if want := "=== chat\n--- user\nIs it kind? [1] no\n[10] yes Hello, dear.\n"; model.asked[0] != want {
		t.Errorf("asked %q, want %q", model.asked[0], want)
	}
}

// TestLoadRefuses checks that what is wrong with a file is said, and where.
func TestLoadRefuses(t *testing.T) {
	check := func(from, to, want string) {
		t.Helper()
		if !strings.Contains(small, from) {
			t.Fatalf("no %q", from)
		}
		_, err := Load("mine.yaml", []byte(strings.Replace(small, from, to, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q for %q: %v, want %q", to, from, err, want)
		}
	}
	check("name: mine", "name: ../mine", "mine.yaml:1: name is")
	check("name: mine\n", "", "name is")
	check("doc: how good it is\n", "", "mine.yaml:3: answer_relevance has no doc")
	check("  answer_relevance:\n", "  Answers/good:\n", "mine.yaml:4: \"Answers/good\" is no name")
	check("dimensions:\n  answer_relevance:\n", "", "no dimensions")
	check("{{answer}}", "{{anwser}}", "mine.yaml:6: unknown place {{anwser}}: did you mean {{answer}}?")
	check("{{answer}}", "{{answer}", "mine.yaml:6: a {{ is not closed")
	check("{{question}}", "{{eos}}", "mine.yaml:5: special tokens are for a text")
	check("second: \"{{answer}}\"\n", "", "mine.yaml:5: a pair has a first and a second")
	check("second:", "text: a\nsecond:", "mine.yaml:4: answer_relevance has 2 forms")
	check("first: \"{{question}}\"\nsecond: \"{{answer}}\"\n", "", "has 0 forms")
	check("{{answer}}", "{{sentence}}", "each: sentence and {{sentence}} go together")
	check("{{answer}}", "{{criteria}}", "{{criteria}} and the criteria of answer_relevance go together")
	check("{{answer}}", "{{rubric}}", "{{rubric}} and the rubric of answer_relevance go together")
	check("read:", "words: 100\nread:", "words are those of a window")
	check("read:", "words: 3\nread:", "mine.yaml:7: words is 3")
	check("read:", "max_tokens: 0\nread:", "mine.yaml:7: max_tokens is 0")
	check("read:", "each: word\nread:", "mine.yaml:7: each is \"word\"")
	check("read:", "each: context\nread:", "each: context goes together with {{contexts}}")
	check("read:", "documents: true\nread:", "documents are for a chat")
	check("read:", "context: \"{{number}}\"\nread:", "mine.yaml:7: want a template with {{text}}")
	check("read:", "colour: red\nread:", "line 7: field colour not found")
	check("read:", "doc: again\nread:", "mine.yaml:7: \"doc\" stands there twice")
	check("read:", "models: [\"[\"]\nread:", "mine.yaml:7: \"[\" is no pattern")
	check("sigmoid: {output: 0}", "sigmoid: {output: 0}\n  reward: {}", "read has 2 kinds")
	check("read:\n  sigmoid: {output: 0}\n", "", "read has 0 kinds")
	check("sigmoid: {output: 0}", "sigmoid: {output: -1}", "mine.yaml:8: output is -1")
	check("sigmoid: {output: 0}", "sigmoid: {output: 0.5}", "mine.yaml:8: output is 0.5")
	check("sigmoid: {output: 0}", "sigmoid: {output: many}", "line 8: \"many\" is no number")
	check("sigmoid: {output: 0}", "sigmoid: {threshold: 0.5}", "mine.yaml:8: a threshold is for spans")
	check("sigmoid: {output: 0}", "spans: {threshold: 2}", "mine.yaml:8: threshold is 2")
	check("sigmoid: {output: 0}", "reward: {range: [5, 1]}", "range is two numbers")
	check("sigmoid: {output: 0}", "reward: {range: [1, 5], width: 2}", "a reward has a range, or a centre and a width")
	check("sigmoid: {output: 0}", "reward: {width: 0}", "mine.yaml:8: width is 0")
	check("sigmoid: {output: 0}", "choice: {a: 1, b: 0}", "is no chat")
	check("sigmoid: {output: 0}", "choice: {a: 1, b: x}", "mine.yaml:8: \"b\" is worth \"x\"")
	check("sigmoid: {output: 0}", "choice: {a: 1, b: 1}", "mine.yaml:8: all words are worth the same")
	check("sigmoid: {output: 0}", "reply: {after: a, tag: b, scale: [1, 5]}", "one of after, tag and json")
	check("sigmoid: {output: 0}", "reply: {tag: a b, scale: [1, 5]}", "mine.yaml:8: \"a b\" is nothing to look for")
	check("sigmoid: {output: 0}", "reply: {tag: a, scale: [1, 5], words: {a: 1}}", "one of words and scale")
	check("name: mine", "name: &a mine", "mine.yaml:1: anchors and aliases are not read here")
	check("name: mine", "name: !!str mine", "mine.yaml:1: tags and merge keys are not read here")
	check("name: mine", "- mine", "mine.yaml: ")
	check("{{answer}}", "\xff", "not UTF-8")
	check(small, "[]", "want one mapping")
	check(small, small+"---\n"+small, "want one mapping")
	check(small, strings.Repeat("# long\n", maxFile), "too many for a profile")
	mixed := strings.Replace(small, "  answer_relevance:\n",
		"  answer_relevance:\n  tone:\n    chat: [{user: \"{{answer}}\"}]\n", 1)
	if _, err := Load("mine.yaml", []byte(mixed)); err == nil || !strings.Contains(err.Error(), "tone is a chat") {
		t.Errorf("a chat beside a pair: %v", err)
	}
}

// TestReward is a reward with a range of its own.
func TestReward(t *testing.T) {
	text := strings.Replace(small, "sigmoid: {output: 0}", "reward: {range: [-10, 10]}", 1)
	p, err := Load("mine.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m := p.Metrics()[0]
	for reward, want := range map[float32]float64{-3.5: -3.5, 12: 10, float32(math.Inf(-1)): -10} {
		score, err := scored(t, m, says("", nil, []float32{reward}, nil), ferry())
		if err != nil || score.Value != want || m.Min != -10 || m.Max != 10 {
			t.Errorf("%v: %+v, %v, want %v", reward, score, err, want)
		}
	}
}

// TestBadReplies checks that a reply without a verdict is asked for anew, and is a bad reply in the end.
func TestBadReplies(t *testing.T) {
	n := 0
	model := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if n++; n == 2 {
			return "[RESULT] 3", nil
		}
		return "I would rather not.", nil
	}}
	score, err := scored(t, Find("prometheus").Metrics()[0], model, ferry())
	if err != nil || score.Value != 3 || n != 2 {
		t.Errorf("%+v, %v after %d replies", score, err, n)
	}
	_, err = scored(t, Find("prometheus").Metrics()[0], says("No.", nil, nil, nil), ferry())
	if err == nil || !strings.Contains(err.Error(), `nothing stands after "[RESULT]"`) {
		t.Errorf("%v", err)
	}
}

// FuzzLoad checks that no file makes the loader panic, and that what it takes can be asked with.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(small))
	for _, p := range Shipped() {
		f.Add([]byte(p.Text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Load("fuzz.yaml", text)
		if err != nil {
			return
		}
		for i, m := range p.Metrics() {
			if !(m.Min < m.Max) || metrics.Blank(m.Doc) || len(m.Asks) != 1 {
				t.Errorf("%+v", m)
			}
			for _, tmpl := range p.judges[i].templates() {
				text, marks := tmpl.fill(map[string]string{"answer": "{{eos}}"})
				if before, _, _ := backend.Marked(text, marks); !strings.HasPrefix(text, before) {
					t.Errorf("marks %+v of %q", marks, text)
				}
			}
		}
	})
}

// FuzzReply checks that whatever a judge replies is read as a value of the range, or refused.
func FuzzReply(f *testing.F) {
	for _, text := range []string{"", "[RESULT] 4", "<score>yes</score>", `{"SCORE": "PASS"}`, "<score><score>3", "{{{{",
		`{"SCORE": {"SCORE": 1}}`, "<score>\xff", "[RESULT] 1e309", "[RESULT] 4,5", "**Result:** 5 or 4", `{"SCORE":`} {
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		reply := ask.Reply{Text: strings.ToValidUTF8(text, "?"), Cut: cut}
		for _, p := range Shipped() {
			r := &p.judges[0].read
			if r.reply == nil {
				continue
			}
			o, err := r.ofReply(reply)
			if err == nil && !(o.value >= r.lo && o.value <= r.hi) {
				t.Errorf("%s reads %q as %v", p.Name, text, o.value)
			}
			if err == nil && r.reply.words != nil && !slices.ContainsFunc(r.reply.words, func(w valued) bool {
				return strings.Contains(strings.ToLower(text), strings.ToLower(w.word))
			}) {
				t.Errorf("%s reads %q in %q", p.Name, o.verdict, text)
			}
		}
	})
}

// FuzzHead checks that whatever numbers a head gives are read as a value of the range, or refused.
func FuzzHead(f *testing.F) {
	f.Add(float32(1), float32(2), 2, true)
	f.Add(float32(math.NaN()), float32(math.Inf(1)), 1, false)
	f.Fuzz(func(t *testing.T, a, b float32, n int, labelled bool) {
		numbers := append([]float32{a, b}, make([]float32, max(0, min(n, 4)))...)[:max(0, min(n, 6))]
		info := backend.Info{Model: "m"}
		if labelled {
			info.Labels = []string{"entailment", "yes", "consistent", "hallucinated"}[:min(4, len(numbers))]
		}
		for _, p := range Shipped() {
			r := &p.judges[0].read
			var o outcome
			var err error
			switch {
			case r.head != nil:
				o, err = r.ofHead(info, numbers)
			case r.spans != nil:
				o, err = r.ofTokens(info, backend.Encoded{Vectors: [][]float32{numbers}, Spans: []backend.Span{{Low: 0, High: 1}}})
			default:
				continue
			}
			if err == nil && !(o.value >= r.lo && o.value <= r.hi) {
				t.Errorf("%s reads %v as %v", p.Name, numbers, o.value)
			}
		}
	})
}

// FuzzMarks checks that marks are in order, within the answer, and cover just the tokens at or above the threshold.
func FuzzMarks(f *testing.F) {
	f.Add("ab cd e", []byte{0, 2, 200, 3, 5, 220, 6, 7, 3})
	f.Fuzz(func(t *testing.T, answer string, data []byte) {
		r := Find("lettucedetect").judges[0].read
		var tokens []token
		at := 0
		for ; len(data) >= 3; data = data[3:] {
			low := max(at, min(int(data[0]), len(answer)))
			high := min(low+int(data[1])%4, len(answer))
			tokens = append(tokens, token{backend.Span{Low: low, High: high}, float64(data[2]) / 255})
			at = low
		}
		end := 0
		for _, m := range r.marks(answer, tokens) {
			if m.Low < end || m.High <= m.Low || m.High > len(answer) || !(m.Value >= r.spans.threshold) {
				t.Errorf("mark %+v after %d of %d bytes, tokens %+v", m, end, len(answer), tokens)
			}
			end = m.High
		}
	})
}
