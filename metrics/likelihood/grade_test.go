package likelihood

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/metrictest"
	"github.com/assay-eval/assay/metrics/prompts"
)

func TestDecodeGrade(t *testing.T) {
	check := func(text string, want float64) {
		t.Helper()
		if got, err := decodeGrade(ask.Reply{Text: text}); err != nil || got != want {
			t.Errorf("decodeGrade(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	check("8", 8)
	check("10", 10)
	check(" 0\n", 0)
	check("8.5", 8.5)
	check("8,5", 8.5)
	check("8/10", 8)
	check("8 / 10", 8)
	check("8.", 8)
	check("**8**", 8)
	check("**8/10**", 8)
	check("Score: 8", 8)
	check("Score: 8/10", 8)
	check("**Score:** 8", 8)
	check("Rating - the answer is fine: 8 out of 10", 8)
	check("Grade: 7. All 3 facts are there.", 7)
	check("7\nThe answer gives 2 of the facts.", 7)
	check("7 because 12 euros is right", 7)
	check("The answer deserves 7.", 7)
	check("On a scale of 0 to 10, I would give it 6.", 6)
	check("On a scale from 0-10: 6", 6)
	check("I would rate the answer a 9 out of 10.", 9)
	check("I would give it a score of 4.", 4)
	check("The score is 4", 4)
	check(`{"score": 8}`, 8)
	check("{\"grade\": 8.5, \"reason\": \"The 2 facts are there\"}", 8.5)
	check("Eight", 8)
	check("I would say eight out of ten.", 8)
	check("ten", 10)
	check("zero.", 0)
	check("Score: 8/10. So the final score is 8/10.", 8)
	check("٨", 8)
	check("१०", 10)
	check("８／10", 8) // full-width forms

	refuse := func(text string, want error) {
		t.Helper()
		if got, err := decodeGrade(ask.Reply{Text: text}); !errors.Is(err, want) {
			t.Errorf("decodeGrade(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	refuse("", errNoGrade)
	refuse("good", errNoGrade)
	refuse("I cannot grade this.", errNoGrade)
	refuse("11", errGradeRange)
	refuse("-1", errGradeRange)
	refuse("Score: -1", errGradeRange)
	refuse("100", errGradeRange)
	refuse("4/5", errGradeRange)
	refuse("85/100", errGradeRange)
	refuse("80%", errGradeRange)
	refuse("7-8", errGrades)
	refuse("7 or 8", errGrades)
	refuse("between 6 and 7", errGrades)
	refuse("The facts are 3 and the errors 2", errGrades)
	refuse("Score: 8. On second thoughts, score: 3", errGrades)
	refuse("A scale of 0 to 10", errNoGrade)
	if got, err := decodeGrade(ask.Reply{Text: "Score: 1", Cut: true}); !errors.Is(err, metrics.ErrCut) {
		t.Errorf("a number that was cut is %v, %v", got, err)
	}
	if got, err := decodeGrade(ask.Reply{Text: "8/10, since the answer", Cut: true}); err != nil || got != 8 {
		t.Errorf("a reason that was cut: %v, %v", got, err)
	}
}

func FuzzDecodeGrade(f *testing.F) {
	for _, text := range []string{"8/10", "Score: 8.5", "On a scale of 0 to 10, 7", "eight", "-1", "1e999", "９", "7–8",
		"10.", "٨,٥"} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		got, err := decodeGrade(ask.Reply{Text: text, Cut: cut})
		if err == nil && !(got >= 0 && got <= maxGrade) {
			t.Errorf("decodeGrade(%q) = %v", text, got)
		}
	})
}

// writes is a judge that replies in turn.
func writes(replies ...string) *backendtest.Fake {
	n := 0
	return &backendtest.Fake{Reply: func(context.Context, *backend.GenerateRequest) (string, error) {
		n++
		return replies[min(n, len(replies))-1], nil
	}}
}

func TestJudgeScore(t *testing.T) {
	metrictest.WantValue(t, "a plain grade", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_relevance/judge_score"), writes("8"), metrictest.Ferry()), 0.8, 0.8)
	judge := writes("What a nice ferry!", "Score: 15", "Score: 8.5/10")
	metrictest.WantValue(t, "bad replies first", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_quality/judge_score"), judge, metrictest.Ferry()), 0.85)
	if n := judge.Stats().Generates; n != 3 {
		t.Errorf("asked %d times", n)
	}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/judge_score"), writes("Splendid."),
		metrictest.Ferry())
	if got.Kind != metrics.BadReply || !strings.Contains(got.Error, "Splendid.") {
		t.Errorf("no grade: %+v", got)
	}
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/judge_score"), writes("11"),
		metrictest.Ferry()); got.Kind != metrics.BadReply {
		t.Errorf("a grade of 11: %+v", got)
	}

	sample := metrictest.Ferry()
	sample.References = []string{"14 euros.", "Fourteen."}
	metrictest.WantValue(t, "the best reference counts", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_correctness/judge_score"), writes("3", "9"), sample), 0.9, 0.3, 0.9)
	metrictest.WantValue(t, "the mean over contexts", metrictest.Score(t,
		metrictest.One(t, Metrics(), "context_relevance/judge_score_each"), writes("9", "2"), sample), 0.55, 0.9, 0.2)
	sample.Contexts = manySentences("The ferry costs 14 euros.")
	in := func(judge *backendtest.Fake) *backendtest.Fake {
		judge.About.Context = 550
		return judge
	}
	got = metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/judge_score"), in(writes("2", "7", "4")),
		sample)
	metrictest.WantValue(t, "the best window counts", got, 0.7, 0.7)
	if got.Score != nil && !strings.HasPrefix(got.Score.Because[0].Where, "window 2 of ") {
		t.Errorf("the finding is %+v", got.Score.Because[0])
	}
	metrictest.WantValue(t, "the worst window counts", metrictest.Score(t,
		metrictest.One(t, Metrics(), "completeness/judge_score"), in(writes("5", "2", "4")), sample), 0.2, 0.2)
}

// An engine with constrained decoding is held to a number, and what an aspect does not look at is not shown.
func TestJudgeScorePrompt(t *testing.T) {
	judge := &backendtest.Fake{
		About: backend.Info{Ops: backend.CanGenerate | backend.CanConstrain},
		Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			last := req.Messages[len(req.Messages)-1].Text
			if req.Schema == nil || strings.Contains(last, "Correct answer:") || strings.Contains(last, "Text:") {
				t.Errorf("asked %q by the schema %s", last, req.Schema)
			}
			return "4", nil
		},
	}
	sample := metrictest.Ferry()
	sample.References = []string{"14 euros."}
	metrictest.WantValue(t, "by a schema", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_relevance/judge_score"), judge, sample), 0.4)
}

// gradesWith is a judge that gives the digits from 1 to 5 these probabilities.
func gradesWith(p ...float64) *backendtest.Fake {
	return &backendtest.Fake{LogProbs: func(_ []backend.Message, continuation string) []float64 {
		return []float64{math.Log(p[continuation[0]-'1'])}
	}}
}

func TestScoreLogit(t *testing.T) {
	check := func(what string, want float64, p ...float64) {
		t.Helper()
		metrictest.WantValue(t, what, metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/score_logit"),
			gradesWith(p...), metrictest.Ferry()), want, want)
	}
	check("symmetric", 0.5, 0.1, 0.2, 0.4, 0.2, 0.1)
	check("certain", 1, 1e-300, 1e-300, 1e-300, 1e-300, 1)
	check("skew: (1 + 2*.5 + 5*.25 - 1) / 4 of the odds 1:2:1 on 1, 2 and 5", (0.25*1+0.5*2+0.25*5-1)/4, 0.1, 0.2,
		1e-300, 1e-300, 0.1)
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/score_logit"),
		gradesWith(0.01, 0.01, 0.01, 0.01, 0.01), metrictest.Ferry())
	if got.Score == nil || !strings.Contains(got.Score.Because[0].Reason, "only 0.05 of") ||
		!strings.Contains(got.Score.Because[0].Reason, "P(3) = 0.200") {
		t.Errorf("%+v", got.Score)
	}
}

// chooses is a judge that prefers A with the probability that chance gives two answers.
func chooses(chance func(a, b string) float64) *backendtest.Fake {
	return &backendtest.Fake{LogProbs: func(messages []backend.Message, continuation string) []float64 {
		_, rest, _ := strings.Cut(messages[len(messages)-1].Text, "\nA: ")
		a, rest, _ := strings.Cut(rest, "\nB: ")
		b, _, _ := strings.Cut(rest, "\n")
		if p := chance(a, b); continuation == "A" {
			return []float64{math.Log(p)}
		} else {
			return []float64{math.Log(1 - p)}
		}
	}}
}

func TestRank(t *testing.T) {
	quality := map[string]float64{"good": 3, "fair": 2, "poor": 1}
	bias := 1.0 // odds that A has for its place
	judge := chooses(func(a, b string) float64 { return bias * quality[a] / (bias*quality[a] + quality[b]) })
	rank := func(answer string, others ...string) metrics.Result {
		return metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/rank"), judge,
			metrics.Sample{Question: "Q?", Answer: answer, OtherAnswers: others})
	}
	metrictest.WantValue(t, "the best of three", rank("good", "fair", "poor"), 1, 3.0/5, 3.0/4)
	metrictest.WantValue(t, "the middle one", rank("fair", "good", "poor"), 0.5, 2.0/5, 2.0/3)
	metrictest.WantValue(t, "the worst", rank("poor", "good", "fair"), 0, 1.0/4, 1.0/3)
	metrictest.WantValue(t, "a rival that is the same", rank("good", "Good.", "poor"), 0.75, 0.5, 3.0/4)
	if n := judge.Stats().Scores; n != 4*3+2 {
		t.Errorf("%d comparisons, want two for each rival but the one that is the same", n)
	}

	bias = 1.6 // more than what good has over fair (3/2), less than what fair has over poor (2)
	got := rank("fair", "good", "poor")
	metrictest.WantValue(t, "a judge that favours the first", got, (0.5+1)/2)
	if want := "the order changed the verdict in 1 of 2 comparisons"; notes(got) != want {
		t.Errorf("the notes are %q, want %q", notes(got), want)
	}
	if r := got.Score.Because[0].Reason; !strings.Contains(r,
		"is 0.516 where it stands first, 0.294 where it stands second") || !strings.Contains(r, "changed") {
		t.Errorf("the first comparison: %q", r)
	}
	bias = 100
	metrictest.WantValue(t, "a judge that sees only the place", rank("poor", "good", "fair"), 0.5)
	judge = chooses(func(string, string) float64 { return 0.5 })
	got = rank("poor", "good")
	metrictest.WantValue(t, "a judge without a view", got, 0.5)
	if !strings.Contains(notes(got), "in 0 of 1") {
		t.Errorf("the notes are %q", notes(got))
	}
}

// Whatever the judge, what one answer wins the other loses.
func TestRankIsFair(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		one, two := rng.Float64(), rng.Float64()
		judge := chooses(func(a, _ string) float64 { return map[bool]float64{true: one, false: two}[a == "left"] })
		left := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/rank"), judge,
			metrics.Sample{Question: "Q?", Answer: "left", OtherAnswers: []string{"right"}})
		right := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/rank"), judge,
			metrics.Sample{Question: "Q?", Answer: "right", OtherAnswers: []string{"left"}})
		if left.Score == nil || right.Score == nil || left.Score.Value+right.Score.Value != 1 {
			t.Fatalf("probabilities %v and %v of A: %+v and %+v", one, two, left, right)
		}
	}
}

