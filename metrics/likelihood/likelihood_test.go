package likelihood

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// weighs is a judge that gives the tokens of a text these probabilities after the last message of a prompt.
func weighs(tokens func(prompt, text string) []float64) *backendtest.Fake {
	return &backendtest.Fake{LogProbs: func(messages []backend.Message, text string) []float64 {
		var logs []float64
		for _, p := range tokens(messages[len(messages)-1].Text, text) {
			logs = append(logs, math.Log(p))
		}
		return logs
	}}
}

func TestPerplexity(t *testing.T) {
	judge := weighs(func(prompt, text string) []float64 {
		if prompt != "What does the ferry cost?" || text != "14 euros." {
			t.Errorf("weighed %q after %q", text, prompt)
		}
		return []float64{0.4, 0.1} // a geometric mean of 0.2
	})
	sample := metrics.Sample{Question: "What does the ferry cost?", Answer: " 14 euros.\n"}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/perplexity"), judge, sample)
	metrictest.WantValue(t, "two tokens", got, 0.2, 0.2)
	if r := got.Score.Because[0].Reason; r != "2 tokens, perplexity 5, the least probable token 0.1" {
		t.Errorf("the reason is %q", r)
	}
	judge = &backendtest.Fake{LogProbs: func([]backend.Message, string) []float64 { return []float64{-2000, -3000} }}
	got = metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/perplexity"), judge, sample)
	if got.Kind != "" || got.Score.Value != 0 || strings.Contains(got.Score.Because[0].Reason, "NaN") {
		t.Errorf("a text that is all but impossible: %+v", got)
	}
	judge = &backendtest.Fake{LogProbs: func([]backend.Message, string) []float64 { return []float64{0, math.NaN()} }}
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/perplexity"), judge,
		sample); got.Kind != metrics.Failed {
		t.Errorf("probabilities that are none: %+v", got)
	}
	judge.About.Context = 5
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/perplexity"), judge,
		sample); got.Kind != metrics.TooLong {
		t.Errorf("no room: %+v", got)
	}
}

func TestContextPerplexity(t *testing.T) {
	judge := weighs(func(prompt, text string) []float64 {
		if text != "What does the ferry cost?" {
			t.Errorf("weighed %q", text)
		}
		for name, p := range map[string]float64{"alpha": 0.2, "beta": 0.8, "gamma": 0.5, "delta": 0.1} {
			if strings.Contains(prompt, name) {
				return []float64{p, p}
			}
		}
		t.Errorf("after %q", prompt)
		return nil
	})
	sample := metrics.Sample{Question: "What does the ferry cost?", Contexts: []string{"alpha", "beta", " ", "gamma",
		"delta"}}
	metrictest.WantValue(t, "the best",
		metrictest.Score(t, metrictest.One(t, Metrics(), "context_relevance/perplexity"), judge, sample), 0.8, 0.2, 0.8,
		0.5, 0.1)
	metrictest.WantValue(t, "at 1",
		metrictest.Score(t, metrictest.One(t, Metrics(), "context_relevance/perplexity_at_1"), judge, sample), 0.2, 0.2)
	metrictest.WantValue(t, "at 3",
		metrictest.Score(t, metrictest.One(t, Metrics(), "context_relevance/perplexity_at_3"), judge, sample), 0.5, 0.2,
		0.8, 0.5)
	metrictest.WantValue(t, "at 5, of four", metrictest.Score(t,
		metrictest.One(t, Metrics(), "context_relevance/perplexity_at_5"), judge, sample), 0.4, 0.2, 0.8, 0.5, 0.1)
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "context_relevance/perplexity_at_5"), judge, sample)
	if last := got.Score.Because[3]; last.Where != "context 5" || last.Text != "delta" {
		t.Errorf("the last finding is %+v", last)
	}
}

