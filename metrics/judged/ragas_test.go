package judged

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/metrictest"
	"github.com/assay-eval/assay/metrics/prompts"
	"github.com/assay-eval/assay/tokenize"
)

// judging scripts replies by the prompts' endings, the same reply to every prompt of that ending.
func judging(replies map[string]string) *script {
	s := &script{ending: make(map[string]func(string) string)}
	for ending, reply := range replies {
		s.ending[ending] = func(string) string { return reply }
	}
	return s
}

func lighthouse() metrics.Sample {
	return metrics.Sample{
		Question: "Who built the lighthouse?",
		Answer:   "Mara Lind did, in 1871.",
		Contexts: []string{"Mara Lind was an engineer.", "Lighthouses are lit at night.",
			"The lighthouse is from 1871."},
		References: []string{"Mara Lind built it."},
	}
}

const usefulEnding = "Is the text of use for this answer?"

func TestContextPrecision(t *testing.T) {
	check := func(useful string, want float64) {
		t.Helper()
		sample := lighthouse()
		sample.Contexts = nil
		for i, mark := range useful {
			text := fmt.Sprintf("Context number %d is marked %c", i, mark)
			if mark == ' ' {
				text = " \n"
			}
			sample.Contexts = append(sample.Contexts, text)
		}
		s := &script{ending: map[string]func(string) string{usefulEnding: func(prompt string) string {
			if strings.Contains(prompt, "is marked y") {
				return `{"reason": "It helps.", "verdict": "Yes"}`
			}
			return `{"reason": "It does not.", "verdict": "No"}`
		}}}
		for _, name := range []string{"context_precision/reference", "context_precision/answer"} {
			got := s.run(t, name, 0, sample)
			if got.Score == nil || math.Abs(got.Score.Value-want) > 1e-15 || len(got.Score.Because) != len(useful) {
				t.Errorf("%s of %q: %+v, want %v", name, useful, got, want)
			}
			if asked := len(useful) - strings.Count(useful, " "); len(s.asks) != asked {
				t.Errorf("%s of %q: asked %q, want %d times", name, useful, s.asks, asked)
			}
		}
	}
	check("yyy", 1)
	check("...", 0)
	check("y.y", (1.0/1+2.0/3)/2)
	check("..y", 1.0/3)
	check(".yy", (1.0/2+2.0/3)/2)
	check("y y", (1.0/1+2.0/3)/2) // a blank context has its rank, and nobody is asked about it
}

