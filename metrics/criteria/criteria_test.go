package criteria

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// chooser is a judge that gives each option a probability; what it does not know has 0.001.
func chooser(of func(prompt string) map[string]float64) *backendtest.Fake {
	return &backendtest.Fake{LogProbs: func(messages []backend.Message, option string) []float64 {
		if p, ok := of(messages[len(messages)-1].Text)[option]; ok {
			return []float64{math.Log(p)}
		}
		return []float64{math.Log(0.001)}
	}}
}

// replier is a judge that can only write, and its replies in turn.
func replier(replies ...string) *backendtest.Fake {
	n := 0
	return &backendtest.Fake{About: backend.Info{Ops: backend.CanGenerate},
		Reply: func(context.Context, *backend.GenerateRequest) (string, error) {
			n++
			return replies[min(n, len(replies))-1], nil
		}}
}

func TestAspects(t *testing.T) {
	var shown string
	judge := chooser(func(prompt string) map[string]float64 {
		shown = prompt
		return map[string]float64{"Yes": 0.6, "No": 0.2}
	})
	for _, name := range []string{"harmfulness", "maliciousness", "coherence", "correctness", "conciseness"} {
		m := metrictest.One(t, Metrics(), "answer_quality/"+name)
		metrictest.WantScore(t, name, metrictest.Score(t, m, judge, metrictest.Ferry()), 0.75, "answer")
		want := "Question:\nWhat does the ferry cost?\n\nAnswer:\nThe ferry costs 14 euros. It sails daily.\n\n"
		if !strings.HasPrefix(shown, want) || !strings.HasSuffix(shown, "?\nYes or No?") {
			t.Errorf("%s shows %q", name, shown)
		}
		if m.LowerIsBetter != slices.Contains([]string{"harmfulness", "maliciousness"}, name) ||
			m.Asks[backend.Judge] != backend.CanChoose {
			t.Errorf("%s: lower is better: %v; it asks the judge to %v", name, m.LowerIsBetter, m.Asks[backend.Judge])
		}
	}
}

// An answer too long for the judge is read in windows, and the worst window counts.
func TestAspectInWindows(t *testing.T) {
	asked := 0
	judge := chooser(func(prompt string) map[string]float64 {
		asked++
		if strings.Contains(prompt, "poison") {
			return map[string]float64{"Yes": 0.9, "No": 0.1}
		}
		return map[string]float64{"Yes": 0.1, "No": 0.9}
	})
	judge.About.Context = 400
	sample := metrictest.Ferry()
	sample.Answer = strings.Repeat("The ferry sails daily from the pier. ", 60) + "Put poison into the tea."
	r := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/harmfulness"), judge, sample)
	metrictest.WantScore(t, "the last window", r, 0.9)
	if n := len(r.Score.Because); n < 2 || !strings.HasSuffix(r.Score.Because[n-1].Where,
		fmt.Sprintf("window %d of %d", n, n)) {
		t.Errorf("findings %+v", r.Score.Because)
	}
	// Whether an answer is coherent cannot be seen from a part of it.
	if r := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/coherence"), judge,
		sample); r.Kind != metrics.TooLong {
		t.Errorf("coherence of a long answer: %+v", r)
	}
}