// Any reference will do: a comparison is shown them all.
func TestRankByReferences(t *testing.T) {
	judge := chooses(func(a, _ string) float64 { return map[bool]float64{true: 0.8, false: 0.2}[a == "14"] })
	judge.Before = func(_ context.Context, call backendtest.Call) error {
		last := call.Score.Messages[len(call.Score.Messages)-1].Text
		if !strings.Contains(last, "Correct answer: fourteen\nor: 14 euros\n") {
			t.Errorf("asked %q", last)
		}
		return nil
	}
	sample := metrics.Sample{Question: "Q?", Answer: "14", OtherAnswers: []string{"40"},
		References: []string{"fourteen", "", "14 euros"}}
	metrictest.WantValue(t, "references", metrictest.Score(t, metrictest.One(t, Metrics(), "answer_correctness/rank"),
		judge, sample), 1, 0.8)
}

// Texts that are too long are read in windows, and the probabilities are the mean over them.
func TestRankInWindows(t *testing.T) {
	judge := chooses(func(a, _ string) float64 { return map[bool]float64{true: 0.9, false: 0.3}[a == "good"] })
	judge.About.Context = 500
	sample := metrics.Sample{Question: "Q?", Answer: "good", OtherAnswers: []string{"poor"},
		Contexts: manySentences("So it is.")}
	metrictest.WantValue(t, "windows", metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/rank"), judge,
		sample), 1, 0.8)
	if n := judge.Stats().Scores; n < 4 || n%2 != 0 {
		t.Errorf("%d choices", n)
	}
}