// The reference is shown by the one method, the answer by the other, and a conversation by both.
func TestContextPrecisionPrompt(t *testing.T) {
	sample := lighthouse()
	sample.History = []metrics.Turn{{Role: backend.User, Said: "Let us speak of Cape Arden."}}
	for name, want := range map[string]string{"reference": "Mara Lind built it.", "answer": "Mara Lind did, in 1871."} {
		s := &script{ending: map[string]func(string) string{usefulEnding: func(prompt string) string {
			if !strings.Contains(prompt, "\nAnswer: "+want) ||
				!strings.HasPrefix(prompt, "user: Let us speak of Cape Arden.\nQuestion: Who") {
				t.Errorf("%s: the prompt is %q", name, prompt)
			}
			return "Yes"
		}}}
		if got := s.run(t, "context_precision/"+name, 0, sample); got.Score == nil || len(s.asks) != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestContextPrecisionReplies(t *testing.T) {
	sample := lighthouse()
	sample.Contexts = sample.Contexts[:1]
	for reply, want := range map[string]float64{
		`{"reason": "It names her.", "verdict": "Yes"}`:                      1,
		"```json\n{\"reason\": \"It names her.\", \"verdict\": \"No\"}\n```": 0,
		`{"verdict": true`: 1,
		"Yes.":             1,
		"The text does not say who built it. Verdict: No":             0,
		"1. Yes, it names the builder.":                               1,
		"Reason: It says nothing about the builder.\nVerdict: **No**": 0,
	} {
		got := judging(map[string]string{usefulEnding: reply}).run(t, "context_precision", 0, sample)
		if got.Score == nil || got.Score.Value != want {
			t.Errorf("%q: %+v, want %v", reply, got, want)
		}
	}
	for _, reply := range []string{"", "I'm sorry, I cannot help with that.", `{"reason": "It names`, "Yes and no."} {
		s := judging(map[string]string{usefulEnding: reply})
		got := s.run(t, "context_precision", 0, sample)
		if got.Kind != metrics.BadReply || len(s.asks) != ask.MaxDraws || !strings.Contains(got.Error, "context 1") {
			t.Errorf("%q: %+v after %q", reply, got, s.asks)
		}
	}
}

// A long context is of use if a part of it is, and what comes after that part is not asked about.
func TestContextPrecisionInWindows(t *testing.T) {
	sample := lighthouse()
	filler := strings.Repeat("Nothing is said here about it at all. ", 150)
	sample.Contexts = []string{filler + "Mara Lind built it. " + filler, filler}
	s := &script{ending: map[string]func(string) string{usefulEnding: func(prompt string) string {
		_, text, _ := strings.Cut(prompt, "\nText:")
		if strings.Contains(text, "Mara Lind") {
			return "Yes"
		}
		return "No"
	}}}
	got := s.run(t, "context_precision/answer", 800, sample)
	if got.Score == nil || got.Score.Value != 1 || *got.Score.Because[1].Verdict || len(s.asks) < 5 {
		t.Errorf("%+v after %d", got, len(s.asks))
	}
}

func TestDecodeEntities(t *testing.T) {
	check := func(reply_ ask.Reply, want ...string) {
		t.Helper()
		got, err := decodeEntities(reply_, []string{"no entities", "none"})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", reply_.Text, got, err, want)
		}
	}
	check(ask.Reply{Text: "1. Mara Lind\n2. Cape Arden\n3. 1871"}, "Mara Lind", "Cape Arden", "1871")
	check(ask.Reply{Text: "- Mara Lind\n- mara lind\n- 14 euros"}, "Mara Lind", "14 euros")
	check(ask.Reply{Text: "Mara Lind\nCape Arden"}, "Mara Lind", "Cape Arden")
	check(ask.Reply{Text: "Mara Lind, Cape Arden, 1,871 euros."}, "Mara Lind", "Cape Arden", "1,871 euros")
	check(ask.Reply{Text: "Entities: Mara Lind; Cape Arden"}, "Mara Lind", "Cape Arden")
	check(ask.Reply{Text: "1. Washington, D.C."}, "Washington, D.C.")
	check(ask.Reply{Text: "米拉、东京，1871"}, "米拉", "东京", "1871")
	check(ask.Reply{Text: `{"entities": ["Mara Lind", "Arden, Cape"]}`}, "Mara Lind", "Arden, Cape")
	check(ask.Reply{Text: "Sure! Here they are:\n\n```\n1. Mara Lind\n```"}, "Mara Lind")
	check(ask.Reply{Text: "No entities."})
	check(ask.Reply{Text: "None"})
	for _, bad := range []ask.Reply{{Text: ""}, {Text: "I'm sorry, I cannot do that, really."}, {Text: " , , "},
		{Text: "1. Mara Lind\n2. Cape Ar", Cut: true}} {
		if got, err := decodeEntities(bad, nil); err == nil {
			t.Errorf("%q: %q", bad.Text, got)
		}
	}
}

func FuzzDecodeNames(f *testing.F) {
	for _, s := range []string{"a, b", "1. a\n2. b", "x: , ;a", `["a", "a"]`, "none", "，、", "*, **", "I'm sorry, no",
		"1. a\n2. a\n3. b"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		for what, decode := range map[string]func(ask.Reply, []string) ([]string, error){"entities": decodeEntities,
			"phrases": decodeFirst} {
			names, err := decode(ask.Reply{Text: strings.ToValidUTF8(text, "\uFFFD"), Cut: cut}, []string{"none"})
			if err != nil && names != nil || what == "phrases" && len(names) > maxPhrases {
				t.Fatalf("%s in %q: %q, %v", what, text, names, err)
			}
			seen := make(map[string]bool)
			for _, name := range names {
				normal := tokenize.Normalize(name)
				if normal == "" || seen[normal] {
					t.Fatalf("%s in %q: %q", what, text, names)
				}
				seen[normal] = true
			}
		}
	})
}