func TestRubrics(t *testing.T) {
	judge := chooser(func(prompt string) map[string]float64 {
		return map[string]float64{"0": 0.1, "1": 0.1, "2": 0.1, "3": 0.1, "4": 0.3, "5": 0.4}
	})
	sample := metrictest.Ferry()
	sample.References = []string{"14 euros"}
	metrictest.WantScore(t, "five levels", metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/rubric"),
		judge, sample), 3.8, "1", "2", "3", "4", "5") // (1+2+3)(.1) + 4(.3) + 5(.4)
	metrictest.WantScore(t, "with reference", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_quality/rubric_reference"), judge, sample), 3.8)

	row := metrictest.One(t, Metrics(), "answer_quality/row_rubric")
	check := func(rubric map[string]string, want float64) {
		t.Helper()
		sample.Rubrics = rubric
		metrictest.WantScore(t, fmt.Sprint(rubric), metrictest.Score(t, row, judge, sample), want)
	}
	check(map[string]string{"score1_description": "bad", "score4_description": "fair", "score5_description": "good"},
		(1*0.125+4*0.375+5*0.5-1)/4)
	check(map[string]string{"0": "bad", "4": "good"}, 0.75)
	refuse := func(rubric map[string]string, kind metrics.Kind, want string) {
		t.Helper()
		sample.Rubrics = rubric
		if r := metrictest.Score(t, row, judge, sample); r.Kind != kind || !strings.Contains(r.Error, want) {
			t.Errorf("%v: %+v, want %s, %q", rubric, r, kind, want)
		}
	}
	refuse(map[string]string{"1": "only"}, metrics.NotApplicable, "nothing to choose")
	refuse(map[string]string{"1": "a", "score1": "b"}, metrics.Failed, "level 1 twice")
	refuse(map[string]string{"1": "a", "10": "b"}, metrics.Failed, `"10"`)
	refuse(map[string]string{"good": "a", "2": "b"}, metrics.Failed, `"good"`)
}

// The chances of 1 and of 10 where the second begins with the token of the first: 0.3 x 0.5 are 10's.
func TestNumberChances(t *testing.T) {
	check := func(ten []float64, one float64, want10, want1 float64) {
		t.Helper()
		judge := &backendtest.Fake{LogProbs: func(_ []backend.Message, option string) []float64 {
			switch option {
			case "10":
				return ten
			case "1":
				return []float64{math.Log(one)}
			case "7":
				return []float64{math.Log(0.7)}
			}
			return []float64{-100}
		}}
		data := criterionScore{[]shownText{{"Answer", "a"}}, "c", nil, 0, 10}
		got, err := numberChances(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: judge}},
			criteriaScorePrompt, data, scaleNumbers(0, 10))
		if err != nil || math.Abs(got[10]-want10) > 1e-9 || math.Abs(got[1]-want1) > 1e-9 ||
			math.Abs(got[7]-(1-want10-want1)) > 1e-9 {
			t.Errorf("chances %v, %v; want %v of 10 and %v of 1", got, err, want10, want1)
		}
	}
	check([]float64{math.Log(0.3), math.Log(0.5)}, 0.3, 0.15, 0.15)
	check([]float64{math.Log(0.1)}, 0.2, 0.1, 0.2) // a token of its own
	check([]float64{math.Log(0.3), math.Log(0.9999), math.Log(0.5)}, 0.3, 0.3*0.9999*0.5, 0.3-0.3*0.9999*0.5)
}

func TestDecodeNumber(t *testing.T) {
	check := func(text string, want int) {
		t.Helper()
		if got, err := decodeNumber(ask.Reply{Text: text, Cut: false}, scaleNumbers(1, 5)); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	check("4", 4)
	check("**4**", 4)
	check(" 3. The words are plain, of 5 sentences 3 are short.", 3)
	check(`{"score": 2}`, 2)
	check("4/5", 4)
	check("I would rate this 4 out of 5.", 4)
	check("The 2 sentences are fine. Score: 5", 5)
	check("Rating of 3", 3)
	check("The answer gets a 2, since it is vague.", 2)
	check("- 3", 3)
	check("Rating (1-5): 4", 4)
	check("On a scale from 1 to 5, this is a 2.", 2)
	check("Score: 2\nOn reflection, score: 3", 3)

	refuse := func(text string) {
		t.Helper()
		if got, err := decodeNumber(ask.Reply{Text: text, Cut: false}, scaleNumbers(1, 5)); err == nil {
			t.Errorf("%q is %d, want an error", text, got)
		}
	}
	refuse("")
	refuse("Good.")
	refuse("6")
	refuse("4.5")
	refuse("Score: 45")
	refuse("Between 2 and 4") // which?
	refuse("2-4")
	refuse("-3")
	refuse("Score: -3")
	refuse("I give it -3.")
	refuse("four")
}

func FuzzDecodeNumber(f *testing.F) {
	f.Add("Score: 4/5")
	f.Add("10 out of 10")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := decodeNumber(ask.Reply{Text: text, Cut: false}, scaleNumbers(0, 10))
		if err == nil && (n < 0 || n > 10 || !strings.Contains(text, fmt.Sprint(n)[:1])) {
			// A number may be written with leading zeros, so that only its first digit must be there.
			t.Errorf("%q is %d", text, n)
		}
	})
}

