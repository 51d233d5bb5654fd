package selfcheck

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/ask"
	"github.com/assay-eval/assay/metrics/metrictest"
)

func one(t *testing.T, name string) metrics.Metric {
	t.Helper()
	return metrictest.One(t, Metrics(), "faithfulness/selfcheck_"+name)
}

func TestNgram(t *testing.T) {
	check := func(name string, want float64, s metrics.Sample, findings ...float64) {
		t.Helper()
		got := metrictest.Score(t, one(t, name), nil, s)
		metrictest.WantValue(t, name, got, want, findings...)
	}
	// Of four words, "red" is two and "cat" one: the square root of 1/2 * 1/4, and the least probable is cat.
	sample := metrics.Sample{Answer: "Red cat.", OtherAnswers: []string{"red dog", "  "}}
	check("ngram", math.Sqrt(1.0/8), sample, math.Sqrt(1.0/8))
	check("ngram_max", 1.0/4, sample, 1.0/4)
	// Counts: red 4, cat 2, dog 2. The mean is over words, (1/2 * 1/2 * 1/4)^(1/3); that of the maxima of the negative
	// logarithms is over sentences, (1/2 * 1/4)^(1/2).
	sample = metrics.Sample{Answer: "Red. Red cat.", OtherAnswers: []string{"Red dog.", "Red cat? Dog!"}}
	check("ngram", math.Cbrt(1.0/16), sample, 0.5, math.Sqrt(1.0/8))
	check("ngram_max", math.Sqrt(1.0/8), sample, 0.5, 0.25)
	for _, name := range []string{"ngram", "ngram_max"} {
		sample.Answer = "?!"
		if got := metrictest.Score(t, one(t, name), nil, sample); got.Kind != metrics.NotApplicable {
			t.Errorf("no words: %+v", got)
		}
		sample.Answer = "Red \xff"
		if got := metrictest.Score(t, one(t, name), nil, sample); got.Kind != metrics.Invalid {
			t.Errorf("no text: %+v", got)
		}
	}
}

func FuzzNgram(f *testing.F) {
	f.Add("Red cat.", "red dog")
	f.Add("東京は大きい。", "東京")
	f.Add("ß ﬁ 1½", "SS fi")
	f.Add(strings.Repeat("\xb6", 301), "no text")
	f.Fuzz(func(t *testing.T, answer, other string) {
		s := &metrics.Sample{Answer: answer, OtherAnswers: []string{other}}
		mean, err := ngramMean().compare(t.Context(), metrics.Models{}, s, s.OtherAnswers)
		if err != nil {
			return
		}
		least, err := ngramLeast().compare(t.Context(), metrics.Models{}, s, s.OtherAnswers)
		if err != nil || !(least.Value > 0) || !(mean.Value <= 1) {
			t.Errorf("%q beside %q: %v and %v, %v", answer, other, mean.Value, least.Value, err)
		}
		for i := range mean.Because {
			if *least.Because[i].Value > *mean.Because[i].Value+1e-9 {
				t.Errorf("%q beside %q: the least of a sentence is %v, the mean %v", answer, other, *least.Because[i].Value,
					*mean.Because[i].Value)
			}
		}
	})
}

// The other answers come from the model of the system, never from the judge: it alone is asked to draw. The draws are of
// one prompt, differ in their number, are made at temperature 1, and are the same for every variant.
func TestDrawn(t *testing.T) {
	var drawn []string
	sampler := &backendtest.Fake{Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		drawn = append(drawn, fmt.Sprint(req.Draw, " at ", req.Sampling.Temperature))
		last := req.Messages[len(req.Messages)-1].Text
		if !strings.Contains(last, "What does the ferry cost?") || !strings.Contains(last, "A ferry ticket costs 14 euros.") {
			t.Errorf("drawn from %q", last)
		}
		if req.Draw == 3 {
			return " \n", nil // no answer: another draw, that is none of the others'
		}
		return fmt.Sprintf("Sample %d has euros in it.", req.Draw), nil
	}}
	judge := metrictest.Affirms(func(prompt string) float64 {
		if strings.Contains(prompt, "Text:\nSample 2 ") {
			return 0.2
		}
		return 0.7
	})
	judge.Reply = func(context.Context, *backend.GenerateRequest) (string, error) {
		t.Error("the judge was drawn from")
		return "", nil
	}
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge, backend.Sampler: sampler}}
	sample := metrictest.Ferry()
	sample.OtherAnswers = []string{"These are of no interest."}
	m := one(t, "prompt_drawn")
	score, err := m.Try(t.Context(), models, &sample)
	if err != nil || math.Abs(score.Value-0.6) > 1e-9 || len(score.Because) != 2+5 {
		t.Errorf("one of five disagrees: %+v, %v", score, err)
	}
	want := "0 at 1, 1 at 1, 2 at 1, 3 at 1, 8 at 1, 4 at 1"
	if strings.Join(drawn, ", ") != want {
		t.Errorf("drawn %q, want %s", drawn, want)
	}
	drawn = nil
	m = one(t, "ngram_drawn")
	if score, err := m.Try(t.Context(), models, &sample); err != nil || score.Because[2].Kind != "other answer" ||
		!strings.HasPrefix(score.Because[2].Text, "Sample 0") {
		t.Errorf("%+v, %v", score, err)
	}
	if strings.Join(drawn, ", ") != want {
		t.Errorf("another variant has drawn %q, want %s", drawn, want)
	}
}