func TestLikelihoodInWindows(t *testing.T) {
	judge := weighs(func(prompt, _ string) []float64 {
		if strings.Contains(prompt, "ticket costs 14 euros") {
			return []float64{0.9}
		}
		return []float64{0.3}
	})
	judge.About.Context = 300
	sample := metrictest.Ferry()
	sample.Contexts = manySentences("A ticket costs 14 euros.")
	for _, name := range []string{"context_relevance/perplexity", "faithfulness/bartscore", "faithfulness/gptscore"} {
		got := metrictest.Score(t, metrictest.One(t, Metrics(), name), judge, sample)
		metrictest.WantValue(t, name, got, 0.9, 0.9)
		if got.Score != nil && !strings.Contains(got.Score.Because[0].Where, "window ") {
			t.Errorf("%s: the finding is %+v", name, got.Score.Because[0])
		}
	}
}

func TestBARTScore(t *testing.T) {
	judge := weighs(func(prompt, text string) []float64 {
		source := strings.TrimSpace(strings.TrimPrefix(strings.Split(prompt, "\n\n")[0], "Text:"))
		switch source + " -> " + text {
		case "near -> answer":
			return []float64{0.25}
		case "answer -> near":
			return []float64{0.3, 0.027} // a geometric mean of 0.09
		case "far -> answer":
			return []float64{0.01}
		case "answer -> far":
			return []float64{0.16}
		}
		t.Errorf("weighed %q after %q", text, source)
		return []float64{0.5}
	})
	sample := metrics.Sample{Answer: "answer", References: []string{"near", "far"}, Contexts: []string{"near"}}
	metrictest.WantValue(t, "precision", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_correctness/bartscore_precision"), judge, sample), 0.25, 0.25, 0.01)
	metrictest.WantValue(t, "recall",
		metrictest.Score(t, metrictest.One(t, Metrics(), "answer_correctness/bartscore_recall"), judge, sample), 0.16,
		0.09, 0.16)
	f := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_correctness/bartscore_f"), judge, sample)
	metrictest.WantValue(t, "f", f, 0.15, 0.25, 0.09, 0.01, 0.16) // sqrt(0.25 * 0.09)
	metrictest.WantValue(t, "faithfulness", metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/bartscore"),
		judge, sample), 0.25, 0.25)

	// F weighs what precision and recall have weighed.
	for i, name := range []string{"answer_correctness/bartscore_precision", "answer_correctness/bartscore_recall"} {
		if got := metrictest.Score(t, metrictest.One(t, Metrics(), name), judge, sample); got.Calls[0] != f.Calls[i] {
			t.Errorf("%s asks in another way than bartscore_f", name)
		}
	}
}

func TestGPTScore(t *testing.T) {
	asked := map[string]bool{}
	judge := weighs(func(prompt, text string) []float64 {
		if text != "14 euros." || !strings.Contains(prompt, "Question: What does the ferry cost?") {
			t.Errorf("weighed %q after %q", text, prompt)
		}
		asked[prompt] = true
		switch {
		case strings.Contains(prompt, "Correct answer: 14"):
			return []float64{0.6}
		case strings.Contains(prompt, "Correct answer: free"):
			return []float64{0.1}
		case strings.Contains(prompt, "Text:\nThe pier is green."):
			return []float64{0.2}
		}
		return []float64{0.3}
	})
	sample := metrics.Sample{Question: "What does the ferry cost?", Answer: "14 euros.",
		References: []string{"free", "14"}, Contexts: []string{"The pier is green."}}
	metrictest.WantValue(t, "correctness", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_correctness/gptscore"), judge, sample), 0.6, 0.1, 0.6)
	metrictest.WantValue(t, "faithfulness", metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/gptscore"),
		judge, sample), 0.2, 0.2)
	for _, name := range []string{"answer_relevance/gptscore", "answer_quality/gptscore_fluency",
		"answer_quality/gptscore_coherence"} {
		metrictest.WantValue(t, name, metrictest.Score(t, metrictest.One(t, Metrics(), name), judge, sample), 0.3, 0.3)
	}
	if len(asked) != 6 {
		t.Errorf("%d prompts, want one for each aspect and two for the references", len(asked))
	}
}