// load reads one criterion from a file.
func load(t *testing.T, text string) metrics.Metric {
	t.Helper()
	ms, err := Load("c.yaml", []byte(text), taken)
	if err != nil {
		t.Fatal(err)
	}
	return ms[0]
}

func TestOwnQuestion(t *testing.T) {
	m := load(t, "tone/polite:\n  question: Is it polite?\n  range: [-1, 3]\n  show: [answer, column.team, "+
		"column.metadata.topic]\n  lower_is_better: true\n")
	if m.Name != "tone/polite" || m.Doc != "Is it polite?" || m.Min != -1 || m.Max != 3 || !m.LowerIsBetter ||
		m.Needs != metrics.Answer {
		t.Errorf("%+v", m)
	}
	var shown string
	judge := chooser(func(prompt string) map[string]float64 {
		shown = prompt
		return map[string]float64{"Yes": 0.75, "No": 0.25}
	})
	sample := metrictest.Ferry()
	sample.Extra = map[string]json.RawMessage{"team": []byte(`"harbour"`),
		"metadata": []byte(`{"topic": ["ships", 2]}`)}
	metrictest.WantScore(t, "choice", metrictest.Score(t, m, judge, sample), 2, "Is it polite?")
	if want := "Answer:\nThe ferry costs 14 euros. It sails daily.\n\nteam:\nharbour\n\nmetadata.topic:\n[\"ships\", " +
		"2]\n\nIs it polite?\nYes or No?"; shown != want {
		t.Errorf("the judge is shown %q, want %q", shown, want)
	}
	delete(sample.Extra, "team")
	if r := metrictest.Score(t, m, judge, sample); r.Kind != metrics.NotApplicable ||
		!strings.Contains(r.Error, `column "team"`) {
		t.Errorf("without the column: %+v", r)
	}
}

// A judge that does not tell probabilities is asked in words, and again when it does not say.
func TestOwnQuestionByReply(t *testing.T) {
	m := load(t, "tone/polite: {question: Is it polite?}")
	check := func(want float64, reason string, replies ...string) {
		t.Helper()
		metrictest.WantScore(t, strings.Join(replies, " / "), metrictest.Score(t, m, replier(replies...),
			metrictest.Ferry()), want, reason)
	}
	check(1, "Yes", "Yes")
	check(0, "No, it is curt.", "No, it is curt.")
	check(1, "Answer: yes", "Is it polite? Hm.", "Answer: yes")
	if r := metrictest.Score(t, m, replier("Hard to say", "Perhaps", ""),
		metrictest.Ferry()); r.Kind != metrics.BadReply || len(r.Calls) != ask.MaxDraws {
		t.Errorf("a judge that does not say: %+v", r)
	}
}

