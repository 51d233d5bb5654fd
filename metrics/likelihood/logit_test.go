package likelihood

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
	"github.com/assay-eval/assay/metrics/prompts"
)

func notes(got metrics.Result) string {
	var list []string
	if got.Score != nil {
		for _, f := range got.Score.Because {
			if f.Kind == "note" {
				list = append(list, f.Text)
			}
		}
	}
	return strings.Join(list, "; ")
}

// manySentences are contexts of more than a window of 500 tokens, with one that tells in the middle.
func manySentences(telling string) []string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "Sentence number %d says nothing of interest here. ", i)
		if i == 30 {
			b.WriteString(telling + " ")
		}
	}
	return []string{b.String()}
}

// In windows, what supports counts wherever it stands, and what is left out counts wherever it stands.
func TestLogitInWindows(t *testing.T) {
	sample := metrictest.Ferry()
	sample.Contexts = manySentences("A ferry ticket costs 14 euros.")
	here := func(yes, no float64) *backendtest.Fake {
		judge := metrictest.Affirms(func(prompt string) float64 {
			if strings.Contains(prompt, "ticket costs 14 euros.") {
				return yes
			}
			return no
		})
		judge.About.Context = 500
		judge.Reply = func(context.Context, *backend.GenerateRequest) (string, error) {
			return "1. The ferry costs 14 euros.", nil
		}
		return judge
	}
	check := func(name string, judge *backendtest.Fake, want float64) {
		t.Helper()
		got := metrictest.Score(t, metrictest.One(t, Metrics(), name), judge, sample)
		metrictest.WantValue(t, name, got, want)
		if got.Score == nil {
			return
		}
		for _, f := range got.Score.Because {
			if !strings.Contains(f.Where, "window ") {
				t.Errorf("%s: the finding is from %q", name, f.Where)
			}
		}
		if judge.Stats().Scores < 2 {
			t.Errorf("%s: %d questions", name, judge.Stats().Scores)
		}
	}
	check("faithfulness/logit", here(0.8, 0.1), 0.8)
	check("context_relevance/logit", here(0.8, 0.1), 0.8)
	check("context_precision/logit", here(0.8, 0.1), 0.8)
	check("completeness/logit", here(0.3, 0.9), 0.3)
}

// An answer that alone does not fit is an error, not a part of it.
func TestLogitTooLong(t *testing.T) {
	sample := metrictest.Ferry()
	sample.Answer = manySentences("So it is.")[0]
	for _, name := range []string{"answer_relevance/logit", "faithfulness/logit"} {
		judge := metrictest.Affirms(func(string) float64 { return 0.5 })
		judge.About.Context = 400
		if got := metrictest.Score(t, metrictest.One(t, Metrics(), name), judge, sample); got.Kind != metrics.TooLong {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAnswerLogits(t *testing.T) {
	sample := metrictest.Ferry()
	sample.References = []string{"It costs 14 euros.", " ", "Fourteen."}
	judge := metrictest.Affirms(func(prompt string) float64 {
		if strings.Contains(prompt, "Correct answer: Fourteen.") {
			return 0.7
		}
		return 0.4
	})
	metrictest.WantValue(t, "the best reference counts", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_correctness/logit"), judge, sample), 0.7, 0.4, 0.7)
	metrictest.WantValue(t, "answer_relevance", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_relevance/logit"), judge, sample), 0.4, 0.4)
}

// To ARES an answer that the passage contradicts is not relevant, so the judge sees the passage: that is the only thing
// in which these prompts differ.
func TestAnswerRelevanceByARES(t *testing.T) {
	judge := metrictest.Affirms(func(prompt string) float64 {
		if strings.Contains(prompt, "ticket costs 40 euros.") {
			return 0.1
		}
		return 0.9
	})
	check := func(name string, want float64, contexts ...string) {
		t.Helper()
		sample := metrictest.Ferry()
		sample.Contexts = contexts
		metrictest.WantValue(t, name, metrictest.Score(t, metrictest.One(t, Metrics(), name), judge, sample), want, want)
	}
	check("answer_relevance/ares", 0.9, "A ferry ticket costs 14 euros.")
	check("answer_relevance/ares", 0.1, "A ferry ticket costs 40 euros.")
	check("answer_relevance/logit", 0.9, "A ferry ticket costs 40 euros.")
}

func TestContextLogits(t *testing.T) {
	sample := metrictest.Ferry()
	sample.Contexts = []string{"A ferry ticket costs 14 euros. It is sold on board.", "", "The pier is green."}
	judge := metrictest.Affirms(func(prompt string) float64 {
		_, sentence, ok := strings.Cut(prompt, "Sentence: ")
		switch {
		case ok && strings.HasPrefix(sentence, "A ferry ticket costs 14 euros."):
			return 0.9
		case ok:
			return 0.3
		case strings.Contains(prompt, "ticket costs 14 euros."):
			return 0.8
		}
		return 0.1
	})
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "context_relevance/logit"), judge, sample)
	metrictest.WantValue(t, "contexts", got, 0.45, 0.8, 0.1)
	if got.Score.Because[1].Where != "context 3" {
		t.Errorf("the second finding is of %q", got.Score.Because[1].Where)
	}
	metrictest.WantValue(t, "sentences", metrictest.Score(t,
		metrictest.One(t, Metrics(), "context_relevance/sentences_logit"), judge, sample), 0.5, 0.9, 0.3, 0.3)
	// The third context is third, although the second is blank: 0.8 + (1-0.8) * 0.1 * 1/3, and if both are
	// useful, the mean of 1 and 2/3 instead of 1.
	metrictest.WantValue(t, "precision", metrictest.Score(t, metrictest.One(t, Metrics(), "context_precision/logit"),
		judge, sample), 0.8*0.9+0.8*0.1*(1+2.0/3)/2+0.2*0.1/3, 0.8, 0.1)

	sample.Answer = ""
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "context_precision/logit"), judge,
		sample); got.Kind != metrics.NotApplicable {
		t.Errorf("neither answer nor reference: %+v", got)
	}
	sample.References = []string{"Nothing.", "14 euros."}
	judge = metrictest.Affirms(func(prompt string) float64 {
		if strings.Contains(prompt, "ticket costs") && strings.Contains(prompt, "Answer: 14 euros.") {
			return 1 - 1e-12
		}
		return 1e-12
	})
	metrictest.WantValue(t, "the reference that a context serves best",
		metrictest.Score(t, metrictest.One(t, Metrics(), "context_precision/logit"), judge, sample), 1, 1, 0)
}

func TestContextRecallLogit(t *testing.T) {
	sample := metrictest.Ferry()
	sample.References = []string{"It costs 14 euros. It sails daily.", "It is free.", "?"}
	judge := metrictest.Affirms(func(prompt string) float64 {
		switch {
		case strings.Contains(prompt, "Answer: It costs 14 euros.\n"):
			return 0.8
		case strings.Contains(prompt, "Answer: It sails daily.\n"):
			return 0.4
		}
		return 0.5
	})
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "context_recall/logit"), judge, sample)
	metrictest.WantValue(t, "the best reference counts", got, 0.6, 0.8, 0.4)
	sample.References = []string{"?"}
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "context_recall/logit"), judge,
		sample); got.Kind != metrics.NotApplicable {
		t.Errorf("no sentence: %+v", got)
	}
}