func TestReward(t *testing.T) {
	head := func(outputs ...float32) *backendtest.Fake {
		return &backendtest.Fake{Outputs: func(p backend.Pair) []float32 {
			if p.Query != "What does the ferry cost?" || !strings.HasPrefix(p.Text, "The ferry costs 14 euros.") {
				t.Errorf("the pair is %+v", p)
			}
			return outputs
		}}
	}
	metrictest.WantValue(t, "an indifferent head", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_quality/reward"), head(0), metrictest.Ferry()), 0.5, 0)
	metrictest.WantValue(t, "odds of 3 to 1", metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/reward"),
		head(float32(math.Log(3))), metrictest.Ferry()), 1/(1+math.Exp(-float64(float32(math.Log(3))))))
	metrictest.WantValue(t, "far below", metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/reward"),
		head(-1000), metrictest.Ferry()), 0, -1000)
	metrictest.WantValue(t, "far above", metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/reward"),
		head(1000), metrictest.Ferry()), 1, 1000)
	for _, outputs := range [][]float32{{1, 2, 3}, {}, {float32(math.NaN())}, {float32(math.Inf(1))}} {
		if got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/reward"), head(outputs...),
			metrictest.Ferry()); got.Kind != metrics.Failed {
			t.Errorf("a head that gives %v: %+v", outputs, got)
		}
	}
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/reward"), head(0),
		metrictest.Ferry()); len(got.Calls) != 1 {
		t.Errorf("%d keys", len(got.Calls))
	}
}

func TestRewardLikelihood(t *testing.T) {
	judge := weighs(func(prompt, _ string) []float64 {
		if strings.Contains(prompt, "ferry") {
			return []float64{0.6, 0.6}
		}
		return []float64{0.4, 0.1} // a geometric mean of 0.2
	})
	// The logistic function of log 0.6 - log 0.2 is 0.6 / (0.6 + 0.2).
	metrictest.WantValue(t, "three times as probable", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_quality/reward_likelihood"), judge, metrictest.Ferry()), 0.75, 0.6, 0.2)
	judge = weighs(func(string, string) []float64 { return []float64{0} })
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/reward_likelihood"), judge,
		metrictest.Ferry()); got.Kind != metrics.Failed {
		t.Errorf("an impossible text: %+v", got)
	}
	judge = weighs(func(prompt, _ string) []float64 {
		if strings.Contains(prompt, "ferry") {
			return []float64{0.5, 0.5}
		}
		return []float64{0.5}
	})
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_quality/reward_likelihood"), judge,
		metrictest.Ferry()); got.Kind != metrics.Failed || !strings.Contains(got.Error, "other tokens") {
		t.Errorf("other tokens: %+v", got)
	}
}

func TestPTrue(t *testing.T) {
	judge := metrictest.Affirms(func(prompt string) float64 {
		if !strings.Contains(prompt, "Proposed answer: The ferry costs 14 euros.") {
			t.Errorf("asked %q", prompt)
		}
		return 0.4
	})
	metrictest.WantValue(t, "the words are True and False", metrictest.Score(t,
		metrictest.One(t, Metrics(), "answer_correctness/p_true"), judge, metrictest.Ferry()), 0.4, 0.4)
}

func TestExamCover(t *testing.T) {
	questions := map[string]string{
		"It costs 14 euros and sails daily.": "1. What does it cost?\n2. How often does it sail?\n3. What does it " +
			"cost?",
		"Free.": "1. Is it free?",
		"Hm.":   "No questions.",
	}
	judge := metrictest.Affirms(func(prompt string) float64 {
		if !strings.Contains(prompt, "Text:\nThe ferry costs 14 euros.") {
			t.Errorf("asked %q", prompt)
		}
		switch {
		case strings.Contains(prompt, "What does it cost?"):
			return 0.9
		case strings.Contains(prompt, "How often"):
			return 0.5
		}
		return 0.2
	})
	judge.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		text := strings.TrimSuffix(strings.TrimPrefix(req.Messages[len(req.Messages)-1].Text, "Text:\n"),
			"\nQuestions:")
		return questions[text], nil
	}
	sample := metrictest.Ferry()
	check := func(what string, want float64, findings []float64, references ...string) {
		t.Helper()
		sample.References = references
		metrictest.WantValue(t, what, metrictest.Score(t, metrictest.One(t, Metrics(), "completeness/exam_cover"), judge,
			sample), want, findings...)
	}
	check("both", 1, []float64{0.9, 0.5}, "It costs 14 euros and sails daily.")
	check("the best reference", 1, []float64{0.9, 0.5}, "Free.", "Hm.", "It costs 14 euros and sails daily.")
	check("none", 0, []float64{0.2}, "Free.")
	sample.References = []string{"Hm."}
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "completeness/exam_cover"), judge,
		sample); got.Kind != metrics.NotApplicable {
		t.Errorf("no questions: %+v", got)
	}
}