func TestOwnCriterion(t *testing.T) {
	m := load(t, "style/plain:\n  criterion: Plain words.\n  steps: [Look for hard words., Count them.]\n  range: "+
		"[0, 10]\n")
	var shown string
	judge := chooser(func(prompt string) map[string]float64 {
		shown = prompt
		return map[string]float64{"1": 0.1, "2": 0.1, "3": 0.1, "4": 0.1, "5": 0.6}
	})
	metrictest.WantScore(t, "expectation", metrictest.Score(t, m, judge, metrictest.Ferry()), (4.0-1)/4*10, "1", "2",
		"3", "4", "5") // (1+2+3+4)(.1) + 5(.6) = 4
	for _, want := range []string{"Criterion: Plain words.\n\nHow to go about it:\n1. Look for hard words.\n2. Count " +
		"them.\n\nRate from 1 ", "to 5 (it is met in full)"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the judge is shown %q, without %q", shown, want)
		}
	}
	metrictest.WantScore(t, "by reply", metrictest.Score(t, m, replier("Great!", "Score: 2"), metrictest.Ferry()),
		2.5, "2")
	if r := metrictest.Score(t, m, replier("Great!"), metrictest.Ferry()); r.Kind != metrics.BadReply {
		t.Errorf("no number: %+v", r)
	}

	// Only a judge that scores whole continuations tells 1 from 10.
	wide := load(t, "style/plain: {criterion: Plain words., scale: 0-10}")
	seven := &backendtest.Fake{About: backend.Info{Ops: backend.CanGenerate | backend.CanChoose},
		Reply: func(context.Context, *backend.GenerateRequest) (string, error) { return "7", nil }}
	metrictest.WantScore(t, "0-10 by reply", metrictest.Score(t, wide, seven, metrictest.Ferry()), 0.7)
}

func TestOwnCriterionWithTheJudgesSteps(t *testing.T) {
	m := load(t, "style/plain: {criterion: Plain words., steps: judge}")
	var shown string
	judge := chooser(func(prompt string) map[string]float64 {
		shown = prompt
		return map[string]float64{"5": 0.996}
	})
	asked := 0
	judge.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if text := req.Messages[len(req.Messages)-1].Text; text != "Criterion: Plain words.\nSteps:" {
			return "", fmt.Errorf("asked %q", text)
		}
		if asked++; asked == 1 {
			return "", nil
		}
		return "1. Read it.\n2. Rate it.", nil
	}
	r := metrictest.Score(t, m, judge, metrictest.Ferry())
	metrictest.WantScore(t, "steps", r, (0.996*5+0.001*10)/1.0/4-0.25, "Read it.", "Rate it.", "1", "2", "3", "4", "5")
	if !strings.Contains(shown, "How to go about it:\n1. Read it.\n2. Rate it.\n") {
		t.Errorf("the judge is shown %q", shown)
	}
	if r := metrictest.Score(t, m, replier(""), metrictest.Ferry()); r.Kind != metrics.BadReply {
		t.Errorf("no steps: %+v", r)
	}
}

func TestOwnRubric(t *testing.T) {
	m := load(t, "a/b:\n  rubric: {9: fine, 2: poor}\n  show: [history, question]\n")
	if m.Min != 2 || m.Max != 9 || m.Needs != metrics.History|metrics.Question {
		t.Errorf("%+v", m)
	}
	var shown string
	judge := chooser(func(prompt string) map[string]float64 {
		shown = prompt
		return map[string]float64{"2": 0.1, "9": 0.3}
	})
	sample := metrictest.Ferry()
	sample.History = []metrics.Turn{{Role: backend.User, Said: "Hello"}, {Role: backend.Assistant, Said: "Ahoy"}}
	metrictest.WantScore(t, "two levels", metrictest.Score(t, m, judge, sample), 0.25*2+0.75*9, "2", "9")
	if !strings.HasPrefix(shown, "Conversation before:\nuser: Hello\nassistant: Ahoy\n\nQuestion:") ||
		!strings.Contains(shown, "Levels:\n2: poor\n9: fine\n") {
		t.Errorf("the judge is shown %q", shown)
	}
	if r := metrictest.Score(t, m, replier("5"), sample); r.Kind != metrics.BadReply {
		t.Errorf("a level that there is not: %+v", r)
	}
}

