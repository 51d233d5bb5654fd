package metrics_test

import (
	"testing"

	"github.com/assay-eval/assay/metrics"
)

// TestFinding checks that the words which count against an answer are marked in it.
func TestFinding(t *testing.T) {
	value := 0.25
	f := metrics.Finding{Kind: "answer", Text: "It costs 14 gold coins, or 3 cows.", Value: &value, Where: "window 1 of 2",
		Marks: []metrics.Mark{{Low: 9, High: 22, Value: 0.9}, {Low: 27, High: 28, Value: 0.6}}}
	if got, want := f.String(), "answer, 0.250: It costs ⟦14 gold coins⟧, or ⟦3⟧ cows. (window 1 of 2)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