// What is not drawn needs the dataset's other answers, and says so before the first row; what is drawn needs a model to
// draw from, and the judge will not do.
func TestNeeds(t *testing.T) {
	judge := &backendtest.Fake{}
	models := metrics.Models{Roles: metrics.Roles{backend.Judge: judge, backend.Embedder: judge,
		backend.Encoder: &backendtest.Fake{About: backend.Info{Labels: []string{"entailment", "contradiction"}}}}}
	for _, m := range Metrics() {
		err := metrics.Check([]metrics.Metric{m}, models, metrics.Question|metrics.Answer)
		want := "needs other_answers"
		if strings.HasSuffix(m.Name, "_drawn") {
			want = "needs a model that can generate: name a sample model"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", m.Name, err, want)
		}
	}
}

func TestEmbed(t *testing.T) {
	judge := &backendtest.Fake{}
	check := func(what string, want float64, answer string, others ...string) {
		t.Helper()
		got := metrictest.Score(t, one(t, "embed"), judge, metrics.Sample{Answer: answer, OtherAnswers: others})
		if got.Score == nil || math.Abs(got.Score.Value-want) > 1e-6 {
			t.Errorf("%s: %+v %s, want %v", what, got.Score, got.Error, want)
		}
	}
	// The Fake's vectors are counts of words: texts with the same words have a cosine of 1, those that share
	// one of two words 1/2, and those that share none 0.
	check("the same, in another order", 1, "Red cat. Blue dog.", "Blue dog. Red cat.")
	check("the nearest sentence counts", 0.75, "Red cat. Blue dog.", "Green bird. Red cat. Blue fish.")
	check("the mean over others", 0.5, "Red cat.", "Cat red!", "Blue dog.", "!")
	got := metrictest.Score(t, one(t, "embed"), judge, metrics.Sample{Answer: "Red cat.", OtherAnswers: []string{"!", "?"}})
	if got.Kind != metrics.NotApplicable {
		t.Errorf("others without words: %+v", got)
	}
}

func TestPrompt(t *testing.T) {
	judge := metrictest.Affirms(func(prompt string) float64 {
		if strings.Contains(prompt, "Text:\nSample 2 ") {
			return 0.2
		}
		return 0.7
	})
	sample := metrictest.Ferry()
	sample.OtherAnswers = []string{"Sample 2 says so.", "Sample 9 says otherwise."}
	metrictest.WantValue(t, "given answers", metrictest.Score(t, one(t, "prompt"), judge, sample), 0.45, 0.45, 0.45)
}

// SelfCheck-NLI takes no notice of what is neutral: of the paper's three classes two count. The encoder judge says the
// same by its two questions.
func TestNLI(t *testing.T) {
	check := func(labels []string, outputs func(p backend.Pair) []float32, want ...float64) {
		t.Helper()
		fake := &backendtest.Fake{About: backend.Info{Engine: "e", Model: "m", Labels: labels,
			Ops: backend.CanClassify}, Outputs: outputs}
		models := metrics.Models{Roles: metrics.Roles{backend.Encoder: fake}}
		sample := metrics.Sample{Answer: "It is red. It is old.", OtherAnswers: []string{"It is red.", "It is blue."}}
		m := one(t, "nli")
		if err := metrics.Check([]metrics.Metric{m}, models, sample.Fields()); err != nil {
			t.Fatal(err)
		}
		score, err := m.Try(t.Context(), models, &sample)
		if err != nil || math.Abs(score.Value-(want[0]+want[1])/2) > 1e-6 || math.Abs(*score.Because[0].Value-want[0]) > 1e-6 {
			t.Errorf("%q: %+v, %v, want %v", labels, score, err, want)
		}
	}
	log := func(p float64) float32 { return float32(math.Log(p)) }
	// P(contradiction) / (P(entailment) + P(contradiction)) is 1/10 and 8/10 of the first sentence, and 1/2 of the second.
	check([]string{"CONTRADICTION", "neutral", "Entailment"}, func(p backend.Pair) []float32 {
		switch {
		case p.Text == "It is old.":
			return []float32{log(0.05), log(0.9), log(0.05)}
		case p.Query == "It is red.":
			return []float32{log(0.05), log(0.5), log(0.45)}
		}
		return []float32{log(0.8), 0, log(0.2)}
	}, (0.9+0.2)/2, 0.5)
	logit := func(p float64) float32 { return float32(math.Log(p / (1 - p))) }
	// Said is 0.8 where otherwise is 0.2 * 0.5, and 0.1 where it is 0.9 * 0.9; not known is 0.5 to 0.5 * 0.2.
	check([]string{"faithfulness", "contradiction"}, func(p backend.Pair) []float32 {
		switch {
		case p.Query == "It is old.":
			return []float32{logit(0.5), logit(0.2)}
		case p.Text == "It is red.":
			return []float32{logit(0.8), logit(0.5)}
		}
		return []float32{logit(0.1), logit(0.9)}
	}, (0.8/0.9+0.1/0.91)/2, 0.5/0.6)

	for _, labels := range [][]string{nil, {"entailment", "neutral"}, {"relevance", "contradiction"}} {
		fake := &backendtest.Fake{About: backend.Info{Engine: "e", Model: "m", Labels: labels, Ops: backend.CanClassify}}
		err := metrics.Check([]metrics.Metric{one(t, "nli")}, metrics.Models{Roles: metrics.Roles{backend.Encoder: fake}},
			metrics.Answer|metrics.OtherAnswers)
		if err == nil || !strings.Contains(err.Error(), "entailment and contradiction") {
			t.Errorf("%q: %v", labels, err)
		}
	}
}