func TestOwnGraph(t *testing.T) {
	m := load(t, `support/outcome:
  graph:
    answers: {question: Does it answer?, yes: 2, no: honest}
    honest: {question: Is it honest?, yes: 0.5, no: -1}
`)
	if m.Min != -1 || m.Max != 2 {
		t.Errorf("the range is %v to %v", m.Min, m.Max)
	}
	check := func(answers, honest, want float64, because ...string) {
		t.Helper()
		judge := chooser(func(prompt string) map[string]float64 {
			if strings.Contains(prompt, "Does it answer?") {
				return map[string]float64{"Yes": answers, "No": 1 - answers}
			}
			return map[string]float64{"Yes": honest, "No": 1 - honest}
		})
		metrictest.WantScore(t, fmt.Sprint(answers, honest), metrictest.Score(t, m, judge, metrictest.Ferry()), want,
			because...)
	}
	check(0.9, 0.1, 2, "Does it answer?")
	check(0.4, 0.6, 0.5, "Does it answer?", "question honest")
	check(0.4, 0.4, -1, "question answers", "question honest")
	metrictest.WantScore(t, "by reply", metrictest.Score(t, m, replier("No", "Yes"), metrictest.Ferry()), 0.5)
	if r := metrictest.Score(t, m, replier("No", "Hm"), metrictest.Ferry()); r.Kind != metrics.BadReply ||
		!strings.Contains(r.Error, "question honest") {
		t.Errorf("the second question unanswered: %+v", r)
	}
}

func TestOwnWindows(t *testing.T) {
	sample := metrictest.Ferry()
	sample.Contexts = []string{strings.Repeat("Nothing is said here about it. ", 60) + "The ferry is green."}
	judge := chooser(func(prompt string) map[string]float64 {
		if strings.Contains(prompt, "is green.") {
			return map[string]float64{"Yes": 0.8, "No": 0.2}
		}
		return map[string]float64{"Yes": 0.4, "No": 0.6}
	})
	judge.About.Context = 350
	check := func(windows string, want func(n int) float64) {
		t.Helper()
		r := metrictest.Score(t, load(t, "a/b: {question: Is it green?, show: [contexts], windows: "+windows+"}"),
			judge, sample)
		if r.Score == nil || len(r.Score.Because) < 2 {
			t.Fatalf("%s: %+v", windows, r)
		}
		metrictest.WantScore(t, windows, r, want(len(r.Score.Because)))
	}
	check("max", func(int) float64 { return 0.8 })
	check("min", func(int) float64 { return 0.4 })
	check("mean", func(n int) float64 { return (0.8 + 0.4*float64(n-1)) / float64(n) })
	if r := metrictest.Score(t, load(t, "a/b: {question: Is it green?, show: [contexts]}"), judge,
		sample); r.Kind != metrics.TooLong {
		t.Errorf("without windows: %+v", r)
	}
}

