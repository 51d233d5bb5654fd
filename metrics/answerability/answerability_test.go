package answerability

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// refusal is a metric that says that an answer declines if it has the word no.
func refusal() metrics.Metric {
	return metrics.Metric{Name: "refusal/test", Max: 1, LowerIsBetter: true, Needs: metrics.Answer,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			if strings.Contains(s.Answer, "no") {
				return metrics.Score{Value: 1, Because: []metrics.Finding{{Kind: "note", Text: "it says no"}}}, nil
			}
			return metrics.Score{Because: []metrics.Finding{{Kind: "note", Text: "it says something"}}}, nil
		}}
}

// TestConditioned has mtRAG's table: four cases of answerable and refused, for metrics of which more is better and less.
func TestConditioned(t *testing.T) {
	inner := metrics.Metric{Name: "a/b", Min: -2, Max: 3, Needs: metrics.Contexts, At: func(string) (metrics.Metric, error) {
		return metrics.Metric{}, nil
	}, Score: func(context.Context, metrics.Models, *metrics.Sample) (metrics.Score, error) {
		return metrics.Score{Value: 0.5, Because: []metrics.Finding{{Kind: "note", Text: "scored"}}}, nil
	}}
	yes, no := true, false
	check := func(m metrics.Metric, answerable *bool, answer string, contexts []string, want float64, because string) {
		t.Helper()
		got := metrictest.Score(t, Conditioned(m, "idk", refusal()), nil,
			metrics.Sample{Answerable: answerable, Answer: answer, Contexts: contexts})
		metrictest.WantScore(t, fmt.Sprint(answer, m.LowerIsBetter), got, want)
		if !strings.Contains(fmt.Sprint(got.Score.Because), because) {
			t.Errorf("%s: %+v, want %q", answer, got.Score.Because, because)
		}
	}
	lower := inner
	lower.LowerIsBetter = true
	check(inner, &yes, "14", []string{"c"}, 0.5, "scored")
	check(inner, &yes, "no", []string{"c"}, -2, "it declines to answer the question, which can be answered")
	check(inner, &no, "14", []string{"c"}, -2, "it answers the question, which cannot be answered")
	check(inner, &no, "no", nil, 3, "it says no")
	check(lower, &yes, "no", nil, 3, "declines")
	check(lower, &no, "14", nil, 3, "answers")
	check(lower, &no, "no", nil, -2, "declines")

	got := metrictest.Score(t, Conditioned(inner, "idk", refusal()), nil, metrics.Sample{Answer: "14", Contexts: []string{"c"}})
	if got.Kind != metrics.NotApplicable {
		t.Errorf("without a label: %+v", got)
	}
	got = metrictest.Score(t, Conditioned(inner, "idk", refusal()), nil, metrics.Sample{Answer: "14", Answerable: &yes})
	if got.Kind != metrics.NotApplicable || !strings.Contains(got.Error, "contexts") {
		t.Errorf("an answered row without what the metric needs: %+v", got)
	}
	if m := Conditioned(inner, "idk", refusal()); m.At != nil || m.Name != "a/b@idk" || m.Needs.Has(metrics.Contexts) {
		t.Errorf("%+v", m)
	}
}

func TestRight(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		answerable *bool
		answer     string
		want       float64
	}{{&yes, "14", 1}, {&yes, "no", 0}, {&no, "14", 0}, {&no, "no", 1}} {
		got := metrictest.Score(t, Right("refusal/right", refusal()), nil,
			metrics.Sample{Answerable: c.answerable, Answer: c.answer})
		metrictest.WantScore(t, c.answer, got, c.want)
	}
}

// TestTruthfulness has CRAG's four values, and the best of several references.
func TestTruthfulness(t *testing.T) {
	judge := &backendtest.Fake{LogProbs: func(messages []backend.Message, continuation string) []float64 {
		last := messages[len(messages)-1].Text
		if strings.Contains(last, "Correct answer: "+strings.ToLower(continuation)) {
			return []float64{math.Log(0.7)}
		}
		return []float64{math.Log(0.1)}
	}}
	check := func(want float64, references ...string) {
		t.Helper()
		metrictest.WantValue(t, strings.Join(references, "+"), metrictest.Score(t, truthfulness(), judge,
			metrics.Sample{Question: "q", Answer: "a", References: references}), want)
	}
	check(1, "perfect")
	check(0.5, "acceptable")
	check(0, "missing")
	check(-1, "incorrect")
	check(0.5, "incorrect", "acceptable", "missing")
}

// TestGrade reads what judges write, and refuses what could be read in two ways.
func TestGrade(t *testing.T) {
	for text, want := range map[string]float64{"8": 8, "10": 10, "Grade: 7.": 7, "8/10": 8, "**9**": 9, "9 out of 10": 9,
		"On a scale of 1 to 10: 4": 4, "0": 0, "11": 0, "7 or 8": 0, "-3": 0, "seven": 0, "": 0, "7.5": 0} {
		judge := &backendtest.Fake{Reply: func(context.Context, *backend.GenerateRequest) (string, error) { return text, nil }}
		got := metrictest.Score(t, rbLLM(), judge, metrics.Sample{Question: "q", Answer: "a", Contexts: []string{"c"},
			References: []string{"r"}})
		if want == 0 {
			if got.Kind != metrics.BadReply {
				t.Errorf("%q: %+v", text, got)
			}
			continue
		}
		metrictest.WantValue(t, text, got, want/10)
	}
}

// TestAggregate recomputes values of RB_agg that mtRAG published from the parts that it published beside them.
func TestAggregate(t *testing.T) {
	for _, row := range []struct{ recall, rouge, precision, want float64 }{
		{0.999999880791, 1, 0.425103902817, 0.8814697854},
		{0.351642727852, 0.3, 0.376512080431, 0.478777245655},
		{0.302533209324, 0.276923076923, 0.445376068354, 0.459396717053},
		{0.469748526812, 0.467532467532, 0.646301269531, 0.636333312507},
	} {
		part := func(value float64, signed bool) Part {
			return Part{Signed: signed, Metric: metrics.Metric{Name: "part", Min: -1, Max: 1,
				Score: func(context.Context, metrics.Models, *metrics.Sample) (metrics.Score, error) {
					return metrics.Score{Value: value}, nil
				}}}
		}
		m := Aggregate(part(row.recall, true), part(row.rouge, false), part(row.precision, true))
		got, err := m.Score(t.Context(), metrics.Models{}, &metrics.Sample{})
		if err != nil || math.Abs(got.Value-row.want) > 1e-6 {
			t.Errorf("%+v: %v, %v", row, got.Value, err)
		}
	}
}
