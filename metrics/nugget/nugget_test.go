package nugget

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// judge finds the facts in a reply that the test writes, and says what the facts themselves say of how much is stated.
func judge(facts string) *backendtest.Fake {
	return &backendtest.Fake{
		Reply: func(context.Context, *backend.GenerateRequest) (string, error) { return facts, nil },
		LogProbs: func(messages []backend.Message, continuation string) []float64 {
			last := messages[len(messages)-1].Text
			_, fact, _ := strings.Cut(last, "Fact: ")
			fact, _, _ = strings.Cut(fact, "\n")
			says := map[string]bool{"Yes": strings.Contains(fact, "must"), "No": !strings.Contains(fact, "must"),
				"Full": strings.Contains(fact, "said"), "Partial": strings.Contains(fact, "half"),
				"None": !strings.Contains(fact, "said") && !strings.Contains(fact, "half")}
			if says[continuation] {
				return []float64{math.Log(0.8)}
			}
			return []float64{math.Log(0.1)}
		},
	}
}

// TestScores has AutoNuggetizer's formulas on four vital facts and two others.
func TestScores(t *testing.T) {
	s := metrics.Sample{Question: "q", Answer: "a", Nuggets: []metrics.Nugget{{Text: "said one", Vital: true},
		{Text: "said two", Vital: true}, {Text: "half three", Vital: true}, {Text: "four", Vital: true},
		{Text: "said five"}, {Text: "half six"}}}
	for name, want := range map[string]float64{
		"nuggets/vital_strict":    2.0 / 4,
		"nuggets/vital":           2.5 / 4,
		"nuggets/all_strict":      3.0 / 6,
		"nuggets/all":             4.0 / 6,
		"nuggets/weighted_strict": 2.5 / 5,
		"nuggets/weighted":        3.25 / 5,
	} {
		metrictest.WantValue(t, name, metrictest.Score(t, metrictest.One(t, Metrics(), name), judge(""), s), want)
	}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "nuggets"), judge(""), s)
	metrictest.WantScore(t, "findings", got, 0.5, "vital, support", "vital, support", "vital, partial_support",
		"vital, not_support")
}

// TestFromReferences: facts that the column does not have are those of the references, each once.
func TestFromReferences(t *testing.T) {
	s := metrics.Sample{Question: "q", Answer: "a", References: []string{"one", "two"}}
	made := judge("1. It must be said that it sails.\n2. It must cost something.\n3. It is half blue.")
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "nuggets/weighted"), made, s)
	metrictest.WantScore(t, "made", got, 1.25/2.5, "It must be said", "vital, not_support",
		"okay, partial_support")
	got = metrictest.Score(t, metrictest.One(t, Metrics(), "nuggets/vital"), judge("1. It is half blue."), s)
	if got.Kind != metrics.NotApplicable || !strings.Contains(got.Error, "none of the 1 facts is vital") {
		t.Errorf("without a vital fact: %+v", got)
	}
	got = metrictest.Score(t, metrictest.One(t, Metrics(), "nuggets/all"), judge("No facts."), s)
	if got.Kind != metrics.NotApplicable {
		t.Errorf("without a fact: %+v", got)
	}
	s.References = nil
	got = metrictest.Score(t, metrictest.One(t, Metrics(), "nuggets/all"), judge(""), s)
	if got.Kind != metrics.NotApplicable || !strings.Contains(got.Error, "neither nuggets nor reference_answers") {
		t.Errorf("without references: %+v", got)
	}
}
