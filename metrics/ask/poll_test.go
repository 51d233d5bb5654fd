package ask

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/backend/backendtest"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
	"github.com/assay-eval/assay/metrics/prompts"
)

// All questions about one window come before the next window's.
func TestPollKeepsWindowsTogether(t *testing.T) {
	judge := metrictest.Affirms(func(string) float64 { return 0.5 })
	judge.About.Context = 300
	var order []string
	judge.Before = func(_ context.Context, call backendtest.Call) error {
		text, _, _ := strings.Cut(call.Score.Messages[len(call.Score.Messages)-1].Text, "Statement: ")
		order = append(order, text)
		return nil
	}
	p, err := PollInWindows(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: judge}},
		prompts.Builtin("faithfulness_claim_yes", prompts.Example{}),
		[]string{strings.Repeat("This sentence says nothing of interest. ", 60)}, 3,
		func(text string, i int) any { return claimData{Context: text, Statement: "It is so."} })
	if err != nil || len(p.Yes) != 3 || len(p.Yes[0]) < 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	if distinct := len(slices.Compact(slices.Clone(order))); len(order) != 3*len(p.Yes[0]) ||
		distinct != len(p.Yes[0]) {
		t.Errorf("%d questions, %d changes of the text, %d windows", len(order), distinct, len(p.Yes[0]))
	}
	if _, err := PollInWindows(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: judge}},
		prompts.Builtin("faithfulness_claim_yes", prompts.Example{}), []string{" "}, 1, nil); err == nil {
		t.Error("a question about nothing is answered")
	}
}

// claimData is what the prompt faithfulness_claim_yes shows.
type claimData struct {
	Context, Statement, Question string
	History                      []metrics.Turn
}
