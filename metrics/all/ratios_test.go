package all

import (
	"encoding/json"
	"testing"

	"github.com/assay-eval/assay/metrics"
)

// Scores that are shares of things counted say of what: counted by hand.
func TestRatios(t *testing.T) {
	call := func(name string) metrics.ToolCall {
		return metrics.ToolCall{Name: name, Args: map[string]json.RawMessage{}}
	}
	sample := &metrics.Sample{ID: "one", Question: "What does the ferry cost?",
		Answer: `It costs 14 euros, and "dogs pay half price" there. Write to me@example.org.`, References: []string{"It costs 14 euros."},
		Contexts: []string{"A ferry ticket costs 14 euros.", "The pier is green."}, ContextIDs: []string{"a", "x", "b"},
		ReferenceContextIDs: []string{"a", "b", "c", "d"}, ReferenceContexts: []string{"The pier is green."},
		ToolCalls: []metrics.ToolCall{call("clock"), call("tide"), call("map")}, ReferenceToolCalls: []metrics.ToolCall{call("tide")}}
	for name, want := range map[string]metrics.Ratio{
		"answer_correctness/token_recall":    {Numerator: 4, Denominator: 4},
		"context_correctness/precision":      {Numerator: 2, Denominator: 3},
		"context_correctness/recall":         {Numerator: 2, Denominator: 4},
		"context_correctness/precision@text": {Numerator: 1, Denominator: 2},
		"context_precision/ids":              {Numerator: 2, Denominator: 3},
		"context_recall/ids":                 {Numerator: 2, Denominator: 4},
		"context_recall/string":              {Numerator: 1, Denominator: 1},
		"tool_calls/precision":               {Numerator: 1, Denominator: 3},
		"tool_calls/recall":                  {Numerator: 1, Denominator: 1},
		"faithfulness/quoted_spans":          {Numerator: 0, Denominator: 1},
		"pii/patterns":                       {Numerator: 1, Denominator: 2},
		"answer_similarity/rouge1@recall":    {Numerator: 4, Denominator: 4},
	} {
		ms, err := Select([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		score, err := ms[0].Try(t.Context(), metrics.Models{}, sample)
		if err != nil || score.Ratio == nil || *score.Ratio != want {
			t.Errorf("%s: %+v %+v, %v; want %+v", name, score, score.Ratio, err, want)
		}
	}
	// What is no share of things counted has no counts.
	for _, name := range []string{"answer_correctness/token_f1", "context_correctness/mrr", "tool_calls/f1"} {
		ms, err := Select([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if score, err := ms[0].Try(t.Context(), metrics.Models{}, sample); err != nil || score.Ratio != nil {
			t.Errorf("%s: %+v, %v", name, score.Ratio, err)
		}
	}
}

// A ratio that is not the value, or is no share, is a bug that is found before it is written.
func TestWrongRatio(t *testing.T) {
	for _, r := range []metrics.Ratio{{Numerator: 1, Denominator: 3}, {Numerator: 3, Denominator: 2}, {Numerator: 0, Denominator: 0},
		{Numerator: -1, Denominator: 2}} {
		if r.Check(0.5) == nil {
			t.Errorf("%+v is taken for 0.5", r)
		}
	}
	if err := (&metrics.Ratio{Numerator: 2, Denominator: 4}).Check(0.5); err != nil {
		t.Error(err)
	}
}