// RAGAS' baseline and unitxt's judges see all contexts in one prompt, in either layout: what one of them holds, and the
// next does not, is in the contexts.
func TestContextsGradedTogether(t *testing.T) {
	sample := metrictest.Ferry()
	for _, layout := range prompts.Layouts() {
		asked := 0
		judge := &backendtest.Fake{
			Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
				last := req.Messages[len(req.Messages)-1].Text
				if asked++; !strings.Contains(last, "A ferry ticket") || !strings.Contains(last, "The pier") {
					t.Errorf("%s: asked %q", layout, last)
				}
				if of := "met by the contexts, taken together?"; layout == prompts.Row && !strings.HasSuffix(last, of) {
					t.Errorf("%s: asked %q", layout, last)
				}
				return "7", nil
			},
			LogProbs: func(messages []backend.Message, text string) []float64 {
				if last := messages[len(messages)-1].Text; !strings.Contains(last, "A ferry ticket") ||
					!strings.Contains(last, "The pier") {
					t.Errorf("%s: weighed after %q", layout, last)
				}
				if text == "4" {
					return []float64{0}
				}
				return []float64{-99}
			},
		}
		models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge}, Prompts: prompts.Set{}.In(layout)}
		for name, want := range map[string]float64{"context_relevance/judge_score": 0.7, "context_relevance/score_logit": 0.75} {
			m := metrictest.One(t, Metrics(), name)
			score, err := m.Try(t.Context(), models, &sample)
			if err != nil || math.Abs(score.Value-want) > 1e-9 || score.Because[0].Kind != "contexts" {
				t.Errorf("%s, %s: %+v, %v, want %v", layout, name, score, err, want)
			}
		}
		if asked != 1 {
			t.Errorf("%s: asked for %d grades", layout, asked)
		}
	}
}