// What counts is the right answer to a question, not that there is one.
func TestExam(t *testing.T) {
	const reference, long = "The ferry costs 14 euros and sails from May on.", "It is free on Sundays only."
	key := map[string]string{"What does the ferry cost?": "14 euros", "When does it sail?": "From May on",
		"Who owns it?": "The text does not say."}
	judge := metrictest.Affirms(func(prompt string) float64 {
		switch {
		case strings.Contains(prompt, "Key: From May on\nReply: In May and later"):
			return 0.8
		case strings.Contains(prompt, "Key: 14 euros\nReply: 40 euros"):
			return 0.1
		}
		t.Errorf("asked %q", prompt)
		return 0
	})
	var replies map[string]string // to the questions, by the answer alone
	judge.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		last := req.Messages[len(req.Messages)-1].Text
		text, question, asked := strings.Cut(strings.TrimPrefix(last, "Text:\n"), "\n\nQuestion: ")
		question = strings.TrimSuffix(question, "\nAnswer:")
		switch {
		case !asked && strings.HasPrefix(text, reference):
			return "1. What does the ferry cost?\n2. When does it sail?\n3. Who owns it?", nil
		case !asked && strings.HasPrefix(text, long):
			return "1. Who owns it?", nil
		case !asked:
			return "No questions.", nil
		case text == reference || text == long:
			return key[question], nil
		}
		return replies[question], nil
	}
	sample := metrictest.Ferry()
	check := func(what string, want float64, by map[string]string, references ...string) metrics.Result {
		t.Helper()
		sample.References, replies = references, by
		got := metrictest.Score(t, metrictest.One(t, Metrics(), "completeness/exam"), judge, sample)
		if got.Score == nil || got.Score.Value != want {
			t.Errorf("%s: %+v %+v, want %v", what, got, got.Score, want)
		}
		return got
	}
	got := check("right, in its own words and in the key's", 1,
		map[string]string{"What does the ferry cost?": "Answer: 14 Euros.", "When does it sail?": "In May and later"}, reference)
	if last := got.Score.Because[2]; last.Verdict != nil || !strings.Contains(last.Reason, "not counted") {
		t.Errorf("a question that the reference does not answer: %+v", last)
	}
	check("answered, and all wrong", 0, map[string]string{"What does the ferry cost?": "40 euros",
		"When does it sail?": "Text: The text does not say."}, reference)
	check("one of two, by the reference that suits best", 0.5, map[string]string{"What does the ferry cost?": "14 euros",
		"When does it sail?": "no answer"}, long, reference)
	sample.References = []string{long}
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "completeness/exam"), judge,
		sample); got.Kind != metrics.NotApplicable {
		t.Errorf("no question that the reference answers: %+v", got)
	}
}

// A reply in an exam is a line of words, or says that there is none.
func FuzzDecodeExamReply(f *testing.F) {
	f.Add("14 euros\nand more", false)
	f.Add("The text does not say.", true)
	f.Add("\n \n...", false)
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		got, err := decodeExamReply(ask.Reply{Text: strings.ToValidUTF8(text, "?"), Cut: cut}, []string{"no answer"})
		if strings.Contains(got, "\n") || err != nil && got != "" {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	})
}