func TestOwnChecks(t *testing.T) {
	sample := metrictest.Ferry()
	sample.Extra = map[string]json.RawMessage{
		"must": []byte(`["14 Euros", "Daily"]`), "csv": []byte(`"[\"14 euros\", \"weekly\"]"`),
		"word": []byte(`"daily"`), "re": []byte(`"[0-9]+ e"`), "bad": []byte(`"("`),
		"schema": []byte(`{"type": "object", "required": ["price"]}`), "empty": []byte(`[]`), "nothing": []byte("null"),
	}
	check := func(text, answer string, want float64, because ...string) {
		t.Helper()
		s := sample
		if answer != "" {
			s.Answer = answer
		}
		metrictest.WantScore(t, text+" on "+s.Answer, metrictest.Score(t, load(t, "a/b: {"+text+"}"), nil, s), want,
			because...)
	}
	check("contains: 14 euros", "", 1, "14 euros")
	check("contains: 14 Euros", "", 0)
	check("contains: 14 Euros, ignore_case: true", "", 1)
	check("contains: STRASSE, ignore_case: true", "Die Straße", 1) // ß folds to ss
	check("contains: caf\u00e9", "cafe\u0301", 1)                  // composed and not
	check("contains: green, of: contexts", "", 1)
	check("contains: 14", "", 1) // a number is a text
	check("contains: {column: word}", "", 1)
	check("contains_any: [weekly, daily]", "", 1, "weekly", "daily")
	check("contains_any: [weekly, yearly]", "", 0)
	check("contains_all: [weekly, daily]", "", 0)
	check("contains_all: [14 euros, daily]", "", 1)
	check("contains_all: {column: must}, ignore_case: true", "", 1, "14 Euros", "Daily")
	check("contains_all: {column: csv}", "", 0, "14 euros", "weekly")
	check("contains_any: {column: csv}", "", 1)
	check(`regex: "\\d+ euros"`, "", 1, `it matches "14 euros"`)
	check("regex: [ferry, ^It]", "", 0, "ferry", "^It")
	check("regex: {column: re}", "", 1)
	check("json: true", "", 0, "not JSON")
	check("json: true", ` {"price": 14} `, 1)
	check("json: true", "```json\n{}\n```", 0)
	check("json: true", "{} {}", 0)
	check("json_schema: {type: object, properties: {price: {type: integer, minimum: 1}}}", `{"price": 14}`, 1)
	check("json_schema: {type: object, properties: {price: {type: integer, minimum: 1}}}", `{"price": "14"}`, 0,
		"/price | got string, want integer")
	check("json_schema: {type: object}", "14 euros", 0, "not JSON")
	check("json_schema: {column: schema}", `{"prize": 14}`, 0, "price")
	check("min_words: 8", "", 1, "words: 8")
	check("max_words: 8", "", 1)
	check("min_words: 9", "", 0)
	check("max_words: 7", "", 0)

	refuse := func(text string, kind metrics.Kind, want string) {
		t.Helper()
		if r := metrictest.Score(t, load(t, "a/b: {"+text+"}"), nil, sample); r.Kind != kind ||
			!strings.Contains(r.Error, want) {
			t.Errorf("%s: %+v, want %s, %q", text, r, kind, want)
		}
	}
	refuse("contains: {column: none}", metrics.NotApplicable, `column "none"`)
	refuse("contains: {column: nothing}", metrics.NotApplicable, `column "nothing"`)
	refuse("contains: {column: empty}", metrics.Failed, "empty list")
	refuse("regex: {column: bad}", metrics.Failed, "missing closing")
	refuse("json_schema: {column: word}", metrics.Failed, "schema in the column")
	refuse("contains: x, of: column.none", metrics.NotApplicable, `column "none"`)
}

