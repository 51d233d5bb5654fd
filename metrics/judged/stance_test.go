package judged

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

// stanceJudge makes of an answer five statements, and says of each what stands in the first text that holds a key:
// yes, no or unknown.
func stanceJudge(t *testing.T, says map[string]string) *backendtest.Fake {
	t.Helper()
	return &backendtest.Fake{
		Reply: func(context.Context, *backend.GenerateRequest) (string, error) {
			return count("The ferry costs 14 euros.", "The ferry sails all year.", "Dogs pay half.", "The pier is green.",
				"The ferry is old."), nil
		},
		LogProbs: func(messages []backend.Message, continuation string) []float64 {
			text := messages[len(messages)-1].Text
			for key, word := range says {
				context, claim, _ := strings.Cut(key, " | ")
				if strings.Contains(text, context) && strings.Contains(text, "Statement: "+claim) {
					if word == continuation {
						return []float64{math.Log(0.8)}
					}
					return []float64{math.Log(0.1)}
				}
			}
			if continuation == "Unknown" {
				return []float64{math.Log(0.6)}
			}
			return []float64{math.Log(0.2)}
		},
	}
}

// Of five statements two are supported, one is contradicted and two are not said: the rates are shares of the same
// verdicts, and DeepEval's counts against the answer only what is contradicted.
func TestStanceRates(t *testing.T) {
	judge := stanceJudge(t, map[string]string{
		"ticket | The ferry costs": "Yes", "ticket | The ferry sails": "No", "ticket | The pier": "Yes"})
	var calls []string
	for name, want := range map[string]metrics.Ratio{"": {Numerator: 2, Denominator: 5},
		"_contradicted": {Numerator: 1, Denominator: 5}, "_not_said": {Numerator: 2, Denominator: 5},
		"_not_contradicted": {Numerator: 4, Denominator: 5}} {
		for _, base := range []string{"faithfulness/verdicts", "answer_correctness/verdicts"} {
			sample := metrictest.Ferry()
			sample.References = []string{"A ferry ticket costs 14 euros. The pier is green."}
			got := metrictest.Score(t, metrictest.One(t, Metrics(), base+name), judge, sample)
			if got.Score == nil || got.Score.Ratio == nil || *got.Score.Ratio != want {
				t.Errorf("%s%s: %+v, want %+v", base, name, got, want)
				continue
			}
			metrictest.WantScore(t, base+name, got, float64(want.Numerator)/5, "supported", "contradicted", "not said",
				"supported", "not said", "2 supported, 1 contradicted, 2 not said")
			if base == "faithfulness/verdicts" {
				if calls != nil && strings.Join(calls, " ") != strings.Join(got.Calls, " ") {
					t.Errorf("%s asks otherwise than the other rates", name)
				}
				calls = got.Calls
			}
		}
	}
}

// Of several references the one that supports most counts, for every rate.
func TestStanceByReference(t *testing.T) {
	judge := stanceJudge(t, map[string]string{"first | The ferry costs": "No", "first | Dogs": "No",
		"second | The ferry costs": "Yes"})
	sample := metrictest.Ferry()
	sample.References = []string{"The first.", " ", "The second."}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "answer_correctness/verdicts_contradicted"), judge, sample)
	metrictest.WantScore(t, "by the second", got, 0, "supported", "", "", "", "", "1 supported, 0 contradicted",
		"by reference 3 of 3")
}

// In windows, support counts before contradiction, and that before silence, wherever they stand.
func TestStanceInWindows(t *testing.T) {
	judge := stanceJudge(t, map[string]string{"opens | The ferry costs": "No", "closes | The ferry costs": "Yes",
		"closes | Dogs": "No"})
	judge.About = backend.Info{Context: 420}
	sample := metrictest.Ferry()
	filler := strings.Repeat("The sea is wide and grey here. ", 20)
	sample.Contexts = []string{"It opens. " + filler, filler + "It closes."}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/verdicts"), judge, sample)
	if got.Score == nil || got.Score.Value != 0.2 || got.Score.Because[0].Reason != "supported" ||
		got.Score.Because[2].Reason != "contradicted" || !strings.HasPrefix(got.Score.Because[0].Where, "window ") {
		t.Errorf("%+v", got)
	}
}

// A judge that would say something else is doubted, and an answer that states nothing is not applicable.
func TestStanceDoubts(t *testing.T) {
	judge := stanceJudge(t, nil)
	judge.LogProbs = func(_ []backend.Message, continuation string) []float64 {
		return []float64{math.Log(map[string]float64{"Yes": 0.1, "No": 0.05, "Unknown": 0.02}[continuation])}
	}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/verdicts"), judge, metrictest.Ferry())
	if got.Score == nil || !strings.Contains(got.Score.Because[len(got.Score.Because)-1].Text, "had only 0.17") {
		t.Errorf("%+v", got)
	}
	judge.Reply = func(context.Context, *backend.GenerateRequest) (string, error) { return "No statements.", nil }
	for _, name := range []string{"faithfulness/verdicts", "answer_correctness/verdicts"} {
		sample := metrictest.Ferry()
		sample.References = []string{"A ticket costs 14 euros."}
		if got := metrictest.Score(t, metrictest.One(t, Metrics(), name), judge, sample); got.Kind != metrics.NotApplicable {
			t.Errorf("%s of no statements: %+v", name, got)
		}
	}
}
