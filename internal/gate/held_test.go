package gate

import (
	"strings"
	"testing"

	"github.com/assay-eval/assay/internal/report"
)

// Limits are read as they are written, and each that cannot be is named.
func TestHold(t *testing.T) {
	var g Gate
	if err := g.Hold([]string{"a=0.5", "b=0.25:lower"}, []string{"0.02", "a=0.5"}); err != nil ||
		len(g.Thresholds) != 2 || len(g.Drops) != 2 {
		t.Errorf("%+v, %v", g, err)
	}
	err := g.Hold([]string{"a"}, []string{"x=y"})
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v, want two errors", err)
	}
	if p, err := ParsePasses([]string{"a=0.5"}); err != nil || len(p) != 1 || p[0].Metric != "a" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{"a=0.5:lower", "a"} {
		if _, err := ParsePasses([]string{text}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Only what was missed is an error, and all of it.
func TestMissed(t *testing.T) {
	good, bad := report.Verdict{Run: "r", Passed: true}, report.Verdict{Run: "r", Why: "0.5 is lower"}
	if err := Missed([]report.Verdict{good}); err != nil {
		t.Error(err)
	}
	if err := Missed([]report.Verdict{bad, good, bad}); err == nil || strings.Count(err.Error(), "0.5 is lower") != 2 {
		t.Error(err)
	}
}