func TestEntityRecall(t *testing.T) {
	s := &script{ending: map[string]func(string) string{"\nEntities:": func(prompt string) string {
		if strings.Contains(prompt, "Lighthouses are lit") {
			return "1. MARA LIND\n2. 1,871"
		}
		return "1. Mara Lind\n2. Cape Arden\n3. \"1 871\"\n4. Ulm"
	}}}
	got := s.run(t, "context_recall/entities", 0, lighthouse())
	if got.Score == nil || got.Score.Value != 0.5 || len(got.Score.Because) != 5 {
		t.Errorf("%+v, want Lind and the year of four", got)
	}
	got = judging(map[string]string{"\nEntities:": "No entities."}).run(t, "context_recall/entities", 0, lighthouse())
	if got.Kind != metrics.NotApplicable || !strings.Contains(got.Error, "no entity in the reference") {
		t.Errorf("no entities: %+v", got)
	}
	// A text of which the list does not fit in a reply is read in parts.
	sample := lighthouse()
	sample.References = []string{strings.Repeat("Mara Lind was here. ", 20) + "Ulm was not."}
	s = &script{ending: map[string]func(string) string{"\nEntities:": func(prompt string) string {
		if len(prompt) > 250 {
			var names []string
			for i := range 500 {
				names = append(names, "Mara "+strconv.Itoa(i))
			}
			return count(names...)
		}
		if strings.Contains(prompt, "Ulm") {
			return "1. Ulm"
		}
		return "1. Mara Lind"
	}}}
	got = s.run(t, "context_recall/entities", 0, sample)
	if got.Score == nil || got.Score.Value != 0.5 {
		t.Errorf("in parts: %+v after %q", got, s.asks)
	}
}

// The two prompts of answer_correctness/accuracy show the texts in swapped roles, and both must be answered.
func TestAnswerAccuracy(t *testing.T) {
	const first, second = "\nRating:", "\nAgreement, from 0 to 4:"
	check := func(one, two string, want float64) {
		t.Helper()
		got := judging(map[string]string{first: one, second: two}).run(t, "answer_correctness/accuracy", 0,
			lighthouse())
		if got.Score == nil || got.Score.Value != want || len(got.Score.Because) != 2 {
			t.Errorf("%q, %q: %+v, want %v", one, two, got, want)
		}
	}
	check("4", "4", 1)
	check("4", "2", 0.75)
	check("0", "Agreement: 2/4", 0.25)
	check(`{"rating": 0}`, "0", 0)

	for _, replies := range []map[string]string{{first: "4", second: "3"}, {first: "perfect", second: "4"},
		{first: "", second: ""}} {
		got := judging(replies).run(t, "answer_correctness/accuracy", 0, lighthouse())
		if got.Kind != metrics.BadReply || !strings.Contains(got.Error, "of 2") {
			t.Errorf("%q: %+v, want a bad reply", replies, got)
		}
	}

	s := judging(map[string]string{first: "4", second: "4"})
	wants := func(ending, reference, answer string) {
		s.ending[ending] = func(prompt string) string {
			if r, a := strings.Index(prompt, reference), strings.Index(prompt, answer); r < 0 || a < r {
				t.Errorf("%q does not show %q and then %q", prompt, reference, answer)
			}
			return "4"
		}
	}
	wants(first, "Mara Lind built it.", "Mara Lind did, in 1871.")
	wants(second, "Mara Lind did, in 1871.", "Mara Lind built it.")
	s.run(t, "answer_correctness/accuracy", 0, lighthouse())
	if len(s.asks) != 2 {
		t.Errorf("asked %q", s.asks)
	}
}

// The prompts that ask for ratings give engines that can constrain a schema of just these.
func TestRatingSchema(t *testing.T) {
	s := judging(map[string]string{"\nRating:": "2", "\nAgreement, from 0 to 4:": "4"})
	s.ops = backend.CanGenerate | backend.CanConstrain
	if got := s.run(t, "answer_correctness/accuracy", 0, lighthouse()); got.Score == nil || got.Score.Value != 0.75 {
		t.Errorf("%+v", got)
	}
	if want := `{"type":"integer","enum":[0,2,4]}`; s.schema != want || !json.Valid([]byte(want)) {
		t.Errorf("the schema is %s", s.schema)
	}
}

