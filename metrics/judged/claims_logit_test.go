package judged

import (
	"context"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

func TestClaimsLogit(t *testing.T) {
	var prompts []string
	judge := metrictest.Affirms(func(prompt string) float64 {
		if len(prompts) == 0 || prompts[len(prompts)-1] != prompt { // each prompt is scored for yes and for no
			prompts = append(prompts, prompt)
		}
		if strings.Contains(prompt, "Statement: The ferry costs 14 euros.") {
			return 0.9
		}
		return 0.2
	})
	judge.Reply = func(context.Context, *backend.GenerateRequest) (string, error) { return twoStatements(""), nil }
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/claims_logit"), judge, metrictest.Ferry())
	metrictest.WantValue(t, "two claims", got, 0.55, 0.9, 0.2)
	if len(got.Calls) != 3 || len(prompts) != 2 {
		t.Fatalf("%d calls, %d prompts; want the statements and one question each", len(got.Calls), len(prompts))
	}
	before, _, _ := strings.Cut(prompts[0], "Statement: ")
	if !strings.Contains(before, "A ferry ticket costs 14 euros.") || !strings.HasPrefix(prompts[1], before) {
		t.Errorf("the prompts %q do not share the contexts", prompts)
	}

	// The statements are those of faithfulness/claims: one answer serves both.
	judge.Reply = func(_ context.Context, req *backend.GenerateRequest) (string, error) {
		if strings.HasSuffix(req.Messages[len(req.Messages)-1].Text, "Verdicts:") {
			return "1. Yes\n2. No", nil
		}
		return twoStatements(""), nil
	}
	if other := metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/claims"), judge,
		metrictest.Ferry()); other.Calls[0] != got.Calls[0] {
		t.Error("faithfulness/claims asks for the statements in another way")
	}

	judge.Reply = func(context.Context, *backend.GenerateRequest) (string, error) { return "No statements.", nil }
	if got := metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/claims_logit"), judge,
		metrictest.Ferry()); got.Kind != metrics.NotApplicable {
		t.Errorf("no statements: %+v", got)
	}
}

// In windows, what supports a claim counts wherever it stands.
func TestClaimsLogitInWindows(t *testing.T) {
	judge := metrictest.Affirms(func(prompt string) float64 {
		if strings.Contains(prompt, "ticket costs 14 euros.") {
			return 0.8
		}
		return 0.1
	})
	judge.About.Context = 500
	judge.Reply = func(context.Context, *backend.GenerateRequest) (string, error) {
		return "1. The ferry costs 14 euros.", nil
	}
	sample := metrictest.Ferry()
	filler := strings.Repeat("Nothing of interest is said here. ", 30)
	sample.Contexts = []string{filler + "A ferry ticket costs 14 euros. " + filler}
	got := metrictest.Score(t, metrictest.One(t, Metrics(), "faithfulness/claims_logit"), judge, sample)
	metrictest.WantValue(t, "a claim in one of several windows", got, 0.8, 0.8)
	if where := got.Score.Because[0].Where; !strings.HasPrefix(where, "window ") {
		t.Errorf("the support is said to be at %q", where)
	}
}