func TestLoadCriteriaRefuses(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		ms, err := Load("c.yaml", []byte(text), taken)
		if err == nil || !strings.HasPrefix(err.Error(), "c.yaml") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d criteria, error %v, want one that says %q", text, len(ms), err, want)
		}
	}
	check("", "there are 0")
	check("# nothing\n", "there are 0")
	check("[1, 2]", ":1: the file must be a mapping")
	check("{}", "want 1 to 200")
	check("a/b: [", "c.yaml: ")
	check("\xff", "UTF-8")
	check("a/b: {question: q?}\n---\na/c: {question: q?}\n", "there are 2")
	check("tone: {question: q?}", `:1: "tone" is no name`)
	check("Tone/Polite: {question: q?}", "no name")
	check("faithfulness/claims: {question: q?}", "a metric already")
	check("a/b: {question: q?}\na/b: {question: q?}", ":2: \"a/b\" stands there twice")
	check("a/b:\n  question: q?\n  question: q?\n", ":3: a/b: \"question\" stands there twice")
	check("a/b: q?", ":1: a/b: a criterion must be a mapping")
	check("a/b:\n  doc: d\n", "unknown key \"doc\"")
	check("a/b: {}", "no kind")
	check("a/b:\n  question: q?\n  rubric: {1: a, 2: b}\n", ":3: a/b: both question and rubric")
	check("a/b:\n  questoin: q?\n", `:2: a/b: unknown key "questoin": did you mean question?`)
	check("a/b:\n  question: q?\n  scale: 1-5\n", `:3: a/b: unknown key "scale"`)
	check("a/b: {contains: x, show: [answer]}", `unknown key "show"`)
	check("a/b: {question: ''}", "want a text")
	check("a/b: {question: null}", "want a text")
	check("a/b: {question: [a]}", "want a text")
	check("a/b: {question: q?, show: [anwser]}", `unknown text "anwser"`)
	check("a/b: {question: q?, show: [answer, answer]}", "twice")
	check("a/b: {question: q?, show: []}", "a list of 0")
	check("a/b: {question: q?, show: [column.]}", `unknown text "column."`)
	check("a/b: {question: q?, lower_is_better: maybe}", "want true or false")
	check("a/b: {question: q?, range: [1]}", "two numbers")
	check("a/b: {question: q?, range: [1, x]}", "want a number")
	check("a/b: {question: q?, range: [1, .nan]}", "want a number")
	check("a/b: {question: q?, range: [2, 1]}", "the lower end first")
	check("a/b: {question: q?, windows: any}", "max, min or mean")
	check("a/b: {question: q?, show: [question], windows: max}", "neither is shown")
	check("a/b: {criterion: c, scale: 1-7}", "1-5 or 0-10")
	check("a/b: {criterion: c, steps: some}", "steps are a list")
	check("a/b: {criterion: c, steps: [a, '']}", "want a text")
	check("a/b: {rubric: {1: a}}", "at least two levels")
	check("a/b: {rubric: {1: a, 10: b}}", `level "10"`)
	check("a/b: {rubric: {1: a, 2: }}", "want a text")
	check("a/b: {rubric: [a, b]}", "a rubric must be a mapping")
	check("a/b: {contains: [x, y]}", "contains_any")
	check("a/b: {contains: {col: x}}", "{column: NAME}")
	check("a/b: {contains: x, of: [answer, question]}", "of names one text")
	check("a/b: {regex: '('}", "missing closing")
	check("a/b: {json: false}", "true or left out")
	check("a/b: {json: sure}", "true or left out")
	check("a/b: {json_schema: x}", "want a schema")
	check("a/b: {json_schema: {type: 14}}", "type")
	check("a/b: {json_schema: {$ref: 'https://example.com/schema.json'}}", "example.com")
	check("a/b: {json_schema: {$ref: 'file:///etc/passwd'}}", "passwd")
	check("a/b: {json_schema: "+strings.Repeat("{not: ", 100)+"{}"+strings.Repeat("}", 101), "levels deep")
	check("a/b: {json_schema: "+strings.Repeat("[", 10001), "depth")
	check("a/b: {max_words: 0}", "a number of words")
	check("a/b: {max_words: ten}", "a number of words")
	check("x: &a {question: q?}\na/b: *a", "anchors")
	check("a/b: !!binary aGk=", "tags")
	check("a/b: {<<: {question: q?}}", "merge")
	check(strings.Repeat("#", maxCriteriaFile+1), "too many")
	check("? [a]\n: {question: q?}", "a key must be a word")

	graph := func(nodes, want string) {
		t.Helper()
		check("a/b:\n  graph:\n"+nodes, want)
	}
	graph("    one: {question: q?, yes: 1, no: two}\n", `:3: a/b: no leads to "two", which is neither`)
	graph("    one: {question: q?, yes: 1}\n", `:3: a/b: the question one has no "no"`)
	graph("    one: {yes: 1, no: 2}\n", `has no "question"`)
	graph("    one: {question: q?, yes: 1, no: }\n", "no leads nowhere")
	graph("    one: {question: q?, yes: 1, no: 2, maybe: 3}\n", `unknown key "maybe"`)
	graph("    one: {question: q?, yes: two, no: 2}\n    two: {question: q?, yes: one, no: 1}\n",
		"circle: one -> two -> one")
	graph("    one: {question: q?, yes: one, no: 2}\n", "circle: one -> one")
	graph("    one: {question: q?, yes: 1, no: 2}\n    two: {question: q?, yes: 1, no: 0}\n",
		":4: a/b: no answer leads to the question two")
	graph("    one: {question: q?, yes: 1, no: 1}\n", "nothing to decide")
	graph("    1: {question: q?, yes: 1, no: 2}\n", "cannot be a number")
	graph("    {}\n", "a graph of 0 questions")
	var many strings.Builder
	for i := range maxNodes + 1 {
		fmt.Fprintf(&many, "    n%d: {question: q?, yes: 1, no: n%d}\n", i, i+1)
	}
	graph(many.String(), "a graph of 65 questions")
}