// A judge that would rather say something else than yes or no has its say noted.
func TestLogitDoubts(t *testing.T) {
	judge := &backendtest.Fake{LogProbs: func(_ []backend.Message, continuation string) []float64 {
		return []float64{math.Log(map[string]float64{"Yes": 0.03, "No": 0.01}[continuation])}
	}}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_relevance/logit"), judge, metrictest.Ferry())
	metrictest.WantValue(t, "little mass", got, 0.75, 0.75)
	if !strings.Contains(notes(got), "only 0.04 of") {
		t.Errorf("the notes are %q", notes(got))
	}
	got = metrictest.Score(t, metrictest.One(t, Metrics(), "answer_relevance/logit"),
		metrictest.Affirms(func(string) float64 { return 0.01 }), metrictest.Ferry())
	if notes(got) != "" {
		t.Errorf("all of the probability is on yes and no, and the notes are %q", notes(got))
	}
}

// The words of yes and no are those that a user's prompt names.
func TestLogitInAnotherLanguage(t *testing.T) {
	text := "version: 1\nmax_tokens: 1\nyes: Ja, Jawohl\nno: Nein\n--- user\n{{.Question}} {{.Answer}}"
	own, err := prompts.Load(fstest.MapFS{"answer_relevance_yes.tmpl": {Data: []byte(text)}},
		[]*prompts.Prompt{answerRelevanceYesPrompt})
	if err != nil {
		t.Fatal(err)
	}
	judge := &backendtest.Fake{LogProbs: func(_ []backend.Message, continuation string) []float64 {
		return []float64{math.Log(map[string]float64{"Ja": 0.6, "Nein": 0.2}[continuation])}
	}}
	sample := metrictest.Ferry()
	got, err := scoreAnswerRelevanceLogit(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: judge},
		Prompts: own}, &sample)
	if err != nil || math.Abs(got.Value-0.75) > 1e-12 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestExpectedPrecision(t *testing.T) {
	check := func(want float64, useful ...float64) {
		t.Helper()
		if got := expectedPrecision(useful); math.Abs(got-want) > 1e-12 {
			t.Errorf("expectedPrecision(%v) = %v, want %v", useful, got, want)
		}
	}
	check(0)
	check(0, 0, 0)
	check(0.3, 0.3)
	check(1, 1, 0)
	check(0.5, 0, 1)
	check((1+2.0/3)/2, 1, 0, 1)
	check((1.0/2+2.0/3)/2, 0, 1, 1)
	check(0.5+0.5*0.5/2, 0.5, 0.5) // 1 if the first is useful, whatever the second; else 1/2 if the second is
}

// The expectation is the mean over all outcomes, weighted with their probabilities.
func TestExpectedPrecisionIsTheMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		useful := make([]float64, rng.IntN(9))
		for i := range useful {
			useful[i] = rng.Float64()
		}
		want := 0.0
		for outcome := range 1 << len(useful) {
			chance, hits, sum := 1.0, 0, 0.0
			for k, p := range useful {
				if outcome>>k&1 == 0 {
					chance *= 1 - p
					continue
				}
				chance *= p
				hits++
				sum += float64(hits) / float64(k+1)
			}
			if hits > 0 {
				want += chance * sum / float64(hits)
			}
		}
		if got := expectedPrecision(useful); math.Abs(got-want) > 1e-12 {
			t.Fatalf("expectedPrecision(%v) = %v, want %v", useful, got, want)
		}
	}
}