func TestDecodeLevel(t *testing.T) {
	levels := []int{0, 2, 4}
	check := func(text string, want int) {
		t.Helper()
		if got, err := decodeLevel(ask.Reply{Text: text}, levels); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	check("2", 2)
	check(" **4** \n", 4)
	check("2.", 2)
	check("4.0", 4)
	check("2/4", 2)
	check("0 out of 4", 0)
	check("٤", 4)
	check(`{"rating": 2}`, 2)
	check("```json\n{\"rating\": \"4\"}\n```", 4)
	check("Rating: 2", 2)
	check("**Rating:** 0", 0)
	check("Rating:\n4\n\nThe 14 euros are right.", 4)
	check("I would give it a score of 2, since 3 of 5 facts are there.", 2)
	check("I would rate this answer a 2.", 2)
	check("Bewertung: **4**", 4)
	check("2 - the price of 14 euros is there, the year is not", 2)
	check("0\nThe year 1871 is wrong.", 0)
	check("1. It names 14 euros.\n2. It names the year.\nRating: 4", 4)
	check("2\n2\n2", 2)

	refuse := func(text string, cut bool, want error) {
		t.Helper()
		if got, err := decodeLevel(ask.Reply{Text: text, Cut: cut}, levels); !errors.Is(err, want) {
			t.Errorf("%q: %d, %v; want an error: %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "three", "3", "24", "-2", "2.5", "2,5", "2-4", "14 euros", "10", "four",
		"I cannot rate this.", "1. It names 14 euros.\n2. It names the year.", "The ferry leaves at 2.",
		"Departure: 2 o'clock", "The text gives 4 reasons", "2\n4", "Rating: 2. No, rating: 4", "It is between 2 and 4",
		"Rating: 9, or rather 2", "99999999999999999999999"} {
		refuse(text, false, errNoLevel)
	}
	refuse("The rating is 2", true, metrics.ErrCut) // it may have gone on: 25
	if got, err := decodeLevel(ask.Reply{Text: "4, because 14 eu", Cut: true}, levels); err != nil || got != 4 {
		t.Errorf("a rating before the cut: %d, %v", got, err)
	}
}

func FuzzDecodeLevel(f *testing.F) {
	for _, s := range []string{"2", "Rating: 4/4", "1. a\n2. b", "٤", "−2", "2-4", "score of of 2", "0\n0", "1,000",
		"\xff2"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		got, err := decodeLevel(ask.Reply{Text: text, Cut: cut}, []int{0, 2, 4})
		if err != nil {
			if !errors.Is(err, errNoLevel) && !errors.Is(err, metrics.ErrCut) {
				t.Fatal(err)
			}
			return
		}
		if got != 0 && got != 2 && got != 4 {
			t.Fatalf("%q is rated %d", text, got)
		}
		there := slices.ContainsFunc(numeral.FindAllString(text, -1), func(s string) bool {
			return levelOf(s, []int{got}) == got
		})
		if !there {
			t.Fatalf("%q is rated %d, which is not in it", text, got)
		}
	})
}

func TestContextRelevanceDual(t *testing.T) {
	const first, second = "\nRating:", "Of use to them, 0, 1 or 2?"
	check := func(one, two string, want float64) {
		t.Helper()
		got := judging(map[string]string{first: one, second: two}).run(t, "context_relevance/dual", 0, lighthouse())
		if got.Score == nil || got.Score.Value != want {
			t.Errorf("%q, %q: %+v, want %v", one, two, got, want)
		}
	}
	check("2", "2", 1)
	check("2", "1", 0.75)
	check("0", "0", 0)
	repeats := lighthouse()
	repeats.Contexts = []string{" " + repeats.Question[:9], ""}
	got := judging(nil).run(t, "context_relevance/dual", 0, repeats) // which fails where it is asked
	if got.Score == nil || got.Score.Value != 0 || len(got.Calls) != 0 {
		t.Errorf("a part of the question: %+v", got)
	}
	got = judging(map[string]string{first: "2", second: "4"}).run(t, "context_relevance/dual", 0, lighthouse())
	if got.Kind != metrics.BadReply || !strings.Contains(got.Error, "judge 2 of 2") {
		t.Errorf("%+v", got)
	}
}

// The levels are those of Ragas, where 2 is any relevant information, and not all that the answer needs: in each prompt
// the worked example for it gives a part of the answer.
func TestContextRelevanceLevels(t *testing.T) {
	for p, part := range map[*prompts.Prompt]string{contextRelevanceFirstPrompt: "and where is it sold?",
		contextRelevanceSecondPrompt: "and what does it cost?"} {
		messages, err := p.Render(relevanceData{})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i, m := range messages[1:] {
			if m.Text == "2" && messages[i].Role == backend.User {
				found = strings.Contains(messages[i].Text, part)
			}
		}
		if !found || !strings.Contains(messages[0].Text, "2 if it holds any ") && !strings.Contains(messages[0].Text, "2 if anything ") {
			t.Errorf("%s: level 2 is another one: %q", p.Name, messages[0].Text)
		}
	}
}

// Ragas' response relevancy is the paper's method times a factor: 0 where the judge calls the answer noncommittal with
// each question, and 1 where it does not once.
func TestAnswerRelevanceRagas(t *testing.T) {
	check := func(want float64, flags ...int) {
		t.Helper()
		judge := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			return fmt.Sprintf(`{"question": "Who built it %d?", "noncommittal": %d}`, req.Draw, flags[req.Draw]), nil
		}}
		sample := metrics.Sample{Question: "Who built it?", Answer: "I do not know."}
		got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_relevance/ragas"), judge, sample)
		if got.Score == nil || math.Abs(got.Score.Value-want) > 1e-6 {
			t.Errorf("%v: %+v %s, want %v", flags, got.Score, got.Error, want)
		}
	}
	similar := 3 / math.Sqrt(3*4) // three words of the four, by the Fake's vectors
	check(similar, 0, 0, 0)
	check(similar, 1, 0, 1)
	check(0, 1, 1, 1)
}

