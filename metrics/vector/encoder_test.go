package vector

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
	"github.com/assay-eval/assay/metrics/pairs"
	"github.com/assay-eval/assay/tokenize"
)

var encoderLabels = []string{"answer_correctness", "answer_relevance", "context_relevance",
	"faithfulness"} // not in our own order

// encoded scores a sample by an encoder metric, with a head that gives outputs.
func encoded(t *testing.T, method string, labels []string, outputs func(p backend.Pair) []float32,
	s metrics.Sample) (metrics.Result, *backendtest.Fake) {
	t.Helper()
	fake := &backendtest.Fake{About: backend.Info{Ops: backend.CanClassify, Labels: labels}, Outputs: outputs}
	ms := metrictest.Select(t, Metrics(), method+"/encoder")
	whole := &backendtest.Fake{About: backend.Info{Engine: "e", Model: "m", Ops: backend.CanClassify,
		Labels: encoderLabels}}
	if err := metrics.Check(ms, metrics.Models{Roles: metrics.Roles{backend.Encoder: whole}}, s.Fields()); err != nil {
		t.Fatal(err)
	}
	var got metrics.Result
	samples := func(yield func(*metrics.Sample, error) bool) { yield(&s, nil) }
	err := metrics.Run(t.Context(), samples, ms, metrics.Models{Roles: metrics.Roles{backend.Encoder: fake}},
		metrics.Options{}, func(r metrics.Result) error { got = r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return got, fake
}

// logit is what a head gives whose sigmoid is p.
func logit(p float64) float32 { return float32(math.Log(p / (1 - p))) }

// TestEncoder holds the four metrics to a head whose probabilities the test sets, pair by pair.
func TestEncoder(t *testing.T) {
	// The output with the label is the pair's probability; the others would give another value.
	type asked struct{ Query, Text string }
	head := func(label string, chances map[asked]float64) func(p backend.Pair) []float32 {
		return func(p backend.Pair) []float32 {
			c, ok := chances[asked{p.Query, p.Text}]
			if !ok {
				t.Errorf("%s asks about %+v", label, p)
				c = 0.99
			}
			numbers := []float32{-9, -9, -9, -9}
			numbers[slices.Index(encoderLabels, label)] = logit(c)
			return numbers
		}
	}
	sample := metrics.Sample{ID: "1", Question: "How deep is it?", Answer: "It is deep. Very, 4 m.",
		Contexts:   []string{"It is 4 m deep.", " ", "Fish."},
		References: []string{"4 m", "four metres"}}
	check := func(method string, chances map[asked]float64, want float64, findings ...string) {
		t.Helper()
		got, fake := encoded(t, method, encoderLabels, head(method, chances), sample)
		if got.Score == nil || math.Abs(got.Score.Value-want) > 1e-6 {
			t.Fatalf("%s: %+v, want %v", method, got, want)
		}
		var texts []string
		for _, f := range got.Score.Because {
			texts = append(texts, f.Kind+" "+f.Text+" "+f.Where)
		}
		if !slices.Equal(texts, findings) {
			t.Errorf("%s: findings %q, want %q", method, texts, findings)
		}
		if len(got.Calls) != len(chances) || fake.Stats().Inputs != len(chances) {
			t.Errorf("%s: %d calls noted, %d pairs asked, want %d", method, len(got.Calls), fake.Stats().Inputs,
				len(chances))
		}
	}
	check("context_relevance", map[asked]float64{{Query: "How deep is it?", Text: "It is 4 m deep."}: 0.9,
		{Query: "How deep is it?", Text: "Fish."}: 0.2},
		0.55, "passage It is 4 m deep. context 1", "passage Fish. context 3")
	all := "It is 4 m deep.\n\nFish."
	check("faithfulness", map[asked]float64{{Query: "It is deep.", Text: all}: 0.8,
		{Query: "Very, 4 m.", Text: all}: 0.4},
		0.6, "sentence It is deep. ", "sentence Very, 4 m. ")
	check("answer_relevance", map[asked]float64{{Query: "How deep is it?", Text: sample.Answer}: 0.7}, 0.7,
		"passage "+sample.Answer+" ")
	check("answer_correctness", map[asked]float64{{Query: "How deep is it? | 4 m", Text: sample.Answer}: 0.3,
		{Query: "How deep is it? | four metres", Text: sample.Answer}: 0.6}, 0.6, "reference 4 m ",
		"reference four metres ")
}

// TestEncoderWindows checks that long texts are read in windows, that none of a text is left out, and that the best
// window counts.
func TestEncoderWindows(t *testing.T) {
	long := strings.Repeat("The river runs to the sea and on. ", 40) + "The needle is here. " +
		strings.Repeat("The river runs to the sea and on. ", 40)
	seen := map[string]bool{}
	outputs := func(p backend.Pair) []float32 {
		if n := len(tokenize.Words(p.Text)); n > pairs.Words {
			t.Errorf("%d words at once", n)
		}
		for _, s := range tokenize.Sentences(p.Text) {
			seen[s.Text] = true
		}
		if strings.Contains(p.Text, "needle") {
			return []float32{logit(0.75)}
		}
		return []float32{logit(0.25)}
	}
	sample := metrics.Sample{ID: "1", Question: "Where?", Contexts: []string{"The needle is not.", long}}
	got, _ := encoded(t, "context_relevance", nil, outputs, sample)
	if got.Score == nil || math.Abs(got.Score.Value-0.75) > 1e-6 {
		t.Fatalf("%+v", got)
	}
	last := got.Score.Because[1]
	if !strings.Contains(last.Text, "needle") || !strings.HasPrefix(last.Where, "context 2, window ") {
		t.Errorf("the finding is %+v", last)
	}
	if len(seen) != 3 {
		t.Errorf("%d different sentences were shown, want 3", len(seen))
	}

	endless := strings.Repeat("word ", 300) // a sentence that is no sentence
	n := 0
	got, _ = encoded(t, "faithfulness", encoderLabels, func(p backend.Pair) []float32 {
		n += len(tokenize.Words(p.Query))
		return make([]float32, 4)
	}, metrics.Sample{ID: "1", Answer: endless, Contexts: []string{"A word."}})
	if got.Score == nil || got.Score.Value != 0.5 || n != 300 {
		t.Errorf("%+v, %d words of the answer were shown, want 300", got, n)
	}
}

// TestEncoderVerdicts holds the three verdicts, and the metrics that read them, to a head that the test sets.
func TestEncoderVerdicts(t *testing.T) {
	labels := []string{"faithfulness", "contradiction"}
	said := map[string][2]float64{"It is blue.": {0.8, 0.9}, "It is red.": {0.1, 0.8}, "It is old.": {0.2, 0.1}}
	outputs := func(p backend.Pair) []float32 {
		return []float32{logit(said[p.Query][0]), logit(said[p.Query][1])}
	}
	sample := metrics.Sample{ID: "1", Answer: "It is blue. It is red. It is old.", Contexts: []string{"A blue thing."}}
	fake := &backendtest.Fake{About: backend.Info{Ops: backend.CanClassify, Labels: labels}, Outputs: outputs}
	models := metrics.Models{Roles: metrics.Roles{backend.Encoder: fake}}
	for name, want := range map[string]float64{"faithfulness/encoder": 1.1 / 3, "faithfulness/encoder_least": 0.1,
		"faithfulness/contradiction": 0.8 * 0.9, "faithfulness/encoder_contradicted": 1.0 / 3,
		"faithfulness/encoder_not_said": 1.0 / 3} {
		m := metrictest.Select(t, Metrics(), name)[0]
		score, err := m.Score(t.Context(), models, &sample)
		if err != nil || math.Abs(score.Value-want) > 1e-6 {
			t.Fatalf("%s: %v, %v, want %v", name, score.Value, err, want)
		}
		verdicts := ""
		for _, f := range score.Because {
			verdicts += fmt.Sprintf("%s %v %.5s;", f.Text, *f.Verdict, f.Reason)
		}
		wants := map[string]string{
			"faithfulness/encoder":       "It is blue. true ;It is red. false contr;It is old. false not s;",
			"faithfulness/encoder_least": "It is red. false contr;",
			"faithfulness/contradiction": "It is red. false contr;",
		}[name]
		if strings.HasPrefix(name, "faithfulness/encoder_") && wants == "" {
			wants = "It is blue. true ;It is red. false contr;It is old. false not s;"
		}
		if verdicts != wants {
			t.Errorf("%s: verdicts %q, want %q", name, verdicts, wants)
		}
	}
}

// To ARES an answer that the passage contradicts is not relevant: answer_relevance/encoder, which does not see the
// passage, cannot tell.
func TestARESEncoder(t *testing.T) {
	fake := &backendtest.Fake{About: backend.Info{Ops: backend.CanClassify,
		Labels: []string{"answer_relevance", "faithfulness", "contradiction"}}, Outputs: func(p backend.Pair) []float32 {
		if p.Text == "It costs 40 euros." {
			return []float32{9, logit(0.1), logit(0.9)}
		}
		return []float32{logit(0.8), logit(0.9), logit(0.2)}
	}}
	models := metrics.Models{Roles: metrics.Roles{backend.Encoder: fake}}
	for context, want := range map[string]float64{"It costs 14 euros.": 0.8 * (1 - 0.2*0.1),
		"It costs 40 euros.": 0.8 * (1 - 0.9*0.9)} {
		sample := metrics.Sample{Question: "What does it cost?", Answer: "14 euros.", Contexts: []string{context}}
		for name, want := range map[string]float64{"answer_relevance/ares_encoder": want, "answer_relevance/encoder": 0.8} {
			score, err := metrictest.One(t, Metrics(), name).Score(t.Context(), models, &sample)
			if err != nil || math.Abs(score.Value-want) > 1e-6 {
				t.Errorf("%s by %q: %v, %v, want %v", name, context, score.Value, err, want)
			}
		}
	}
}

// TestEncoderReadsFew checks that a sentence is read with the windows most like it, the likest first, and with no
// more once one supports it.
func TestEncoderReadsFew(t *testing.T) {
	filler := strings.Repeat("The river runs to the sea and on. ", 19)
	contexts := []string{filler + "Fish swim.", filler + "Cats sleep on sofas.", filler + "Dogs bark.", filler + "Birds fly.",
		filler + "Cats eat fish."}
	var read []string
	outputs := func(chance float64) func(backend.Pair) []float32 {
		return func(p backend.Pair) []float32 {
			read = append(read, p.Text[len(p.Text)-10:])
			numbers := []float32{-9, -9, -9, -9}
			numbers[slices.Index(encoderLabels, "faithfulness")] = logit(chance)
			return numbers
		}
	}
	sample := metrics.Sample{ID: "1", Answer: "Cats sleep.", Contexts: contexts}
	for chance, want := range map[float64][]string{0.95: {" on sofas."},
		// Each window begins with the sentence that ended the one before.
		0.5: {" on sofas.", "Dogs bark."}} {
		read = nil
		got, _ := encoded(t, "faithfulness", encoderLabels, outputs(chance), sample)
		if got.Score == nil || !slices.Equal(read, want) || !strings.HasSuffix(got.Score.Because[0].Where, " of 5") {
			t.Errorf("at %v, read %q of %+v, want %q", chance, read, got, want)
		}
	}
}

// TestEncoderFaults checks that a model without the output, or with odd numbers, is an error and never a score.
func TestEncoderFaults(t *testing.T) {
	sample := metrics.Sample{ID: "1", Question: "Why?", Answer: "So.", Contexts: []string{"So it is."},
		References: []string{"So."}}
	check := func(method string, labels []string, want string, numbers ...float32) {
		t.Helper()
		got, _ := encoded(t, method, labels, func(backend.Pair) []float32 { return numbers }, sample)
		if got.Score != nil || !strings.Contains(got.Error, want) {
			t.Errorf("%s: %+v, want an error that says %q", method, got, want)
		}
	}
	check("faithfulness", nil, "taken for relevance", 1)
	check("faithfulness", []string{"entailment", "neutral"},
		"has the outputs entailment,neutral and no faithfulness", 1, 2)
	check("context_relevance", []string{"entailment", "neutral"}, "no context_relevance", 1, 2)
	check("context_relevance", nil, "2 numbers where its labels make it 1", 1, 2)
	check("answer_correctness", encoderLabels, "3 numbers where its labels make it 4", 1, 2, 3)
	check("answer_relevance", encoderLabels, "is not one", 0, float32(math.NaN()), 0, 0)

	for x, want := range map[float32]float64{float32(math.Inf(1)): 1, float32(math.Inf(-1)): 0,
		0: 0.5} { // the ends of the range
		if got, _ := encoded(t, "context_relevance", nil, func(backend.Pair) []float32 { return []float32{x} },
			sample); got.Score == nil || got.Score.Value != want {
			t.Errorf("%v: %+v, want %v", x, got, want)
		}
	}
	none := metrics.Sample{ID: "1", Answer: "...", Contexts: []string{"So it is."}}
	if got, _ := encoded(t, "faithfulness", encoderLabels, nil, none); got.Kind != metrics.NotApplicable {
		t.Errorf("an answer without a word: %+v", got)
	}

	ms := metrictest.Select(t, Metrics(), "faithfulness/encoder")
	for want, info := range map[string]*backend.Info{
		"name an encoder":         nil,
		"can only embed":          {Engine: "e", Model: "m", Ops: backend.CanEmbed},
		"no faithfulness":         {Engine: "e", Model: "m", Ops: backend.CanClassify, Labels: []string{"entailment"}},
		"taken for relevance":     {Engine: "e", Model: "m", Ops: backend.CanClassify},
		"needs answer, contexts,": {Engine: "e", Model: "m", Ops: backend.CanClassify, Labels: encoderLabels},
	} {
		fields := metrics.Answer | metrics.Contexts
		if strings.HasPrefix(want, "needs") {
			fields = metrics.Question
		}
		var models metrics.Models
		if info != nil {
			models.Roles = metrics.Roles{backend.Encoder: &backendtest.Fake{About: *info}}
		}
		if err := metrics.Check(ms, models, fields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v, want an error that says %q", err, want)
		}
	}
	if !Judges([]string{"no", "faithfulness"}) || Judges([]string{"entailment"}) || Judges(nil) {
		t.Error("Judges does not tell encoders from other models")
	}
	if _, err := metrics.EncoderOutput(backend.Info{}, "faithfulness"); err == nil ||
		errors.Is(err, metrics.ErrNotApplicable) {
		t.Errorf("a reranker is asked for faithfulness: %v", err)
	}
}
