package likelihood

import (
	"errors"
	"strings"
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/metrictest"
)

// The gate closes where no context is relevant, and is open where one is, whatever the others are. What it lets through
// has the value that it has without the gate.
func TestGated(t *testing.T) {
	sample := metrictest.Ferry()
	sample.Contexts = []string{"The pier is green.", "A ticket costs 14 euros."}
	for _, tt := range []struct {
		name         string
		pier, ticket float64 // P(yes) of the contexts
		open         bool
		text         string
	}{
		{"one is relevant", 0.1, 0.9, true, sample.Contexts[1]},
		{"just relevant", 0.5, 0.1, true, sample.Contexts[0]},
		{"none is", 0.1, 0.4, false, sample.Contexts[1]},
	} {
		judge := metrictest.Affirms(func(prompt string) float64 {
			switch {
			case !strings.Contains(prompt, "help to answer the question"):
				return 0.7
			case strings.Contains(prompt, "pier"):
				return tt.pier
			}
			return tt.ticket
		})
		if n := len(gatedMetrics()); n != 3 {
			t.Errorf("%d metrics have a gate", n)
		}
		for _, m := range gatedMetrics() {
			score, err := m.Try(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: judge}}, &sample)
			if err != nil {
				t.Fatal(err)
			}
			want := 0.0
			if tt.open {
				want = 0.7
			}
			f := score.Because[0]
			if d := score.Value - want; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s, %s: %v, want %v", m.Name, tt.name, score.Value, want)
			}
			if f.Kind != "gate" || *f.Verdict != tt.open || f.Text != tt.text ||
				strings.Contains(f.Reason, "is closed") == tt.open || tt.open != (len(score.Because) > 1) {
				t.Errorf("%s, %s: evidence %+v", m.Name, tt.name, score.Because)
			}
		}
	}
}

// Without contexts there is nothing to gate by, and answer relevance does not fall back on being ungated.
func TestGatedNeedsContexts(t *testing.T) {
	sample := metrictest.Ferry()
	sample.Contexts = nil
	judge := metrictest.Affirms(func(string) float64 { return 1 })
	for _, m := range gatedMetrics() {
		_, err := m.Try(t.Context(), metrics.Models{Roles: metrics.Roles{backend.Judge: judge}}, &sample)
		if !errors.Is(err, metrics.ErrNotApplicable) {
			t.Errorf("%s: %v, want not applicable", m.Name, err)
		}
	}
}