func TestDecodeGuess(t *testing.T) {
	check := func(text string, want guess, err error) {
		t.Helper()
		if got, e := decodeGuess(ask.Reply{Text: text}); got != want || (e == nil) != (err == nil) {
			t.Errorf("decodeGuess(%q) = %+v, %v", text, got, e)
		}
	}
	check(`{"question": "Who?", "noncommittal": 1}`, guess{"Who?", true}, nil)
	check(`Sure: {"question": "Who?", "noncommittal": false}`, guess{}, errNoGuess)
	check("```\n{\"question\": \" Who?\", \"noncommittal\": \"0\"}\n```", guess{"Who?", false}, nil)
	check(`{"question": "Who?"}`, guess{}, errNoGuess)
	check(`{"question": "Who?", "noncommittal": 2}`, guess{}, errNoGuess)
	check(`{"question": "?", "noncommittal": 0}`, guess{}, errNoGuess)
	check(`Who?`, guess{}, errNoGuess)
}

func FuzzDecodeGuess(f *testing.F) {
	f.Add(`{"question": "Who?", "noncommittal": 1}`)
	f.Add(`{"question": 1, "noncommittal": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decodeGuess(ask.Reply{Text: strings.ToValidUTF8(text, "\uFFFD")})
		if (err == nil) == (strings.TrimSpace(got.question) == "") {
			t.Errorf("decodeGuess(%q) = %+v, %v", text, got, err)
		}
	})
}

// Of several windows, the best counts for each prompt by itself.
func TestFaithfulnessDualInWindows(t *testing.T) {
	sample := lighthouse()
	sample.Question = ""
	filler := strings.Repeat("Nothing is said here about it at all. ", 100)
	sample.Contexts = []string{filler + "Mara Lind built it. " + filler, "It is from 1871."}
	s := &script{ending: map[string]func(string) string{
		"\nRating:": func(prompt string) string {
			if strings.Contains(prompt, "Question:") {
				t.Errorf("a question that there is not is shown in %q", prompt)
			}
			text, _, _ := strings.Cut(prompt, "\nAnswer:")
			return map[bool]string{true: "1", false: "0"}[strings.Contains(text, "Mara Lind")]
		},
		"Borne out, 0, 1 or 2:": func(prompt string) string {
			return map[bool]string{true: "2", false: "0"}[strings.Contains(prompt, "It is from 1871.")]
		},
	}}
	got := s.run(t, "faithfulness/dual", 600, sample)
	if got.Score == nil || got.Score.Value != 0.75 || len(s.asks) < 6 {
		t.Fatalf("%+v after %d", got, len(s.asks))
	}
	one, two := got.Score.Because[0].Where, got.Score.Because[1].Where
	if !strings.HasPrefix(one, "window ") || !strings.HasPrefix(two, "window ") || one == two {
		t.Errorf("the best windows are %q and %q", one, two)
	}
	got = judging(map[string]string{"\nRating:": "1", "Borne out, 0, 1 or 2:": "1"}).run(t, "faithfulness/dual", 600,
		sample)
	if got.Score == nil || got.Score.Value != 0.5 || !strings.HasPrefix(got.Score.Because[1].Where, "window 1 of ") {
		t.Errorf("windows that are all alike: %+v, want the first", got)
	}
}

func TestAnswerCorrectnessRagas(t *testing.T) {
	s := harbourScript()
	sample := harbour()
	got := s.run(t, "answer_correctness/ragas", 0, sample)
	similarity := ask.Cosine(backendtest.Vector(sample.Answer), backendtest.Vector(sample.References[0]))
	if want := 0.75*4/9 + 0.25*similarity; got.Score == nil || math.Abs(got.Score.Value-want) > 1e-12 ||
		similarity <= 0 {
		t.Errorf("%+v, want %v", got, want)
	}
	sample.Answer = "I cannot tell."
	sample.References = []string{"Mara Lind's, I cannot tell."}
	got = s.run(t, "answer_correctness/ragas", 0, sample)
	if got.Score == nil || !(got.Score.Value > 0 && got.Score.Value <= 0.25) || len(got.Score.Because) != 3 ||
		got.Score.Because[0].Verdict != nil {
		t.Errorf("an answer that states nothing: %+v, want the cosine's quarter alone", got)
	}
	sample = harbour()
	sample.Answer = sample.References[0]
	if got = s.run(t, "answer_correctness/ragas", 0, sample); got.Score == nil || math.Abs(got.Score.Value-1) > 1e-12 {
		t.Errorf("the reference itself: %+v, want 1", got)
	}
}

// summing is a script for summaries: questions are asked of the words of phrases.
func summing(phrases, questions, answers string) *script {
	return judging(map[string]string{"\nKey phrases:": phrases, "\nQuestions:": questions, "\nAnswers:": answers})
}

func longText() metrics.Sample {
	return metrics.Sample{
		Answer:            "Mara Lind built it.", // 19 characters of 76
		ReferenceContexts: []string{strings.Repeat("x", 37) + ".", strings.Repeat("y", 36) + "."},
		Contexts:          []string{"Not this one."},
	}
}

func TestSummaryScore(t *testing.T) {
	check := func(what string, s *script, sample metrics.Sample, want float64, asks string) {
		t.Helper()
		got := s.run(t, "summary", 0, sample)
		if got.Score == nil || math.Abs(got.Score.Value-want) > 1e-12 {
			t.Errorf("%s: %+v, want %v", what, got, want)
		}
		if joined := strings.Join(s.asks, ", "); strings.ReplaceAll(joined, "\n", "") != asks {
			t.Errorf("%s: asked %q", what, joined)
		}
	}
	phrases, questions := count("Mara Lind", "1871"), count("Did Mara Lind build it?", "Was it built in 1871?")
	const all = "Key phrases: 0, Questions: 0, Answers: 0"
	check("one of two", summing(phrases, questions,
		`{"1": {"reason": "a", "verdict": "Yes"}, "2": {"reason": "b", "verdict": "No"}}`),
		longText(), 0.5*0.5+0.5*0.75, all)
	check("in JSON", summing(`["Mara Lind"]`, `{"questions": ["Did she build it?"]}`, "1. Yes"), longText(),
		0.5+0.5*0.75, all)
	long := longText()
	long.Answer = strings.Repeat("Mara Lind built it. ", 9)
	check("longer than the text", summing(phrases, questions, "1. Yes\n2. Yes"), long, 0.5, all)
	other := longText()
	other.ReferenceContexts = nil
	other.Answer = "Not."
	check("the contexts, for want of reference contexts", summing(phrases, questions, "1. No\n2. No"), other,
		0.5*(1-4.0/13), all)

	passed := summing(phrases, questions, "2. No")
	passed.ending["Is the answer yes or no?"] = func(prompt string) string {
		if !strings.Contains(prompt, "Did Mara Lind build it?") {
			t.Errorf("asked alone: %q", prompt)
		}
		return `"Yes"`
	}
	check("one passed over", passed, longText(), 0.25+0.5*0.75, all+", Is the answer yes or no? 0")

	got := summing("No key phrases.", "", "").run(t, "summary", 0, longText())
	if got.Kind != metrics.NotApplicable || !strings.Contains(got.Error, "no key phrase") {
		t.Errorf("no phrases: %+v", got)
	}
	got = summing(phrases, "", "").run(t, "summary", 0, longText())
	if got.Kind != metrics.BadReply || !strings.Contains(got.Error, "summary_questions") {
		t.Errorf("no questions: %+v", got)
	}
	bare := longText()
	bare.ReferenceContexts, bare.Contexts = nil, nil
	if got = summing("", "", "").run(t, "summary", 0, bare); got.Kind != metrics.NotApplicable ||
		!strings.Contains(got.Error, "neither reference_contexts nor contexts") {
		t.Errorf("no text: %+v", got)
	}
	passed.ending["Is the answer yes or no?"] = func(string) string { return "Perhaps." }
	if got = passed.run(t, "summary", 0, longText()); got.Kind != metrics.BadReply ||
		!strings.Contains(got.Error, "Did Mara Lind build it?") {
		t.Errorf("a question without an answer: %+v", got)
	}
}

// A long text is read in windows, each with its own phrases and questions, and each question counts once.
func TestSummaryInWindows(t *testing.T) {
	sample := metrics.Sample{Answer: "Facts."}
	for i := range 60 {
		sample.Contexts = append(sample.Contexts, fmt.Sprintf("Fact number %d is one of a long list of facts.", i))
	}
	seen := 0
	s := &script{ending: map[string]func(string) string{
		"\nKey phrases:": func(prompt string) string { return count("facts") },
		"\nQuestions:": func(prompt string) string {
			seen++
			return count("Are there facts?", fmt.Sprintf("Is this part %d?", seen))
		},
		"\nAnswers:": func(prompt string) string { return strings.Repeat("Yes\n", strings.Count(prompt, "?")) },
	}}
	got := s.run(t, "summary", 900, sample)
	if got.Score == nil || seen < 2 || len(got.Score.Because) != 1+seen+1 {
		t.Fatalf("%+v in %d windows", got, seen)
	}
}

func TestDecodeFirst(t *testing.T) {
	var list []string
	for i := range 14 {
		list = append(list, "phrase "+strconv.Itoa(i))
	}
	got, err := decodeFirst(ask.Reply{Text: count(list...), Cut: true}, nil)
	if err != nil || !slices.Equal(got, list[:maxPhrases]) {
		t.Errorf("a cut list of 14: %q, %v", got, err)
	}
	if got, err := decodeFirst(ask.Reply{Text: count(list...)}, nil); err != nil || len(got) != maxPhrases {
		t.Errorf("a list of 14: %q, %v", got, err)
	}
	if got, err := decodeFirst(ask.Reply{Text: count(list[:4]...), Cut: true}, nil); !errors.Is(err, errUnfinished) ||
		errors.Is(err, metrics.ErrCut) {
		t.Errorf("a cut list of 4: %q, %v", got, err)
	}
	if got, err := decodeFirst(ask.Reply{Text: "None"}, []string{"none"}); err != nil || got != nil {
		t.Errorf("nothing: %q, %v", got, err)
	}
}

// The replies that the built-in prompts show are such as their metrics accept.
func TestBuiltinRagasReplies(t *testing.T) {
	levels := map[string][]int{
		"answer_accuracy_first": {0, 2, 4}, "answer_accuracy_second": {0, 2, 4},
		"context_relevance_first": {0, 1, 2}, "context_relevance_second": {0, 1, 2},
		"groundedness_first": {0, 1, 2}, "groundedness_second": {0, 1, 2},
	}
	for _, p := range []*prompts.Prompt{
		contextUsefulnessPrompt, contextEntitiesPrompt, answerAccuracyFirstPrompt, answerAccuracySecondPrompt,
		contextRelevanceFirstPrompt, contextRelevanceSecondPrompt, groundednessFirstPrompt, groundednessSecondPrompt,
		summaryPhrasesPrompt, summaryQuestionsPrompt, summaryVerdictsPrompt, summaryVerdictPrompt,
	} {
		name := p.Name
		messages, err := p.Render(p.Example.Data)
		if err != nil {
			t.Fatal(err)
		}
		shown := make(map[string]bool)
		for _, message := range messages {
			if message.Role == backend.Assistant {
				shown[message.Text] = true
			}
		}
		if len(shown) == 0 {
			t.Errorf("%s shows no reply", name)
		}
		for text := range shown {
			if p.JSON && !json.Valid([]byte(text)) {
				t.Errorf("%s shows %q, which is no JSON", name, text)
			}
			if want := levels[name]; want != nil {
				if _, err := decodeLevel(ask.Reply{Text: text}, want); err != nil {
					t.Errorf("%s shows %q: %v", name, text, err)
				}
			}
		}
		if want := levels[name]; want != nil && len(shown) != len(want) {
			t.Errorf("%s shows %d ratings of %d", name, len(shown), len(want))
		}
	}
}
