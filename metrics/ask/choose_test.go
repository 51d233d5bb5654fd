package ask

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
)

func TestChoose(t *testing.T) {
	ctx := context.Background()
	m := metrics.Models{Roles: metrics.Roles{backend.Judge: &backendtest.Fake{LogProbs: func(messages []backend.Message,
		continuation string) []float64 {
		p := map[string]float64{"Yes": 0.3, "No": 0.1, "Maybe so": 0.2}[continuation]
		return append([]float64{math.Log(p)}, make([]float64, strings.Count(continuation, " "))...)
	}}}}
	data := struct {
		Context, Statement, Question string
		History                      []metrics.Turn
	}{Context: "c", Statement: "s"}
	got, err := Choose(ctx, m, verdictPrompt, data, []string{"Yes", "No", "Maybe so"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.5, 1.0 / 6, 1.0 / 3} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("choose = %v, want %v at %d", got, want, i)
		}
	}
	p, err := Yes(ctx, m, verdictPrompt, data)
	if err != nil || math.Abs(p-0.75) > 1e-12 {
		t.Errorf("yes = %v, %v, want 0.75", p, err)
	}
	best, windows, err := YesInWindows(ctx, m, verdictPrompt, []string{"c"}, func(string) any { return data })
	if err != nil || windows != 1 || math.Abs(best-0.75) > 1e-12 {
		t.Errorf("yesInWindows = %v, %v, %v, want 0.75 in 1 window", best, windows, err)
	}
	if c, err := Weigh(ctx, m, verdictPrompt, data, []string{"Yes", "No"}); err != nil || math.Abs(c.Mass-0.4) > 1e-12 {
		t.Errorf("weigh = %v, %v, want a mass of 0.4", c, err)
	}
	m.Roles[backend.Judge] = &backendtest.Fake{LogProbs: func([]backend.Message, string) []float64 {
		return []float64{math.Log(0.2), math.Log(0.5)}
	}}
	if _, err := Weigh(ctx, m, verdictPrompt, data, []string{"Supported", "Supports nothing"}); err == nil ||
		!strings.Contains(err.Error(), "told apart") {
		t.Errorf("weigh: %v, where two options begin with one token", err)
	}
	m.Roles[backend.Judge] = &backendtest.Fake{LogProbs: func([]backend.Message, string) []float64 {
		return []float64{math.Inf(-1)}
	}}
	if p, err := Yes(ctx, m, verdictPrompt, data); err == nil {
		t.Errorf("yes = %v where no probability is to be had, want an error", p)
	}
}

var verdictPrompt = prompts.Builtin("faithfulness_verdict", prompts.Example{})