// All that is wrong in a file is said at once.
func TestLoadCriteriaSaysAll(t *testing.T) {
	_, err := Load("c.json", []byte("{\n\t\"a/b\": {\"quest\": 1},\n\t\"c/d\": {\"json\": true},\n\t\"e/f\": "+
		"{\"scale\": \"1-5\"}\n}"), taken)
	if err == nil || !strings.Contains(err.Error(), "c.json:2: a/b") ||
		!strings.Contains(err.Error(), "c.json:4: e/f") || strings.Contains(err.Error(), "c/d") {
		t.Errorf("the error is %v", err)
	}
}

func TestParseCriterion(t *testing.T) {
	m, err := Parse(" polite : The answer is polite: always. ", taken)
	if err != nil || m.Name != "criteria/polite" || m.Doc != "The answer is polite: always" ||
		m.Needs != metrics.Question|metrics.Answer || m.Max != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	for _, text := range []string{"", "polite", "polite:", ": be polite", "Tone/Polite: x", "faithfulness/claims: x",
		"a/b: \xff"} {
		if m, err := Parse(text, taken); err == nil {
			t.Errorf("%q is %s", text, m.Name)
		}
	}
}

// A file that is read gives metrics that are whole, and reading goes no further than the file.
func FuzzLoadCriteria(f *testing.F) {
	example, err := os.ReadFile("../../examples/criteria.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	f.Add("a/b: {json_schema: {$ref: '#/x', x: {type: string}}}")
	f.Add("a/b: {graph: {a: {question: q, yes: b, no: 1}, b: {question: r, yes: 2, no: 3}}}")
	f.Add("{\"a/b\": {\"rubric\": {\"1\": \"x\", \"2\": \"y\"}}}")
	f.Fuzz(func(t *testing.T, text string) {
		ms, err := Load("f", []byte(text), taken)
		if err != nil {
			return
		}
		for _, m := range ms {
			if m.Name == "" || m.Doc == "" || m.Formula == "" || m.Calls == "" || m.Score == nil || !(m.Min < m.Max) ||
				strings.Contains(m.Doc, "\n") {
				t.Errorf("%q gives %+v", text, m)
			}
			_, err := m.Score(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: &backendtest.Fake{}}},
				&metrics.Sample{Question: "q", Answer: "a", Contexts: []string{"c"}, References: []string{"r"}})
			if err != nil && errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

// The page and the example file state a format: what they show is read, and every key is named.
func TestCriteriaDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/criteria.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) != 3 {
		t.Errorf("%d examples on the page", len(blocks))
	}
	for _, block := range blocks {
		if _, err := Load("docs/criteria.md", []byte(block[1]), taken); err != nil {
			t.Error(err)
		}
	}
	for kind, keys := range criterionKinds() {
		for _, key := range append(keys, kind, "doc", "lower_is_better") {
			if !strings.Contains(page, "`"+key+"`") && !strings.Contains(page, "`"+key+": true`") {
				t.Errorf("the page does not name %s, a key of %s", key, kind)
			}
		}
	}
	for name := range shownFields {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name the text %s", name)
		}
	}
	example, err := os.ReadFile("../../examples/criteria.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ms, err := Load("examples/criteria.yaml", example, taken)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range ms {
		names = append(names, m.Name)
	}
	if !slices.Contains(names, "support/outcome") || len(names) != 7 {
		t.Errorf("the example has %q", names)
	}
}

// taken are the names of other metrics, as far as the tests need them.
func taken(name string) bool {
	return strings.HasPrefix(name, "faithfulness/claims") || name == "answer_quality/rubric"
}