// By the paper's formula, with beta 0.8 for both: 4^n / (4^m + 4^n) for m matches and n mismatches is how surely a
// sentence is wrong, and a text that does not answer the question counts little.
func TestMQAG(t *testing.T) {
	const answer, agrees, differs, silent = "The ferry costs 14 euros.", "14 euros it is.", "It costs 40 euros.", "Who knows?"
	judge := &backendtest.Fake{
		Reply: func(_ context.Context, req *backend.GenerateRequest) (string, error) {
			return fmt.Sprintf(`{"question": "What does it cost (%d)?", "right": "14 euros", "wrong": ["40 euros", "4 euros", `+
				`"nothing"]}`, req.Draw), nil
		},
		LogProbs: func(messages []backend.Message, letter string) []float64 {
			last := messages[len(messages)-1].Text
			text, question, _ := strings.Cut(last, "\n\nQuestion: ")
			says := map[string]string{answer: "14 euros", agrees: "14 euros", differs: "40 euros",
				silent: "The text does not say"}[strings.TrimPrefix(text, "Text:\n")]
			switch {
			case !strings.Contains(question, letter+". "+says+"\n"):
				return []float64{math.Log(0.05)}
			case strings.Contains(text, differs):
				return []float64{math.Log(0.6)} // beside four of 0.05: three of four parts, 0.0625 of it unanswered
			}
			return []float64{math.Log(0.8)}
		},
	}
	check := func(want float64, others ...string) {
		t.Helper()
		got := metrictest.Score(t, one(t, "mqag"), judge, metrics.Sample{Answer: answer, OtherAnswers: others})
		if got.Score == nil || math.Abs(got.Score.Value-want) > 1e-9 {
			t.Errorf("%q: %+v %s, want %v", others, got.Score, got.Error, want)
		}
	}
	surely := func(match, mismatch float64) float64 {
		return 1 - math.Pow(4, mismatch)/(math.Pow(4, match)+math.Pow(4, mismatch))
	}
	const clear, less, none = 0.95, 0.9375, 0.2
	check(surely(clear, 0), agrees)
	check(surely(0, less), differs)
	check(surely(2*clear, less), agrees, differs, agrees)
	// The first of equal options is chosen by a text that says none: it is right in the first rotation, not the second.
	check((surely(none, 0)+surely(0, none))/2, silent)
}

func TestDecodeQuestion(t *testing.T) {
	check := func(text string, want error) {
		t.Helper()
		q, err := decodeQuestion(ask.Reply{Text: text})
		if (err == nil) != (want == nil) || err == nil && (q.question != "Who?" || len(q.options) != 4 || q.options[0] != "Ann") {
			t.Errorf("%s: %+v, %v", text, q, err)
		}
	}
	check(`{"question": " Who?", "right": "Ann", "wrong": ["Bob", "Cid", "Dan"]}`, nil)
	check("Here it is:\n```json\n{\"question\": \"Who?\", \"right\": \"Ann\", \"wrong\": [\"Bob\", \"Cid\", \"Dan\"]}\n```", nil)
	check(`{"question": "Who?", "right": "Ann", "wrong": ["Bob", "Cid"]}`, errNoChoices)
	check(`{"question": "Who?", "right": "Ann", "wrong": ["Bob", "ann.", "Dan"]}`, errNoChoices)
	check(`{"question": "Who?", "right": "Ann", "wrong": ["Bob", 3, "Dan"]}`, errNoChoices)
	check(`{"question": "", "right": "Ann", "wrong": ["Bob", "Cid", "Dan"]}`, errNoChoices)
	check(`Who? Ann.`, errNoChoices)
}

func FuzzDecodeQuestion(f *testing.F) {
	f.Add(`{"question": "Who?", "right": "Ann", "wrong": ["Bob", "Cid", "Dan"]}`)
	f.Add(`{"question": 1, "right": {}, "wrong": "x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if q, err := decodeQuestion(ask.Reply{Text: strings.ToValidUTF8(text, "?")}); err == nil && len(q.options) != 4 {
			t.Errorf("%q: %+v", text, q)
		}
	})
}
